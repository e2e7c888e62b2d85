"""Shipped: a function for tasks whose executors may lack this package. What makes it again there is sent itself, and uses the
environment that `launch --on` has sent along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Shipped:
    """Calls a function. In a task, the package is on the path before the function is looked up in it."""

    __slots__ = ("run",)  # a wrapper of pyspark's would copy a dictionary, and the function with it

    def __init__(self, run: Callable[[Any], Any]) -> None:
        self.run = run

    def __call__(self, rows: Any) -> Any:
        return self.run(rows)

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        import sys

        import pyspark.cloudpickle as cloudpickle

        cloudpickle.register_pickle_by_value(sys.modules[__name__])
        return _loaded, (cloudpickle.dumps(self.run),)


def _loaded(payload: bytes) -> Any:
    """The function again. It is sent by value, so it imports what it needs itself."""
    import pickle
    import sys
    from importlib.util import find_spec
    from pathlib import Path

    from pyspark import SparkFiles

    if find_spec("actorstream") is None and Path(sent := SparkFiles.get("environment")).is_dir():
        sys.path.append(sent)
    return pickle.loads(payload)
