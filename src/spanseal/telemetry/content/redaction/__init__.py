"""What must not be recorded is found and masked: in texts, in JSON text that stays JSON, in attributes. Pure.

The ``redactor`` is what the rest of telemetry uses: it looks with ``detectors`` (``numbers`` checks digits) at texts as
a person reads them (``reveal``) and at values that JSON (``json_walk``) or prose (``named_values``) names, and knows
what it has ``remembered``. ``redact`` serves log lines and errors' texts, ``tool_credentials`` and ``urls`` what
belongs to somebody else's services. May import genai's JSON and the settings' defaults; no ``active``, no
opentelemetry.
"""
