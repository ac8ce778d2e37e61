"""Policies decide at every seam of a run: allow, modify, escalate, halt. May import telemetry and below.

``action`` (what is about to happen), ``policy``, ``plane`` (combines policies; pure), ``gate`` (decides in a span),
``policies/``, ``budgets``.
"""
