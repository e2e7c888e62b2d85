"""Runs over ZeroMQ and MPI on several hosts, which are network namespaces: their output, cuts and delays, and what is noticed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.apps.launched import command
from tests.integration.namespaces import (
    APART,
    APART_S,
    NETWORK,
    SWITCH,
    Hosts,
    deployment,
    hosts,
    remote_shell,
)

APPS = {
    "word_count": {"counts": "multiset"},
    "ysb": {"counts": "multiset", "late": "multiset"},
    "call_fraud": {"suspects": "sequence", "alerts": "sequence"},
    "linear_road": {"tolls": "sequence", "toll_charges": "sequence"},
    "value_barrier": {"sums": "multiset"},
    "page_view_join": {"joined": "multiset", "replaced": "multiset"},
}
"""App -> its sinks, and as what their rows are compared."""
WAITING_S = 240.0


def outputs(app: str, folder: Path) -> list[str]:
    """Settings that lead the sinks of an app into a folder."""
    return [word for sink in APPS[app] for word in ("--set", f"actors.{sink}.path={folder / sink}.csv")]


def rows(app: str, folder: Path) -> dict[str, list[str]]:
    """What the sinks have written, as it is compared."""
    found = {sink: (folder / f"{sink}.csv").read_text().splitlines() for sink in APPS[app]}
    return {sink: lines if APPS[app][sink] == "sequence" else sorted(lines) for sink, lines in found.items()}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, list[str]]]:
    """App -> what it gives on one worker; filled when somebody asks."""
    folder = tmp_path_factory.mktemp("one-worker")

    class Filled(dict[str, dict[str, list[str]]]):
        def __missing__(self, app: str) -> dict[str, list[str]]:
            words = ["launch", f"apps/{app}/topology.toml", "--transport", "local", "--workers", "1", "-q"]
            command(*words, *outputs(app, folder))
            self[app] = rows(app, folder)
            return self[app]

    return Filled()


def finish(process: subprocess.Popen[str], status: int = 0) -> str:
    """Waits for a program's end; what it said on stderr."""
    _, said = process.communicate(timeout=WAITING_S)
    assert process.returncode == status, said
    return said


@contextmanager
def relayed(
    made: Hosts, folder: Path, delay: float, loss: float = 0.0, *lines: str
) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """A deployment in which every worker is reached over a relay, and the relay."""
    ports = {number: 6000 + 10 * number for number in range(made.count)}
    forwarded = [f"{port + more}:{made.address(number)}" for number, port in ports.items() for more in (0, 1)]
    words = [sys.executable, "-m", "tests.integration.relay", str(delay), str(loss), SWITCH, *forwarded]
    relay = made.start(made.switch, *words)
    assert relay.stdout is not None and relay.stdout.readline() == "ready\n"
    text = [
        'transport = "zmq"',
        "[network]",
        f"remote_shell = {remote_shell(folder)}",
        'listen = "*"',
        *lines,
    ]
    for number, port in ports.items():
        text += ["[[hosts]]", f'address = "{SWITCH}"', f'ssh = "{made.name(number)}"', f"port = {port}"]
    path = folder / "relayed.toml"
    path.write_text("\n".join(text).replace("'", '"') + "\n")
    try:
        yield path, relay
    finally:
        relay.kill()
        relay.communicate()


def tell(relay: subprocess.Popen[str], word: str) -> None:
    assert relay.stdin is not None and relay.stdout is not None
    relay.stdin.write(f"{word}\n")
    relay.stdin.flush()
    assert relay.stdout.readline() == "done\n"


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("app", "count"),
    [
        ("call_fraud", 3),
        *(pytest.param(app, count, marks=SLOW) for app in APPS for count in (2, 3, 4)),
    ],
)
def test_an_app_gives_on_several_hosts_what_it_gives_on_one_worker(
    app: str, count: int, tmp_path: Path, expected: dict[str, dict[str, list[str]]]
) -> None:
    with hosts(count) as made:
        file = deployment(tmp_path, made)
        launched = made.launch(0, f"apps/{app}/topology.toml", "--deploy", file, *outputs(app, tmp_path))
        assert f"{count} workers (zmq)" in finish(launched)
    assert rows(app, tmp_path) == expected[app]


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("app", APPS)
def test_an_app_gives_over_mpi_on_several_hosts_what_it_gives_on_one_worker(
    app: str, count: int, tmp_path: Path, expected: dict[str, dict[str, list[str]]]
) -> None:
    with hosts(count) as made:
        words = ["--transport", "mpi", "--workers", count, *outputs(app, tmp_path)]
        assert f"{count} workers (mpi)" in finish(made.mpi(tmp_path, f"apps/{app}/topology.toml", *words))
    assert rows(app, tmp_path) == expected[app]


