"""Ranks on hosts with different files: a rank needs the files of the replicas that it runs, and of no others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.namespaces import ROOT, Hosts, deployment, hosts
from tests.integration.processes import ranked

TOPOLOGY = """
name = "files"
[actors.people]
type = "csv-source"
path = "data/people.csv"
[actors.named]
type = "static-join"
inputs = [{ from = "people", route = "shuffle" }]
table = "tables/countries.csv"
on = "country"
[actors.rows]
type = "csv-sink"
inputs = ["named"]
path = "out/rows.csv"
"""
SCRIPT = """
import sys
from actorstream.cli.main import main
from tests.integration.rank_parts import own_rank
words = [each.partition("@") for each in sys.argv[2:]]
more = [word for rank, _, given in words if rank == own_rank() for word in ("--set", given)]
sys.exit(main(["launch", sys.argv[1], "--transport", "mpi", "--quiet", *more]))
"""
"""Launches with settings of single ranks: RANK@KEY=VALUE. A path that leads nowhere on one rank stands for a missing file."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path, text in {
        "topology.toml": TOPOLOGY,
        "data/people.csv": "name,country\nAda,uk\nMarie,fr\nGrace,us\n",
        "tables/countries.csv": "country,capital\nuk,London\nfr,Paris\nus,Washington\n",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


EXPECTED = ["Ada,uk,London", "Grace,us,Washington", "Marie,fr,Paris"]


def written(folder: Path) -> list[str]:
    return sorted((folder / "out/rows.csv").read_text().splitlines()[1:])


def run(folder: Path, *settings: str, topology: str = "topology.toml") -> tuple[int, str]:
    """Exit status and errors of two ranks."""
    with ranked(folder, 2, sys.executable, "-c", SCRIPT, topology, *settings) as started:
        status, _, errors = started.wait()
    return status, errors


@pytest.mark.parametrize("home", [0, 1])
def test_a_rank_without_a_replica_of_an_actor_needs_none_of_its_files(folder: Path, home: int) -> None:
    settings = [f"{rank}@deploy.network.home={home}" for rank in (0, 1)]
    settings += [f"{rank}@actors.named.replicas=1" for rank in (0, 1)]
    for path in ("people.path", "named.table", "rows.path"):
        settings.append(f"1@actors.{path}=topology.toml/none.csv")
    assert run(folder, *settings) == (0, "")
    assert written(folder) == EXPECTED


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("people.path", "topology.toml/none.csv' does not exist"),
        ("named.table", "topology.toml/none.csv' does not exist"),
        ("rows.path", "topology.toml' is a file; allowed: a path below a directory"),
    ],
)
def test_a_rank_that_runs_a_replica_without_its_files_is_named_with_the_path(
    folder: Path, path: str, said: str
) -> None:
    status, errors = run(folder, f"0@actors.{path}=topology.toml/none.csv")
    assert status == 2, errors
    assert errors.count("actorstream:") == 1, errors
    assert "rank 0 on host" in errors and f"actors.{path}: " in errors and said in errors, errors
    assert (
        f"this rank runs a replica of {path.partition('.')[0]!r}; what it reads and writes has to be on its host"
        in errors
    )


def test_ranks_of_which_each_lacks_files_that_the_other_needs_run_no_replica(folder: Path) -> None:
    settings = [f"{rank}@actors.named.replicas=2" for rank in (0, 1)]
    status, errors = run(
        folder,
        *settings,
        "0@actors.named.table=nowhere.csv",
        "1@actors.people.path=nowhere.csv",
    )
    assert status == 2, errors
    assert errors.count("actorstream:") == 1, errors
    assert "rank 0 on host" in errors and "actors.named.table: " in errors, errors
    assert "nowhere.csv' does not exist" in errors


