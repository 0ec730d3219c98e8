"""What people look at: summaries, tables and heat maps."""
