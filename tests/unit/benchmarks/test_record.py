"""Records are written as the documented list of objects."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.record import Record, read_records, write_records

RECORDS = [
    Record("ipc", "c-ring", 2.0, "tuples/s", 3, 1.0, 3.0),
    Record("ipc", "hand-over-filled", 1.0, "tuples/s", 3, 1.0, 3.0, "c-ring", 0.5),
]


def test_a_file_holds_a_list_with_exactly_the_documented_keys(tmp_path: Path) -> None:
    write_records(tmp_path / "new" / "f.json", RECORDS)
    found = json.loads((tmp_path / "new" / "f.json").read_text())
    keys = ["suite", "case", "value", "unit", "runs", "min", "max", "against", "ratio"]
    assert [list(record) for record in found] == [keys, keys]
    assert found[0]["against"] is None
    assert found[1]["ratio"] == 0.5


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    write_records(tmp_path / "f.json", RECORDS)
    assert read_records(tmp_path / "f.json") == RECORDS
    write_records(tmp_path / "f.json", [])
    assert read_records(tmp_path / "f.json") == []
