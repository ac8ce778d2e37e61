"""What the scripted application does on a word from the test: whole runs, or one that stops in its middle.

A script stands for the model where the test is about the way of the spans and a model would only cost time.
"""

import json
import sys
import time
from collections.abc import Callable

from tests.integration.line.shop import price_of

from spanseal import ChatRequest, RunResult, VerifiableAgent
from spanseal.testing import ScriptedModel

CALL = json.dumps({"action": "price_of", "input": {"item": "lamp"}})
ANSWER = json.dumps({"action": "final_answer", "input": {"answer": "24 dollars"}})


def scripted(word: str, report: Callable[[RunResult], None]) -> None:
    """`run`: a run of three steps. `stop`: the same, but in its third step the model never answers."""
    model = ScriptedModel([CALL, CALL, _never if word == "stop" else ANSWER])
    report(VerifiableAgent(model, tools=[price_of], name="scripted", protocol="json").run("What does a lamp cost?"))


def _never(_: ChatRequest) -> str:
    print("in the middle", flush=True)
    print("waiting", file=sys.stderr, flush=True)
    time.sleep(3600)
    return ANSWER
