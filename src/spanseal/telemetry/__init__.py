"""From calls to exported spans. May import genai and records.

Here: set-up (``configure`` by its ``plan``, ``providers``, ``zero_code``, what is ``active``), whose run it is
(``run_span``, ``run_context``), existing clients (``instrument``, ``instrumentor``), what keeps us out of the
application's way (``guard``, ``patches``) and right in a forked child (``at_fork``). Folders: ``capture`` (model calls
on the wire), ``spans`` (all our other spans), ``propagation`` (how a run is carried along), ``ledger`` (how its spans
are numbered), ``content`` (what may be recorded, and how), ``signals`` (metrics and events), ``export`` (ways out).

Telemetry raises nothing into the application: only :func:`configure` itself raises, for wrong arguments and settings.
The public names are in the modules; ``spanseal.configure`` is :func:`spanseal.telemetry.configure.configure`.
"""
