"""The kinds of panels that the boards are made of, each with its look decided once; plain JSON values.

Grafana's classic panel schema. A title, a description and a unit are no options here: every panel has them.
"""

from collections.abc import Mapping
from typing import Any

from dashboards import promql

PROMETHEUS = {"type": "prometheus", "uid": "spanseal-prometheus"}
Panel = dict[str, Any]


def number(title: str, about: str, expression: str) -> Panel:
    """One count over the time shown on the board."""
    panel = _panel("stat", title, about, {"unit": "short", "decimals": 0, "noValue": "0"})
    reduced = {"calcs": ["lastNotNull"], "fields": "", "values": False}
    panel["options"] = {"colorMode": "value", "graphMode": "none", "textMode": "auto", "reduceOptions": reduced}
    panel["targets"] = [_query("A", expression, "", instant=True)]
    return panel


def lines(title: str, about: str, queries: Mapping[str, str], unit: str = "short") -> Panel:
    """Values over time, for each legend (Grafana's form, `{{label}}`) one query."""
    # A run is a point in time, not a trend: without points a single one would be invisible.
    look = {"drawStyle": "line", "showPoints": "always", "pointSize": 6, "fillOpacity": 10}
    panel = _panel("timeseries", title, about, {"unit": unit, "min": 0, "custom": look})
    panel["options"] = {
        "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    refs = zip("ABCDEF", queries.items(), strict=False)
    panel["targets"] = [_query(ref, expression, legend, instant=False) for ref, (legend, expression) in refs]
    return panel


def calls(title: str, about: str, *matchers: str, by: tuple[str, ...]) -> Panel:
    """How many spans ended within each point's window, one line for each value of the labels."""
    expression = promql.total(promql.CALLS, *matchers, window=promql.POINT, by=", ".join(by))
    return lines(title, about, {" ".join(f"{{{{{label}}}}}" for label in by): expression})


def durations(title: str, about: str, kind: str, by: str) -> Panel:
    """Median and 95th percentile of the spans' durations, in seconds, for each value of a label."""
    shares = {"p50": 0.5, "p95": 0.95}
    queries = {f"{{{{{by}}}}} {name}": promql.quantile(share, kind, by=by) for name, share in shares.items()}
    return lines(title, about, queries, unit="s")


def _panel(kind: str, title: str, about: str, defaults: Mapping[str, Any]) -> Panel:
    fields = {"defaults": dict(defaults), "overrides": list[Any]()}
    return {"type": kind, "title": title, "description": about, "datasource": PROMETHEUS, "fieldConfig": fields}


def _query(ref: str, expression: str, legend: str, *, instant: bool) -> dict[str, Any]:
    return {
        "refId": ref, "datasource": PROMETHEUS, "expr": expression, "legendFormat": legend,
        "instant": instant, "range": not instant,
    }  # fmt: skip
