"""Shipped: a function of this package for tasks whose executors may lack it. What travels is a closure that names the function;
it looks for the function only in the task, where the environment that `launch --on` has sent along is put on the path first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def shipped(function: Callable[..., Any], *given: Any) -> Callable[[Any], Any]:
    """A function of a task's rows that calls `function(rows, *given)`, which is one of a module. Of `given` nothing may be of a
    class of this package: PySpark would look for that before the path is set."""
    module, name = function.__module__, function.__qualname__

    def run(rows: Any) -> Any:
        # PySpark sends the code of an inner function, so it must use no name of this module
        import sys
        from importlib import import_module
        from importlib.util import find_spec
        from pathlib import Path

        from pyspark import SparkFiles

        if find_spec("actorstream") is None and Path(sent := SparkFiles.get("environment")).is_dir():
            sys.path.append(sent)
        return getattr(import_module(module), name)(rows, *given)

    return run
