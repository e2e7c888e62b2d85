"""`actorstream profile`: the costs of a small topology, measured for real."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from time import monotonic, process_time, sleep
from types import MappingProxyType
from typing import Any

import pytest

from actorstream.cli.main import main
from actorstream.connectors.sink import Sink
from actorstream.control.interrupted import Interrupted
from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.launch.fork import fork_worker
from actorstream.launch.launcher import Launcher
from actorstream.metrics.counters import Counter
from actorstream.placement.rlas import MachineModel, Profile, Socket, dataflow_of, load_profile
from actorstream.placement.rlas.costs import costs_of
from actorstream.placement.rlas.instance import instance_of
from actorstream.placement.rlas.worker_rates import on_workers
from actorstream.plan.compile import read_job
from actorstream.plan.fuse import fusible
from actorstream.profiling import watch
from actorstream.profiling.profiler import Profiler
from actorstream.profiling.stages import COPY, with_replicas
from actorstream.profiling.together import ActorWork, WholeRun
from actorstream.profiling.whole_runs import WholeRuns
from actorstream.topology.graph import Graph
from actorstream.topology.machine import read_machine
from tests.covering import sampled
from tests.integration.processes import ROOT

TOPOLOGY = """
[actors.numbers]
type = "generator-source"
schema = { ts = "int64", number = "int64" }
count = 100
event_time = "ts"

[actors.halves]
type = "split"
inputs = ["numbers"]
cases = { even = "number % 2 == 0" }

[actors.sums]
type = "aggregate"
inputs = [{ from = "halves.even", route = "key", key = "number" }]
key = ["number"]
window = { type = "tumbling", size = "1s" }
aggregates = { total = "sum(number)" }

[actors.never]
type = "filter"
inputs = ["halves.late"]
where = "number > 0"

[actors.nowhere]
type = "null-sink"
inputs = ["never"]

[actors.file]
type = "csv-sink"
inputs = ["sums"]
path = "out/sums.csv"
"""


def profiled(topology: Path, folder: Path, *, batch_size: int = 512, rows: int = 5000) -> Profile:
    """The profile that the command line makes, as folder/profile.toml."""
    out = folder / "profile.toml"
    given = ["--batch-size", str(batch_size), "--rows", str(rows), "--seconds", "0.02"]
    assert main(["profile", str(topology), *given, "--out", str(out), "-q"]) == 0
    return load_profile(out)


def test_every_operator_and_chain_is_measured_and_nothing_is_left_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "topology.toml"
    file.write_text(TOPOLOGY)
    made = profiled(file, tmp_path)
    shown = capsys.readouterr()
    assert "never is not measured: no row of the sample reaches it" in shown.err
    assert shown.out.startswith("operator ") and "ns/row at 512" in shown.out
    assert {"numbers", "halves", "sums", "file", "sums+file"} <= made.operators.keys()
    halves = made.operators["halves"]
    # in so short a run the rows on their way between two actors count
    assert halves.outputs["even"].selectivity == pytest.approx(0.5, abs=0.2)
    assert halves.outputs["even"].bytes == pytest.approx(16, abs=4)
    costs = halves.batches[0].execute_ns
    assert 0 < costs["min"] <= costs["p50"] <= costs["max"]
    assert made.operators["sums"].batches[0].rows == 512
    assert made.operators["never"].batches[0].execute_ns["p50"] == 0.0
    assert made.jumbo_take_ns > 0 or len(os.sched_getaffinity(0)) == 1, (
        "the way to another worker needs two cores"
    )
    assert sorted(each.name for each in tmp_path.iterdir()) == ["profile.toml", "topology.toml"]


@sampled("format", ["iceberg", "parquet", "delta"], quick=2)
def test_a_table_is_not_written_while_its_topology_is_profiled(tmp_path: Path, format: str) -> None:
    (tmp_path / "there").mkdir()
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/there/catalog.db"}
    keys = ['type = "spark-sink"', f'format = "{format}"']
    if format == "iceberg":
        keys += ['table = "db.sums"', f'catalog = {{ type = "sql", uri = "{catalog["uri"]}" }}']
    file = tmp_path / "topology.toml"
    file.write_text(
        TOPOLOGY.replace('type = "csv-sink"', "\n".join(keys)).replace("out/sums.csv", "there/sums")
    )
    made = profiled(file, tmp_path)
    assert made.operators["file"].batches[0].execute_ns["p50"] > 0
    assert not list((tmp_path / "there").iterdir()), "nor is there a catalog"


TWO_FILES = """
[actors.numbers]
type = "generator-source"
schema = { number = "int64" }

[actors.first]
type = "csv-sink"
inputs = ["numbers"]
replicas = 2
path = "first/rows.csv"

