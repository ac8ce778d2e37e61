"""What a process tells beside its spans: numbers (metrics) and events (log records), never blocking a call.

Where the application has a meter or logger provider, that one is used; else, where spans are exported to, the numbers
and events go beside them. May import active, content and export.
"""
