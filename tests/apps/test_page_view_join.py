"""The page-view join: the program is its reference, on the shipped data and on random streams; its generator."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.dgs.sequential import InputStream
from actorstream.testing import check_program
from apps.page_view_join import generate, reference
from apps.page_view_join.events import Update, View
from apps.page_view_join.program import PageViewJoin
from tests.apps.dependency import (
    APPS,
    Out,
    Row,
    as_csv,
    deployments,
    launch,
    outputs,
    quick,
    read_all,
    rows_of,
    streams,
)

DATA = APPS / "page_view_join" / "data"


def by_program(
    views: list[Row], updates: list[Row], batches: bool, classes: int = 0
) -> tuple[list[Out], list[Out]]:
    inputs = streams("updates", Update, updates) + streams("views", View, views, "stream")
    found = outputs(PageViewJoin(classes=classes), inputs, batches)
    return found.get("joined", []), found.get("replaced", [])


@pytest.mark.parametrize(("batches", "classes"), [(False, 0), (True, 0), (True, 2)])
def test_the_program_joins_as_the_reference_does(batches: bool, classes: int) -> None:
    views, updates = rows_of(DATA / "views.csv.gz"), rows_of(DATA / "updates.csv")
    joined, replaced = by_program(views, updates, batches, classes)
    expected = reference.join(views, updates)
    assert sorted(joined, key=str) == sorted(expected[0], key=str)
    assert replaced == expected[1]
    assert len(joined) == 8000
    assert any(metadata is None for *_, metadata in joined)
    assert {row["ts"] for row in views} & {row["ts"] for row in updates}


times = st.integers(0, 6)
pages = st.sampled_from(["p", "q", "r"])


@given(
    st.lists(st.tuples(st.sampled_from("ab"), times, pages), max_size=12),
    st.lists(st.tuples(times, pages, st.sampled_from(["", "m", "n"])), max_size=5),
    st.booleans(),
    st.sampled_from([0, 2]),
)
def test_random_streams_with_ties_give_what_the_reference_gives(
    views: list[tuple[str, int, str]], updates: list[tuple[int, str, str]], batches: bool, classes: int
) -> None:
    viewed = [
        {"stream": name, "ts": str(ts), "view_id": f"v{number}", "page": page}
        for number, (name, ts, page) in enumerate(sorted(views, key=lambda view: view[1]))
    ]
    updated = [
        {"ts": str(ts), "page": page, "metadata": metadata}
        for ts, page, metadata in sorted(updates, key=lambda update: update[0])
    ]
    joined, replaced = by_program(viewed, updated, batches, classes)
    expected = reference.join(viewed, updated)
    assert sorted(joined, key=str) == sorted(expected[0], key=str)
    assert replaced == expected[1]


def test_an_update_goes_before_the_views_of_its_time() -> None:
    views = [{"stream": "a", "ts": ts, "view_id": f"v{ts}", "page": "p"} for ts in ("1", "2", "3")]
    joined, replaced = by_program(views, [{"ts": "2", "page": "p", "metadata": "m"}], False)
    assert joined == [("v1", 1, "p", None), ("v2", 2, "p", "m"), ("v3", 3, "p", "m")]
    assert replaced == [(2, "p", None, "m")]


def test_a_fork_gives_pages_to_the_side_that_sees_them_and_both_where_both_have_views() -> None:
    program = PageViewJoin(pages=["p", "q", "r"])
    state = program.State({"p": "1", "q": "2", "r": "3"})
    view_p, view_q, update_q = program.tag("view", "p"), program.tag("view", "q"), program.tag("update", "q")
    left, right = program.fork(state, frozenset({view_p}), frozenset({view_p, view_q, update_q}))
    assert left.pages == {"p": "1", "r": "3"}
    assert right.pages == {"p": "1", "q": "2"}
    right.pages["q"] = "4"
    assert program.join(left, right).pages == {"p": "1", "q": "4", "r": "3"}


def test_the_data_of_the_app_is_what_the_command_writes(tmp_path: Path) -> None:
    generate.write(tmp_path, 4, 5, 20, 100, 1)
    for name in ("views.csv.gz", "updates.csv"):
        assert rows_of(tmp_path / name) == rows_of(DATA / name)


def test_generated_views_do_not_depend_on_how_many_are_read_at_once() -> None:
    few, many = (read_all(generate.Views(count=140_001, shards=2), rows) for rows in (777, 1 << 20))
    assert few == many
    assert len({event.ts for events in few.values() for event in events}) == 140_001
    assert [{event.page for event in events} for events in few.values()] == [{"page0"}, {"page1"}]


def test_generated_updates_come_to_each_page_after_as_many_views_as_asked_for() -> None:
    views = read_all(generate.Views(count=80, shards=2), 7)
    updates = read_all(generate.Updates(count=6, shards=2, per_update=10), 4)
    inputs = [InputStream("updates", updates[0])]
    inputs += [InputStream("views", events) for events in views.values()]
    found = outputs(PageViewJoin(), inputs, True)
    assert [row[0] for row in found["replaced"]] == [20, 30, 40, 50, 60, 70]
    metadata = [row[3] for row in sorted(found["joined"], key=lambda row: row[1]) if row[2] == "page0"]
    assert metadata == [None] * 10 + ["zip 0"] * 10 + ["zip 2"] * 10 + ["zip 4"] * 10


@pytest.mark.parametrize("classes", [0, 2])
def test_the_program_is_consistent(classes: int) -> None:
    check_program(PageViewJoin(classes=classes), {"views": View, "updates": Update}, examples=30)


def check_launch(folder: Path, *options: str) -> None:
    joined, replaced = reference.join(rows_of(DATA / "views.csv.gz"), rows_of(DATA / "updates.csv"))
    found = launch(APPS / "page_view_join" / "topology.toml", folder, ["joined", "replaced"], *options)
    assert [found["joined"][0], *sorted(found["joined"][1:])] == as_csv(reference.JOINED, joined)
    assert [found["replaced"][0], *sorted(found["replaced"][1:])] == as_csv(reference.REPLACED, replaced)


@pytest.mark.parametrize("options", quick("join", 15), ids=" ".join)
def test_a_launch_gives_what_the_reference_gives(options: tuple[str, ...], tmp_path: Path) -> None:
    check_launch(tmp_path, *options)


@pytest.mark.slow
@pytest.mark.parametrize("options", deployments("join"), ids=" ".join)
def test_a_launch_gives_the_same_under_every_deployment(options: tuple[str, ...], tmp_path: Path) -> None:
    check_launch(tmp_path, *options)


@pytest.mark.slow
@pytest.mark.parametrize("options", quick("join"), ids=" ".join)
def test_a_launch_with_hash_classes_gives_the_same(options: tuple[str, ...], tmp_path: Path) -> None:
    check_launch(tmp_path, *options, "--set", "actors.join.classes=2")
