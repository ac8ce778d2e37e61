"""The seams in other people's clients, ``openai`` and ``ollama``: each swaps a client's class, reversibly.

``class_swap`` does the swapping, ``sending`` one attempt through the client's own ``send``, ``under_way`` says which
call an attempt belongs to. May import ``capture``, ``streams`` and genai; no model client and no HTTP library.
"""
