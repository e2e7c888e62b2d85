"""Which files a path means, and what is said where they cannot be looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from actorstream.connectors.files import list_files
from actorstream.errors import ConfigurationError


def test_a_folder_means_its_files_in_name_order_but_for_hidden_ones(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", ".hidden", "_SUCCESS"):
        (tmp_path / name).touch()
    assert list_files(tmp_path) == [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    assert list_files(tmp_path / "*.csv") == list_files(tmp_path)


def test_a_path_that_may_not_be_looked_at_is_a_problem_of_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "is_dir", refused)  # root may look at everything
    with pytest.raises(
        ConfigurationError, match=r"table: '.*in\.csv' cannot be read: Permission denied; allowed: a file"
    ):
        list_files(tmp_path / "in.csv", "table")
