"""Energy of a collective: ten lines that add an output. Use: sweep run grids/energy.yaml --with grids/energy.py"""

from sweep import parameter, quantity

wire_energy = parameter(unit="pJ/b", default=5.0, minimum=0.0, doc="Energy to move one bit over one link")


@quantity(unit="uJ")
def collective_energy(chip_count, wire_steps, chunk_time, link_bandwidth, wire_energy):
    """Energy that all chips spend on the wire in one collective."""
    return chip_count * wire_steps * chunk_time * link_bandwidth * 8 * wire_energy * 1e-6
