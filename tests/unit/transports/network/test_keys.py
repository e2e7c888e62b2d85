"""The key of a job: made once, read only by its owner."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actorstream.cli.main import main
from actorstream.errors import ConfigurationError
from actorstream.transports.network.keys import make_key, parse_key, read_key


def test_the_command_makes_a_key_that_only_its_owner_can_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = os.umask(0)
    try:
        assert main(["keys", str(tmp_path / "keys")]) == 0
    finally:
        os.umask(before)
    path = Path(capsys.readouterr().out.strip())
    assert path == tmp_path / "keys" / "job.key"
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(read_key(path)) == 32


def test_two_keys_differ_and_none_is_replaced(tmp_path: Path) -> None:
    first, second = make_key(tmp_path / "a"), make_key(tmp_path / "b")
    assert read_key(first) != read_key(second)
    with pytest.raises(ConfigurationError, match="is there already"):
        make_key(tmp_path / "a")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666, 0o620])
def test_a_key_that_others_can_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = make_key(tmp_path)
    path.chmod(mode)
    with pytest.raises(ConfigurationError, match=f"has mode {mode:04o}.*chmod 600"):
        read_key(path)


def test_a_file_without_a_key_is_said_and_its_text_is_not(tmp_path: Path) -> None:
    path = make_key(tmp_path)
    path.write_text("secret words\n")
    with pytest.raises(ConfigurationError, match="is no key") as error:
        read_key(path)
    assert "secret words" not in str(error.value)
    with pytest.raises(ConfigurationError, match="actorstream keys"):
        read_key(tmp_path / "nothing.key")
    with pytest.raises(ConfigurationError):
        parse_key("00" * 31, "ACTORSTREAM_KEY")
