"""What the tests of the whole line share.

``app.py`` is the application under test, a process of its own; ``shop.py`` and ``script.py`` are what it runs;
``running.py`` starts it. ``wiretap.py`` stands between it and the model and keeps the bytes. ``seen.py`` is a span
as some place tells it, ``places.py`` asks the places; ``whole.py`` starts them together.
"""
