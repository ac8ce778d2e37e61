"""The vocabulary that every part shares: names, messages, wire formats. Pure: bytes and values only.

``semconv*`` (the conventions), ``messages``, ``state``, ``chat_model``; a wire format is ``<format>`` with its
``_body``, ``_response``, ``_stream`` and ``_semconv``, ``wire`` lists them, ``routes`` tells which one a request
speaks, ``places`` where it keeps its content, ``sent_messages`` writes messages for spans; ``pieces`` puts streams
together; ``wire_json``, ``plain_json``, ``sse`` are the texts underneath. May import errors.
"""
