"""A database that other implementations of the operators run in."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """One for all examples of a file: to open it takes longer than what it is asked. It has no threads, as tests fork workers."""
    with duckdb.connect(config={"threads": 1}) as opened:
        yield opened
