"""What the suites of the Yahoo benchmark check and say."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.dataflow import Ran
from benchmarks.job import JobError
from benchmarks.loops.ysb import KEPT_BATCHES
from benchmarks.suite import Settings
from benchmarks.suites.ysb import PEERS
from benchmarks.yahoo import STAR, SWA, YSB, Kept, PeerRun, check, peer_probes, replicated, summary


def written(folder: Path, *rows: str) -> Path:
    path = folder / "results.csv"
    path.write_text("\n".join(["header", *rows]) + "\n")
    return path


def test_counts_that_add_up_to_what_came_are_right(tmp_path: Path) -> None:
    check(YSB, Ran({"events_out": {"campaigns": 5}}, []), written(tmp_path, "7,1000,2", "8,1000,3"))
    star = {"events_out": {"campaigns": 3, "click_campaigns": 4}}
    check(STAR, Ran(star, []), written(tmp_path, "7,1000,1,3,3.0", "8,1000,2,1,0.5"))
    check(SWA, Ran({"events_out": {"events": 1}}, []), written(tmp_path, *["7,1000,1"] * 10))


def test_a_lost_row_fails_the_run(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="count 5 rows of 'campaigns', and 6 came"):
        check(YSB, Ran({"events_out": {"campaigns": 6}}, []), written(tmp_path, "7,1000,2", "8,1000,3"))


def test_a_run_without_rows_fails(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="ended before a row of 'campaigns' came"):
        check(YSB, Ran({"events_out": {"campaigns": 0}}, []), written(tmp_path))


@pytest.mark.parametrize("workload", [YSB, STAR, SWA], ids=lambda each: each.name)
def test_the_app_has_the_actors_that_runs_set(workload: object) -> None:
    assert {"events", "windows"} <= set(replicated(workload))  # type: ignore[arg-type]


def test_kept_batches_hold_the_rows_of_the_generator_at_one_event_time() -> None:
    source = Kept(seconds=3600.0)
    batches = [source.read(1000) for _ in range(KEPT_BATCHES + 1)]
    assert batches[0] is batches[KEPT_BATCHES]
    first = batches[1]
    assert first is not None
    assert len(first) == 1000
    assert len(set(first["event_time"].tolist())) == 1
    assert set(first.column("event_type").tolist()) == {"view", "click", "purchase"}


def test_a_source_of_kept_batches_ends_after_its_time() -> None:
    assert Kept(seconds=0.0).read(1000) is None


def test_only_named_peers_take_part() -> None:
    assert peer_probes(PEERS, Settings()) == []
    (first, second) = peer_probes(PEERS, Settings(peers=("bytewax",)))
    assert (first.cases[0].name, second.cases[0].name) == ("bytewax-1", "bytewax-2")


def test_every_peer_has_its_program() -> None:
    folder = Path(__file__).parents[3] / "benchmarks" / "peers"
    assert [run.program for run in PEERS if not (folder / run.program).exists()] == []
    assert all(isinstance(run, PeerRun) for run in PEERS)


def test_the_summary_sets_our_scaling_beside_that_of_the_kernels_and_our_rate_beside_the_peers() -> None:
    medians = {
        "native-1": 100.0,
        "native-2": 190.0,
        "kernels-generated-1": 50.0,
        "kernels-generated-2": 100.0,
    }
    scaling, flink = summary({**medians, "flink-2": 9.5, "flink-strings-2": 1.0, "c-loop-1": 1.0})
    assert scaling == "one core to two: native 1.90, bare kernels 2.00: 0.95 of theirs"
    assert flink == "native-2 is 20.0 times flink-2"
