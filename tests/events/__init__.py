"""Simulators against the formulas, against models written with SimPy, and against what must hold at every event."""
