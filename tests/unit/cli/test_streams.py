"""What the commands do where a standard stream or a file that an option names cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from actorstream.cli.output_file import write_output
from actorstream.errors import RunError

from .conftest import Answer

Run = Callable[..., Answer]


def shell(command: str, topology: Path) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of a command line; ACT is `actorstream`."""
    environment = {**os.environ, "ACT": f"{sys.executable} -m actorstream", "T": str(topology)}
    done = subprocess.run(
        ["sh", "-c", command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=topology.parent,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def runnable(tmp_path: Path) -> Path:
    (tmp_path / "in.txt").write_text("a line\n")
    file = tmp_path / "runnable.toml"
    file.write_text(
        '[actors.lines]\ntype = "text-source"\npath = "in.txt"\n'
        '[actors.out]\ntype = "null-sink"\ninputs = ["lines"]\n'
    )
    return file


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("$ACT check $T >&-", 1, "actorstream: cannot write to stdout: Bad file descriptor\n"),
        ("$ACT check nowhere.toml 2>/dev/full", 2, ""),
        ("$ACT launch $T --transport local 2>/dev/full", 0, ""),
        ("$ACT launch $T --transport local -q <&- >&- 2>&-", 0, ""),
        ("$ACT launch $T --transport local -q --json >/dev/full", 1, "actorstream: cannot write to stdout: "),
        ("ulimit -f 0; $ACT launch $T -q", 2, "actorstream: counters of 2 replicas need "),
    ],
)
def test_a_stream_that_cannot_be_written_is_told_or_does_not_matter(
    runnable: Path, command: str, code: int, said: str
) -> None:
    found, _, err = shell(command, runnable)
    assert (found, err[: len(said)]) == (code, said)
    assert "Traceback" not in err and len(err.splitlines()) <= 1


def test_files_that_cannot_be_written_are_told_before_anything_runs(
    run: Run, topology: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    long = tmp_path / ("x" * 300)
    for command, option in (
        ("launch", "--report"),
        ("plan", "--save"),
        ("plan", "--svg"),
        ("sustain", "--svg"),
    ):
        answer = run(command, topology, option, tmp_path)
        assert answer.code == 2
        assert f"{option}: {str(tmp_path)!r} is a directory; allowed: a file in a folder" in answer.err
        for path in (tmp_path / "file" / "below", long, long / "below"):
            answer = run(command, topology, option, path)
            assert answer.code == 2
            assert f"{option}: {str(path)!r} cannot be written: " in answer.err


def test_a_file_is_written_through_links_and_into_pipes(tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    target.write_text("before")
    link.symlink_to(target)
    write_output(link, "after", "--report")
    assert link.is_symlink() and target.read_text() == "after"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_output(pipe, "through", "--report")
    reader.join()
    assert read == ["through"] and pipe.is_fifo()
    write_output(Path("/dev/null"), "nowhere", "--report")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(RunError, match="--report: '/dev/full' cannot be written: No space left on device"):
        write_output(Path("/dev/full"), "nowhere", "--report")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "pipe", "target"]
