"""The loop that asks a model, checks, decides, acts, and asks again. May import tools and everything below them.

``build`` is what users make, ``loop`` the pure step machine with its ``commands``, ``runner`` what carries them out.
"""
