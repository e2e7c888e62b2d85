"""The keyed counters: the program is its reference, on the shipped data and on random streams; its plan is figure 3's."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.connectors.csv_source import CsvSource
from actorstream.connectors.survey import survey
from actorstream.dgs import ImplementationTag
from actorstream.dgs.dependence import Dependence
from actorstream.dgs.optimizer.base import Question
from actorstream.dgs.optimizer.communication import communication
from actorstream.testing import check_program
from apps.keyed_counters import generate, reference
from apps.keyed_counters.events import Operation
from apps.keyed_counters.program import KeyedCounters
from tests.apps.dependency import (
    APPS,
    Out,
    Row,
    as_csv,
    deployments,
    launch,
    outputs,
    quick,
    rows_of,
    streams,
    write_rows,
)

DATA = APPS / "keyed_counters" / "data" / "events"


def by_program(files: list[list[Row]], batches: bool, classes: int = 0) -> list[Out]:
    inputs = [stream for rows in files for stream in streams("events", Operation, rows)]
    return outputs(KeyedCounters(classes=classes), inputs, batches).get("default", [])


@pytest.mark.parametrize(("batches", "classes"), [(False, 0), (True, 0), (True, 1)])
def test_the_program_reads_what_the_reference_reads(batches: bool, classes: int) -> None:
    files = [rows_of(path) for path in sorted(DATA.glob("*.csv.gz"))]
    found = by_program(files, batches, classes)
    assert found == list(reference.reads(row for rows in files for row in rows))
    assert len(found) == 250
    assert sum(count for *_, count in found) > 5000


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from("ir"), st.sampled_from(["1", "2", "x"])), max_size=20
    ),
    st.booleans(),
    st.sampled_from([0, 2]),
)
def test_a_random_stream_with_ties_gives_what_the_reference_gives(
    events: list[tuple[int, str, str]], batches: bool, classes: int
) -> None:
    rows = [
        {"ts": str(ts), "seq": str(seq), "op": op, "key": key}
        for seq, (ts, op, key) in enumerate(sorted(events, key=lambda event: event[0]))
    ]
    assert by_program([rows], batches, classes) == list(reference.reads(rows))


def test_events_of_equal_time_are_taken_file_by_file_and_the_reference_says_where_seq_wants_another_order() -> (
    None
):
    reset = [{"ts": "10", "seq": "5", "op": "r", "key": "1"}]
    increment = [{"ts": "10", "seq": "4", "op": "i", "key": "1"}]
    expected = list(reference.reads([*increment, *reset]))
    assert expected == [("1", 10, 5, 1)]
    assert by_program([increment, reset], batches=False) == expected
    reference.check_ties([increment, reset])
    assert by_program([reset, increment], batches=False) == [("1", 10, 5, 0)]
    with pytest.raises(
        ValueError, match="events of key '1' at 10 have the seq 5, 4 in the order of their files"
    ):
        reference.check_ties([reset, increment])
    reference.check_ties([[{**reset[0], "op": "i"}], increment])


def test_the_data_of_the_app_is_what_the_command_writes(tmp_path: Path) -> None:
    generate.write(tmp_path, 10, 1)
    for path in DATA.glob("*.csv.gz"):
        assert rows_of(tmp_path / path.name) == rows_of(path)


def test_times_of_the_data_differ_and_the_nodes_have_the_rates_of_example_b1() -> None:
    files = [rows_of(DATA / f"node{number}.csv.gz") for number in range(4)]
    assert [len(rows) for rows in files] == [100, 1150, 2000, 3000]
    assert len({row["ts"] for rows in files for row in rows}) == 6250


def test_rates_found_in_the_data_give_the_tree_of_figure_3() -> None:
    program = KeyedCounters()
    tagging = program.taggings()["events"]
    found = survey(CsvSource(DATA, event=Operation), tagging.columns).rates()
    rates = {
        ImplementationTag(tagging.tag(tagging.values[op], key), f"node{node}"): float(round(rate))
        for (node, (op, key)), rate in found.items()
    }
    places = {tag: tag.stream for tag in rates}
    plan = communication(
        Question(Dependence(rates, program.depends), rates, places, program.state_types(), workers=3)
    )
    assert plan.picture(rates).splitlines() == [
        "w1 State on node1: joins and forks only",
        "├─ w2 State on node1: r(1)@node1 15/s",
        "│  ├─ w3 State on node2: i(1)@node2 200/s",
        "│  └─ w4 State on node1: i(1)@node1 100/s",
        "└─ w5 State on node3: i(2)@node3 300/s, r(2)@node0 10/s",
    ]


@pytest.mark.parametrize("classes", [0, 2])
def test_the_program_is_consistent(classes: int) -> None:
    check_program(KeyedCounters(classes=classes), {"events": Operation}, examples=30)


def by_key(lines: list[str]) -> list[str]:
    """The lines of a result, those of a key in their order."""
    return [lines[0], *sorted(lines[1:], key=lambda line: line.split(",")[0])]


def check_launch(folder: Path, *options: str) -> None:
    rows = [row for path in sorted(DATA.glob("*.csv.gz")) for row in rows_of(path)]
    found = launch(APPS / "keyed_counters" / "topology.toml", folder, ["reads"], *options)["reads"]
    assert by_key(found) == by_key(as_csv(reference.COLUMNS, reference.reads(rows), ordered=True))


@pytest.mark.parametrize("options", quick("count", 12), ids=" ".join)
def test_a_launch_reads_what_the_reference_reads_in_order_for_each_key(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    check_launch(tmp_path, *options)


@pytest.mark.slow
@pytest.mark.parametrize("options", deployments("count"), ids=" ".join)
def test_a_launch_gives_the_same_under_every_deployment(options: tuple[str, ...], tmp_path: Path) -> None:
    check_launch(tmp_path, *options)


def test_ties_in_one_file_are_broken_by_their_order(tmp_path: Path) -> None:
    rows = [
        {"ts": str(seq // 7), "seq": str(seq), "op": "r" if seq * 37 % 11 < 3 else "i", "key": str(seq % 3)}
        for seq in range(700)
    ]
    path = write_rows(tmp_path / "events.csv", generate.COLUMNS, rows)
    options = ("--workers", "2", "--set", f"actors.events.path={path}")
    found = launch(APPS / "keyed_counters" / "topology.toml", tmp_path, ["reads"], *options)["reads"]
    assert by_key(found) == by_key(as_csv(reference.COLUMNS, reference.reads(rows), ordered=True))
