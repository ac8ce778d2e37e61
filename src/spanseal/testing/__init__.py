"""Fakes that users get too: a scripted model, fixed clock and ids, spans in memory. May import everything below it."""
