"""The sealer: beside the collector, as another user, it takes exported spans and writes them into the audit store.

``receive`` (endpoint) and ``tail`` (files) hand their input to ``group_commit``, which has ``seal`` write it;
``service`` is the process, ``keys`` its folder of keys. May import audit and records; no telemetry, of genai nothing.
"""
