"""The vocabulary that every part shares: names, messages, wire formats. Pure: bytes and values only.

``semconv*`` (the conventions), ``messages``, ``state``, ``chat_model``; a wire format is ``<format>`` with its
``_body``, ``_response`` and ``_semconv``, and ``wire`` lists them; ``wire_json``, ``plain_json``, ``sse`` are the
texts underneath. May import errors.
"""
