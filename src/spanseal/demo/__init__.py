"""What ``spanseal demo`` runs: a real model in a small shop, watched, checked, stopped, sealed, replayed, attacked.

May import everything below it.
"""
