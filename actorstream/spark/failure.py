"""SparkError: a failure of Spark as its cause, in a few lines. Java's and Spark's own stack traces stay out of it."""

from __future__ import annotations

import re

from actorstream.errors import RunError

MOST_LINES = 15
_LONGEST = 400
_TRACE = re.compile(
    r"^\s+at [\w.$<>/]+\(|^\s*[\w.$<>/]+\(\w+\.(?:java|scala):\d+\)$|^\s*\.\.\. \d+ more|^\s*Suppressed: "
)
_PLAN = re.compile(r"^\s*(?:[:|+\- ]*[+:]- |'?[A-Z]\w+ .*\[|'[A-Z]\w+)")
_PREFIX = re.compile(r"^(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error): ")
_MEANT = re.compile(r"^(?:actorstream\.)(?:\w+\.)*\w+Error: ")
"""Begins the last lines of a traceback of an error whose message says all."""
_OWN = re.compile(r'File ".*/(?:pyspark|py4j)/')


class SparkError(RunError):
    """A Spark job, or the start of Spark, failed. Exit code 1."""


def spark_error(doing: str, error: BaseException, hint: str = "") -> SparkError:
    """The error to raise: what was being done, and the cause of `error`, in at most 15 lines."""
    lines = cause(error).splitlines()
    first, *rest = lines or [type(error).__name__]
    return SparkError("\n  ".join([f"Spark: {doing}: {first}", *rest, *([hint] if hint else [])]))


def cause(error: BaseException) -> str:
    """Returns the message of Spark, or of the Python code in a task; at most 14 lines."""
    text = str(error)
    java = getattr(error, "java_exception", None)
    if java is not None:
        while java.getCause() is not None:
            java = java.getCause()
        text = java.getMessage() or java.toString()
    return shorten(text)


def shorten(text: str) -> str:
    """Of a message with stack traces and query plans, the lines that say what is wrong; the last 12 of a long one and its
    first, since a traceback of Python ends with its error. An error of this package is its message alone."""
    told = text.strip().splitlines()
    if meant := [number for number, line in enumerate(told) if _MEANT.search(line)]:
        told = told[meant[-1] :]
    lines = []
    skips_code = False
    for line in told:
        if _OWN.search(line):  # a frame of pyspark: it and the line of code below it say nothing
            skips_code = True
            continue
        if skips_code and line.startswith("    "):
            continue
        skips_code = False
        if line.strip() and not _TRACE.search(line) and not _PLAN.search(line):
            line = _PREFIX.sub("", line).replace(" SQLSTATE: 38000", "")
            lines.append(line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ...")
    if len(lines) > MOST_LINES - 1:
        lines = [lines[0], "...", *lines[-(MOST_LINES - 3) :]]
    return "\n".join(lines)
