#!/usr/bin/env bash
# The test command: sets up .venv where needed, then checks style, types and layers, and runs every test.
#
# Each process of pytest has its share of the tests in their order, so that what the tests of a file have in common is made
# once or twice. A process that has come to its end takes half of what another one has left: no file, however slow, keeps
# one core busy while the others wait. There are half as many processes again as cores, since a test that waits for a lost
# host, a time limit or a process of its own uses no core: with one process for each core a third of the time was idle.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYTHONUNBUFFERED=1
python=${PYTHON:-python3}
if [ ! -x .venv/bin/python ]; then
    "$python" -m venv .venv
fi
.venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
PATH="$PWD/.venv/bin:$PATH"
# also where PYTHONDONTWRITEBYTECODE is set: hundreds of tests start the command line
python -m compileall -q actorstream apps benchmarks tests
ruff check .
ruff format --check .
find actorstream apps benchmarks tests -name '*.[ch]' ! -name _core.c ! -path '*/.peers/*' -exec clang-format --dry-run --Werror {} +
mypy
lint-imports
exec python -m pytest --numprocesses=$(($(nproc) * 3 / 2)) --maxprocesses=6 --dist=worksteal "$@"
