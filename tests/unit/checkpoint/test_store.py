"""A store keeps checkpoints whole, forgets old ones, and says what is damaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem

from actorstream.checkpoint.checkpoint import Checkpoint, ReplicaState, StateFile
from actorstream.checkpoint.store import KEPT, LARGE, CheckpointStore, pieces_of, values_of
from actorstream.errors import ConfigurationError, RunError


@pytest.fixture(params=["directory", "url"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    folder = tmp_path / "a" / "b"
    return str(folder) if request.param == "directory" else f"file://{folder}"


def checkpoint(number: int, *, ended: bool = False) -> Checkpoint:
    states = (ReplicaState("count", 0, b"state", None), ReplicaState("sink", 0, b"", b"token"))
    return Checkpoint("wc", {"count": {"its type": "top"}}, number, ended, states)


def test_a_store_that_was_never_written_has_no_checkpoint(where: str) -> None:
    assert CheckpointStore(where).latest() is None


def test_the_latest_is_the_one_with_the_greatest_number_and_comes_back_whole(where: str) -> None:
    for number in (9, 10, 11):
        CheckpointStore(where).write(checkpoint(number, ended=number == 11))
    assert CheckpointStore(where).latest() == checkpoint(11, ended=True)


def test_only_the_last_ones_are_kept(where: str, tmp_path: Path) -> None:
    store = CheckpointStore(where)
    for number in range(1, 8):
        store.write(checkpoint(number))
    names = sorted(path.name for path in (tmp_path / "a" / "b").iterdir())
    assert names == [f"checkpoint-{number:012d}" for number in (6, 7)]
    assert len(names) == KEPT


def test_a_file_that_is_none_of_its_own_is_left_alone(where: str, tmp_path: Path) -> None:
    store = CheckpointStore(where)
    store.write(checkpoint(1))
    (tmp_path / "a" / "b" / "checkpoint-notes").write_text("mine")
    for number in (2, 3, 4):
        store.write(checkpoint(number))
    assert (tmp_path / "a" / "b" / "checkpoint-notes").read_text() == "mine"
    assert store.latest() == checkpoint(4)


@pytest.mark.parametrize("cut", [0, 10, -1])
def test_a_damaged_checkpoint_is_named(where: str, tmp_path: Path, cut: int) -> None:
    store = CheckpointStore(where)
    store.write(checkpoint(3))
    path = tmp_path / "a" / "b" / "checkpoint-000000000003"
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(RunError, match=r"'checkpoint-000000000003' in .* is damaged"):
        store.latest()


def test_a_store_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"checkpoint 1 cannot be written to .*file"):
        CheckpointStore(str(tmp_path / "file")).write(checkpoint(1))


class NoEndpointError(Exception):
    """As packages of remote stores raise them: no OSError."""


class Unreachable(LocalFileSystem):
    """A remote store that nobody reaches."""

    protocol = "unreachable"

    def open(self, *arguments: Any, **options: Any) -> Any:
        raise NoEndpointError("could not connect")

    def ls(self, *arguments: Any, **options: Any) -> Any:
        raise NoEndpointError("could not connect")

    def cat_file(self, *arguments: Any, **options: Any) -> Any:
        raise NoEndpointError("could not connect")


class RefusesAtOnce(LocalFileSystem):
    """A remote store whose package connects when it is made."""

    protocol = "refuses"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        raise NoEndpointError("could not connect")


@pytest.fixture
def unreachable(tmp_path: Path) -> Iterator[CheckpointStore]:
    fsspec.register_implementation("unreachable", Unreachable)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Unreachable, "_strip_protocol", classmethod(lambda cls, path: str(tmp_path)))
        yield CheckpointStore("unreachable://store")


@pytest.mark.parametrize(
    "use",
    [
        lambda store: store.write(checkpoint(1)),
        lambda store: store.write_state(1, 0, [b"state"]),
        lambda store: store.read_state(StateFile("state", 0, b"")),
        CheckpointStore.latest,
        CheckpointStore.last,
        CheckpointStore.begin,
        lambda store: store.mark(b"proof"),
    ],
    ids=["write", "write-state", "read-state", "latest", "last", "begin", "mark"],
)
def test_whatever_the_package_of_a_remote_store_raises_is_a_run_error(
    unreachable: CheckpointStore, use: Callable[[CheckpointStore], object]
) -> None:
    with pytest.raises(RunError, match=r"'unreachable://store'.*: NoEndpointError: could not connect"):
        use(unreachable)


def test_a_remote_store_that_refuses_at_once_is_a_run_error() -> None:
    fsspec.register_implementation("refuses", RefusesAtOnce, clobber=True)
    with pytest.raises(RunError, match=r"'refuses://store'.*: NoEndpointError: could not connect"):
        CheckpointStore("refuses://store")


def test_a_checkpoint_that_was_written_counts_though_an_older_one_cannot_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = CheckpointStore(str(tmp_path))
    for number in (1, 2):
        store.write(checkpoint(number))

    def refuse(path: Path, *, missing_ok: bool = False) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(Path, "unlink", refuse)
    store.write(checkpoint(3))
    assert store.latest() == checkpoint(3)


def test_a_directory_named_like_a_checkpoint_is_none(tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path))
    (tmp_path / "checkpoint-000000000009").mkdir()
    assert store.latest() is None
    store.write(checkpoint(3))
    assert store.latest() == checkpoint(3)
    with pytest.raises(RunError, match=r"checkpoint 9 cannot be written to .*: Is a directory"):
        store.write(checkpoint(9))


def test_checkpoints_that_cannot_be_read_are_told_with_their_name(tmp_path: Path) -> None:
    (tmp_path / "checkpoint-000000000001").symlink_to("checkpoint-000000000001")
    with pytest.raises(
        RunError, match=r"checkpoint 'checkpoint-000000000001' in .* cannot be read: Too many levels"
    ):
        CheckpointStore(str(tmp_path)).latest()


VALUES = [
    pytest.param({"state": b"x" * LARGE, "ended": True}, id="bytes"),
    pytest.param({"state": bytearray(b"y" * LARGE), "ended": False}, id="what may change"),
    pytest.param({"state": {str(n): n for n in range(LARGE // 4)}, "unit": None}, id="values"),
]


@pytest.mark.parametrize("values", VALUES)
def test_a_large_state_lies_beside_the_checkpoint_and_goes_with_it(
    where: str, tmp_path: Path, values: Any
) -> None:
    store = CheckpointStore(where)
    for number in (1, 2, 3, 4):
        file = store.write_state(number, 7, pieces_of(values))
        whole = Checkpoint("wc", {}, number, False, (ReplicaState("count", 0, b"", None, file),))
        store.write(whole)
    names = sorted(path.name for path in (tmp_path / "a" / "b").iterdir() if path.name.startswith("state-"))
    assert names == [f"state-{number:012d}-7" for number in (3, 4)]
    latest = store.latest()
    assert latest is not None
    assert values_of(latest.replicas[0]) == values


@pytest.mark.parametrize("url", ["nosuch://bucket/run", "nosuch://"])
def test_a_url_that_no_installed_package_opens_is_a_configuration_error_that_names_it(url: str) -> None:
    with pytest.raises(ConfigurationError, match=f"checkpoint.path: '{url}' cannot be opened: .*nosuch"):
        CheckpointStore(url)


def test_a_run_that_begins_anew_leaves_no_checkpoint_of_an_earlier_one_to_go_on_from(where: str) -> None:
    store = CheckpointStore(where)
    store.begin()
    store.write(checkpoint(3))
    assert store.latest() == checkpoint(3)
    store.begin()
    assert CheckpointStore(where).latest() is None
    assert store.last() == 3  # numbers ascend over the runs of a store
    store.write(checkpoint(4))
    assert CheckpointStore(where).latest() == checkpoint(4)