@pytest.mark.parametrize(
    ("app", "delay"),
    [
        ("word_count", 0.001),
        *(
            pytest.param(app, delay, marks=SLOW)
            for app in APPS
            for delay in (0.001, 0.02)
            if (app, delay) != ("word_count", 0.001)
        ),
    ],
)
def test_delays_lost_frames_and_cut_wires_change_no_output_over_mpi(
    app: str, delay: float, tmp_path: Path, expected: dict[str, dict[str, list[str]]]
) -> None:
    with hosts(4, (delay, 0.002)) as made:
        words = ["--transport", "mpi", "--workers", 4, *outputs(app, tmp_path)]
        launched = made.mpi(tmp_path, f"apps/{app}/topology.toml", *words)
        assert made.wires is not None
        while launched.poll() is None:
            if list(
                tmp_path.glob("*.tmp")
            ):  # a sink has opened its file; MPI itself gives up if a wire is cut in its start
                tell(made.wires, "cut")
            try:
                launched.wait(1.0)
            except subprocess.TimeoutExpired:
                continue
        assert "4 workers (mpi)" in finish(launched)
    assert rows(app, tmp_path) == expected[app]


@pytest.mark.parametrize(
    ("app", "same_host"),
    [
        ("word_count", "shm"),
        *(pytest.param(app, how, marks=SLOW) for app in APPS for how in ("shm", "zmq")),
    ],
)
def test_several_workers_on_each_host_give_what_one_gives(
    app: str, same_host: str, tmp_path: Path, expected: dict[str, dict[str, list[str]]]
) -> None:
    with hosts(2) as made:
        file = deployment(tmp_path, made, slots=(2, 2))
        words = ["--deploy", file, "--set", f"deploy.same_host={same_host}", *outputs(app, tmp_path)]
        assert "4 workers (zmq)" in finish(made.launch(0, f"apps/{app}/topology.toml", *words))
    assert rows(app, tmp_path) == expected[app]


@pytest.mark.parametrize(
    ("app", "delay"),
    [
        ("value_barrier", 0.001),
        *(pytest.param(app, delay, marks=SLOW) for app in APPS for delay in (0.001, 0.02)),
    ],
)
def test_delays_lost_datagrams_and_cut_connections_change_no_output(
    app: str, delay: float, tmp_path: Path, expected: dict[str, dict[str, list[str]]]
) -> None:
    with hosts(2) as made, relayed(made, tmp_path, delay, 0.1) as (file, relay):
        launched = made.launch(0, f"apps/{app}/topology.toml", "--deploy", file, *outputs(app, tmp_path))
        cuts = 0
        while launched.poll() is None:
            tell(relay, "cut")
            cuts += 1
            try:
                launched.wait(0.3)
            except subprocess.TimeoutExpired:
                continue
        finish(launched)
        assert cuts > 3
    assert rows(app, tmp_path) == expected[app]


def spread(folder: Path) -> Path:
    """A topology of which each row goes from rank 0 over any rank to any rank, where its latency is measured."""
    file = folder / "spread.toml"
    file.write_text(
        f"""
name = "spread"
[actors.numbers]
type = "tests.integration.parts:Numbers"
count = 300
[actors.pass]
type = "tests.integration.parts:Pass"
inputs = [{{ from = "numbers", route = "shuffle" }}]
replicas = 3
[actors.out]
type = "csv-sink"
inputs = [{{ from = "pass", route = "shuffle" }}]
replicas = 3
path = "{folder}/out"
"""
    )
    return file


@pytest.mark.parametrize("transport", ["zmq", "mpi"])
def test_latency_between_hosts_whose_clocks_differ_is_that_of_one_clock(
    transport: str, tmp_path: Path
) -> None:
    """A rank of MPI measures only how far the clock of rank 0 is ahead; ranks 1 and 2 tell each other of that."""
    with hosts(3) as made:
        words = [spread(tmp_path), "--report", tmp_path / "report.json", "--set", "deploy.batch_size=1"]
        if transport == "mpi":
            launched = made.mpi(tmp_path, *words, "--transport", "mpi", "--workers", 3, within=APART)
        else:
            file = deployment(tmp_path, made, within=APART)
            text = file.read_text()
            file.write_text(text.replace(f'ssh = "{made.name(0)}"', 'ssh = ""'))
            launched = made.launch(0, *words, "--deploy", file)
        finish(launched)
    report = json.loads((tmp_path / "report.json").read_text())
    assert [clock["worker"] for clock in report["clocks"]] == [1, 2]
    for clock in report["clocks"]:
        assert abs(clock["ahead_ms"] - 1000 * APART_S * clock["worker"]) <= clock["error_ms"] < 1000
    assert 0 < report["latency_ms"]["max"] < 60_000, "an entry time of another clock would be 5,000 s away"


OWN = """
import sys
from actorstream.transports.network.interfaces import listening_address
from actorstream.transports.zmq.starter import is_here
print(listening_address("", sys.argv[1]), is_here(sys.argv[1]))
"""


def test_a_host_has_each_address_of_an_interface_with_several() -> None:
    second = f"{NETWORK}77"
    with hosts(1) as made:
        name = made.name(0)
        subprocess.run(["ip", "-n", name, "addr", "add", f"{second}/24", "dev", "eth0"], check=True)
        for address in (made.address(0), second):
            said, failed = made.start(name, sys.executable, "-c", OWN, address).communicate(timeout=WAITING_S)
            assert said == f"{address} True\n", failed
