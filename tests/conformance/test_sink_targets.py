"""What a sink of files does where its path is no plain file: links, pipes, devices, the streams of the process."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from actorstream.connectors.csv_sink import CsvSink
from actorstream.connectors.parquet_sink import ParquetSink
from actorstream.connectors.sink import END
from actorstream.errors import ConfigurationError, RunError
from actorstream.events.batch import Batch
from actorstream.events.schema import Schema
from actorstream.launch.run import run_job
from actorstream.plan.compile import compile_job
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy

NUMBERS = Schema.from_dict({"n": "int"})


def write(path: Path, rows: int = 3) -> None:
    sink = CsvSink(path)
    sink.on_batch(Batch.of_columns(NUMBERS, {"n": list(range(rows))}))
    for barrier in (1, END):
        sink.commit(sink.prepare(barrier))


@pytest.mark.parametrize("there", [True, False])
def test_what_a_link_leads_to_is_written_and_the_link_stays(tmp_path: Path, there: bool) -> None:
    target = tmp_path / "elsewhere" / "a.csv"
    target.parent.mkdir()
    if there:
        target.write_text("before")
    for name, leads_to in (("first", "elsewhere/a.csv"), ("second", "first")):
        (tmp_path / name).symlink_to(leads_to)
    write(tmp_path / "second")
    assert target.read_text() == "n\n0\n1\n2\n"
    assert (tmp_path / "first").is_symlink() and (tmp_path / "second").is_symlink()
    assert not target.is_symlink()
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["a.csv", "elsewhere", "first", "second"]


def test_a_file_that_replaces_another_may_be_read_by_the_same_people(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch(0o600)
    write(tmp_path / "a.csv")
    assert stat.S_IMODE((tmp_path / "a.csv").stat().st_mode) == 0o600


def test_a_pipe_gets_each_batch_at_once_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        opened = pool.submit(os.open, pipe, os.O_RDONLY)
        sink = CsvSink(pipe)
        for number in range(3):
            sink.on_batch(Batch.of_columns(NUMBERS, {"n": [number]}))
            assert os.read(opened.result(), 100).decode() == ("n\n" if not number else "") + f"{number}\n"
        token = sink.prepare(END)
        sink.commit(token)
        sink.abort(token)
        assert os.read(opened.result(), 100) == b""
        os.close(opened.result())
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_pipe_whose_reader_has_gone_is_an_error_that_names_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    sink = CsvSink(pipe)
    sink.on_batch(Batch.of_columns(NUMBERS, {"n": [1]}))
    os.close(reader)
    with pytest.raises(RunError, match="pipe' cannot be written: Broken pipe"):
        sink.on_batch(Batch.of_columns(NUMBERS, {"n": [2]}))


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.write_bytes(b"x")
    except OSError as error:
        pytest.skip(f"a device cannot be made here: {error}")
    write(device, 100_000)
    assert stat.S_ISCHR(device.stat().st_mode)
    assert [each.name for each in tmp_path.iterdir()] == ["null"]


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/fd/1", "link"])
def test_the_rows_go_behind_what_standard_output_has_already(tmp_path: Path, path: str) -> None:
    (tmp_path / "link").symlink_to("/dev/stdout")
    (tmp_path / "in.txt").write_text("a\nb\n")
    (tmp_path / "t.toml").write_text(
        'name = "t"\n[actors.s]\ntype = "text-source"\npath = "in.txt"\n'
        f'[actors.o]\ntype = "csv-sink"\ninputs = ["s"]\npath = "{path}"\n'
    )
    (tmp_path / "out").write_text("before\n")
    with (tmp_path / "out").open("a") as out:
        command = [sys.executable, "-m", "actorstream", "launch", "t.toml", "-q"]
        subprocess.run(command, cwd=tmp_path, stdout=out, check=True, timeout=60)
    assert (tmp_path / "out").read_text() == "before\nline\na\nb\n"


def test_a_format_that_cannot_be_written_into_a_pipe_is_a_problem(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (problem,) = ParquetSink.check({"path": tmp_path / "pipe"}, [NUMBERS], tmp_path)
    assert problem.where == "path" and "is a pipe or a device" in problem.message
    with pytest.raises(RunError, match="is a pipe or a device"):
        ParquetSink(tmp_path / "pipe").prepare(END)


def problems(topology: Topology) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        compile_job(topology.spec(), load_deploy(None))
    return [f"{each.where}: {each.message}; {each.allowed}" for each in caught.value.problems]


def test_an_output_that_is_a_file_which_the_topology_uses_is_a_problem_whatever_its_name(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "part-00003.csv").write_text("n,m\n1,2\n")
    (tmp_path / "table.csv").write_text("n,k\n1,2\n")
    (tmp_path / "link.csv").symlink_to("data/part-00003.csv")
    os.link(tmp_path / "table.csv", tmp_path / "hard.csv")
    found = Topology("t")
    found.actor("in", "csv-source", path=str(data))
    found.actor("join", "static-join", ["in"], table=tmp_path / "table.csv", on="n")
    found.actor("a", "csv-sink", ["in"], path=str(tmp_path / "link.csv"))
    found.actor("b", "csv-sink", ["join"], path=str(tmp_path / "hard.csv"))
    found.actor("c", "csv-sink", ["in"], path=str(data), replicas=2)
    found.actor("d", "jsonl-sink", ["in"], path=str(tmp_path / "new"))
    found.actor("e", "jsonl-sink", ["in"], path=str(data / ".." / "new"))
    for name in "fg":
        found.actor(name, "csv-sink", ["in"], path="/dev/null")
    allowed = "a file that no other actor reads or writes"
    said = problems(found)
    assert [each.partition(" is a file that ")[2] for each in said] == [
        f"'in' reads; {allowed}",
        f"'join' reads; {allowed}",
        f"'in' reads; {allowed}",
        f"'d' writes; {allowed}",
    ]
    assert ["actors.a.path" in said[0], "actors.e.path" in said[3]] == [True, True]


def test_an_output_beside_the_files_that_a_glob_matches_is_right(tmp_path: Path) -> None:
    (tmp_path / "in-1.txt").write_text("a\n")
    found = Topology("t")
    found.actor("in", "text-source", path=str(tmp_path / "in-*.txt"))
    found.actor("out", "csv-sink", ["in"], path=str(tmp_path / "out-1.txt"))
    for _ in range(2):
        run_job(compile_job(found.spec(), load_deploy(None)))
        assert (tmp_path / "out-1.txt").read_text() == "line\na\n"
