"""Physics only: one file per system, each readable from top to bottom like a section of a paper."""
