"""Runs on two hosts that lose a rank: it is killed, stopped or cut off. The tests lose a few; the whole campaign is one command:

python -m tests.integration.lost_ranks 50
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from tests.integration.namespaces import Hosts, deployment, hosts

WAITING_S = 240.0
"""A machine may stand still for minutes while other programs measure on it."""
LIMIT_S = 5.0
"""Within which a run is to end on every host, on a machine that is not busy."""


def running(folder: Path, *, seconds: float = 0.0, count: int = 10**9) -> tuple[Path, Path]:
    """A topology whose workers say when they work, and the pipe by which they do. `seconds`: for which each is then busy."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    file = folder / "topology.toml"
    file.write_text(
        f"""
name = "running"
[actors.numbers]
type = "tests.integration.parts:Numbers"
count = {count}
rate = 20000
[actors.tell]
type = "tests.integration.host_parts:Tell"
inputs = [{{ from = "numbers", route = "shuffle" }}]
replicas = 2
pipe = "{pipe}"
[actors.busy]
type = "tests.integration.host_parts:Busy"
inputs = [{{ from = "tell", route = "shuffle" }}]
replicas = 2
seconds = {seconds}
[actors.out]
type = "csv-sink"
inputs = ["busy"]
path = "{folder}/out.csv"
"""
    )
    return file, pipe


def wait_until_both_work(pipe: Path) -> None:
    # open to write as well: else the pipe would end, and drop what comes, as soon as one rank has said so
    descriptor = os.open(pipe, os.O_RDWR)
    said = b""
    while len(set(said.split())) < 2:
        assert select.select([descriptor], [], [], WAITING_S)[0], "the ranks do not work"
        said += os.read(descriptor, 1 << 16)
    os.close(descriptor)


def rank_process(made: Hosts, rank: int) -> int:
    """The process of a rank."""
    marks = {f"{name}={rank}".encode() for name in ("ACTORSTREAM_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK")}
    for pid in made.processes():
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if b"launch" in words and marks & {*Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")}:
            return pid
    raise AssertionError(f"there is no process of rank {rank}")


def end(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Waits for the end; exit status, and what was said on stderr."""
    _, said = process.communicate(timeout=WAITING_S)
    return process.returncode, said


def wait_for_end(pidfd: int) -> None:
    assert select.select([pidfd], [], [], WAITING_S)[0], "a process has not ended"


# -- what is started


def over_zmq(made: Hosts, folder: Path, file: Path, network: Sequence[str] = ()) -> subprocess.Popen[str]:
    """Starts both ranks from the first host. `network`: lines of that table."""
    return made.launch(0, file, "--deploy", deployment(folder, made, *network), "-q")


def over_mpi(made: Hosts, folder: Path, file: Path) -> subprocess.Popen[str]:
    """Starts both ranks from the host with the bridge, where mpiexec runs."""
    return made.mpi(folder, file, "--transport", "mpi", "--workers", made.count, "-q")


Start = Callable[[Hosts, Path, Path], "subprocess.Popen[str]"]
TRANSPORTS: dict[str, Start] = {"zmq": over_zmq, "mpi": over_mpi}

# -- what is lost


def killed(made: Hosts, rank: int) -> None:
    os.kill(rank_process(made, rank), signal.SIGKILL)


def stopped(made: Hosts, rank: int) -> None:
    os.kill(rank_process(made, rank), signal.SIGSTOP)


def cut_off(made: Hosts, rank: int) -> None:
    made.cut(rank)


Fault = Callable[[Hosts, int], None]
FAULTS: list[Fault] = [killed, stopped, cut_off]


@dataclass
class Ending:
    """Of a run that has lost a rank: how many seconds later the other rank, and the command that had started both, ended."""

    other_s: float
    command_s: float
    said: str


def lose(fault: Fault, rank: int, folder: Path, start: Start = over_zmq) -> Ending:
    """Starts a run and loses a rank. AssertionError: the run does not end, leaves something, or does not say why it ends."""
    file, pipe = running(folder)
    with hosts(2) as made:
        launched = start(made, folder, file)
        wait_until_both_work(pipe)
        other = os.pidfd_open(rank_process(made, 1 - rank))
        lost = os.pidfd_open(rank_process(made, rank))
        begun = monotonic()
        fault(made, rank)
        wait_for_end(other)
        other_s = monotonic() - begun
        if fault is stopped and start is not over_mpi:  # mpiexec kills what is left
            signal.pidfd_send_signal(lost, signal.SIGKILL)
        wait_for_end(lost)  # one that was cut off ends by itself
        status, said = end(launched)
        command_s = monotonic() - begun
        for descriptor in (other, lost):
            os.close(descriptor)
    assert status, said
    names = (f"rank {rank} on host", f"worker {rank} at tcp://{Hosts.address(rank)}")
    assert any(name in said for name in names), said
    assert not (folder / "out.csv").exists()
    return Ending(other_s, command_s, said)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("times", type=int, help="runs of each transport, fault and rank")
    parser.add_argument("--transports", default=",".join(TRANSPORTS))
    parser.add_argument("--faults", default=",".join(fault.__name__ for fault in FAULTS))
    parsed = parser.parse_args()
    bad = 0
    for transport in parsed.transports.split(","):
        for fault in [each for each in FAULTS if each.__name__ in parsed.faults.split(",")]:
            for rank in (1, 0):
                bad += lose_often(transport, fault, rank, parsed.times)
    print(f"{bad} of the runs were wrong" if bad else "all runs ended as they should", flush=True)
    return 1 if bad else 0


def lose_often(transport: str, fault: Fault, rank: int, times: int) -> int:
    """Prints a line for each run; how many were wrong."""
    name = f"{transport}, rank {rank} {fault.__name__}"
    endings: list[Ending] = []
    for number in range(1, times + 1):
        with tempfile.TemporaryDirectory() as folder:
            load = f"load {os.getloadavg()[0]:.1f}"
            try:
                ending = lose(fault, rank, Path(folder), TRANSPORTS[transport])
            except (AssertionError, subprocess.SubprocessError) as error:
                print(f"{name}, {number}: WRONG ({load}): {error}", flush=True)
                continue
        late = ending.other_s >= LIMIT_S
        endings += [] if late else [ending]
        print(
            f"{name}, {number}: the other rank ended after {ending.other_s:.2f} s, the command after "
            f"{ending.command_s:.2f} s ({load}){': LATE' if late else ''}",
            flush=True,
        )
    if endings:
        seconds = [each.other_s for each in endings]
        print(
            f"{name}: {len(endings)} of {times} within {LIMIT_S:g} s; median {statistics.median(seconds):.2f} s, "
            f"longest {max(seconds):.2f} s",
            flush=True,
        )
    return times - len(endings)


if __name__ == "__main__":
    sys.exit(main())