[actors.second]
type = "csv-sink"
inputs = ["numbers"]
path = "second/rows.csv"
"""


def test_files_of_one_name_and_the_parts_of_a_sink_with_replicas_do_not_meet_while_they_are_profiled(
    tmp_path: Path,
) -> None:
    file = tmp_path / "topology.toml"
    file.write_text(TWO_FILES)
    assert {"first", "second"} <= profiled(file, tmp_path).operators.keys()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["profile.toml", "topology.toml"]


def test_numbers_that_cannot_be_are_named_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "topology.toml"
    file.write_text(TOPOLOGY)
    assert main(["profile", str(file), "--batch-size", "0", "--rows", "0", "--seconds", "0"]) == 2
    shown = capsys.readouterr().err
    assert "--batch-size: is 0" in shown and "--rows: is 0" in shown and "--seconds: is 0" in shown


ORDERED = """
[actors.rows]
type = "csv-source"
path = "rows.csv"
schema = { ts = "int64", number = "int64" }
event_time = "ts"

[actors.more]
type = "map"
inputs = [{ from = "rows", order = "timestamp" }]
set = { number = "number + 1" }

[actors.nowhere]
type = "null-sink"
inputs = ["more"]
"""


def test_a_file_is_not_begun_again_where_its_event_time_matters(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("ts,number\n" + "".join(f"{row},{row}\n" for row in range(2000)))
    file = tmp_path / "topology.toml"
    file.write_text(ORDERED)
    made = profiled(file, tmp_path, batch_size=64, rows=1000)
    assert {"rows", "more", "nowhere"} <= made.operators.keys()


RARE = """
[actors.numbers]
type = "generator-source"
schema = { ts = "int64", number = "int64" }

[actors.none]
type = "filter"
inputs = ["numbers"]
where = "number < 0"

[actors.file]
type = "csv-sink"
inputs = [{ from = "none", route = "key", key = "number" }]
replicas = 2
path = "out/none.csv"
"""


def test_the_sample_of_a_chain_has_an_end_although_no_row_of_its_source_leaves_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "topology.toml"
    file.write_text(RARE)
    chain = profiled(file, tmp_path).operators["numbers+none"]
    assert chain.batches[0].execute_ns["p50"] > 0
    assert chain.outputs["default"].selectivity == 0
    assert "file is not measured: no row of the sample reaches it" in capsys.readouterr().err


def test_sources_of_a_program_are_measured_and_it_is_not_although_its_sinks_are_called_directly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = profiled(ROOT / "apps" / "value_barrier" / "bench.toml", tmp_path)
    assert made.operators.keys() == {"barriers", "values", "sums"}
    assert made.operators["values"].batches[0].execute_ns["p50"] > 0
    assert "the topology has a program, so costs are those of operators alone" in capsys.readouterr().err


def wait_for(condition: Callable[[], bool], most_s: float) -> None:
    end = monotonic() + most_s
    while not condition() and monotonic() < end:
        sleep(0.001)


class SlowToStart(Sink):
    """Its worker works for longer than it is looked at before the first row is there."""

    def on_start(self) -> None:
        begin = process_time()
        while process_time() - begin < 0.3:
            pass

    def on_batch(self, batch: Batch) -> None:
        pass


def test_a_run_ends_although_its_first_rows_come_before_the_worker_that_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start_late(job: Any, process: int, *given: Any) -> Any:
        source = next(each.id for each in job.plan.replicas if each.actor == "numbers")
        if process == 1:
            wait_for(lambda: job.counters.value(source, Counter.EVENTS_OUT) > 0, 60)
            wait_for(lambda: all(each.name != "actorstream-watch" for each in threading.enumerate()), 0.2)
        return fork_worker(job, process, *given)

    monkeypatch.setattr(watch, "Launcher", partial(Launcher, start=start_late))
    file = tmp_path / "topology.toml"
    slow = f'type = "{__name__}:{SlowToStart.__name__}"'
    file.write_text(
        TOPOLOGY.replace("count = 100", "count = 1000000000000")
        .replace('type = "csv-sink"', slow)
        .replace('path = "out/sums.csv"', "")
    )
    job = read_job(file, None, [])
    run = watch.watch_whole(job.graph, job.deploy, read_machine(), seconds=0.2, apart=["sums", "file"])
    assert run.cpu_ns > 0
    assert run.actors["sums"].rows_in > 0


@pytest.mark.parametrize(
    ("failed", "noted"),
    [
        (OperatorError("numbers", 0, "its port is in use"), "its port is in use"),
        (None, "the second had 0 rows"),
    ],
)
def test_what_cannot_be_there_twice_is_profiled_without_contention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failed: Exception | None, noted: str
) -> None:
    runs: list[bool] = []

    def alone(self: WholeRuns, *given: Any, contended: bool = False) -> tuple[Graph, WholeRun]:
        runs.append(contended)
        if contended and failed:
            raise failed
        actors = {"numbers": ActorWork(0, 1000, 1000, 1000), "more": ActorWork(1000, 1000, 1000, 1000)}
        return job.graph, WholeRun(5000, actors | {"nowhere": ActorWork(1000, 0, 0, 0)})

    file = tmp_path / "topology.toml"
    file.write_text(SPREAD)
    job = read_job(file, None, [])
    monkeypatch.setattr(WholeRuns, "run", alone)
    monkeypatch.setattr(WholeRuns, "apart", lambda self, *told: alone(self)[1])
    profiler = Profiler(job.graph, job.deploy, hertz=1e9, batch_sizes=[512], rows=2000, seconds=0.02)
    assert profiler.profile().contention == 1.0
    assert sum(runs) == 1, "it is not tried again"
    assert [each for each in profiler.notes if noted in each]


def test_an_interrupt_ends_a_profile_also_while_a_copy_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: WholeRuns, *given: Any, contended: bool = False) -> tuple[Graph, WholeRun]:
        if contended:
            raise Interrupted(drained=False)
        return job.graph, WholeRun(5000, dict.fromkeys(job.graph.actors, ActorWork(1000, 1000, 1000, 1000)))

    file = tmp_path / "topology.toml"
    file.write_text(SPREAD)
    job = read_job(file, None, [])
    monkeypatch.setattr(WholeRuns, "run", interrupted)
    with pytest.raises(Interrupted):
        Profiler(job.graph, job.deploy, hertz=1e9, batch_sizes=[512], rows=2000, seconds=0.02).profile()


JOINED = """
[actors.names]
type = "csv-source"
path = "names.csv"
schema = { number = "int64", name = "str" }

