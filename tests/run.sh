#!/usr/bin/env bash
# The test command: sets up .venv where needed, then checks style, types and layers, and runs every test.
#
# Each process of pytest has its share of the tests in their order, so that what the tests of a file have in common is made
# once or twice. A process that has come to its end takes half of what another one has left: no file, however slow, keeps
# one core busy while the others wait. There are twice as many processes as cores, since a test that waits for a lost host, a
# time limit or a process of its own uses no core: with one process for each core a third of the time was idle. One of them
# has all tests of Spark, unless some tests are asked for: one session takes two thirds of the processor time of four.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYTHONUNBUFFERED=1
# Hundreds of tests start the command line, and pytest rewrites the assertions of 600 modules, which takes two thirds of the
# time in which it finds the tests. Both are kept for the next process. So is what the tests import of the packages that pip
# installs: the first import compiles it, while pip would compile all 6,100 modules, one by one.
unset PYTHONDONTWRITEBYTECODE
python=${PYTHON:-python3}
if [ ! -x .venv/bin/python ]; then
    "$python" -m venv .venv
fi
.venv/bin/python -m pip --version >/dev/null 2>&1 || .venv/bin/python -m ensurepip >/dev/null # of uv: it has no pip
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[dev]'
PATH="$PWD/.venv/bin:$PATH"
python -m compileall -q -j 0 actorstream apps benchmarks tests
# beside the checks, which use one core: each process of pytest would rewrite all modules
python -m pytest --collect-only -qq >/dev/null 2>&1 &
rewritten=$!
ruff check .
ruff format --check .
find actorstream apps benchmarks tests -name '*.[ch]' ! -name _core.c ! -path '*/.peers/*' -exec clang-format --dry-run --Werror {} +
mypy
lint-imports
wait "$rewritten" || true # a module that cannot be collected is an error below
processes=$(($(nproc) * 2 < 6 ? $(nproc) * 2 : 6))
if [ $# -gt 0 ]; then
    exec python -m pytest --numprocesses="$processes" --dist=worksteal "$@"
fi
said=$(mktemp)
# a test that hangs is ended and named, in time for CI to say so; slow tests may last longer
ends=(-o faulthandler_exit_on_timeout=true)
trap 'rm -f "$said"' EXIT
python -m pytest "${ends[@]}" tests/spark >"$said" 2>&1 &
spark=$!
status=0
python -m pytest "${ends[@]}" --ignore=tests/spark --numprocesses=$((processes > 1 ? processes - 1 : 1)) --dist=worksteal || status=$?
wait "$spark" || status=$?
cat "$said"
exit "$status"
