"""Linear Road through the real command line: the expected files under every deployment, and what the reference finds in
generated traffic."""

from __future__ import annotations

import csv
import io
import json
import random
from itertools import product
from pathlib import Path

import pytest

from apps.linear_road import reference
from apps.linear_road.generate import write
from apps.linear_road.reference import COLUMNS, LinearRoad
from apps.linear_road.traffic import Settings
from tests.apps.launched import command

ROOT = Path(__file__).parents[2]
APP = ROOT / "apps" / "linear_road"
DENSE, MITSIM = APP / "data" / "dense.dat.gz", APP / "data" / "mitsim.dat"
EXPECTED = Path(__file__).with_name("data") / "linear_road"
SOME = [(1, "local", 4096), (2, "shm", 1000), (4, "shm", 4096)]
DEPLOYMENTS = [
    *SOME,
    *(
        pytest.param(*each, marks=pytest.mark.slow)
        for each in [
            *product((1,), ("local",), (1, 7, 4096)),
            *product((1, 2, 4), ("shm",), (1, 7, 4096)),
        ]
        if each not in SOME
    ),
]
"""Workers, transport, batch size."""


def launch(path: Path, out: Path, *options: str, topology: str = "topology.toml") -> dict[str, bytes]:
    """Runs the app on a file; what it has written, by the name of the sink."""
    files = [f"--set=actors.{sink}.path={out / f'{sink}.csv'}" for sink in COLUMNS]
    command("launch", APP / topology, "--set", f"actors.reports.path={path}", *options, *files)
    return {sink: (out / f"{sink}.csv").read_bytes() for sink in COLUMNS}


def deployed(workers: int, transport: str, batch_size: int) -> tuple[str, ...]:
    return (
        *("--workers", str(workers), "--transport", transport),
        *("--set", f"deploy.batch_size={batch_size}"),
    )


def by_reference(path: Path) -> dict[str, bytes]:
    found = LinearRoad().run(reference.read(path)).results
    made = {}
    for sink, columns in COLUMNS.items():
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([columns, *found[sink]])
        made[sink] = text.getvalue().encode()
    return made


def as_sets(files: dict[str, bytes]) -> dict[str, list[bytes]]:
    """The lines of each file; of new segments in their order, of the others as a multiset."""
    return {
        sink: data.splitlines() if sink == "new_segments" else sorted(data.splitlines())
        for sink, data in files.items()
    }


def expected() -> dict[str, list[bytes]]:
    names = {"new_segments": "new_seg"}
    return as_sets(
        {sink: (EXPECTED / f"expected_{names.get(sink, sink)}.csv").read_bytes() for sink in COLUMNS}
    )


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two expressways with light traffic and many accidents."""
    path = tmp_path_factory.mktemp("generated") / "reports.dat.gz"
    write(path, Settings(xways=2, density=8.0, ramp=60, accidents=300.0, seed=5), 600)
    return path


def test_the_reference_finds_the_expected_rows() -> None:
    assert as_sets(by_reference(DENSE)) == expected()


@pytest.mark.parametrize(("workers", "transport", "batch_size"), DEPLOYMENTS)
def test_the_dense_sample_gives_the_expected_files_under_every_deployment(
    workers: int, transport: str, batch_size: int, tmp_path: Path
) -> None:
    found = launch(DENSE, tmp_path, *deployed(workers, transport, batch_size))
    assert as_sets(found) == expected()


@pytest.mark.parametrize(("workers", "transport", "batch_size"), [(1, "local", 4096), (2, "shm", 1)])
def test_the_sample_of_mitsim_gives_what_the_reference_finds(
    workers: int, transport: str, batch_size: int, tmp_path: Path
) -> None:
    found = launch(MITSIM, tmp_path, *deployed(workers, transport, batch_size))
    assert as_sets(found) == as_sets(by_reference(MITSIM))


def test_files_are_the_same_byte_for_byte_whatever_the_deployment(tmp_path: Path, generated: Path) -> None:
    found = []
    for number, deployment in enumerate([(1, "local", 4096), (2, "shm", 777)]):
        out = tmp_path / str(number)
        out.mkdir()
        found.append(launch(generated, out, *deployed(*deployment)))
    assert found[0] == found[1]
    assert as_sets(found[0]) == as_sets(by_reference(generated))
    assert found[0]["accident_alerts"].count(b"\n") > 10


def test_requests_are_counted(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    launch(DENSE, tmp_path, "--report", str(report))
    counted = json.loads(report.read_text())["events_in"]
    assert counted["requests"] == LinearRoad().run(reference.read(DENSE)).requests.total() == 191


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_random_deployments_with_delays_give_the_expected_files(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    settings = {
        "workers": dice.randint(1, 6),
        "batch_size": dice.choice([61, 500, 4096]),
        "edge_bytes": dice.choice([1, 20_000, 4 << 20]),
        "placement": dice.choice(["spread", "round-robin", "first-fit"]),
        "testing.delay": "1ms",
        "testing.seed": seed,
    }
    options = [part for key, value in settings.items() for part in ("--set", f"deploy.{key}={value}")]
    replicas = {actor: dice.randint(1, 4) for actor in ("pos_rep", "new_seg", "accidents", "toll", "charges")}
    options += [part for key, n in replicas.items() for part in ("--set", f"actors.{key}.replicas={n}")]
    assert as_sets(launch(DENSE, tmp_path, *options)) == expected(), (settings, replicas)
