"""The command line: one file per command, each light to import; the work is imported when a command runs.

May import everything below it.
"""
