"""`python -m tests.differential SUBJECT [SEED [LAST]]`: one seed, or all from SEED to LAST, and what differed."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Sequence

from tests.differential.cases import SUBJECTS


def main(arguments: Sequence[str]) -> int:
    name, first, last = [*arguments, "0", "0"][:3] if len(arguments) != 2 else [*arguments, arguments[1]]
    subject = SUBJECTS[name]
    check = importlib.import_module(subject.module).check
    began, differences = time.monotonic(), 0
    for seed in range(int(first), int(last) + 1):
        try:
            check(seed)
        except Exception as error:
            differences += 1
            print(f"{name}, seed {seed}: {type(error).__name__}: {error}", flush=True)
    cases = subject.cases * (int(last) - int(first) + 1)
    print(f"{cases} cases in {time.monotonic() - began:.0f} s, {differences} seeds with differences")
    return 1 if differences else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
