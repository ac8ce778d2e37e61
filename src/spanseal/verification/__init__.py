"""Run-time checks of what a model answered, before anyone uses it."""
