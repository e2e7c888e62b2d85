"""What every sink of files must do: whole files or none, two phases, recovery, parts; run on csv, jsonl,
parquet."""

from __future__ import annotations

import bz2
import gzip
import os
import signal
import subprocess
import sys
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from actorstream.connectors.csv_sink import CsvSink
from actorstream.connectors.csv_source import CsvSource
from actorstream.connectors.file_sink import FileSink
from actorstream.connectors.file_source import FileSource
from actorstream.connectors.jsonl_sink import JsonlSink
from actorstream.connectors.jsonl_source import JsonlSource
from actorstream.connectors.parquet_sink import ParquetSink
from actorstream.connectors.parquet_source import ParquetSource
from actorstream.connectors.sink import END
from actorstream.errors import RunError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.schema import Schema

SINKS: dict[str, tuple[type[FileSink], type[FileSource]]] = {
    "csv": (CsvSink, CsvSource),
    "jsonl": (JsonlSink, JsonlSource),
    "parquet": (ParquetSink, ParquetSource),
}


class Row(Event):
    number: int
    word: str | None
    price: float
    good: bool
    when: datetime
    color: Literal["red", "green, dark"] | None
    parts: list[int]


class Replica:
    """What a sink sees of its surroundings."""

    name, input = "sink", "rows"

    def __init__(self, replica: int = 0, replicas: int = 1) -> None:
        self.replica, self.replicas = replica, replicas


def sample(count: int, start: int = 0) -> list[Row]:
    words = ["plain", "", None, 'a "b", c', "two\nlines", "naïve 𝄞"]
    return [
        Row(
            number,
            words[number % 6],
            float(number) if number % 2 else number / 8,
            number % 3 == 0,
            datetime.fromtimestamp(number * 0.5, UTC),
            ("red", "green, dark", None)[number % 3],
            list(range(number % 4)),
        )
        for number in range(start, start + count)
    ]


@pytest.fixture(params=sorted(SINKS))
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def make(form: str, path: Path, replica: int = 0, replicas: int = 1) -> FileSink:
    sink = SINKS[form][0](path)
    sink._bind(Replica(replica, replicas))  # type: ignore[arg-type]
    return sink


def put(sink: FileSink, rows: list[Row], size: int = 7) -> None:
    for first in range(0, len(rows), size):
        sink.on_batch(Batch.of_events(Row, rows[first : first + size]))


