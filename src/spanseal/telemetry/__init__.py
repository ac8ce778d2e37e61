"""From calls to exported spans: set-up, run context, content, ledger, durable export. May import genai and records.

Telemetry raises nothing into the application: only :func:`configure` itself raises, for wrong arguments and settings.
The public names are in the modules; ``spanseal.configure`` is :func:`spanseal.telemetry.configure.configure`.
"""
