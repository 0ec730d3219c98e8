# Two commands: `make demo` and `make test`. Both make .venv first, with the versions of requirements.txt.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ON_ALL_CORES := -n auto --maxprocesses 4
UV := $(shell command -v uv 2>/dev/null)

.PHONY: demo test lint types unit nojit readme validity bench clean

$(VENV)/.installed: requirements.txt pyproject.toml
ifdef UV
	uv venv --quiet --allow-existing --python $(PYTHON) $(VENV)
	uv pip install --quiet --python $(BIN)/python -r requirements.txt
	uv pip install --quiet --python $(BIN)/python --no-deps -e .
else
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
endif
	touch $@

demo: $(VENV)/.installed
	$(BIN)/sweep run grids/tp_allreduce.yaml --overwrite
	$(BIN)/sweep plot results/tp_allreduce.nc --of collective_latency --best packet_format \
		--x message_size --y packet_format --facet switch_hops \
		--at link_bandwidth=50 --at credit_size=256 --at chip_count=8 -o results/packet_format.png
	$(BIN)/sweep plot results/tp_allreduce.nc --of limiter \
		--x message_size --y chip_count --facet credit_size \
		--at link_bandwidth=100 --at packet_format=standard --at switch_hops=1 -o results/limiter.png
	$(BIN)/sweep plot results/tp_allreduce.nc --of bus_bandwidth \
		--x message_size --y chip_count --facet switch_hops \
		--at link_bandwidth=50 --at packet_format=afh_lite --at credit_size=256 -o results/bus_bandwidth.png
	$(BIN)/sweep run grids/profiles.yaml --overwrite
	$(BIN)/sweep plot results/profiles.nc --of collective_latency --against profile=exact \
		--x message_size --y chip_count --facet credit_size \
		--at link_bandwidth=50 --at switch_hops=1 -o results/profiles.png
	$(BIN)/sweep run grids/algorithms.yaml --overwrite
	$(BIN)/sweep crossover results/algorithms.nc --over algorithm --along message_size \
		--y chip_count --facet link_bandwidth --picture results/algorithms.png
	$(BIN)/sweep sensitivity results/tp_allreduce.nc --everywhere \
		--parameters link_bandwidth,base_latency,switch_fixed,credit_size,credit_limit,virtual_channels,max_payload \
		--at link_bandwidth=50 --at packet_format=standard --at credit_size=256 \
		--y chip_count --facet switch_hops --picture results/knobs.png
	$(BIN)/sweep run grids/incast_victim.yaml --overwrite
	$(BIN)/sweep plot results/incast_victim.nc --of simulated_victim_latency \
		--x buffer_size --y incast_senders --facet flow --at packet_format=standard -o results/incast_victim.png
	$(BIN)/sweep run grids/congestion.yaml --overwrite
	$(BIN)/sweep plot results/congestion.nc --of switch_depth --lines packet_format --x egress_utilization \
		--at ecn_minimum=16384 -o results/congestion.png
	$(BIN)/sweep run grids/pair_matrix.yaml --overwrite
	$(BIN)/sweep plot results/pair_matrix.nc --of transfer_latency --x dst_chip --y src_chip --facet message_size \
		-o results/pair_matrix.png
	$(BIN)/sweep trace grids/tp_layer.yaml \
		--at phase=prefill,packet_format=afh_lite,link_bandwidth=100,layer_pieces=4,chip_count=4 \
		--picture results/tp_layer_trace.png
	MPLBACKEND=agg $(BIN)/python notebooks/packet_format_selection.py
	MPLBACKEND=agg $(BIN)/python notebooks/where_the_formula_holds.py
	MPLBACKEND=agg $(BIN)/python notebooks/tp_layer.py
	$(BIN)/sweep show results/tp_allreduce.nc

test: lint types unit nojit

lint: $(VENV)/.installed
	$(BIN)/ruff check sweep tests notebooks
	$(BIN)/ruff format --check sweep tests notebooks

types: $(VENV)/.installed
	$(BIN)/mypy

unit: $(VENV)/.installed
	$(BIN)/pytest -q $(ON_ALL_CORES) -m "not plain"

nojit: $(VENV)/.installed
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -q $(ON_ALL_CORES) -m "not heavy"

readme: $(VENV)/.installed
	$(BIN)/python -m tests.readme_tables

validity: $(VENV)/.installed
	$(BIN)/python -m tests.validity_table

bench: $(VENV)/.installed
	$(BIN)/python -m tests.benchmarks

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
