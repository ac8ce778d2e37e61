"""Policies decide at every seam of a run: allow, modify, escalate, halt."""
