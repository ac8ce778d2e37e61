"""Ended spans on their way out: into a folder, or through a spool on disk to an OTLP/HTTP server.

``sink`` is the seam, ``encode`` writes a span as a line, ``folder`` and ``spool`` are the two sinks; ``sender``,
``otlp_http`` and ``spool_files`` are the spool's parts. May import ``content`` and genai's names.
"""
