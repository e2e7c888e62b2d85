"""apps/linear_road on a cluster of Spark that loses a worker midway, and undisturbed:

    python -m tests.spark.killed_worker DATA

DATA: what `actorstream data linear_road --out DATA` has written. Launches the app by hand on two workers, and again with
`--on local-cluster[2,1,1024]` and checkpoints, where one of the two workers is killed once half of the reports were read.
Ends with status 1 unless the files of both runs have the same rows, and the notifications are those that the app's reference
computes of the same reports, one after the other. The log of such a run is in tests/campaigns."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from actorstream.checkpoint.store import CheckpointStore
from apps.linear_road import reference
from tests.spark.processes import processes_with

MASTER = "local-cluster[2,1,1024]"
TOPOLOGY = "apps/linear_road/topology.toml"
OUTPUTS = ("new_segments", "tolls", "accident_alerts", "toll_charges", "segment_stats")
LOOK_S = 0.05


def command(data: Path, out: Path, *more: str) -> list[str]:
    out.mkdir()
    sets = [f"actors.reports.path={data / 'reports'}"]
    sets += [f"actors.{name}.path={out / name}.csv" for name in OUTPUTS]
    words = [sys.executable, "-m", "actorstream", "launch", TOPOLOGY, "--workers", "2"]
    return [*words, *(word for each in sets for word in ("--set", each)), *more]


def kill_midway(process: subprocess.Popen[str], rows: int, out: Path, store: CheckpointStore) -> None:
    """Kills the worker that was started last, once half of the rows were read and checkpoints made since."""
    assert process.stderr is not None
    made: int | None = None
    for line in process.stderr:
        print(line, end="", flush=True)
        read = re.search(r"  ([\d,]+) events", line)
        if made is None and read is not None and int(read[1].replace(",", "")) > rows // 2:
            made = store.last() or 0
            while (store.last() or 0) < made + 2 and process.poll() is None:
                time.sleep(LOOK_S)
            victim = max(processes_with(str(out), "deploy.hosts"))
            os.kill(victim, signal.SIGKILL)
            print(f"killed worker {victim} behind checkpoint {store.last()}", flush=True)


def rows_of(path: Path) -> list[str]:
    return sorted(path.read_text().splitlines())


def wrong_notifications(data: Path, out: Path) -> list[str]:
    """The outputs whose rows are not those of the reference."""
    files = sorted((data / "reports").iterdir())
    expected = reference.LinearRoad().run(row for each in files for row in reference.read(each)).results
    wrong = []
    for name in OUTPUTS:
        with (out / f"{name}.csv").open() as file:
            found = sorted(tuple(map(int, row)) for row in list(csv.reader(file))[1:])
        if found != sorted(expected[name]):
            wrong.append(name)
    return wrong


def main(data: Path, folder: Path) -> int:
    rows = json.loads((data / "manifest.json").read_text())["streams"]["reports"]["rows"]
    began = time.monotonic()
    subprocess.run([*command(data, folder / "by-hand"), "--quiet"], check=True)
    print(f"{rows:,} reports, by hand and undisturbed: {time.monotonic() - began:.1f} s", flush=True)
    wrong = wrong_notifications(data, folder / "by-hand")
    print(f"notifications that are not the reference's: {', '.join(wrong) or 'none'}", flush=True)
    (folder / "deploy.toml").write_text(f'[checkpoint]\npath = "{folder}/state"\nevery = "200ms"\n')
    options = ["--on", MASTER, "--deploy", str(folder / "deploy.toml")]
    words = command(data, folder / "on-spark", *options)
    began = time.monotonic()
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        kill_midway(process, rows, folder / "on-spark", CheckpointStore(f"{folder}/state"))
    print(f"--on {MASTER}, exit code {process.returncode}: {time.monotonic() - began:.1f} s", flush=True)
    differ = [
        name
        for name in OUTPUTS
        if rows_of(folder / f"by-hand/{name}.csv") != rows_of(folder / f"on-spark/{name}.csv")
    ]
    for name in OUTPUTS:
        found = len(rows_of(folder / f"on-spark/{name}.csv")) - 1
        print(f"{name}: {found:,} rows, {'DIFFERENT' if name in differ else 'the same'}")
    return int(bool(differ) or bool(wrong) or process.returncode != 0)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="actorstream-killed-") as scratch:
        sys.exit(main(Path(sys.argv[1]).resolve(), Path(scratch)))
