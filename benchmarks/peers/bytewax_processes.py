"""Runs a bytewax program as one worker process or as several that know each other's addresses."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Sequence

from bytewax.dataflow import Dataflow
from bytewax.run import cli_main


def run_workers(program: str, processes: int, *arguments: str) -> None:
    """Starts `program ARGUMENTS... INDEX ADDRESSES` once a worker, which calls `run_worker`, and waits for all."""
    addresses = ",".join(free_addresses(processes))
    started = [
        subprocess.Popen([sys.executable, program, *arguments, str(index), addresses])
        for index in range(processes)
    ]
    codes = [each.wait() for each in started]
    if any(codes):
        raise SystemExit(f"a worker failed; exit codes {codes}")


def run_worker(flow: Dataflow, index: str, addresses: str) -> None:
    """Runs this worker's share of a flow to its end."""
    known: Sequence[str] = addresses.split(",")
    if len(known) == 1:
        cli_main(flow)
    else:
        cli_main(flow, process_id=int(index), addresses=list(known))


def free_addresses(number: int) -> list[str]:
    sockets = [socket.socket() for _ in range(number)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    found = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    return found
