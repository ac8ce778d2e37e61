"""What a process tells beside its spans: numbers (metrics) and events (log records), never blocking a call.

``signals`` is what the rest of telemetry calls; ``metrics`` and ``events`` say what an ended span measures and tells.
Where the application has a meter or logger provider, that one is used (``meters``); else, where spans are exported to,
``numbers`` are summed here (which ones: ``instruments``) and the ``courier`` takes them and the events through
``outlets`` beside the spans, as ``set_up`` decides. May import active, content and export.
"""
