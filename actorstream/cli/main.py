"""The command `actorstream`: which subcommands there are, and what an error becomes. Imports a command on first use."""

from __future__ import annotations

import gc
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actorstream.launch.signals import COMMAND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclopts import App

COMMANDS = {
    "launch": ("actorstream.cli.launch:launch", "Run a topology to the end of its input."),
    "check": ("actorstream.cli.check:check", "List everything that is wrong with a topology."),
    "plan": ("actorstream.cli.plan:plan", "Show the graph of a topology and where its replicas run."),
    "verify": (
        "actorstream.cli.verify:verify",
        "Say whether the output is the same under many deployments.",
    ),
    "sustain": (
        "actorstream.cli.sustain:sustain",
        "Find the highest rate of a source that a topology keeps up with.",
    ),
    "profile": (
        "actorstream.cli.profile:profile",
        "Measure what each operator costs, for plans made from a model.",
    ),
    "slurm": ("actorstream.cli.slurm:slurm", "Write the batch script that runs a topology under SLURM."),
    "data": (
        "actorstream.cli.data:data",
        "Make or prepare the input of an app at any size, as a Spark job.",
    ),
    "keys": ("actorstream.cli.keys:keys", "Make the key by which the hosts of a job know each other."),
    "doctor": (
        "actorstream.cli.doctor:doctor",
        "Look at this machine: cores, memory and limits, what is installed.",
    ),
    "new": ("actorstream.cli.new:new", "Start an app: a topology, operators, data and a test that passes."),
}
"""Name -> (where its function is, one line of help)."""

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Of the libraries behind NumPy's matrices. Each worker has cores of its own, and a pool of threads in each of them would only
make every start and every fork slower."""

DONE, FAILED, WRONG, SUSPENDED, INTERRUPTED = 0, 1, 2, 75, 130
"""Exit codes: done; the run failed; the input is wrong; stopped at a checkpoint; interrupted."""


def make_app(tokens: Sequence[str] = ()) -> App:
    """The command line. A command that `tokens` name shows its own docstring as help, the others one line."""
    from cyclopts import App

    from actorstream import __version__

    app = App(
        name="actorstream",
        help="Streaming dataflows as actors, at the speed of C.",
        version=__version__,
        suppress_keyboard_interrupt=False,
    )
    for name, (function, line) in COMMANDS.items():
        app.command(function, name=name, help=None if tokens and tokens[0] == name else line)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and returns the exit code. Our own errors are a message on stderr, never a traceback.

    arguments: None: those of this process, which ends with that code: signals do not change it any more."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        for name in ONE_THREAD:
            os.environ.setdefault(name, "1")
    if tokens[:1] == ["launch"]:
        COMMAND.install()
        if arguments is None:
            gc.disable()  # the modules of a launch are no garbage; `launch` starts the collector when it has them
    try:
        if arguments is None:
            from actorstream.cli.streams import open_streams

            open_streams()
        return _run(tokens)
    finally:
        if arguments is None:
            COMMAND.ignore()
        else:
            COMMAND.remove()


def _run(tokens: list[str]) -> int:
    from cyclopts import CycloptsError

    if tokens and not tokens[0].startswith("-") and tokens[0] not in COMMANDS:
        return _unknown(tokens[0])
    try:
        result: Any = make_app(tokens)(
            tokens, result_action="return_value", exit_on_error=False, print_error=False
        )
        sys.stdout.flush()
    except CycloptsError as error:
        return _say(str(error), WRONG, f"see actorstream {_command(tokens)}--help")
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except (
        BrokenPipeError
    ):  # whoever read our output has left; nothing more to say, not even by the interpreter's end
        sys.stdout = None  # type: ignore[assignment]
        return FAILED
    except OSError as error:
        return _say(_of_system(error), FAILED)
    except Exception as error:
        code = exit_code(error)
        if code is None:
            raise
        if type(error).__name__ == "PrintError":  # or the interpreter tries again at its end
            sys.stdout = None  # type: ignore[assignment]
        return _say(str(error), code)
    return result if isinstance(result, int) else DONE


def exit_code(error: BaseException) -> int | None:
    """The exit code of one of our own errors; None for an exception that is a defect and deserves its traceback."""
    from actorstream.errors import (
        ActorstreamError,
        ConfigurationError,
        NotInstalledError,
        ResourceError,
        RunError,
        SchemaError,
    )

    if isinstance(error, RunError):
        from actorstream.control.interrupted import Interrupted, Suspended

        if isinstance(error, Suspended):
            return SUSPENDED
        return INTERRUPTED if isinstance(error, Interrupted) else FAILED
    if isinstance(error, (ConfigurationError, ResourceError, NotInstalledError, SchemaError)):
        return WRONG
    return FAILED if isinstance(error, ActorstreamError) else None


def _of_system(error: OSError) -> str:
    """An error of the system that nobody foresaw where it was raised: what, which file, and the line of ours."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if "/actorstream/" in frame.filename
    ]
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    files = " and ".join(repr(str(each)) for each in (error.filename, error.filename2) if each is not None)
    what = error.strerror or type(error).__name__
    return f"{files}: {what}{place}" if files else f"{what}{place}"


def _say(message: str, code: int, hint: str = "") -> int:
    print(f"actorstream: {message}" + (f"\n{hint}" if hint else ""), file=sys.stderr)
    return code


def _unknown(command: str) -> int:
    from actorstream.topology.suggestions import did_you_mean, listed

    hint = did_you_mean(command, COMMANDS) or f"commands: {listed(COMMANDS)}"
    return _say(f"there is no command {command!r}", WRONG, hint)


def _command(tokens: Sequence[str]) -> str:
    return f"{tokens[0]} " if tokens and tokens[0] in COMMANDS else ""


if __name__ == "__main__":
    sys.exit(main())