[actors.numbers]
type = "generator-source"
schema = { number = "int64" }
count = 100

[actors.joined]
type = "static-join"
inputs = ["numbers"]
table = "names"
on = "number"
how = "left"

[actors.nowhere]
type = "null-sink"
inputs = ["joined"]
"""


def test_a_table_is_read_to_its_end_in_runs_of_the_whole_topology(tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("number,name\n" + "".join(f"{row},n{row}\n" for row in range(100)))
    file = tmp_path / "topology.toml"
    file.write_text(JOINED)
    made = profiled(file, tmp_path, batch_size=64, rows=1000)
    assert made.operators["joined"].outputs["default"].selectivity == pytest.approx(1.0)
    assert made.operators["joined"].in_run != 1.0, "the run of the whole topology had rows"


def test_a_copy_on_another_core_works_while_the_first_is_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "topology.toml"
    file.write_text(TOPOLOGY.replace("count = 100", "count = 1000000000000"))
    job = read_job(file, None, [])
    run = watch.watch_whole(job.graph, job.deploy, read_machine(), seconds=0.2, contended=True)
    for name in ("sums", f"{COPY}sums"):
        assert run.actors[name].rows_in > 0
    assert run.cpu_ns > 0


SPREAD = """
[actors.numbers]
type = "generator-source"
schema = { number = "int64" }
count = 100

[actors.more]
type = "map"
inputs = [{ from = "numbers", key = "number" }]
replicas = 2
set = { number = "number + 1" }

[actors.nowhere]
type = "null-sink"
inputs = ["more"]
replicas = 2
"""


@sampled("several_ns", [19.0, 30.0, 16.5], quick=1)
def test_the_model_predicts_of_the_runs_that_a_profile_is_scaled_to_what_they_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, several_ns: float
) -> None:
    """With one replica of each actor, and with two on one core, whose hooks take more, and whose jumbo tuples are smaller."""
    file = tmp_path / "topology.toml"
    file.write_text(SPREAD)
    hooks = {False: (2, 8), True: (2, 9 if several_ns < 20 else 14)}
    """Nanoseconds a row of the hooks of the source and of its consumer, by whether there are two."""

    def whole(
        self: WholeRuns, counts: Mapping[str, int] = MappingProxyType({}), *, contended: bool = False
    ) -> tuple[Graph, WholeRun]:
        source, more = (1000 * each for each in hooks[bool(counts)])
        actors = {
            "numbers": ActorWork(0, 1000, source, source),
            "more": ActorWork(1000, 1000, more, more),
            "nowhere": ActorWork(1000, 0, 0, 0),
        }
        return with_replicas(job.graph, counts, {}), WholeRun(
            int(1000 * (several_ns if counts else 15.0)), actors
        )

    job = read_job(file, None, [])
    monkeypatch.setattr(WholeRuns, "run", whole)
    monkeypatch.setattr(WholeRuns, "apart", lambda *told: whole(*told[:1])[1])
    known = Profiler(
        job.graph, job.deploy, hertz=1e9, batch_sizes=[512, 8192], rows=20_000, seconds=0.02
    ).profile()
    machine = MachineModel(
        name="one core", sockets=[Socket(cores=1, hertz=1e9)], latency_ns=[[0.0]], bandwidth=[[1e12]]
    )
    flow = dataflow_of(job.graph, direct=fusible)
    costs = costs_of(flow, known, rows=4096)
    for count, expected in ((1, 15.0), (2, several_ns)):
        replicas = [count if "more" in each.members else 1 for each in flow.operators]
        instance = instance_of(costs, machine, replicas)
        seats = [0] * len(instance.groups)
        assert 1e9 / on_workers(instance, seats, seats).ingress == pytest.approx(expected, rel=0.01)
