"""What the coordinator is told of the errors of workers."""

from __future__ import annotations

import sys

from actorstream.control.failures import failed_message, reported_error


def test_a_hook_that_calls_sys_exit_is_told_with_the_lines_of_the_user_alone() -> None:
    try:
        sys.exit(3)
    except SystemExit as error:
        text = str(reported_error(failed_message(1, error)))
    assert text.startswith("worker 1 failed: a hook called sys.exit(3); raise an error in it instead\n")
    assert "test_failures.py" in text
    assert "Traceback" not in text
