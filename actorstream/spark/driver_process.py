"""DriverProcess: the process of Spark's driver, as a source actor sees it. The process runs `driver.py`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from actorstream.errors import ConfigurationError
from actorstream.spark.failure import SparkError

Hear = Callable[[dict[str, Any]], None]


class DriverProcess:
    """Starts the driver with what it has to do. `hear` gets every line that it says, in a thread of its own; an `error` is
    an exception there, also where the driver ends without a word."""

    def __init__(self, task: Mapping[str, Any], hear: Hear) -> None:
        self._hear, self._stopped = hear, False
        command = [sys.executable, "-m", "actorstream.spark.driver"]
        # the driver inherits what is blocked here, and no signal ends it before it ignores these itself
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
        try:
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        threading.Thread(target=self._listen, name="spark-driver", daemon=True).start()

    def stop(self) -> None:
        """Ends the driver, and with it the jobs that it still runs. Returns at once: the driver sees that its stdin has
        ended, and takes some seconds at the most."""
        self._stopped = True
        assert self._process.stdin is not None
        self._process.stdin.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        said_all = False
        for text in self._process.stdout:
            line = json.loads(text)
            if "error" in line:
                line["error"] = raised(line["kind"], line["error"])
            said_all = "error" in line or "done" in line
            self._hear(line)
        code = self._process.wait()
        if not said_all and not self._stopped:
            what = f"Spark's driver ended without saying why (exit code {code})"
            self._hear({"error": SparkError(what)})


def raised(kind: str, text: str) -> Exception:
    """The error of another process again."""
    return ConfigurationError(text) if kind == "ConfigurationError" else SparkError(text)