def read(form: str, path: Path) -> list[Any]:
    source = SINKS[form][1](path, event=Row)
    source.open(source.partitions())
    found: list[Any] = []
    while (batch := source.read(1000)) is not None:
        assert isinstance(batch, Batch)
        found += batch.events()
    return found


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def carried(token: Any) -> Any:
    """The token after its journey through msgpack."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(token))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_what_is_written_is_read_back(form: str, tmp_path: Path, size: int) -> None:
    sink = make(form, tmp_path / "out" / "deep" / "a")
    put(sink, sample(100), size)
    sink.commit(sink.prepare(END))
    assert read(form, tmp_path / "out" / "deep" / "a") == sample(100)
    assert names(tmp_path / "out" / "deep") == ["a"]


@pytest.mark.parametrize("header", [True, False])
def test_a_byte_order_mark_at_the_beginning_of_a_csv_file_is_read_back(tmp_path: Path, header: bool) -> None:
    texts = ["\ufeffa", "\ufeff", "b"] * 2
    sink = CsvSink(tmp_path / "a.csv", header=header)
    for size in (1, 2, 3):
        sink.on_batch(Batch.of_columns(Schema.from_dict({"\ufeffs": "str"}), {"\ufeffs": texts[:size]}))
    sink.commit(sink.prepare(END))
    source = CsvSource(tmp_path / "a.csv", header=header, schema={"\ufeffs": "str"})
    source.open(source.partitions())
    batch = source.read(100)
    assert isinstance(batch, Batch)
    assert batch.column("\ufeffs").tolist() == [*texts[:1], *texts[:2], *texts[:3]]


def test_the_bytes_do_not_depend_on_the_batch_size(form: str, tmp_path: Path) -> None:
    for size in (1, 3, 100, 10_000):
        sink = make(form, tmp_path / str(size))
        put(sink, sample(9000), size)
        sink.commit(sink.prepare(END))
    assert len({(tmp_path / str(size)).read_bytes() for size in (1, 3, 100, 10_000)}) == 1


def test_nothing_is_under_the_final_name_before_the_commit(form: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("of an earlier run")
    sink = make(form, tmp_path / "a")
    put(sink, sample(10_000), 5000)
    assert (tmp_path / "a").read_text() == "of an earlier run"
    token = sink.prepare(END)
    assert (tmp_path / "a").read_text() == "of an earlier run"
    sink.commit(token)
    assert len(read(form, tmp_path / "a")) == 10_000


def test_commit_may_be_called_again(form: str, tmp_path: Path) -> None:
    sink = make(form, tmp_path / "a")
    put(sink, sample(10))
    token = sink.prepare(END)
    for _ in range(3):
        sink.commit(token)
        make(form, tmp_path / "a").commit(carried(token))
    assert read(form, tmp_path / "a") == sample(10)


def test_abort_leaves_nothing_and_may_be_called_again(form: str, tmp_path: Path) -> None:
    sink = make(form, tmp_path / "a")
    put(sink, sample(10))
    token = sink.prepare(END)
    for _ in range(2):
        sink.abort(token)
        sink.abort(None)
        make(form, tmp_path / "a").abort(carried(token))
        assert names(tmp_path) == []


def test_abort_without_a_token_drops_what_was_not_prepared(form: str, tmp_path: Path) -> None:
    sink = make(form, tmp_path / "a")
    put(sink, sample(10_000), 5000)
    sink.abort(None)
    assert names(tmp_path) == []


@pytest.mark.parametrize("ended", [False, True], ids=["before-the-end", "at-the-end"])
def test_abort_leaves_what_was_prepared_under_a_barrier_to_a_run_that_goes_on_from_there(
    form: str, tmp_path: Path, ended: bool
) -> None:
    sink = make(form, tmp_path / "a")
    put(sink, sample(10_000), 5000)
    kept = carried(sink.prepare(1))
    put(sink, sample(10_000, 10_000), 5000)
    if ended:
        sink.abort(sink.prepare(END))
    sink.abort(None)
    assert not (tmp_path / "a").exists()
    again = make(form, tmp_path / "a")
    again.restore(kept)
    put(again, sample(10, 10_000))
    again.commit(again.prepare(END))
    assert read(form, tmp_path / "a") == sample(10_010)


def test_abort_of_a_sink_that_received_nothing_does_nothing(form: str, tmp_path: Path) -> None:
    make(form, tmp_path / "a").abort(None)
    assert names(tmp_path) == []


def test_abort_after_commit_does_not_touch_the_file(form: str, tmp_path: Path) -> None:
    sink = make(form, tmp_path / "a")
    put(sink, sample(10))
    token = sink.prepare(END)
    sink.commit(token)
    sink.abort(token)
    sink.abort(None)
    assert read(form, tmp_path / "a") == sample(10)


def test_commit_of_what_was_aborted_is_an_error(form: str, tmp_path: Path) -> None:
    sink = make(form, tmp_path / "a")
    put(sink, sample(10))
    token = sink.prepare(END)
    sink.abort(token)
    with pytest.raises(RunError, match="cannot be committed"):
        sink.commit(token)


def test_barriers_before_the_end_show_nothing_and_lose_nothing(form: str, tmp_path: Path) -> None:
    sink = make(form, tmp_path / "a")
    for barrier in range(1, 4):
        put(sink, sample(10, 10 * barrier))
        sink.commit(sink.prepare(barrier))
        assert not (tmp_path / "a").exists()
    put(sink, sample(10, 40))
    sink.commit(sink.prepare(END))
    assert read(form, tmp_path / "a") == sample(40, 10)
    assert names(tmp_path) == ["a"]


def test_another_process_goes_on_after_the_barrier_as_if_nothing_had_happened(
    form: str, tmp_path: Path
) -> None:
    first = make(form, tmp_path / "a")
    put(first, sample(10))
    kept = carried(first.prepare(1))
    put(first, sample(5000, 500), 5000)  # after the barrier, lost with the process
    second = make(form, tmp_path / "a")
    second.restore(kept)
    put(second, sample(10, 10))
    again = carried(second.prepare(2))
    third = make(form, tmp_path / "a")
    third.restore(again)
    put(third, sample(5, 20))
    third.commit(third.prepare(END))
    assert read(form, tmp_path / "a") == sample(25)


def test_a_file_of_no_rows_has_the_schema_that_the_runtime_gives(form: str, tmp_path: Path) -> None:
    sink = make(form, tmp_path / "a")
    sink.input_schema = Schema.of(Row)
    sink.commit(sink.prepare(END))
    assert read(form, tmp_path / "a") == []
    if form == "csv":
        assert (tmp_path / "a").read_text() == "number,word,price,good,when,color,parts\n"


def test_replicas_write_parts_that_are_read_back_as_one(form: str, tmp_path: Path) -> None:
    sinks = [make(form, tmp_path / "out", replica, 3) for replica in range(3)]
    for number, sink in enumerate(sinks):
        put(sink, sample(10, 10 * number))
    for token in [sink.prepare(END) for sink in sinks]:
        sinks[0].commit(carried(token))
    assert names(tmp_path / "out") == [f"part-{number:05d}.{form}" for number in range(3)]
    assert read(form, tmp_path / "out") == sample(30)


def test_parts_of_an_earlier_run_with_more_replicas_disappear(form: str, tmp_path: Path) -> None:
    for replicas in (4, 2):
        sinks = [make(form, tmp_path / "out", replica, replicas) for replica in range(replicas)]
        for number, sink in enumerate(sinks):
            put(sink, sample(10, 10 * number))
            sink.commit(sink.prepare(END))
    assert read(form, tmp_path / "out") == sample(20)


def test_a_path_in_the_way_is_an_error_that_names_it(form: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(RunError, match=r"file.*cannot be made"):
        make(form, tmp_path / "file" / "a").prepare(END)
    with pytest.raises(RunError, match=r"file.*cannot be made"):
        make(form, tmp_path / "file", 0, 2).prepare(END)
    with pytest.raises(RunError, match=r"folder.*is a directory"):
        make(form, tmp_path / "folder").prepare(END)
    problems = SINKS[form][0].check({"path": tmp_path / "file" / "a"}, [], tmp_path)
    assert [each.where for each in problems] == ["path"]


def test_inputs_of_different_fields_are_a_problem(form: str, tmp_path: Path) -> None:
    inputs = [Schema.from_dict({"a": "int"}), Schema.from_dict({"b": "int"})]
    problems = SINKS[form][0].check({"path": tmp_path / "a"}, inputs, tmp_path)
    assert "different fields" in str(problems[0])
    assert SINKS[form][0].check({"path": tmp_path / "a"}, inputs[:1] * 2, tmp_path) == []


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (Schema.from_dict({"a": "int32"}).with_event_time("a", "ms"), "a: int64 and a: int32"),
        (Schema.from_dict({"a": "int"}).with_event_time("a", "s"), "'a' in ms and 'a' in s"),
    ],
)
def test_inputs_whose_fields_have_the_same_names_are_told_by_what_differs(
    form: str, other: Schema, says: str, tmp_path: Path
) -> None:
    first = Schema.from_dict({"a": "int"}).with_event_time("a", "ms")
    (problem,) = SINKS[form][0].check({"path": tmp_path / "a"}, [first, other], tmp_path)
    assert says in str(problem)


KILLED = """
    import os, signal, sys
    from pathlib import Path
    import msgspec
    from actorstream.connectors.sink import END
    from tests.conformance.test_sinks import make, put, sample

    form, path, moment = sys.argv[1:]
    sink = make(form, Path(path))
    put(sink, sample(5000), 5000)
    if moment == "prepared":
        token = sink.prepare(END)
        os.write(1, msgspec.msgpack.encode(token))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(form: str, path: Path, moment: str) -> bytes:
    """What a process that was killed at `moment` said before."""
    script = textwrap.dedent(KILLED)
    done = subprocess.run(
        [sys.executable, "-c", script, form, str(path), moment],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["."])},
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    return done.stdout


