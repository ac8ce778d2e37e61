"""Get the real services that integration tests use: `python -m tests.integration.parts build [NAME...]`."""

import argparse
import sys

from .build import PARTS, build_all
from .missing import missing, report
from .toolchain import PartError


def main() -> int:
    """`build` gets all parts or those named; `missing` says what the machine lacks. 0 good, 1 something is missing."""
    parser = argparse.ArgumentParser(prog="python -m tests.integration.parts", description=__doc__)
    parser.add_argument("command", choices=["build", "missing"])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PARTS)}; default all")
    options = parser.parse_args()
    if unknown := set(options.names) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if lacks := missing():
        print(report(lacks), file=sys.stderr)
        return 1
    if options.command == "build":
        try:
            build_all(tuple(options.names) or PARTS, lambda line: print(line, flush=True))
        except PartError as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
