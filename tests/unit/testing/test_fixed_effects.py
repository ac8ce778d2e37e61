"""Fixed clock, ids and randomness give what a test sets, and fit where the real ones fit."""

from __future__ import annotations

from spanseal.effects import Clock, Effects, Ids, Randomness
from spanseal.testing import FixedClock, FixedEffects, FixedIds, FixedRandomness


def test_the_clock_stands_until_told() -> None:
    clock = FixedClock(5, step_ns=2)
    assert [clock.time_ns(), clock.time_ns()] == [5, 7]
    clock = FixedClock(0)
    clock.advance(1.5)
    clock.sleep(0.5)
    assert (clock.time_ns(), clock.monotonic(), clock.slept) == (2_000_000_000, 2.0, [0.5])


def test_ids_are_counted_and_bytes_follow_from_the_seed() -> None:
    ids = FixedIds(first=255)
    assert ids.run_id() == f"{255:032x}"
    one, same, other = FixedRandomness(1), FixedRandomness(1), FixedRandomness(2)
    drawn = [one.bytes(40), one.bytes(40)]
    assert drawn == [same.bytes(40), same.bytes(40)]
    assert drawn[0] != drawn[1]
    assert drawn[0] != other.bytes(40)
    assert [len(one.bytes(count)) for count in (0, 1, 32, 33)] == [0, 1, 32, 33]


def test_the_bundle_is_an_effects_value_of_its_own() -> None:
    effects: Effects = FixedEffects()
    clock: Clock = effects.clock
    ids: Ids = effects.ids
    random: Randomness = effects.random
    assert (clock.time_ns(), ids.run_id(), len(random.bytes(3))) == (1_700_000_000_000_000_000, f"{1:032x}", 3)
    assert FixedEffects().clock is not FixedEffects().clock
