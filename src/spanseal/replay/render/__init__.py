"""Pictures of a run: a tree for the terminal, the messages of a step, JSON. Values in, text out."""
