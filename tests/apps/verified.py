"""Verifies every app over shm, MPI and ZeroMQ, without and with a process that is killed in each run: one command, whose log is
in tests/campaigns:

    python -m tests.apps.verified
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from pathlib import Path
from time import monotonic

ROOT = Path(__file__).resolve().parents[2]


def topologies() -> list[str]:
    """Of every app, but for those that measure speed; the main one of each app first."""
    paths = [path for path in sorted((ROOT / "apps").glob("*/*.toml")) if "bench" not in path.name]
    found = [path for path in paths if "actors" in tomllib.loads(path.read_text())]
    firsts = {path.parent: path for path in reversed(found)}
    firsts |= {path.parent: path for path in found if path.name == "topology.toml"}
    return [
        str(path.relative_to(ROOT)) for path in sorted(found, key=lambda path: path not in firsts.values())
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="of each topology, beside the baseline")
    parser.add_argument("--kills", default="0,1", help="processes to kill in each run")
    parser.add_argument("--seed", default="16")
    parser.add_argument("topologies", nargs="*", default=topologies())
    parsed = parser.parse_args()
    bad = []
    for kills in parsed.kills.split(","):
        for topology in parsed.topologies:
            words = ["verify", topology, "--transports", "shm,mpi,zmq", "--workers", "2"]
            words += ["--runs", str(parsed.runs), "--seed", parsed.seed, "--kills", kills]
            begun = monotonic()
            done = subprocess.run(
                [sys.executable, "-m", "actorstream", *words],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            print(
                f"$ actorstream {' '.join(words)}   # {monotonic() - begun:.0f} s, status {done.returncode}"
            )
            print(done.stdout or done.stderr, flush=True)
            bad += [(topology, kills)] if done.returncode else []
    print("all the same" if not bad else f"not the same: {bad}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
