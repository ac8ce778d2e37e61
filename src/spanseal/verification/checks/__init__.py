"""One check per file; each says in its message what was wrong and what is expected.

Pure: may import ``verification.check``, the strict JSON readers beside it, genai values, settings' values and errors.
"""
