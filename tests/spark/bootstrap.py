"""A run that reads a history by Spark, and live rows behind it, and writes two tables, in a process of its own: the package
`deltalake` does not work in a process that is forked from one that has used it.

`python -m tests.spark.bootstrap FOLDER` runs the topology there and has a worker killed amid it: exit status 0 says so.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from time import sleep

from actorstream.errors import WorkerDiedError
from actorstream.launch.launcher import Launcher
from actorstream.launch.run import run_job
from actorstream.plan.compile import read_job

from .conftest import SHORT
from .flights import FLIGHTS, KEYS
from .gated import LOOK_S
from .processes import parent_of, processes_with

QUICK = ", ".join(f'"{name}" = "{value}"' for name, value in SHORT.items())
CUT = "2013-01-02T00:00:00Z"
"""The gated history of a replica ends before it, or live rows would follow."""
BOOTSTRAP = f"""
name = "bootstrap"
[actors.flights]
type = "history-then-live"
replicas = 2
cut = {CUT}
live = {{ type = "csv-source", path = "live.csv" }}
event_time = "ts"
schema = {{ ts = "datetime", origin = "str", carrier = "str", flight = "int", delay = "float?" }}
[actors.flights.history]
type = "tests.spark.gated:GatedSource"
gate = "gate"
first = 200
partitions = 2
range_rows = 2000
format = "csv"
path = "{FLIGHTS.parent / KEYS["path"]}"
options = {{ header = "true" }}
preprocess = '''{KEYS["preprocess"]}'''
spark = {{ {QUICK} }}
[actors.windows]
type = "aggregate"
inputs = [{{ from = "flights", key = "origin" }}]
key = ["origin"]
window = {{ type = "tumbling", size = "6h" }}
aggregates = {{ flights = "count()", most = "max(delay)" }}
[actors.table]
type = "spark-sink"
inputs = ["flights"]
path = "table"
partition_by = ["origin", "carrier"]
[actors.per-window]
type = "spark-sink"
inputs = ["windows"]
path = "windows"
format = "delta"
"""


DEPLOY = 'batch_size = 64\n[checkpoint]\npath = "state"\nevery = "50ms"\n'


def write(folder: Path) -> None:
    (folder / "topology.toml").write_text(BOOTSTRAP)
    (folder / "deploy.toml").write_text(DEPLOY)


def kill_in(folder: Path) -> Callable[[Launcher], Callable[[], None]]:
    """Kills a worker once rows of the run are visible and some checkpoints more were made."""

    def control(launcher: Launcher) -> Callable[[], None]:
        made: list[int] = []

        def tick() -> None:
            assert launcher.checkpoints is not None
            if not made and any((folder / "table").glob("origin=*/*/*.parquet")):
                made.append(launcher.checkpoints.made)
            if made and launcher.checkpoints.made > made[0] + 1:
                random.Random(1).choice(launcher.workers).kill()

        return tick

    return control


def main(folder: Path) -> int:
    job = read_job(folder / "topology.toml", folder / "deploy.toml")
    try:
        run_job(job, on_start=lambda launcher, _: kill_in(folder)(launcher))
    except WorkerDiedError:
        while any(parent_of(each) == os.getpid() for each in processes_with("actorstream.spark.driver")):
            sleep(LOOK_S)  # the driver ends, and with it its jobs
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
