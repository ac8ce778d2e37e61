"""``python -m spanseal.cli``: the command line, where the script ``spanseal`` is not on the PATH."""

from spanseal.cli.main import main

main()
