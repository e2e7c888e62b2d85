#!/usr/bin/env bash
# Sets everything up in .venv and counts the words of a book on two workers over shared memory.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ ! -x .venv/bin/python ]; then
    "${PYTHON:-python3}" -m venv .venv
fi
echo "installing into .venv and compiling the C core, which takes about a minute" >&2
.venv/bin/python -m pip --version >/dev/null 2>&1 || .venv/bin/python -m ensurepip >/dev/null # of uv: it has no pip
.venv/bin/python -m pip install --quiet --disable-pip-version-check --editable .
.venv/bin/actorstream launch apps/word_count/topology.toml --deploy deploy/local.toml
echo "The ten most frequent words (apps/word_count/out/counts.csv):"
tail -n +2 apps/word_count/out/counts.csv | sort -t, -k2,2nr -k1,1 | sed -n 1,10p
