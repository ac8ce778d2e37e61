"""One policy per file."""
