"""Runs a function in a forked child and answers the string that it returned; for limits and exits of real processes."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable


def in_child(function: Callable[[], str]) -> str:
    """What `function` returned in a child of this process; AssertionError with the child's traceback if it raised."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.write(theirs, function().encode())
            code = 0
        except BaseException:
            os.write(theirs, traceback.format_exc().encode()[-60_000:])
        finally:
            os._exit(code)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        answer = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code == 0, f"the child ended with {code}: {answer}"
    return answer
