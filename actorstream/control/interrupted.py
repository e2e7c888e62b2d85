"""How a run ended that somebody stopped: drained, aborted, or suspended at a checkpoint."""

from __future__ import annotations

from actorstream.errors import RunError


class Interrupted(RunError):
    """The user stopped the run. `drained`: everything read so far was committed; `committing`: sinks were committing
    when it was stopped, so some may have and some not; `began`: whether its sources had begun."""

    def __init__(self, drained: bool, *, committing: bool = False, began: bool = True) -> None:
        if committing:
            text = "stopped while sinks were committing: some may have committed, others not"
        elif drained:
            text = "interrupted: sources ended early, sinks committed"
        elif not began:
            text = "stopped before its sources began: nothing was read, nothing committed"
        else:
            text = "aborted: nothing committed"
        super().__init__(text)
        self.drained = drained


class Suspended(RunError):
    """The run was told to stop (SIGTERM) and has checkpoints: `--resume` goes on from the last one.

    Args:
        where: the store of the checkpoints. number: of the checkpoint that was made for it; None: nothing was read since
            the one before, or ever.
    """

    def __init__(self, where: str, number: int | None) -> None:
        what = "before its sources began" if number is None else f"at checkpoint {number} in {where!r}"
        super().__init__(f"suspended {what}: launch again with --resume to go on")
        self.number = number
