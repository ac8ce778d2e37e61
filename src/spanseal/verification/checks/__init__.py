"""One check per file; each says in its message what was wrong and what is expected."""
