"""The valid name nearest to a misspelt one, and lists of names for messages. Pure text."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST = 200
"""Characters of a name: longer ones are no misspelt names, and comparing takes time by their square."""


def nearest(name: str, allowed: Iterable[str]) -> str:
    """The name of `allowed` that `name` was probably meant to be, or ``""``."""
    names = list(allowed)
    if len(name) > LONGEST:
        return ""
    found = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if found:
        return found[0]
    folded = {each.replace("_", "-").lower(): each for each in names}
    close = difflib.get_close_matches(name.replace("_", "-").lower(), list(folded), n=1, cutoff=0.6)
    return folded[close[0]] if close else ""


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """A hint such as ``did you mean 'path'?``, or ``""`` when nothing is near."""
    found = nearest(name, allowed)
    return f"did you mean {found!r}?" if found else ""


def listed(names: Iterable[str], limit: int = 24) -> str:
    """Names for the `allowed` part of a problem, cut after `limit`."""
    every = list(names)
    text = ", ".join(every[:limit])
    return f"{text}, … ({len(every)} in all)" if len(every) > limit else text


def no_output(who: str, output: str, outputs: Iterable[str]) -> str:
    """What is told about an event for an output that an actor does not have."""
    names = sorted(outputs)
    hint = did_you_mean(output, names)
    return (
        f"{who} emitted to output {output!r}, which it does not have; its outputs are {', '.join(map(repr, names))}"
        + (f" ({hint})" if hint else "")
        + "; declare it in the class attribute `outputs`"
    )
