"""Obtaining and starting the real services that integration tests talk to.

`cache` keeps what was built, `toolchain` finds Go, `debian` unpacks packages, `build` makes the binaries, `missing`
says what a machine lacks, `process` runs one service, `reaper` ends it when the test run dies, `services` and `models`
are what tests use. Imports the standard library, httpx and each other only; nothing of spanseal, so that a fault in the
product cannot hide one in the test bench.
"""
