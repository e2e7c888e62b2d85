from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from actorstream import Sink
from tests.integration.parts import Number

from .conftest import Answer

Run = Callable[..., Answer]


class CountsBeside(Sink):
    """Has no state, and counts all the same."""

    def __init__(self) -> None:
        self.rows = 0

    def on_event(self, event: Number) -> None:
        self.rows += 1


def test_a_right_topology_is_said_to_be_right(run: Run, topology: Path) -> None:
    answer = run("check", topology)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == f"{topology}: all right, 3 actors and 2 edges\n"


def test_one_edge_is_no_edges(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("n\n1\n")
    topology = tmp_path / "pair.toml"
    topology.write_text(
        '[actors.a]\ntype = "csv-source"\npath = "in.csv"\n[actors.b]\ntype = "null-sink"\ninputs = ["a"]\n'
    )
    assert run("check", topology).out == f"{topology}: all right, 2 actors and 1 edge\n"


def test_json_says_so_too(run: Run, topology: Path) -> None:
    answer = run("check", topology, "--json")
    found = json.loads(answer.out)
    assert (answer.code, found["ok"], found["topology"], found["problems"]) == (0, True, "small", [])


def test_a_source_that_may_be_idle_makes_results_depend_on_time(
    run: Run, topology: Path, tmp_path: Path
) -> None:
    (tmp_path / "rows.csv").write_text("t\n1\n")
    topology = tmp_path / "idle.toml"
    topology.write_text(
        f"""
        name = "idle"
        [actors.rows]
        type = "csv-source"
        path = "{tmp_path}/rows.csv"
        event_time = "t"
        idle_timeout = "1s"
        [actors.out]
        type = "null-sink"
        inputs = ["rows"]
        """
    )
    answer = run("check", topology)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines()[1:] == [
        "note: rows: with idle_timeout, results may depend on time: what comes after the source was silent may be late"
    ]
    assert json.loads(run("check", topology, "--json").out)["notes"] == [answer.out.splitlines()[1][6:]]


def test_an_actor_whose_kernels_threads_may_run_and_that_has_none_is_noted(run: Run, tmp_path: Path) -> None:
    topology = tmp_path / "kernels.toml"
    topology.write_text(
        """
        name = "kernels"
        [actors.rows]
        type = "generator-source"
        schema = { n = "int" }
        count = 10
        [actors.few]
        type = "filter"
        inputs = ["rows"]
        where = "n > 3"
        [actors.same]
        type = "tests.integration.pooled:Promises"
        inputs = ["few"]
        [actors.out]
        type = "null-sink"
        inputs = ["same"]
        """
    )
    answer = run("check", topology)
    assert (answer.code, answer.err) == (0, "")
    assert [line.split(",")[0] for line in answer.out.splitlines()[1:]] == [
        "note: same: its contract has pool_limit 1"
    ]


def test_what_no_checkpoint_keeps_is_noted_where_there_are_checkpoints(run: Run, tmp_path: Path) -> None:
    topology = tmp_path / "counts.toml"
    topology.write_text(
        """
        name = "counts"
        [actors.rows]
        type = "tests.integration.parts:Numbers"
        count = 10
        [actors.counts]
        type = "tests.unit.cli.test_check:CountsBeside"
        inputs = ["rows"]
        """
    )
    kept = ("--set", "deploy.checkpoint.every=1s", "--set", f"deploy.checkpoint.path={tmp_path}/kept")
    assert len(run("check", topology).out.splitlines()) == 1
    notes = [
        "note: counts: on_event changes self.rows, which no checkpoint keeps, so it begins anew after --resume; keep it in "
        "self.state, or override snapshot and restore"
    ]
    assert run("check", topology, *kept).out.splitlines()[1:] == notes
    plan, without = tmp_path / "plan.json", tmp_path / "without.json"
    assert (
        run("plan", topology, "--save", plan, *kept).code,
        run("plan", topology, "--save", without).code,
    ) == (0, 0)
    assert run("check", topology, "--plan", plan).out.splitlines()[1:] == notes
    assert run("check", topology, "--plan", without, *kept).out.splitlines()[1:] == []


def test_a_worker_without_replicas_is_noted_where_workers_were_asked_for(run: Run, topology: Path) -> None:
    notes = run("check", topology, "--workers", "3").out.splitlines()[1:]
    assert [note.split(": ")[1] for note in notes] == ["worker 2 has nothing to do"]
    for others in ((), ("--workers", "2"), ("--workers", "3", "--set", "deploy.placement=first-fit")):
        assert len(run("check", topology, *others).out.splitlines()) == 1


def test_all_problems_go_to_stderr_and_the_exit_code_is_2(run: Run, topology: Path) -> None:
    text = topology.read_text().replace('inputs = ["lines"]', 'input = ["lines"]').replace("key =", "kye =")
    topology.write_text(text)
    sets = ["--set", "actors.lines.lines=many", "--set", "deploy.workers=0"]
    answer = run("check", topology, *sets, "--transport", "pigeon")
    assert (answer.code, answer.out) == (2, "")
    head, *lines = answer.err.splitlines()
    assert head == f"{len(lines)} problems:"
    assert [line.split(": ")[0] for line in lines] == [
        f"{topology}:4",
        f"{topology}:6",
        f"{topology}:9",
        "--set deploy.workers=0",
        "argument transport='pigeon'",
        "--set actors.lines.lines=many",
    ]
    assert "did you mean 'inputs'?" in answer.err


def test_problems_as_json_have_file_line_and_what_is_allowed(run: Run, topology: Path) -> None:
    topology.write_text(topology.read_text().replace("replicas = 2", "replicas = 0"))
    answer = run("check", topology, "--json")
    assert (answer.code, answer.err) == (2, "")
    assert json.loads(answer.out) == {
        "ok": False,
        "problems": [
            {
                "where": "actors.out.replicas",
                "message": "is 0",
                "allowed": 'a whole number from 1 to 65535, or "auto" (placement decides)',
                "hint": "",
                "file": str(topology),
                "line": 10,
            }
        ],
    }


def test_a_file_that_is_not_there_names_the_nearest(run: Run, topology: Path) -> None:
    answer = run("check", topology.with_name("topolgy.toml"))
    assert answer.code == 2
    assert "does not exist" in answer.err
    assert "did you mean 'topology.toml'?" in answer.err


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("x" * 300, "File name too long"),
        ("x" * 300 + "/t.toml", "File name too long"),
        ("circle", "Too many levels of symbolic links"),
    ],
)
def test_a_path_that_leads_nowhere_is_a_problem_as_others_are(
    name: str, why: str, run: Run, topology: Path
) -> None:
    topology.with_name("circle").symlink_to("circle")
    path = topology.parent / name
    for arguments in ((path,), (topology, "--deploy", path)):
        answer = run("check", *arguments, "--json")
        assert (answer.code, answer.err) == (2, "")
        (problem,) = json.loads(answer.out)["problems"]
        assert (problem["where"], problem["message"]) == (str(path), f"cannot be read: {why}")


