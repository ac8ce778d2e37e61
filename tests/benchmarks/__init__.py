"""What spanseal costs, measured beside what the same machine needs for the plain work. ``python -m tests.benchmarks``

A benchmark is a module here that is a program of its own: ``python -m tests.benchmarks.NAME`` prints one table and
asserts nothing on seconds. ``--quick`` makes it small, to show that it works. Programs, not functions: each measures
a fresh process, so that none has the other's memory or warm caches.
"""
