"""Results as labelled datasets and as files."""
