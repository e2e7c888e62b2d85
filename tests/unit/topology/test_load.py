from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from actorstream.errors import ConfigurationError
from actorstream.topology.load import load_deploy, load_topology
from actorstream.topology.spec import InputSpec, TopologySpec


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "apps").mkdir()
    return tmp_path / "apps" / "topology.toml"


def load(file: Path, text: str, *sets: str) -> TopologySpec:
    file.write_text(text)
    return load_topology(file, sets)


def wrong(file: Path, text: str, *sets: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(file, text, *sets)
    return [str(each).removeprefix(str(file)) for each in caught.value.problems]


def test_a_topology_is_read_with_its_root_and_lines(file: Path) -> None:
    spec = load(file, 'name = "x"\n[actors.a]\ntype = "t"\nreplicas = "auto"\non_error = "skip"\nlimit = 5\n')
    actor = spec.actors["a"]
    assert (spec.name, spec.root, spec.file) == ("x", file.parent.parent, str(file))
    assert (actor.type, actor.replicas, actor.on_error, actor.keys) == ("t", "auto", "skip", {"limit": 5})
    assert spec.written.at(("actors", "a", "limit")) == (str(file), 6)


def test_a_topology_without_a_name_has_that_of_its_folder(file: Path) -> None:
    assert load(file, '[actors.a]\ntype = "t"\n').name == "apps"


def test_inputs_have_a_short_form(file: Path) -> None:
    text = '[actors.a]\ntype = "t"\ninputs = ["x", "y.late", { from = "z", key = ["k", "l"], order = "serial" }]\n'
    assert load(file, text).actors["a"].inputs == [
        InputSpec(from_="x"),
        InputSpec(from_="y.late"),
        InputSpec(from_="z", key=["k", "l"], order="serial"),
    ]


@pytest.mark.parametrize(
    ("source", "actor", "output", "label"),
    [("a", "a", "default", "a"), ("a.default", "a", "default", "a"), ("a.late", "a", "late", "a.late")],
)
def test_an_input_names_an_actor_and_an_output(source: str, actor: str, output: str, label: str) -> None:
    each = InputSpec(from_=source)
    assert (each.actor, each.output, each.label) == (actor, output, label)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("replicas = 0", ':3: actors.a.replicas: is 0; allowed: a whole number from 1 to 65535, or "auto" '
         "(placement decides)"),
        ('replicas = "many"', ":3: actors.a.replicas: is 'many'; allowed: a whole number from 1 to 65535"),
        ("replicas = 1.5", ":3: actors.a.replicas: is 1.5"),
        ("replicas = true", ":3: actors.a.replicas: is true"),
        ('on_error = "ignore"', ':3: actors.a.on_error: is \'ignore\'; allowed: "fail", "skip" or "dead-letter"'),
        ('inputs = "x"', ':3: actors.a.inputs: is \'x\'; allowed: an array such as ["actor", { from = "actor" }] '
         '(write inputs = ["x"])'),
        ("inputs = [5]", ':3: actors.a.inputs[0]: is 5; allowed: "actor" or { from = "actor", … }'),
        ('inputs = [{ route = "key" }]', ':3: actors.a.inputs[0].from: is missing; allowed: "actor" or "actor.output"'),
        ('inputs = [{ from = "x", rout = "key" }]', ":3: actors.a.inputs[0].rout: is not a key here; allowed: from, "
         "route, key, order, name, bounds (did you mean 'route'?)"),
        ('inputs = [{ from = "x", key = 5 }]', ":3: actors.a.inputs[0].key: is 5; allowed: a field's name, or a list"),
        ("outputs = 5", ":3: actors.a.outputs: is 5; allowed: a table"),
        ("outputs = { default = 5 }", ":3: actors.a.outputs.default: is 5"),
    ],
)  # fmt: skip
def test_wrong_reserved_keys_say_what_is_allowed(file: Path, line: str, message: str) -> None:
    (found,) = wrong(file, f'[actors.a]\ntype = "t"\n{line}\n')
    assert found.startswith(message)


def test_a_table_without_a_type_says_which_key_may_be_meant(file: Path) -> None:
    (found,) = wrong(file, '[actors.a]\ntpye = "t"\n')
    assert found.startswith(":1: actors.a: has no type")
    assert "'tpye' may be meant" in found


@pytest.mark.parametrize("text", ["", 'name = "x"\n', "[actors]\n"])
def test_a_topology_needs_actors(file: Path, text: str) -> None:
    (found,) = wrong(file, text)
    assert "actors: has no actors; allowed: one table [actors.NAME] for each actor" in found


