"""What people and models wrote, made fit for an attribute: any value as JSON text, secrets masked, size bounded.

May import genai's names and ``active``.
"""
