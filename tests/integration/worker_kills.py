"""Kills a worker of a run in this process once it has made checkpoints."""

from __future__ import annotations

import random
from collections.abc import Callable

from actorstream.errors import WorkerDiedError
from actorstream.launch.launcher import Launcher
from actorstream.launch.run import RunResult


def was_killed(start: Callable[[], RunResult]) -> bool:
    """Whether a run was killed; a machine may be so busy that it ends before the checkpoints are made that the killer
    waits for, and then it leaves what an undisturbed one does all the more."""
    try:
        start()
    except WorkerDiedError as error:
        assert "--resume to go on from" in str(error)
        return True
    return False


def killer(seed: int, after: int) -> Callable[[Launcher], Callable[[], None]]:
    """Kills a worker when so many checkpoints have been made."""

    def control(launcher: Launcher) -> Callable[[], None]:
        def tick() -> None:
            assert launcher.checkpoints is not None
            if launcher.checkpoints.made >= after:
                random.Random(seed).choice(launcher.workers).kill()

        return tick

    return control