def test_a_sink_killed_before_it_prepared_leaves_no_final_file_and_the_next_run_cleans_up(
    form: str, tmp_path: Path
) -> None:
    killed(form, tmp_path / "a", "writing")
    assert not (tmp_path / "a").exists()
    sink = make(form, tmp_path / "a")
    put(sink, sample(10))
    sink.commit(sink.prepare(END))
    assert names(tmp_path) == ["a"]


def test_what_a_killed_process_prepared_can_be_committed_or_aborted_by_another(
    form: str, tmp_path: Path
) -> None:
    token = msgspec.msgpack.decode(killed(form, tmp_path / "a", "prepared"))
    assert not (tmp_path / "a").exists()
    make(form, tmp_path / "a").commit(token)
    assert read(form, tmp_path / "a") == sample(5000)
    token = msgspec.msgpack.decode(killed(form, tmp_path / "b", "prepared"))
    make(form, tmp_path / "b").abort(token)
    assert names(tmp_path) == ["a"]


def test_temporary_files_of_living_processes_are_left_alone(form: str, tmp_path: Path) -> None:
    first, second = make(form, tmp_path / "a"), make(form, tmp_path / "a")
    put(first, sample(5000), 5000)
    put(second, sample(6000), 6000)
    second.commit(second.prepare(END))
    first.commit(first.prepare(END))
    assert read(form, tmp_path / "a") == sample(5000)


