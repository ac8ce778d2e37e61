"""Runs inside runs: linked both ways, shown at their place in the tree, told apart in the table."""

from __future__ import annotations

from spanseal.replay.inner_runs import InnerRun, related
from spanseal.replay.render.json import part_document
from spanseal.replay.render.table import table
from spanseal.replay.render.text import PLAIN
from spanseal.replay.render.tree import tree
from spanseal.replay.run import Node, Other, Run, Step

T = 1_700_000_000_000_000_000


def run(name: str, parent: str = "", parent_span: str = "", *, at: int = 0, children: tuple[str, ...] = ()) -> Run:
    """A run with a step that has two spans; ids are made of its name."""
    ended = T + at + 9_000_000
    below = [Other(span_id=f"{name}{n}", name=f"{name} {n}", started=T + at + n, ended=T + at + n) for n in (1, 5)]
    step = Node(Step(span_id=f"{name}0", number=3, step=3, started=T + at + 1), tuple(Node(part) for part in below))
    root = Other(span_id=f"{name}r", parent_id=parent_span, name=f"invoke_agent {name}", started=T + at, ended=ended)
    return Run(
        run_id=name * 32, trace_id="0" * 32, agent=f"agent {name}", outcome="completed", started=T + at, ended=ended,
        parent_run_id=parent * 32, children=children, tree=(Node(root, (step,)),),
    )  # fmt: skip


def test_an_inner_run_stands_where_it_started_and_both_name_each_other() -> None:
    outer, inner = related([run("a"), run("b", "a", "a0", at=3)])
    assert outer.children == (inner.run_id,)
    step = outer.tree[0].children[0]
    assert [node.part.name for node in step.children] == ["a 1", "invoke_agent b", "a 5"]
    place = step.children[1].part
    assert isinstance(place, InnerRun)
    assert (place.run_id, place.step) == (inner.run_id, 3)
    assert part_document(place)["kind"] == "innerrun"
    text = [line.plain for line in tree(outer, 100, PLAIN)]
    assert any("run bbbbbbbbbbbb agent b" in line and "completed" in line and "9.00 ms" in line for line in text)


def test_runs_that_name_each_other_as_parents_end() -> None:
    one, other = related([run("a", "b", "b1"), run("b", "a", "a1")])
    assert (one.children, other.children) == ((other.run_id,), (one.run_id,))
    assert list(tree(one, 100, PLAIN))


def test_a_child_whose_place_is_not_here_is_listed_all_the_same() -> None:
    outer, inner = related([run("a", children=("c" * 32,)), run("b", "a", "elsewhere")])
    assert outer.children == ("c" * 32, inner.run_id)
    assert [note.where for note in outer.notes] == [f"run {'c' * 32}"]
    assert outer.tree[0].children[0].children == run("a").tree[0].children[0].children


def test_the_table_names_the_run_around_only_where_there_is_one() -> None:
    head, first, second = (line.plain for line in table([run("a"), run("b", "a")], 200, PLAIN))
    assert head.split()[-1] == "inside"
    assert first.split()[-1] != "aaaaaaaaaaaa"
    assert second.split()[-1] == "aaaaaaaaaaaa"
    assert "inside" not in next(iter(table([run("a")], 200, PLAIN))).plain
    assert "inside" not in next(iter(table([run("a"), run("b", "a")], 80, PLAIN))).plain
