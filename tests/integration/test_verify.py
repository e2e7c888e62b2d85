"""`actorstream verify` and `actorstream.testing.verify`, on apps and on a topology whose output depends on chance."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from actorstream import Topology
from actorstream.actors.contract import Contract
from actorstream.cli.main import main
from actorstream.errors import ConfigurationError, RunError
from actorstream.testing import NotTheSame, verify
from actorstream.verify.deployments import Deployment
from actorstream.verify.launches import FileTarget
from actorstream.verify.sinks import SinkOutput
from tests.integration.parts import Journal, Number, Numbers, Pass
from tests.integration.pooled import Fails
from tests.integration.serial_parts import Chain, Some
from tests.integration.test_documentation import files_of
from tests.stacks import descendants

ROOT = Path(__file__).resolve().parents[2]
ACTORSTREAM = [sys.executable, "-m", "actorstream"]
CHANCE = """
name = "chance"
[actors.numbers]
type = "tests.integration.parts:Numbers"
count = 600
[actors.some]
type = "tests.integration.serial_parts:Some"
inputs = ["numbers"]
replicas = 3
[actors.chain]
type = "tests.integration.serial_parts:Chain"
inputs = ["some"]
[actors.out]
type = "csv-sink"
inputs = ["chain"]
path = "out/out.csv"
"""


class Held(Numbers):
    """Waits at its start while somebody holds a pipe in the file system open for writing, in all runs but the first `free`."""

    def __init__(self, pipe: str, free: int, runs: str) -> None:
        super().__init__(10)
        self.pipe, self.free, self.runs = pipe, free, Journal(Path(runs))

    def on_start(self) -> None:
        self.runs.write("run")
        if len(self.runs.lines()) > self.free:
            with Path(self.pipe).open("rb") as pipe:
                pipe.read()


HELD = """
name = "held"
[actors.numbers]
type = "tests.integration.test_verify:Held"
[actors.out]
type = "csv-sink"
inputs = ["numbers"]
path = "out/out.csv"
"""


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*ACTORSTREAM, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)


def written(folder: Path, text: str = CHANCE) -> Path:
    path = folder / "chance.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("topology", "runs", "compared"),
    [
        ("word_count/topology", 2, {"counts": "multiset"}),
        ("ysb/topology", 1, {"counts": "multiset", "late": "multiset"}),
        ("tpcx_bb/q1", 1, {"result": "sequence"}),
        ("call_fraud/topology", 2, {"suspects": "sequence", "alerts": "sequence"}),
    ],
)
def test_an_app_is_the_same_under_a_few_deployments(
    topology: str,
    runs: int,
    compared: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    out = ROOT / "apps" / topology.split("/")[0] / "out"
    outputs = sorted(out.glob("*"))
    how = ["--runs", str(runs), "--workers", "3", "--batch-sizes", "97", "--json"]
    status, shown = main(["verify", f"apps/{topology}.toml", *how]), capsys.readouterr()
    assert status == 0, shown.err
    found = json.loads(shown.out)
    assert found["same"] and [each["same"] for each in found["runs"]] == [True] * runs
    assert {each["sink"]: each["compared_as"] for each in found["sinks"]} == compared
    assert max(each["rows"] for each in found["sinks"]) > 0
    assert f"the same under {runs} deployment" in shown.err
    assert sorted(out.glob("*")) == outputs


def test_an_output_that_depends_on_chance_is_caught_with_the_command_that_shows_it(tmp_path: Path) -> None:
    path, out = written(tmp_path), tmp_path / "out" / "out.csv"
    out.parent.mkdir()
    out.write_text("mine")
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [*ACTORSTREAM, "verify", str(path), "--first", "--json"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 1, done.stderr
    assert out.read_text() == "mine"
    found = json.loads(done.stdout)
    last = found["runs"][-1]
    difference = last["difference"]
    assert (difference["sink"], difference["how"]) == ("out", "multiset")
    assert difference["expected"] != difference["found"]
    baseline, other = (
        next(tmp_path.glob(f"actorstream-verify-*/{name}/out/out.csv")) for name in ("baseline", "?")
    )
    rows = baseline.read_text().splitlines()[1:]
    assert rows[difference["row"] - 1] == difference["expected"]
    assert str(other) == last["files"][0]
    assert "chain takes rows of some (×3) as they come" in done.stderr
    assert f"again:    {last['command']}" in done.stderr
    again = shlex.split(last["command"])
    assert again[:3] == ["actorstream", "launch", str(path)]
    other.unlink()
    assert run(*again[1:]).returncode == 0
    assert len(other.read_text().splitlines()) == len(rows) + 1


def test_the_same_topology_in_serial_order_is_the_same() -> None:
    def build() -> Topology:
        topology = Topology("settled")
        some = topology.source(Numbers, count=300, name="numbers").through(Some, replicas=3)
        some.ordered("serial").through(Chain).collect("out")
        return topology

    found = verify(build, runs=6, seed=3)
    assert (found.outputs[0].how, found.rows["out"]) == ("sequence", 450)
    assert len(found.outcomes) == 6


def chance(path: Path | None = None) -> Topology:
    topology = Topology("chance")
    some = topology.source([Number(each, each % 7) for each in range(300)], name="numbers")
    chained = some.through(Some, name="some", replicas=3).through(Chain)
    if path is None:
        chained.collect("out")
    else:
        chained.into("jsonl-sink", name="out", path=path)
    return topology


def test_a_topology_built_in_python_is_verified_in_this_process(tmp_path: Path) -> None:
    topology = chance(tmp_path / "mine.jsonl")
    with pytest.raises(NotTheSame, match=r"sink out, row \d+, as a multiset") as raised:
        verify(topology, workers=[3], batch_sizes=[1], first=True, keep=tmp_path / "kept")
    failure = raised.value.result.failure
    assert failure is not None
    assert failure.command.startswith("topology.run(workers=")
    assert failure.files == (tmp_path / "kept" / str(failure.deployment.number) / "out" / "mine.jsonl",)
    assert failure.files[0].exists()
    assert not (tmp_path / "mine.jsonl").exists()
    assert topology.actors["out"].keys["path"] == tmp_path / "mine.jsonl"


def test_differences_can_be_looked_at_instead_of_raised() -> None:
    found = verify(chance(), workers=[3], batch_sizes=[1], transports=["local"], runs=4, check=False)
    assert not found.same
    assert found.difference is not None and found.difference.expected is not None
    assert found.difference.expected.startswith("Number(")


def test_a_key_of_an_actor_can_be_varied_and_its_first_value_is_the_baselines() -> None:
    topology = Topology("varied")
    some = topology.source(Numbers, count=100, name="numbers").through(Some, name="some")
    some.ordered("serial").through(Chain).collect("out")
    found = verify(topology, vary={"actors.some.replicas": [1, 4], "actors.some.most": [3]}, runs=3)
    assert {each.deployment.settings()["actors.some.replicas"] for each in found.outcomes} == {1, 4}
    different = verify(topology, vary={"actors.some.most": [3, 4]}, runs=5, check=False)
    assert {
        each.deployment.settings()["actors.some.most"] for each in different.outcomes if not each.same
    } == {4}
    assert "with actors.some.most = 4" in different.failure.command  # type: ignore[union-attr]


@pytest.mark.parametrize("replicas", [[1, 2], [2, 1]])
def test_the_replicas_of_a_sink_that_writes_files_can_be_varied(replicas: list[int], tmp_path: Path) -> None:
    topology = Topology("parts")
    topology.source(Numbers, count=100, name="numbers").into(
        "csv-sink", name="out", path=str(tmp_path / "out.csv")
    )
    how: dict[str, Any] = {"workers": [1], "transports": ["local"], "batch_sizes": [7], "runs": 2}
    found = verify(topology, vary={"actors.out.replicas": replicas}, **how)
    assert found.rows == {"out": 100}
    assert {each.deployment.settings()["actors.out.replicas"] for each in found.outcomes} == {1, 2}


class Doubling(Pass):
    """Its keys say how it runs: `way` changes nothing, as it should."""

    contract = Contract(varied={"way": ("plain", "fast")})

    def __init__(self, way: str = "fast") -> None:
        self.way = way


def test_what_a_class_declares_to_change_nothing_is_varied() -> None:
    topology = Topology("declared")
    topology.source(Numbers, count=20, name="numbers").through(Doubling, name="it").collect("out")
    found = verify(topology, runs=4)
    assert found.baseline.settings()["actors.it.way"] == "plain"
    ways = [each.deployment.settings().get("actors.it.way") for each in found.outcomes]
    assert ways[0] is None, "as the topology says"
    assert set(ways[1:]) == {"plain", "fast"}


def test_checkpoints_of_a_run_are_its_own(tmp_path: Path) -> None:
    deploy = tmp_path / "deploy.toml"
    deploy.write_text('[checkpoint]\npath = "state"\nevery = "1s"\n')
    path = written(tmp_path, CHANCE.replace("replicas = 3\n", ""))
    found = verify(path, deploy=deploy, runs=1, keep=tmp_path / "kept", transports=["shm"])
    assert not (tmp_path / "state").exists()
    assert str(tmp_path / "kept" / "1" / "checkpoint") in found.outcomes[0].command


def test_a_run_that_fails_where_the_baseline_did_not_is_a_difference(tmp_path: Path) -> None:
    text = CHANCE.replace("serial_parts:Some", "pooled:Fails")
    path = written(tmp_path, text.replace("count = 600", "count = 400"))
    found = verify(path, vary={"actors.numbers.count": [400, 600]}, runs=2, check=False)
    errors = {each.deployment.settings()["actors.numbers.count"]: each.error for each in found.outcomes}
    assert errors[400] is None
    assert "exit status 1" in errors[600] and "five hundred" in errors[600]  # type: ignore[operator]


def test_a_baseline_that_fails_is_an_error_of_the_run() -> None:
    topology = Topology("fails")
    topology.source(Numbers, count=600, name="numbers").through(Fails).collect("out")
    with pytest.raises(RunError, match=r"the baseline \(one worker\) fails.*five hundred"):
        verify(topology)


def test_a_run_that_does_not_end_is_stopped_and_told(tmp_path: Path) -> None:
    path = tmp_path / "endless.toml"
    path.write_text(
        '[actors.rows]\ntype = "generator-source"\nschema = { n = "int" }\nrate = 10\n'
        '[actors.out]\ntype = "csv-sink"\ninputs = ["rows"]\npath = "out.csv"\n'
    )
    output = SinkOutput("out", "file", "sequence", "out.csv")
    ran = FileTarget(path).run(Deployment(1, {}), [output], tmp_path / "1", 3.0)
    said = r"did not end within 3 s, in which it used \d+\.\d s of processor time"
    assert ran.error is not None and re.match(said, ran.error)
    with pytest.raises(ConfigurationError, match=r"actors\.rows: has no end"):
        verify(path)


def test_the_test_of_the_page_passes(tmp_path: Path) -> None:
    (body,) = files_of(ROOT / "docs" / "verify.md").values()
    (tmp_path / "test_spikes.py").write_text(body)
    found = run_path(str(tmp_path / "test_spikes.py"))
    found["test_a_running_sum_does_not_depend_on_the_number_of_replicas"]()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"transports": ["pigeon"]}, "unknown transport 'pigeon'"),
        ({"runs": 0}, "--runs: is 0"),
        ({"workers": [0]}, "--workers: has 0"),
        ({"skip": ["none"]}, "--skip: 'none' is no sink"),
        ({"sets": ["actors.some.replicas=none"]}, "replicas"),
    ],
)
def test_wrong_options_are_problems(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=said):
        verify(written(tmp_path), **options)


def test_files_are_never_kept_among_others(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"--keep: .* is not empty"):
        verify(written(tmp_path), keep=tmp_path)


def test_runs_whose_processes_are_killed_go_on_and_give_the_same(tmp_path: Path) -> None:
    text = CHANCE.replace("replicas = 3", "").replace("count = 600", "count = 900\nrate = 600")
    text += '[actors.shown]\ntype = "console-sink"\ninputs = ["chain"]\n'
    path = written(tmp_path, text)
    found = verify(path, kills=2, transports=["shm"], workers=[2], runs=1, batch_sizes=[64])
    assert found.rows == {"out": 1350}
    unseen, struck = found.notes
    assert unseen == "shown is not compared: a run that goes on may show lines twice"
    # a run that had ended before it was its turn is killed by nobody
    assert re.fullmatch("[12] processes were killed, and --resume went on", struck)


def test_a_built_topology_takes_the_options_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    topology = Topology("passes")
    rows = topology.source([Number(each, each % 7) for each in range(50)], name="numbers")
    passes = rows.through(Pass, name="passes")
    passes.collect("out")
    passes.into("console-sink", name="shown")
    vary = {"actors.passes.on_error": ["fail", "skip"]}
    found = verify(topology, vary=vary, runs=1, workers=[1], keep="kept")
    assert found.rows == {"out": 50}
    assert {each.name for each in Path("kept").iterdir()} == {"baseline", "1"}
    assert "shown is not compared: its lines go to this process's standard output" in found.notes
    with pytest.raises(ConfigurationError, match=r"actors\.passes\.on_error: is 'never'"):
        verify(topology, sets=["actors.passes.on_error=never"])
    with pytest.raises(ConfigurationError, match=r"actors\.passes\.type=x: is no key of an actor here"):
        verify(topology, sets=["actors.passes.type=x"])
    with pytest.raises(ConfigurationError, match="kills: is 2; allowed: 0, unless the topology is a file"):
        verify(topology, kills=2)


@pytest.mark.parametrize(("kills", "how"), [(0, signal.SIGTERM), (1, signal.SIGKILL)])
def test_the_run_that_is_under_way_ends_with_its_verification(
    kills: int, how: signal.Signals, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    settings = {
        "pipe": pipe,
        "runs": tmp_path / "runs",
        "free": kills,
    }  # the run that is not killed comes first
    sets = [f"actors.numbers.{key}={json.dumps(value, default=str)}" for key, value in settings.items()]
    arguments = [str(written(tmp_path, HELD)), *(part for each in sets for part in ("--set", each))]
    command = [*ACTORSTREAM, "verify", *arguments, "--kills", str(kills), "--runs", "1"]
    with (
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as verification,
        pipe.open("wb") as held,  # from here on the run has it open, too
    ):
        started = descendants(verification.pid)
        verification.send_signal(how)
        verification.wait()
        poll = select.poll()
        poll.register(held, 0)
        has_ended = poll.poll(60_000)  # tells an error when no process has it open for reading
        for pid in started:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert has_ended
