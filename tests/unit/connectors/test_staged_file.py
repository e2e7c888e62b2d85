"""Temporary files: which are stale, what a token finds again, what stands in the way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from actorstream.connectors.staged_file import StagedFile, clean_up, discard, find, publish, temporary_name
from actorstream.errors import RunError


def of_another(name: str, pid: int, start: int, host: str | None = None) -> str:
    own = temporary_name("a", "0123456789ab")
    parts = own.split(".")[2].split("-")
    return f".{name}.{host or parts[0]}-{pid}-{start}-0123456789ab.tmp"


def dead_process() -> int:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def test_files_of_dead_processes_are_removed_and_no_others(tmp_path: Path) -> None:
    dead = dead_process()
    stale = tmp_path / of_another("a", dead, 1)
    reused = tmp_path / of_another("a", os.getpid(), 1)  # of an earlier process that had our number
    kept = [
        tmp_path / of_another("b", dead, 1),
        tmp_path / of_another("a", dead, 1, host="elsewhere"),
        tmp_path / ".a.tmp",
        tmp_path / "a",
    ]
    for path in (stale, reused, *kept):
        path.write_text("")
    own = StagedFile(tmp_path / "a")
    own.open()
    assert sorted(clean_up(tmp_path / "a")) == sorted([stale, reused])
    assert all(path.exists() for path in (*kept, own.path))
    own.drop()


def test_nothing_is_cleaned_where_there_is_no_folder(tmp_path: Path) -> None:
    assert clean_up(tmp_path / "no" / "a") == []
    assert find(tmp_path / "no" / "a", "0123456789ab") is None


def test_a_token_is_of_one_file_and_not_of_another_with_the_same_final_name(tmp_path: Path) -> None:
    first, second = StagedFile(tmp_path / "a"), StagedFile(tmp_path / "a")
    for number, each in enumerate((first, second)):
        each.open()
        each.write(f"{number}".encode())
    tokens = [first.secure(), second.secure()]
    publish(tokens[1])
    discard(tokens[0])
    assert (tmp_path / "a").read_text() == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_going_on_cuts_what_came_after_the_token(tmp_path: Path) -> None:
    first = StagedFile(tmp_path / "a")
    first.open()
    first.write(b"safe")
    token = first.secure()
    first.write(b" and not")
    second = StagedFile(tmp_path / "a")
    second.reopen(token)
    second.write(b"!")
    publish(second.secure())
    assert (tmp_path / "a").read_text() == "safe!"


def test_going_on_with_a_file_that_is_gone_or_shorter_is_an_error(tmp_path: Path) -> None:
    first = StagedFile(tmp_path / "a")
    first.open()
    first.write(b"safe")
    token = first.secure()
    os.truncate(first.path, 2)
    with pytest.raises(RunError, match="before the failure is gone"):
        StagedFile(tmp_path / "a").reopen(token)
    first.drop()
    with pytest.raises(RunError, match="before the failure is gone"):
        StagedFile(tmp_path / "a").reopen(token)


def test_publishing_what_is_gone_is_an_error_even_if_another_file_has_the_name(tmp_path: Path) -> None:
    first = StagedFile(tmp_path / "a")
    first.open()
    first.write(b"safe")
    token = first.secure()
    first.drop()
    with pytest.raises(RunError, match="its temporary file is gone"):
        publish(token)
    (tmp_path / "a").write_text("of another run")
    with pytest.raises(RunError, match="its temporary file is gone"):
        publish(token)


def test_a_full_disk_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    full = StagedFile(tmp_path / "a")
    why = r"a' cannot be written: No space left on device"
    with Path("/dev/full").open("wb", buffering=0) as full.file, pytest.raises(RunError, match=why):
        full.write(b"x")
