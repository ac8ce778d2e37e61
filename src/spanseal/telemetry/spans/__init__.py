"""Our own spans: the ``tracer`` of all, ``inner`` spans of a run, how one is marked as failed (``failure``).

``limits`` keeps beside them what the SDK's limits would take, ``attributes`` reads what is set on one, ``same_call``
names the span in which another instrumentation tells the same model call. ``inner`` and ``failure`` may import active,
content and signals; the others only active, since content and signals import them.
"""
