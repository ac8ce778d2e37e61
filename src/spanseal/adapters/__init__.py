"""Models behind one face: :class:`~spanseal.adapters.base.LLMAdapter` and its forms for OpenAI and Ollama.

May import telemetry and everything below it. A client's package is imported only by the module of its adapter.
"""
