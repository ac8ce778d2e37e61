"""The PromQL that the boards ask: over what the collector's span_metrics and signal_to_metrics connectors produce.

Everything here is text; `dashboards.agents` puts it on panels.
"""

CALLS = "traces_span_metrics_calls_total"
BUCKETS = "traces_span_metrics_duration_seconds_bucket"
TOKENS_IN = "spanseal_tokens_input_total"
TOKENS_OUT = "spanseal_tokens_output_total"

RUN = 'gen_ai_operation_name="invoke_agent"'
CHAT = 'gen_ai_operation_name="chat"'
TOOL = 'gen_ai_operation_name="execute_tool"'
ERROR = 'status_code="STATUS_CODE_ERROR"'
RANGE = "$__range"
POINT = "$__rate_interval"


def select(metric: str, *matchers: str) -> str:
    """The metric's series of the services chosen on the board.

    >>> select("up", 'a="b"')
    'up{job=~"$job",a="b"}'
    """
    chosen = ",".join(['job=~"$job"', *matchers])
    return f"{metric}{{{chosen}}}"


def grown(series: str, window: str) -> str:
    """By how much counters grew within the window, a counter that began in it counted from zero.

    `increase` alone takes a new counter's first value as its start. Web servers do not care; an agent that ran once
    would not show at all. What began before is recognised by having a value in the day before the window.
    """
    before = f"last_over_time({series}[1d] offset {window})"
    old = f"(increase({series}[{window}]) and {before})"
    new = f"(last_over_time({series}[{window}]) unless {before})"
    return f"({old} or {new})"


def total(metric: str, *matchers: str, window: str, by: str = "") -> str:
    """Growth of all chosen counters together, or per value of the labels in `by`."""
    group = f" by ({by})" if by else ""
    return f"sum{group} {grown(select(metric, *matchers), window)}"


def quantile(share: float, *matchers: str, by: str) -> str:
    """The duration in seconds that `share` (0..1) of the chosen spans stayed under, per value of the labels in `by`."""
    return f"histogram_quantile({share}, {total(BUCKETS, *matchers, window=POINT, by=f'le, {by}')})"
