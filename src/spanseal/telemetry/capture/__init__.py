"""Model calls on the wire: what a client sends and receives, and the one chat span of each call.

``call`` is the call and its span, ``http_attempt`` what came back in one try, ``request`` and ``response`` what the
span says about both, ``history`` which earlier call it builds on; ``openai_client`` and ``ollama_client`` are the seams
in other people's clients. May import ``content`` and the modules of telemetry that know no export.
"""
