"""Reading recorded runs: from an audit store or export files to values and pictures. Nothing here executes a run.

``sources`` give spans, ``gather`` tells runs apart, ``restore`` undoes deltas, ``build`` makes a
:class:`~spanseal.replay.run.Run` (with ``grade``, ``forest``, ``read_part``, ``read_call``), ``render`` draws it,
``reader`` is what users open. May import audit, records and genai; no telemetry.
"""
