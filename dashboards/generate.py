"""Writes the Grafana board `agents.json`: `python -m dashboards.generate`; lists every query on it, for tests.

The JSON is committed, so that Grafana needs nothing but files; a test holds that it is what this makes.
"""

import json
from pathlib import Path

from dashboards.agents import build
from dashboards.promql import POINT, RANGE

BOARD = Path(__file__).with_name("agents.json")


def text() -> str:
    """The content that the committed file must have."""
    return json.dumps(build(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def queries(*, job: str = ".+", window: str = "1m", span: str = "1h") -> list[tuple[str, str]]:
    """(Panel title, PromQL) of every query on the board, ready to run.

    Args:
        job: what the variable `$job` stands for, a regular expression.
        window: `$__rate_interval`, a Prometheus duration.
        span: `$__range`, likewise.

    >>> queries()[0][0]
    'Runs'
    """
    values = {"$job": job, POINT: window, RANGE: span}
    found: list[tuple[str, str]] = []
    for panel in build()["panels"]:
        for target in panel["targets"]:
            expression = str(target["expr"])
            for name, value in values.items():
                expression = expression.replace(name, value)
            found.append((str(panel["title"]), expression))
    return found


if __name__ == "__main__":
    BOARD.write_text(text(), encoding="utf-8")
