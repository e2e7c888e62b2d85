"""Whatever is wrong with a topology or a deployment: `check` and the start of `launch` say what and where, and end."""

from __future__ import annotations

import contextlib
import io
import json
import resource
import shutil
import signal
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actorstream.cli.check import check
from actorstream.cli.main import exit_code
from actorstream.errors import ConfigurationError
from actorstream.plan.compile import read_job
from actorstream.runtime.build import build_units
from actorstream.runtime.worker import Worker
from tests.integration.mutations import Mutations

ROOT = Path(__file__).parents[2]
APPS = [
    "word_count/topology", "word_count/batch", "nexmark/q3", "nexmark/q4", "nexmark/q5", "nexmark/q7", "nexmark/q8",
    "nexmark/q9", "linear_road/topology", "ysb/star", "ysb/bench", "tpcx_bb/q1", "tpcx_bb/q15", "call_fraud/topology",
    "keyed_counters/topology", "value_barrier/bench", "outlier_detection/topology", "smart_home/topology",
    "word_count/everything",
]  # fmt: skip
PLANNED = [
    "word_count/topology",
    "nexmark/q5",
    "call_fraud/topology",
    "keyed_counters/topology",
    "word_count/everything",
]
DEPLOYS = [
    'workers = 2\ntransport = "shm"\nbatch_size = 64\n',
    'workers = 1\nschedule = "lp"\nthreads = 2\nslice = "2ms"\nreorder_window = 64\n[checkpoint]\npath = "c"\nevery = "1s"\n',
    'placement = "round-robin"\nworkers = 3\nedge_bytes = "1MiB"\nmerge = "gate"\nkey_groups = 16\n[testing]\ndelay = "1ms"\n',
    'transport = "local"\nheartbeat_every = "10ms"\nmerge = "gate"\nwait = "spin"\npipelining = false\n',
]
EVERYTHING = """
name = "everything"
[actors.made]
type = "generator-source"
schema = { n = "int", at = "int", word = { type = "str", distribution = "uniform", high = 9 } }
event_time = "at"
time_unit = "ms"
max_out_of_orderness = "5ms"
count = 100
shards = 2

[actors.ways]
type = "split"
inputs = [{ from = "made", order = "timestamp" }]
cases = { low = "n < 3", text = "word != '' and n % 2 == 0" }
on_error = "dead-letter"

[actors.both]
type = "union"
inputs = ["ways.low", { from = "ways.text" }]

[actors.most]
type = "top"
inputs = [{ from = "both", key = ["word"] }]
replicas = 2
n = 3
by = "n"
key = ["word"]
window = { type = "sliding", size = "1s", slide = "500ms" }

[actors.near]
type = "asof-join"
inputs = [{ from = "made", name = "left" }, { from = "ways", name = "right" }]
on = "at"
by = "word"
direction = "backward"
tolerance = "1m"

[actors.sum]
type = "reduce"
inputs = ["made"]
aggregate = "sum(n)"

[actors.counts]
type = "aggregate"
inputs = [{ from = "made", key = "word" }]
replicas = "auto"
key = ["word"]
window = { type = "session", gap = "10s" }
aggregates = { count = "count()", half = "quantile(n, 0.5)" }
allowed_lateness = "1s"

[actors.dead]
type = "jsonl-sink"
inputs = ["ways.dead"]
path = "out/dead.jsonl"
[actors.table]
type = "parquet-sink"
inputs = ["counts"]
path = "out/counts.parquet"
[actors.rest]
type = "null-sink"
inputs = ["most", "near", "sum", "counts.late"]
"""
LONGEST_S = 10.0
MOST_BYTES = 3 << 30
MOST_LINE = 2000
"""Characters of a line of an error."""


WHOLE = ("actors",)
"""What is missing from a whole file, which has no line for it."""


class Hung(BaseException):
    """A case took too long."""


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Time and memory that reading a topology may take."""

    def stop(*_: object) -> None:
        raise Hung

    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = signal.signal(signal.SIGALRM, stop)
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_BYTES, limits[1]))
    signal.setitimer(signal.ITIMER_REAL, LONGEST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.signal(signal.SIGALRM, before)


def checked(topology: Path, deploy: Path | None = None, plan: Path | None = None) -> list[dict[str, Any]]:
    """The problems that `actorstream check` lists."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        status = check(topology, deploy=deploy, plan=plan, examples=1, json_=True)
    problems: list[dict[str, Any]] = json.loads(output.getvalue())["problems"]
    assert status == (2 if problems else 0)
    return problems


