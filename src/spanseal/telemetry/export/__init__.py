"""Spans on their way out: into a folder, or through a spool on disk to an OTLP/HTTP server.

``sink`` is the seam; ``encode`` and ``start_line`` write ends and starts as lines; ``folder`` and ``spool`` are the
sinks. Both keep their files by a ``journal`` (``intents``: what has started; ``segment``: files of spans;
``committer``: syncing), and take over by ``orphans`` what dead processes left. The spool's other parts are ``sender``,
``otlp_http``, ``spool_files``, ``room`` and ``memory``; ``losses`` tells what could be kept nowhere, ``value_files``
are what is large in a folder. May import ``content``, the settings and genai's names.
"""
