from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from actorstream import __version__
from actorstream.cli import main as command
from actorstream.cli.main import COMMANDS, exit_code, main
from actorstream.errors import (
    ActorDeadError,
    ConfigurationError,
    DataError,
    NotInstalledError,
    OperatorError,
    ResourceError,
    SchemaError,
    WorkerDiedError,
)

from .conftest import Answer

Run = Callable[..., Answer]


def test_without_arguments_all_commands_are_listed(run: Run) -> None:
    answer = run()
    assert answer.code == 0
    assert all(name in answer.out for name in COMMANDS)


def test_the_version_is_printed(run: Run) -> None:
    answer = run("--version")
    assert (answer.code, answer.out.strip()) == (0, __version__)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_for_all_its_options(run: Run, name: str) -> None:
    answer = run(name, "--help")
    assert answer.code == 0
    assert f"actorstream {name}" in answer.out
    assert "Exit status" in answer.out


def test_an_unknown_command_names_the_nearest(run: Run) -> None:
    answer = run("chekc", "x.toml")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "actorstream: there is no command 'chekc'\ndid you mean 'check'?\n"


@pytest.mark.parametrize(
    "arguments", [("check",), ("check", "a", "b"), ("check", "a", "--sett", "x"), ("--nonsense",)]
)
def test_wrong_arguments_exit_with_2_and_point_to_the_help(run: Run, arguments: tuple[str, ...]) -> None:
    answer = run(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert "--help" in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigurationError("x"), 2),
        (ResourceError("x"), 2),
        (SchemaError("x"), 2),
        (NotInstalledError("transport 'mpi'", "mpi"), 2),
        (OperatorError("a", 0, "x"), 1),
        (WorkerDiedError("x"), 1),
        (DataError("x"), 1),
        (ActorDeadError("x"), 1),
        (ValueError("x"), None),
    ],
)
def test_errors_have_exit_codes_by_whose_fault_they_are(error: Exception, code: int | None) -> None:
    assert exit_code(error) == code


def test_an_interrupted_run_exits_with_130() -> None:
    from actorstream.control.interrupted import Interrupted

    assert exit_code(Interrupted(drained=False)) == 130


def _failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    def fail() -> None:
        raise error

    monkeypatch.setattr("actorstream.cli.doctor.doctor", fail)
    return main(["doctor"])


def test_our_own_errors_are_a_message_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _failing(monkeypatch, ResourceError("too little memory")) == 2
    assert capsys.readouterr().err == "actorstream: too little memory\n"


def test_ctrl_c_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _failing(monkeypatch, KeyboardInterrupt()) == 130


def test_a_defect_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError):
        _failing(monkeypatch, ZeroDivisionError())


def test_the_module_can_be_run_where_the_script_is_not_on_the_path() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "actorstream", "--version"], capture_output=True, text=True
    )
    assert (answer.returncode, answer.stdout.strip()) == (0, __version__)


def test_importing_the_command_line_imports_neither_arrow_nor_numpy_nor_an_event_loop() -> None:
    code = "import sys, actorstream.cli.main; print([m for m in sys.argv[1:] if m in sys.modules])"
    heavy = ["pyarrow", "numpy", "asyncio", "uvloop", "rich", "cyclopts", "msgspec"]
    answer = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


@pytest.mark.parametrize(("given", "used"), [(None, "1"), ("2", "2")])
def test_numpys_matrices_get_one_thread_unless_the_user_says_otherwise(given: str | None, used: str) -> None:
    code = (
        "import os, sys, actorstream.cli.main as command\n"
        "command._run = lambda tokens: print(os.environ['OPENBLAS_NUM_THREADS'])\n"
        "command.main()"
    )
    environment = {name: value for name, value in os.environ.items() if name not in command.ONE_THREAD}
    if given is not None:
        environment["OPENBLAS_NUM_THREADS"] = given
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert (answer.returncode, answer.stdout.strip()) == (0, used), answer.stderr
