"""RunBeside: a run of a topology that lives as long as another process, Spark's driver. It is started from processes that do not
live long themselves.

    python -m actorstream.dataframes.run_beside PID FOLDER OPTIONS SETS RESUMES

runs it, the last three being JSON."""

from __future__ import annotations

import fcntl
import json
import os
import select
import subprocess
import sys
from pathlib import Path

from actorstream.dataframes.topology_run import TopologyOptions, TopologyRun
from actorstream.errors import RunError

LOCK, FAILED = ".run.lock", ".run.failed"
LOOK_MS = 100


class RunBeside:
    """The run of one folder.

    Args:
        folder: has the lock that only one run holds.
        options, sets: what runs.
        resumes: whether it goes on from its last checkpoint.
    """

    def __init__(
        self, folder: Path, options: TopologyOptions, sets: list[str], *, resumes: bool = True
    ) -> None:
        self._folder, self._options, self._sets, self._resumes = folder, options, sets, resumes

    def start(self) -> None:
        """Starts it unless it runs. RunError: it has failed since the last call."""
        failed = self._folder / FAILED
        if failed.exists():
            text = failed.read_text()
            failed.unlink()
            raise RunError(text)
        with (self._folder / LOCK).open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return  # it runs
            # the process inherits the lock, so nobody else can start one in between
            command = [sys.executable, "-m", __name__, str(java_process()), str(self._folder)]
            command += [json.dumps(self._options), json.dumps(self._sets), json.dumps(self._resumes)]
            subprocess.Popen(
                command,
                pass_fds=(lock.fileno(),),
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )


def java_process() -> int:
    """The process of Spark's driver, of which this one is a descendant; this one's parent if there is none."""
    pid = os.getppid()
    while pid > 1:
        if Path(f"/proc/{pid}/comm").read_text().strip() == "java":
            return pid
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return os.getppid()


def main(arguments: list[str]) -> None:
    """Ends the run, with a checkpoint, once the process has ended."""
    driver = os.pidfd_open(int(arguments[0]))
    folder, options = Path(arguments[1]), TopologyOptions(*json.loads(arguments[2]))
    more = ["--resume"] if json.loads(arguments[4]) else []
    run = TopologyRun(options, json.loads(arguments[3]), *more)
    poll = select.poll()
    poll.register(driver, select.POLLIN)
    try:
        while run.process.poll() is None and not poll.poll(LOOK_MS):
            pass
        try:
            run.check()
        except RunError as error:
            partial = folder / f"{FAILED}.tmp"
            partial.write_text(str(error))
            partial.replace(folder / FAILED)
    finally:
        run.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
