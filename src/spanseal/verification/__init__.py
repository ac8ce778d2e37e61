"""Run-time checks of what a model answered, before anyone uses it. May import telemetry and below.

``check`` (values), ``pipeline`` (runs checks in a span), ``checks/``; ``json_text`` and ``json_schema`` read strictly
what models and tools write.
"""