def start(topology: Path, deploy: Path) -> None:
    """What `launch` does before the first row; a worker's units where there is but one."""
    read_job(topology, deploy)
    job = read_job(topology, deploy, transport="local")
    if len(job.plan.replicas) < 100 and job.deploy.schedule == "none":
        build_units(Worker(job, 0, None, None))


def complaint(topology: Path, deploy: Path) -> str | None:
    """What is wrong with how an error of these files is told; None: it is told well, or there is none."""
    try:
        with bounded():
            problems = checked(topology, deploy)
            if problems:
                return misplaced(problems, (str(topology), str(deploy)))
            start(topology, deploy)
    except Exception as error:
        if exit_code(error) is None or isinstance(error, ConfigurationError):
            return traceback.format_exc()
        return too_long(str(error)) if str(error) else f"says nothing: {error!r}"
    except Hung:
        return "hung\n" + traceback.format_exc()
    return None


def misplaced(problems: list[dict[str, Any]], files: tuple[str, str]) -> str | None:
    for problem in problems:
        if not problem["where"] or not problem["message"]:
            return f"says nothing: {problem}"
        if problem["file"] not in files or (problem["line"] < 1 and problem["where"] not in WHOLE):
            return f"no place: {problem!r}"
    return too_long("\n".join(f"{problem['where']}: {problem['message']}" for problem in problems))


def too_long(text: str) -> str | None:
    longest = max(map(len, text.splitlines()))
    return f"a line of {longest} characters: {text[:300]}" if longest > MOST_LINE else None


def try_cases(apps: Path, first: int, count: int) -> list[str]:
    """Complaints about the cases `first` and following."""
    found = []
    for seed in range(first, first + count):
        app = apps / f"{APPS[seed % len(APPS)]}.toml"
        mutations = Mutations(seed)
        texts = mutations.mutated(app.read_text(), mutations.draw.choice(DEPLOYS))
        topology, deploy = app.with_name("mutated.toml"), app.with_name("mutated-deploy.toml")
        topology.write_bytes(texts[0])
        deploy.write_bytes(texts[1])
        said = complaint(topology, deploy)
        if said is not None:
            found.append(f"seed {seed} of {app.parent.name}/{app.stem}: {said}")
    return found


def try_plans(apps: Path, first: int, count: int) -> list[str]:
    """Complaints about plan files that are wrong."""
    plans = []
    for app in PLANNED:
        for sets in ([], ["deploy.schedule=lp", "deploy.threads=2"]):
            topology = apps / f"{app}.toml"
            plans.append((topology, read_job(topology, None, sets, transport="local").plan.saved()))
    found = []
    file = apps / "plan.json"
    for seed in range(first, first + count):
        topology, plan = plans[seed % len(plans)]
        file.write_bytes(Mutations(seed).mutated_plan(plan))
        try:
            with bounded():
                job = read_job(topology, None, (), file)
                if job.deploy.transport == "local" and job.deploy.schedule == "none":
                    build_units(Worker(job, 0, None, None))
        except Exception as error:
            if exit_code(error) is None or too_long(str(error)):
                found.append(f"seed {seed} of a plan of {topology}: {traceback.format_exc()}")
        except Hung:
            found.append(f"seed {seed} of a plan of {topology}: hung\n{traceback.format_exc()}")
    return found


@pytest.fixture
def apps(tmp_path: Path) -> Path:
    shutil.copytree(
        ROOT / "apps", tmp_path / "apps", ignore=shutil.ignore_patterns("__pycache__", "out", "*.so")
    )
    (tmp_path / "apps/word_count/everything.toml").write_text(EVERYTHING)
    return tmp_path / "apps"


@pytest.mark.parametrize("app", APPS)
def test_a_topology_that_is_right_is_not_complained_about(apps: Path, app: str) -> None:
    for number, text in enumerate(DEPLOYS):
        deploy = apps / f"deploy-{number}.toml"
        deploy.write_text(text)
        start(apps / f"{app}.toml", deploy)
        plan = read_job(apps / f"{app}.toml", deploy).plan
        plan.save(apps / "plan.json")
        assert read_job(apps / f"{app}.toml", None, (), apps / "plan.json").plan == plan
        assert checked(apps / f"{app}.toml", plan=apps / "plan.json") == []


def test_mutated_topologies_are_told_with_file_and_place(apps: Path) -> None:
    assert try_cases(apps, 0, 60) == []


def test_mutated_plans_are_told(apps: Path) -> None:
    assert try_plans(apps, 0, 100) == []


@pytest.mark.slow
def test_many_mutated_topologies_are_told_with_file_and_place(apps: Path) -> None:
    assert try_cases(apps, 1000, 5000) == []
    assert try_plans(apps, 1000, 5000) == []