def test_a_deployment_is_checked_with_it(run: Run, topology: Path, tmp_path: Path) -> None:
    deploy = tmp_path / "deploy.toml"
    deploy.write_text('workers = 2\nplacement = "rlas"\n')
    answer = run("check", topology, "--deploy", deploy)
    assert answer.code == 2
    assert answer.err.startswith(
        f"{deploy}:2: placement: is 'rlas' without a profile to plan from; allowed: [rlas]"
    )


def test_a_plan_is_checked_against_the_topology(run: Run, topology: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    assert run("plan", topology, "--save", plan).code == 0
    assert run("check", topology, "--plan", plan).code == 0
    answer = run(
        "check", topology, "--plan", plan, "--set", "actors.out.inputs.0.key=[]", "--set", "name=other"
    )
    assert answer.code == 2
    assert "was made for another topology" in answer.err


@pytest.mark.parametrize("command", ["check", "plan"])
def test_a_plan_without_one_of_its_channels_is_refused_before_a_launch_would(
    command: str, run: Run, topology: Path, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.json"
    assert run("plan", topology, "--save", plan, "--workers", 2).code == 0
    found = json.loads(plan.read_text())
    found["channels"].pop()
    plan.write_text(json.dumps(found))
    answer = run(command, topology, "--plan", plan)
    assert (answer.code, answer.out) == (2, "")
    assert "channels that are not those between its replicas and chains" in answer.err


@pytest.mark.parametrize("workers", [1, 4])
def test_short_options_of_the_deployment_are_taken(run: Run, topology: Path, workers: int) -> None:
    assert run("check", topology, "--workers", workers, "--transport", "local").code == 0


@pytest.mark.parametrize(
    ("asked", "order", "note"),
    [
        (
            'aggregates = { a = "first(n)", b = "last(n)" }',
            "none",
            "first and last of rows of one event time are",
        ),
        ('aggregates = { a = "last (n)", b = "count()" }', "none", "last of rows of one event time is"),
        ('aggregates = { a = "first(n)" }', "timestamp", ""),
        ('aggregates = { a = "sum(n)" }', "none", ""),
    ],
)
def test_what_is_up_to_arrival_is_noted(run: Run, tmp_path: Path, asked: str, order: str, note: str) -> None:
    topology = tmp_path / "arrival.toml"
    topology.write_text(
        f"""
        name = "arrival"
        [actors.rows]
        type = "generator-source"
        schema = {{ t = "int", n = "int" }}
        event_time = "t"
        shards = 2
        replicas = 2
        count = 10
        [actors.windows]
        type = "aggregate"
        inputs = [{{ from = "rows", order = "{order}" }}]
        window = {{ type = "tumbling", size = 5 }}
        {asked}
        [actors.out]
        type = "null-sink"
        inputs = ["windows"]
        """
    )
    answer = run("check", topology)
    assert (answer.code, answer.err) == (0, "")
    noted = answer.out.splitlines()[1:]
    assert len(noted) == bool(note)
    assert all(line.startswith(f"note: windows: {note} up to arrival") for line in noted)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"[actors.a]\nx = \xff", ":2: encoding, byte 5: 0xff is not UTF-8"),
        (b"\n\nx = " + b"[" * 5000 + b"]" * 5000, ":3: syntax: arrays and tables lie too deep within each other"),
        (b"\n" + b"a." * 5000 + b"a = 1", ":2: syntax: arrays and tables lie too deep within each other"),
        (b"\nx = 0" + b"1" * 9, ":2: syntax"),
        (b"\nx = " + b"1" * 5000, ":2: syntax: a number has too many digits"),
        (b'\nx = "\\UFFFFFFFF"', ":2: syntax"),
        (b'[actors.a]\ntype = "null-sink"\ninputs = [""]', ":3: actors.a.inputs[0]: is ''; allowed"),
        (b'[actors.a]\ntype = "null-sink"\ninputs = [{ from = "" }]', ":3: actors.a.inputs[0].from: is ''; allowed"),
        (b'[actors.a]\ntype = ""', ":2: actors.a.type: is ''; allowed: a built-in type"),
        (b'[actors.a]\ntype = "null-sink"\ninputs = ["' + b"x" * 100_000 + b'"]', ":3: actors.a.inputs[0]: there is no"),
        (b'[actors.a]\ntype = "csv-source"\npath = "."\ncount = 1' + b"0" * 400, ":4: actors.a.count: is 1000"),
        (b'[actors.a]\ntype = "csv-source"\npath = "."\nrate = 1' + b"0" * 400, ":4: actors.a.rate: is 1000"),
    ],
)  # fmt: skip
def test_what_no_reader_of_toml_takes_is_told_with_its_line(
    run: Run, tmp_path: Path, text: bytes, said: str
) -> None:
    file = tmp_path / "t.toml"
    file.write_bytes(text)
    answer = run("check", file)
    assert answer.code == 2
    assert f"{file}{said}" in answer.err
    assert max(map(len, answer.err.splitlines())) < 1500


