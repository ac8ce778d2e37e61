"""What ``spanseal doctor`` finds out: what would be recorded and sent here, whether the route works, what loses spans.

``finding`` (one thing found, with its fix); ``collector_file`` reads a collector's configuration, ``evidence_routes``
says which of its pipelines carry evidence, ``*_rules`` what in them would lose some; ``process`` describes what
``configure()`` would do here, ``zero_code`` what would keep it from starting, ``probe`` tests the route, ``places``
looks into folders and stores. May import telemetry, audit and everything below; executes nothing and changes nothing,
except that a probe span is sent.
"""
