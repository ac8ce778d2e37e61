"""What the stream tests have in common."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest


@pytest.fixture(autouse=True, scope="module")
def quick_collections() -> Generator[None]:
    """What the libraries hold is looked through once, not in every test that collects garbage."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
