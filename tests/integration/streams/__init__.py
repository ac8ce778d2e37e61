"""A model server that breaks on purpose, and what the stream tests against real servers share."""