@pytest.mark.parametrize("name", ["1st", "a.b", "with space", ""])
def test_names_of_actors_are_words(file: Path, name: str) -> None:
    (found,) = wrong(file, f'[actors."{name}"]\ntype = "t"\n')
    assert "is no name for an actor; allowed: letters, digits, _ and -, beginning with a letter or _" in found


def test_keys_of_a_deployment_are_sent_there(file: Path) -> None:
    text = 'workers = 2\n[actors.a]\ntype = "t"\n[deploy]\n'
    assert all("belongs to a deployment" in found for found in wrong(file, text))
    assert len(wrong(file, text)) == 2


def test_a_key_at_the_top_that_is_not_known_names_the_nearest(file: Path) -> None:
    (found,) = wrong(file, '[actor.a]\ntype = "t"\n[actors.b]\ntype = "t"\n')
    assert found == ":1: actor: is not a key here; allowed: name, actors (did you mean 'actors'?)"


def test_a_problem_of_an_override_names_the_override(file: Path) -> None:
    (found,) = wrong(file, '[actors.a]\ntype = "t"\n', "actors.a.replicas=0")
    assert found.startswith("--set actors.a.replicas=0: actors.a.replicas: is 0")


def test_overrides_of_the_deployment_are_no_business_of_the_topology(file: Path) -> None:
    assert load(file, '[actors.a]\ntype = "t"\n', "deploy.workers=5").actors["a"].keys == {}


# -- deployments


def deployment(tmp_path: Path, text: str, *sets: str, **keys: Any) -> Any:
    file = tmp_path / "deploy.toml"
    file.write_text(text)
    return load_deploy(file, sets, **keys)


def test_without_a_file_a_deployment_has_its_defaults() -> None:
    found = load_deploy()
    assert (found.transport, found.workers, found.batch_size, found.edge_bytes) == ("shm", 2, "auto", 4 << 20)
    assert (found.key_groups, found.heartbeat_every, found.checkpoint) == (
        128,
        timedelta(milliseconds=50),
        None,
    )


def test_every_key_of_a_deployment_is_read(tmp_path: Path) -> None:
    text = """
transport = "mpi"
workers = 3
schedule = "ct"
threads = 4
placement = "rlas"
batch_size = 7
wait = "spin"
pipelining = false
pre_aggregation = false
heartbeat_every = "1s"
edge_bytes = "64KiB"
reorder_window = 8
slice = "500us"
key_groups = 32
[checkpoint]
path = "state"
every = "10s"
[testing]
delay = "5ms"
seed = 42
"""
    found = deployment(tmp_path, text)
    assert (found.edge_bytes, found.slice, found.wait) == (65536, timedelta(microseconds=500), "spin")
    assert (found.checkpoint.path, found.checkpoint.every) == (str(tmp_path / "state"), timedelta(seconds=10))
    assert (found.testing.delay, found.testing.seed) == (timedelta(milliseconds=5), 42)


def test_a_url_for_checkpoints_stays_as_it_is(tmp_path: Path) -> None:
    found = deployment(tmp_path, '[checkpoint]\npath = "s3://bucket/x"\nevery = "1s"\n')
    assert found.checkpoint.path == "s3://bucket/x"


def test_overrides_and_arguments_are_laid_over_a_deployment(tmp_path: Path) -> None:
    found = deployment(
        tmp_path, "workers = 3\n", "deploy.workers=4", "deploy.batch_size=7", transport="local"
    )
    assert (found.workers, found.batch_size, found.transport) == (4, 7, "local")
    assert deployment(tmp_path, "workers = 3\n", "deploy.workers=4", workers=5, transport=None).workers == 5


def test_all_problems_of_a_deployment_are_listed_with_their_lines(tmp_path: Path) -> None:
    text = 'worker = 2\nbatch_size = 0\nwait = "sleep"\nheartbeat_every = 5\nedge_bytes = "much"\n'
    text += "[checkpoint]\npath = 1\n"
    with pytest.raises(ConfigurationError) as caught:
        deployment(tmp_path, text, "deploy.threads=-1", workers="x")
    found = sorted((each.line, each.where) for each in caught.value.problems)
    assert found == [
        (0, "threads"),
        (0, "workers"),
        (1, "worker"),
        (2, "batch_size"),
        (3, "wait"),
        (4, "heartbeat_every"),
        (5, "edge_bytes"),
        (6, "checkpoint.every"),
        (7, "checkpoint.path"),
    ]
    by_where = {each.where: each for each in caught.value.problems}
    assert by_where["worker"].hint == "did you mean 'workers'?"
    assert by_where["threads"].file == "--set deploy.threads=-1"
    assert by_where["workers"].file == "argument workers='x'"
    assert by_where["edge_bytes"].allowed == 'bytes, as a number or as text such as "64KiB", "4MiB", "1GB"'
