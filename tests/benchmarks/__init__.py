"""Benchmarks: ratios measured in one run. `make bench` prints them; the test suite runs each once, tiny, untimed."""