@pytest.mark.parametrize("suffix", [".gz", ".GZ", ".bz2"])
@pytest.mark.parametrize("text_form", ["csv", "jsonl"])
def test_a_path_that_names_a_compression_is_compressed(text_form: str, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{text_form}{suffix}"
    sink = make(text_form, path)
    put(sink, sample(5000), 5000)
    sink.prepare(1)
    put(sink, sample(5000, 5000), 5000)
    sink.commit(sink.prepare(END))
    assert read(text_form, path) == sample(10_000)
    assert path.stat().st_size < 200_000


@pytest.mark.parametrize(("suffix", "opened"), [(".gz", gzip.decompress), (".Bz2", bz2.decompress)])
def test_a_compressed_file_without_rows_is_a_stream_of_no_bytes(
    tmp_path: Path, suffix: str, opened: Any
) -> None:
    sink = JsonlSink(tmp_path / f"a.jsonl{suffix}")
    sink.commit(sink.prepare(END))
    packed = (tmp_path / f"a.jsonl{suffix}").read_bytes()
    assert packed and opened(packed) == b""


@pytest.mark.parametrize("suffix", [".zst", ".LZ4"])
def test_a_compression_that_is_only_read_is_a_problem(tmp_path: Path, suffix: str) -> None:
    assert "only read" in str(CsvSink.check({"path": tmp_path / f"a.csv{suffix}"}, [], tmp_path)[0])


def test_rows_that_are_gathered_are_bounded_in_bytes(tmp_path: Path) -> None:
    sink = make("csv", tmp_path / "a.csv")
    for number in range(1, 41):
        sink.on_batch(Batch.of_columns(Schema.from_dict({"t": "str"}), {"t": ["x" * (1 << 20)]}))
        written = sum(each.stat().st_size for each in tmp_path.iterdir())
        assert number * (1 << 20) - written <= 6 << 20
    sink.abort(None)