def test_files_that_no_rank_has_are_told_once_and_of_no_rank(folder: Path) -> None:
    status, errors = run(folder, *(f"{rank}@actors.people.path=nowhere.csv" for rank in (0, 1)))
    assert status == 2, errors
    assert errors.count("actorstream:") == 1 and "rank 0" not in errors and "rank 1" not in errors, errors
    assert "actors.people.path: " in errors and "nowhere.csv' does not exist" in errors


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("a.csv", "b.csv"), ""),
        (("a.csv", "c.csv"), "file 2 of actors.people is 'c.csv' on rank 1, 'b.csv' on rank 0"),
        (("b.csv",), "file 1 of actors.people is 'b.csv' on rank 1, 'a.csv' on rank 0"),
        (("a.csv", "b.csv", "c.csv"), "file 3 of actors.people is 'c.csv' on rank 1, no file on rank 0"),
    ],
)
def test_ranks_that_share_the_files_of_a_source_need_all_of_them_by_the_same_names_in_any_folder(
    folder: Path, names: tuple[str, ...], said: str
) -> None:
    for place, files in (("first", ("a.csv", "b.csv")), ("second", names)):
        (folder / place).mkdir()
        for file in files:
            (folder / place / file).write_text("name,country\nAda,uk\n")
    settings = [f"{rank}@actors.people.replicas=2" for rank in (0, 1)]
    status, errors = run(folder, *settings, "0@actors.people.path=first", "1@actors.people.path=second")
    if said:
        assert (status, errors.count("actorstream:")) == (2, 1), errors
        assert "rank 1 on host" in errors and f"{said}; its replicas share the files out" in errors, errors
    else:
        assert (status, errors) == (0, "")
        assert written(folder) == ["Ada,uk,London"] * 2


def test_a_rank_without_the_files_that_a_program_is_planned_from_runs_under_the_plan_of_another(
    tmp_path: Path,
) -> None:
    app = "apps/value_barrier/topology.toml"
    settings = [f"{rank}@actors.sums.path={tmp_path}/out/rows.csv" for rank in (0, 1)]
    settings += [f"1@actors.{name}.path={tmp_path}/none.csv" for name in ("barriers", "values")]
    assert run(ROOT, *settings, topology=app) == (0, "")
    alone = ["launch", app, "--quiet", "--set", f"actors.sums.path={tmp_path}/alone.csv"]
    subprocess.run([sys.executable, "-m", "actorstream", *alone], cwd=ROOT, check=True)
    assert sorted((tmp_path / "alone.csv").read_text().splitlines()[1:]) == written(tmp_path)


def hidden(folder: Path, made: Hosts, number: int) -> str:
    """The setting of a deployment by which one host has an empty folder in the place of `data`. What is mounted in the shell's
    own namespace goes with the shell."""
    script = folder / "shell-of-hosts"
    hide = f'[ "$1" = {made.name(number)} ] && hide="mount -t tmpfs none {folder}/data && " || hide=""'
    script.write_text(f'#!/bin/sh\n{hide}\nexec ip netns exec "$1" sh -c "$hide$2"\n')
    script.chmod(0o755)
    return f"remote_shell = ['{script}']"


@pytest.mark.parametrize("number", [0, 1])
def test_a_source_is_read_on_the_host_of_its_replica_whose_files_only_are_checked(
    folder: Path, number: int
) -> None:
    with hosts(2) as made:
        file = deployment(folder, made)
        lines = file.read_text().splitlines()
        at = next(at for at, line in enumerate(lines) if line.startswith("remote_shell"))
        lines[at] = hidden(folder, made, number).replace("'", '"')
        file.write_text("\n".join(lines))
        launched = made.launch(0, "topology.toml", "--deploy", file, "--quiet", cwd=folder)
        _, errors = launched.communicate(timeout=60)
    assert launched.returncode == (2 if number == 0 else 0), errors
    if number == 1:
        assert written(folder) == EXPECTED
    else:
        assert "rank 0 on host" in errors and "actors.people.path: " in errors, errors
        assert f"{str(folder / 'data/people.csv')!r} does not exist" in errors, errors
