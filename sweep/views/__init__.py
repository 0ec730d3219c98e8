"""What people look at: summaries, tables, choices, pictures and pages."""
