"""The board on what real agents did: each of its queries has an answer on the real Prometheus."""

from dashboards.generate import queries
from tests.integration.line import places
from tests.integration.line.running import Ran
from tests.integration.line.whole import Line


def test_every_query_has_an_answer_about_real_runs(line: Line, ran: Ran) -> None:
    asked = queries(job=ran.service, window="30m")
    assert len(asked) > 10

    def empty() -> list[str]:
        return [f"{title}: {query}" for title, query in asked if not places.ask(line.prometheus, query)]

    places.soon(lambda: not empty(), f"answers; still empty: {empty()}")


def test_the_numbers_on_it_are_those_of_the_runs(line: Line, ran: Ran) -> None:
    chats = [span for span in ran.spans.values() if span.name.startswith("chat ")]
    expected = {
        "Runs": len(ran.runs),
        "Runs not completed": sum(bool(run["error_type"]) for run in ran.runs.values()),
        "Model calls": len(chats),
        "Failed model calls": sum(span.status == 2 for span in chats),
        "Tokens": sum(sum(run["tokens"]) for run in ran.runs.values()),
        "Tool calls": sum(len(run["tools"]) for run in ran.runs.values()),
    }
    asked = dict(reversed(queries(job=ran.service)))  # the numbers come first, and some have a chart of their name

    def shown() -> dict[str, int]:
        answers = {title: places.ask(line.prometheus, asked[title]) for title in expected}
        return {title: round(float(found[0]["value"][1])) for title, found in answers.items() if found}

    places.soon(lambda: shown() == expected, f"{expected}; shown: {shown()}")
