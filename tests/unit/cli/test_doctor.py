from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from actorstream.cli import doctor
from actorstream.native.memory import UNLIMITED, MemoryLeft, ResourceLimits

from .conftest import Answer

Run = Callable[..., Answer]
MIB = 1 << 20


def by_topic(findings: list[doctor.Finding]) -> dict[str, doctor.Finding]:
    return {finding.topic: finding for finding in findings}


def test_everything_is_looked_at(run: Run) -> None:
    answer = run("doctor", "--json")
    found = json.loads(answer.out)
    topics = {finding["topic"] for finding in found["findings"]}
    assert {
        "cores",
        "memory nodes",
        "memory",
        "shared memory",
        "huge pages",
        "uvloop",
        "mpi4py",
        "Java",
    } <= topics
    assert answer.code == (0 if found["ready"] else 1)


def test_an_extra_that_is_not_there_is_named_with_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    found = by_topic(list(doctor.extras(tmp_path)))
    for name, extra in (("mpi4py", "mpi"), ("zmq", "zmq"), ("pyspark", "spark"), ("hypothesis", "test")):
        assert f"pip install 'actorstream[{extra}]'" in found[name].value


def test_the_text_ends_with_the_verdict(run: Run) -> None:
    answer = run("doctor")
    assert answer.out.splitlines()[-1] in ("ready", "not ready: see FAIL above")


def set_limits(monkeypatch: pytest.MonkeyPatch, **limits: int) -> dict[str, doctor.Finding]:
    generous = ResourceLimits(UNLIMITED, 4096, UNLIMITED, UNLIMITED)
    monkeypatch.setattr("actorstream.native.memory.resource_limits", lambda: generous._replace(**limits))
    return by_topic(list(doctor.limits(Path("/"))))


@pytest.mark.parametrize(
    ("limit", "value", "topic", "advice"),
    [
        ("address_space", 1000 * MIB, "address space (RLIMIT_AS)", "needs 4 GiB: ulimit -v unlimited"),
        ("open_files", 100, "open files (RLIMIT_NOFILE)", "needs 512: ulimit -n 4096"),
        ("file_size", MIB, "file size (RLIMIT_FSIZE)", "it also bounds shared memory: ulimit -f unlimited"),
    ],
)
def test_a_limit_that_is_too_small_fails_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: int, topic: str, advice: str
) -> None:
    found = set_limits(monkeypatch, **{limit: value})
    assert (found[topic].status, found[topic].advice) == ("fail", advice)
    assert [each for each, finding in found.items() if finding.status == "fail"] == [topic]


def test_generous_limits_are_all_right(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {finding.status for finding in set_limits(monkeypatch).values()} == {"ok"}


def test_little_memory_in_a_cgroup_fails_and_says_how_to_raise_it(monkeypatch: pytest.MonkeyPatch) -> None:
    left = MemoryLeft(100 * MIB, 8000 * MIB, 4000 * MIB, 300 * MIB, 200 * MIB, 2)
    monkeypatch.setattr("actorstream.native.memory.memory_left", lambda root: left)
    (found,) = doctor.memory(Path("/"))
    assert found.status == "fail"
    assert found.value == "100 MiB left of 7.812 GiB, cgroup limit 300 MiB (v2)"
    assert "docker --memory" in found.advice


def test_a_failing_finding_makes_the_exit_code_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = doctor.Finding("memory", "fail", "1 MiB", "buy some")
    monkeypatch.setattr(doctor, "examine", lambda: [bad])
    answer = run("doctor")
    assert answer.code == 1
    assert answer.out == "FAIL  memory  1 MiB\n              buy some\nnot ready: see FAIL above\n"


def test_a_part_that_cannot_look_does_not_hide_the_others() -> None:
    found = by_topic(doctor.examine(Path("/nonexistent")))
    assert found["actorstream"].status == "ok"
    assert found["cores"].status in ("ok", "note")
    assert "Java" in found


def test_what_the_limits_of_this_process_are_is_read_from_it() -> None:
    found = by_topic(list(doctor.limits(Path("/"))))
    assert found["open files (RLIMIT_NOFILE)"].value == str(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def test_the_mpi_launcher_is_the_one_that_launch_takes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")  # the mpiexec of this Python environment comes before any of PATH
    said = {each["topic"]: each["value"] for each in json.loads(run("doctor", "--json").out)["findings"]}
    assert said["MPI launcher"] == str(Path(sys.executable).with_name("mpiexec"))