@pytest.mark.parametrize("order", ["serial", "timestamp", "dependency"])
@pytest.mark.parametrize("kind", ["", 'type = ""\n', "type = 3\n", 'type = "no-such"\n'])
def test_an_order_behind_an_actor_without_a_right_type_does_not_hide_what_is_wrong(
    run: Run, tmp_path: Path, order: str, kind: str
) -> None:
    file = tmp_path / "t.toml"
    file.write_text(
        '[actors.a]\ntype = "csv-source"\npath = "."\nschema = { n = "int" }\n'
        f'[actors.b]\n{kind}inputs = ["a"]\n'
        f'[actors.c]\ntype = "union"\ninputs = [{{ from = "b", order = "{order}" }}, "a"]\n'
        '[actors.d]\ntype = "null-sink"\ninputs = ["c"]\n'
    )
    answer = run("check", file)
    assert answer.code == 2
    assert f"{file}:{6 if kind else 5}: actors.b" in answer.err


def test_orders_and_routes_of_an_actor_without_a_right_type_are_told_too(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(
        '[actors.a]\ntype = "csv-source"\npath = "."\nschema = { n = "int" }\n'
        '[actors.b]\ntype = "no-such"\ninputs = [{ from = "a", order = "seril", route = "forwrd" }]\n'
        '[actors.d]\ntype = "null-sink"\ninputs = ["b"]\n'
    )
    answer = run("check", file)
    assert answer.code == 2
    assert "actors.b.inputs[0].order: is 'seril'" in answer.err
    assert "actors.b.inputs[0].route: is 'forwrd'" in answer.err


def test_a_sink_whose_file_is_a_directory_is_told_before_the_run(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("n\n1\n")
    (tmp_path / "out").mkdir()
    file = tmp_path / "t.toml"
    text = (
        '[actors.a]\ntype = "csv-source"\npath = "in.csv"\n'
        '[actors.b]\ntype = "csv-sink"\ninputs = ["a"]\npath = "out"\n'
    )
    file.write_text(text)
    answer = run("check", file)
    assert answer.code == 2
    assert (
        f"{file}:7: actors.b.path: " in answer.err
        and "is a directory; allowed: the name of a file" in answer.err
    )
    file.write_text(text + "replicas = 2\n")
    assert run("check", file).code == 0


@pytest.mark.parametrize(
    "line", ["heartbeat_every", "slice", "ct_window", 'checkpoint.path = "state"\ncheckpoint.every']
)
def test_a_duration_that_must_not_be_nothing_is_told(
    line: str, run: Run, topology: Path, tmp_path: Path
) -> None:
    deploy = tmp_path / "deploy.toml"
    deploy.write_text(f'{line} = "0s"\n')
    answer = run("check", topology, "--deploy", deploy)
    assert answer.code == 2
    key = line.rpartition("\n")[2]
    assert f"{key}: is 0 s; allowed: a duration longer than 0" in answer.err


def test_a_size_and_a_number_beyond_all_limits_are_told(run: Run, topology: Path, tmp_path: Path) -> None:
    deploy = tmp_path / "deploy.toml"
    deploy.write_text(f'edge_bytes = "{"9" * 400}GiB"\nheartbeat_every = "{"9" * 400}d"\n')
    answer = run("check", topology, "--deploy", deploy)
    assert answer.code == 2
    assert f"{deploy}:1: edge_bytes: is " in answer.err and f"{deploy}:2: heartbeat_every: is " in answer.err


@pytest.mark.parametrize(
    "text",
    [f"deploy.workers={'[' * 5000}", f"deploy.workers={'9' * 5000}", f"{'a.' * 5000}a=1"],
    ids=["nested", "digits", "long path"],
)
def test_an_override_that_python_does_not_read_is_told_with_itself(
    run: Run, topology: Path, text: str
) -> None:
    answer = run("check", topology, "--set", text)
    assert answer.code == 2
    assert f"--set {text[:20]}" in answer.err
    assert max(map(len, answer.err.splitlines())) < 1500
