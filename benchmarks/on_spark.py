"""Two workers that exchange rows over ZeroMQ, launched by hand and by Spark. Both encrypt what they send, as hosts do."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import tempfile
from pathlib import Path

from actorstream.transports.network.keys import KEY_BYTES, VARIABLE
from actorstream.transports.zmq.ports import free_ports
from actorstream.transports.zmq.starter import RANK
from benchmarks.dataflow import COMMAND, INTO, Ran, inline, toml
from benchmarks.job import LONGEST_SECONDS, ROOT, JobError, tail
from benchmarks.suites.exchange import exchange

CLUSTER = "local-cluster[2,1,1024]"
HERE = "127.0.0.1"


def exchanged(seconds: float, on: str = "") -> float:
    """Rows a second, from the first batch of the first consumer to the last of the last. `on`: a master of Spark; "": by
    hand."""
    with tempfile.TemporaryDirectory(prefix="actorstream-benchmark-") as folder:
        into = Path(folder) / "notes"
        into.mkdir()
        topology = Path(folder) / "exchange.toml"
        topology.write_text(toml("exchange", exchange(seconds)).replace(INTO, str(into)))
        words = [str(COMMAND), "launch", str(topology), "--transport", "zmq", "--workers", "2", "--quiet"]
        words += ["--set", "deploy.same_host=zmq"]
        _run([[*words, "--on", on]], [{}]) if on else _by_hand(words)
        return Ran({}, [json.loads(path.read_text()) for path in sorted(into.iterdir())]).rate()


def _by_hand(words: list[str]) -> None:
    held = [free_ports(HERE) for _ in range(2)]
    hosts = [{"address": HERE, "port": port} for _, port in held]
    for each, _ in held:
        each.close()
    key = secrets.token_hex(KEY_BYTES)
    environments = [{RANK: str(rank), VARIABLE: key} for rank in range(2)]
    _run([[*words, "--set", f"deploy.hosts={inline(hosts)}"]] * 2, environments)


def _run(commands: list[list[str]], environments: list[dict[str, str]]) -> None:
    """Runs commands at the same time. JobError: one has failed."""
    running = [
        subprocess.Popen(command, cwd=ROOT, env={**os.environ, **more}, stderr=subprocess.PIPE, text=True)
        for command, more in zip(commands, environments)
    ]
    try:
        for process in running:
            _, said = process.communicate(timeout=LONGEST_SECONDS)
            if process.returncode:
                raise JobError(
                    f"the exchange failed with exit code {process.returncode}; it said:\n{tail(said)}"
                )
    finally:
        for process in running:
            process.kill()
            process.wait()
