"""From calls to exported spans. May import genai and records.

Here: set-up (``configure``, ``providers``, ``active``, ``zero_code``), whose run it is (``run_span``,
``run_context``), how it is carried along (``thread_callbacks``, ``process_pools``, ``carried``, ``trace_state``) and
its numbering (``ledger_processor``, ``ledger_state``), inner spans (``spans``, ``tracing``), ``metrics``, existing
clients (``instrument``, ``instrumentor``). Folders: ``capture`` (model calls on the wire),
``content`` (what may be recorded, and how), ``export`` (ways out).

Telemetry raises nothing into the application: only :func:`configure` itself raises, for wrong arguments and settings.
The public names are in the modules; ``spanseal.configure`` is :func:`spanseal.telemetry.configure.configure`.
"""
