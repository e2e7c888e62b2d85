#!/usr/bin/env bash
# The test command: sets up .venv where needed, then checks style, types and layers, and runs every test, a file a core.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYTHONUNBUFFERED=1
python=${PYTHON:-python3}
if [ ! -x .venv/bin/python ]; then
    "$python" -m venv .venv
fi
.venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
PATH="$PWD/.venv/bin:$PATH"
ruff check .
ruff format --check .
mypy
lint-imports
exec python -m pytest --numprocesses=auto --maxprocesses=4 --dist=loadfile "$@"
