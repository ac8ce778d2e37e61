"""The numbering of spans: ``processor`` numbers each in its run and hands it on, ``state`` remembers what is under way.

DESIGN 10.1 and 10.2. ``state`` may import records only, so that ``active`` and what carries a run can import it.
"""
