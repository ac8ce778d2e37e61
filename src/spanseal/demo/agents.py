"""The agent of the demo and its three questions. May import everything below the demo."""

from __future__ import annotations

from dataclasses import dataclass

from spanseal.adapters.base import LLMAdapter
from spanseal.agent.build import VerifiableAgent
from spanseal.control.plane import ControlPlane
from spanseal.control.policies.max_steps import MaxStepsPolicy
from spanseal.control.policies.token_budget import TokenBudgetPolicy
from spanseal.demo.rules import AskBeforeBuyingPolicy, FreshRetryPolicy, GroundedPolicy, OnePathPolicy
from spanseal.demo.shop import OrderBook, calculator, price_of
from spanseal.verification.checks.max_length import MaxLengthCheck
from spanseal.verification.checks.not_empty import NotEmptyCheck
from spanseal.verification.pipeline import VerificationPipeline

QUESTIONS = ("How much is 128 plus 64?", "What does a lamp cost?", "Order 2 lamps.")

INSTRUCTIONS = """You work in a shop. Examples:
How much is 5 times 7? -> {"action": "calculator", "input": {"expression": "5 * 7"}}
What does a chair cost? -> {"action": "price_of", "input": {"item": "chair"}}
Order three shelves. -> {"action": "order", "input": {"item": "shelf", "count": 3}}"""


@dataclass(frozen=True, slots=True)
class Shop:
    """The agent and the world it acts on."""

    agent: VerifiableAgent
    orders: OrderBook


def build_shop(adapter: LLMAdapter) -> Shop:
    """An agent with three tools. The first attempt of a step is free text, a retry has the schema enforced."""
    orders = OrderBook()
    agent = VerifiableAgent(
        adapter,
        tools=[calculator, price_of, orders.tool()],
        verification=VerificationPipeline([NotEmptyCheck(), MaxLengthCheck(160)], name="answer"),
        control=ControlPlane([
            MaxStepsPolicy(6), TokenBudgetPolicy(8_000), OnePathPolicy(), FreshRetryPolicy(),
            AskBeforeBuyingPolicy(), GroundedPolicy(),
        ]),
        name="shop",
        instructions=INSTRUCTIONS,
        protocol="json",
        enforce_schema="on_retry",
        temperature=0.0,
        max_tokens=60,
        seed=7,
    )
    return Shop(agent, orders)
