"""Model calls on the wire: what a client sends and receives, and the one chat span of each call.

Here: the ``call`` and its span, what the span says about the ``request`` and, when it ends (``call_record``), about the
``response`` (``decode_body``, ``estimate``; a stream is put together while it is read, ``assembly``), which earlier
call it builds on (``history``), the ``rest`` of a stream that was read on. Folders: ``clients``, the seams in other
people's clients (imports this one), ``streams``, the bytes of one attempt and how their reading ended (imported by this
one). May import ``content``, ``signals`` and the modules of telemetry that know no export.
"""
