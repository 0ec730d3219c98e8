"""What to evaluate: a YAML file or a dict becomes a checked Grid, or messages with line and column."""
