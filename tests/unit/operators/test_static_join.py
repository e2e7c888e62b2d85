"""static-join gives what a dictionary gives, whatever the keys, the table's place and the deployment."""

from __future__ import annotations

import gzip
import json
import typing
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream import Batch, Event, Topology
from actorstream.errors import ConfigurationError
from actorstream.events.cuts import MOST_ROWS
from actorstream.events.schema import Schema
from actorstream.operators.joining.table_join import TableJoin
from actorstream.operators.static_join import StaticJoin, joined_schema


class Ad(Event):
    number: int
    ad: int | None
    site: str


class Campaign(Event):
    ad: int
    name: str | None
    site: str


class Click(Event):
    ad: Literal["x", "y", "z"]
    number: int


ADS = [Ad(number, number % 5 if number % 7 else None, "ab"[number % 2]) for number in range(60)]
CAMPAIGNS = [
    Campaign(1, "one", "a"),
    Campaign(4, None, "b"),
    Campaign(1, "uno", "b"),
    Campaign(9, "nine", "a"),
]
CSV = "ad,name,site\n1,one,a\n4,,b\n1,uno,b\n9,nine,a\n"


def plain(events: Any) -> list[tuple[Any, ...]]:
    return sorted(
        (tuple(getattr(each, name) for name in each.__struct_fields__) for each in events), key=repr
    )


def expected(
    rows: list, table: list, pairs: list[tuple[str, str]], how: str, names: list[str]
) -> list[tuple[Any, ...]]:
    found = []
    for row in rows:
        own = tuple(getattr(row, name) for name in row.__struct_fields__)
        key = tuple(getattr(row, left) for left, _ in pairs)
        matches = [each for each in table if key == tuple(getattr(each, right) for _, right in pairs)]
        if None in key:
            matches = []
        if not matches and how == "left":
            found.append((*own, *[None] * len(names)))
        found.extend((*own, *(getattr(each, name) for name in names)) for each in matches)
    return sorted(found, key=repr)


def joined(rows: list, table: Any, deploy: dict[str, Any] | None = None, **keys: Any) -> list:
    topology = Topology()
    if isinstance(table, list):
        table = topology.source(table, name="campaigns")
    replicas = keys.pop("replicas", 1)
    out = topology.source(rows).through("static-join", table=table, replicas=replicas, **keys).collect()
    topology.run(**(deploy or {}))
    return plain(out)


# -- what comes out


@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("transport", ["local", "shm"])
def test_the_table_may_be_a_file_or_a_source_under_any_deployment(tmp_path, transport, workers, how):
    (tmp_path / "campaigns.csv").write_text(CSV)
    wanted = expected(ADS, CAMPAIGNS, [("ad", "ad")], how, ["name", "site"])
    deploy = {"transport": transport, "workers": workers, "batch_size": 7}
    for table in (tmp_path / "campaigns.csv", CAMPAIGNS):
        assert joined(ADS, table, deploy, on="ad", how=how, replicas=workers) == wanted


@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize(
    "table", [CAMPAIGNS, CAMPAIGNS[:2]], ids=["several rows of a key", "one row of a key"]
)
def test_an_operator_behind_the_join_may_use_fields_of_the_table(table, how):
    class Place(Event):
        name: str
        place: str

    topology = Topology()
    campaigns = topology.source(table, name="campaigns")
    places = topology.source([Place("one", "here"), Place("uno", "there")], name="places")
    found = topology.source(ADS).through("static-join", table=campaigns, on="ad", how=how)
    counted = found.through("aggregate", key="name", aggregates={"rows": "count()"}).collect()
    placed = found.through("static-join", name="placed", table=places, on="name").collect()
    topology.run()
    rows = expected(ADS, table, [("ad", "ad")], how, ["name", "site"])
    assert {each.name: each.rows for each in counted} == Counter(row[3] for row in rows)
    where = {"one": "here", "uno": "there"}
    assert plain(placed) == sorted(((*row, where[row[3]]) for row in rows if row[3] in where), key=repr)


@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_table_without_rows_matches_nothing(tmp_path, how):
    (tmp_path / "campaigns.csv").write_text("ad,name,site\n")
    parquet = tmp_path / "campaigns.parquet"
    pq.write_table(pa.table({"ad": pa.array([], pa.int64()), "name": pa.array([], pa.string())}), parquet)
    wanted = expected(ADS, [], [("ad", "ad")], how, ["name"])
    assert joined(ADS, parquet, on="ad", how=how) == wanted


keys = st.none() | st.integers(0, 6)
texts = st.sampled_from(["", "a", "bb", "a long key, longer than a word", "é"])


@settings(max_examples=30, deadline=None)
@given(
    rows=st.lists(st.tuples(keys, texts), max_size=60),
    table=st.lists(st.tuples(keys, texts), max_size=20),
    on=st.sampled_from([["key"], ["text"], ["key", "text"], {"key": "key", "text": "text"}]),
    how=st.sampled_from(["inner", "left"]),
    batch_size=st.sampled_from([1, 7, 64]),
)
def test_random_rows_and_tables_agree_with_a_dictionary_under_any_batching(rows, table, on, how, batch_size):
    class Left(Event):
        row: int
        key: int | None
        text: str

    class Right(Event):
        key: int | None
        text: str
        value: int

    stream = [Left(number, *row) for number, row in enumerate(rows)]
    right = [Right(*row, number) for number, row in enumerate(table)]
    pairs = [(name, name) for name in on]
    names = [name for name in ("key", "text", "value") if name not in on]
    topology = Topology()
    source = topology.source([Batch.of_events(Left, stream)], event=Left)
    campaigns = topology.source([Batch.of_events(Right, right)], event=Right, name="right")
    out = source.through(StaticJoin, table=campaigns, on=on, how=how).collect()
    topology.run(batch_size=batch_size)
    assert plain(out) == expected(stream, right, pairs, how, names)
    order = [(each.row, each.value) for each in out]
    assert order == sorted(order, key=lambda pair: (pair[0], pair[1] is None, pair[1]))


def test_integer_keys_of_any_width_are_equal_by_value_only():
    number = np.array([0, 3, 2**63, 2**64 - 1], np.uint64)
    stream = Batch.of({"key": number, "row": np.arange(4)})
    for values, wanted in (
        (np.array([-1, 3, 0], np.int8), [(0, 0, 2), (3, 1, 1)]),
        (np.array([-(2**63), -1, 3]), [(3, 1, 2)]),
        (number[::-1].copy(), [(0, 0, 3), (3, 1, 2), (2**63, 2, 1), (2**64 - 1, 3, 0)]),
    ):
        table = Batch.of({"key": values, "at": np.arange(len(values))})
        assert joined([stream], [table], on="key") == sorted(wanted, key=repr)
        back = joined([table], [stream], on="key")
        assert back == sorted(((key, at, row) for key, row, at in wanted), key=repr)


def test_a_category_is_found_by_its_text_and_a_text_by_its_category(tmp_path):
    clicks = [Click("y", 1), Click("x", 2), Click("z", 3)]
    (tmp_path / "names.csv").write_text("ad,name\nx,ex\nw,double-u\ny,why\n")
    assert joined(clicks, tmp_path / "names.csv", on="ad") == [("x", 2, "ex"), ("y", 1, "why")]
    texts_of = [Named("x"), Named("q"), Named("z")]
    assert joined(texts_of, clicks, on={"text": "ad"}) == [("x", 2), ("z", 3)]
    other = [Other("z", 7), Other("a", 8)]
    assert joined(clicks, other, on="ad") == [("z", 3, 7)]


class Named(Event):
    text: str


class Other(Event):
    ad: Literal["a", "z"]
    value: int


# -- where tables come from


def test_tables_are_read_from_csv_jsonl_and_parquet_compressed_or_in_folders(tmp_path):
    wanted = expected(ADS, CAMPAIGNS, [("ad", "ad")], "inner", ["name", "site"])
    rows = [{"ad": each.ad, "name": each.name, "site": each.site} for each in CAMPAIGNS]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "t.jsonl").write_text(lines)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "a.csv").write_text(CSV[: CSV.index("1,uno")])
    (parts / "b.csv").write_text("ad,name,site\n" + CSV[CSV.index("1,uno") :])
    (tmp_path / "t.CSV.GZ").write_bytes(gzip.compress(CSV.encode()))
    names = ("t.jsonl", "t.csv.gz", "t.CSV.GZ", "t.parquet", "parts", "parts/*.csv")
    for path in (tmp_path / name for name in names):
        assert joined(ADS, path, on="ad") == wanted


def test_a_csv_column_of_digits_is_text_if_it_is_looked_up_by_text(tmp_path):
    (tmp_path / "t.csv").write_text("text,name\n007,bond\n8,eight\n")
    assert joined([Named("007"), Named("7")], tmp_path / "t.csv", on="text") == [("007", "bond")]


def test_a_table_of_a_topology_file_is_relative_to_it_or_a_source_in_it(tmp_path):
    (tmp_path / "ads.csv").write_text("number,ad\n1,4\n2,1\n")
    (tmp_path / "campaigns.csv").write_text(CSV)
    from actorstream.launch.run import run_job
    from actorstream.plan.compile import read_job

    for table, source in (("campaigns.csv", ""), ("names", 'type = "csv-source"\npath = "campaigns.csv"\n')):
        text = '[actors.ads]\ntype = "csv-source"\npath = "ads.csv"\n'
        text += f'[actors.join]\ntype = "static-join"\ninputs = ["ads"]\ntable = "{table}"\non = "ad"\n'
        text += '[actors.out]\ntype = "csv-sink"\ninputs = ["join"]\npath = "out.csv"\n'
        text += f"[actors.{table}]\n{source}" if source else ""
        (tmp_path / "topology.toml").write_text(text)
        run_job(read_job(tmp_path / "topology.toml"))
        lines = (tmp_path / "out.csv").read_text().split()
        assert lines == ["number,ad,name,site", "1,4,,b", "2,1,one,a", "2,1,uno,b"]


# -- how it runs


def test_a_key_with_more_rows_than_fit_a_batch_comes_out_in_several():
    table = Batch.of({"ad": np.zeros(MOST_ROWS + 10, np.int64), "at": np.arange(MOST_ROWS + 10)})
    stream = Batch.of({"ad": np.zeros(3, np.int64), "row": np.arange(3)})
    found = joined([stream], [table], on="ad")
    assert found == sorted(((0, row, at) for row in range(3) for at in range(MOST_ROWS + 10)), key=repr)


@pytest.mark.parametrize("pipelining", [True, False])
def test_a_chain_of_joins_with_sources_as_tables_waits_for_each_of_them(pipelining):
    topology = Topology()
    first = topology.source(CAMPAIGNS, name="first")
    second = topology.source([Named("a"), Named("b")] * 200, name="second")
    out = (
        topology.source(ADS)
        .through(StaticJoin, table=first, on="ad")
        .through(StaticJoin, table=second, on={"site": "text"})
        .collect()
    )
    topology.run(pipelining=pipelining, batch_size=5, edge_bytes=1)
    once = expected(ADS, CAMPAIGNS, [("ad", "ad")], "inner", ["name", "site"])
    assert plain(out) == [row for row in once for _ in range(200)]


def test_a_table_that_two_joins_share_is_read_by_both():
    topology = Topology()
    table = topology.source(CAMPAIGNS, name="campaigns")
    stream = topology.source(ADS)
    one = stream.through(StaticJoin, table=table, on="ad").collect()
    two = stream.through(StaticJoin, table=table, on="site", how="left").collect()
    topology.run(transport="shm", workers=2)
    assert plain(one) == expected(ADS, CAMPAIGNS, [("ad", "ad")], "inner", ["name", "site"])
    assert plain(two) == expected(ADS, CAMPAIGNS, [("site", "site")], "left", ["ad", "name"])


def test_the_state_of_a_join_is_in_the_report():
    topology = Topology()
    table = topology.source(CAMPAIGNS, name="campaigns")
    topology.source(ADS).through(StaticJoin, table=table, on="ad", name="join").collect()
    replicas = topology.run().report["actors"]["join"]
    assert len(replicas) == 1 and 0 < replicas[0]["state_bytes"] < 10_000


class Context:
    """What the join asks of its surroundings, for calling its hooks by hand."""

    def __init__(self, **inputs: type[Event]) -> None:
        from actorstream import Schema

        self.inputs = {name.replace("table_", "table:"): Schema.of(event) for name, event in inputs.items()}
        self.input = ""


def bound(context: Any) -> StaticJoin:
    join = StaticJoin(typing.cast("Path", "campaigns"), "ad")
    join._bind(context)
    return join


def test_a_snapshot_carries_the_table_so_that_it_is_not_needed_again():
    context = Context(ads=Ad, table_campaigns=Campaign)
    join = bound(context)
    context.input = "table:campaigns"
    join.on_batch(Batch.of_events(Campaign, CAMPAIGNS[:2]))
    join.on_batch(Batch.of_events(Campaign, CAMPAIGNS[2:]))
    context.input = "ads"
    before = [event for batch in join.on_batch(Batch.of_events(Ad, ADS)) for event in batch.events()]
    snapshot = join.snapshot()

    again = bound(context)
    again.restore(snapshot)
    again.on_start()
    context.input = "table:campaigns"
    assert again.on_batch(Batch.of_events(Campaign, CAMPAIGNS)) is None
    context.input = "ads"
    after = [event for batch in again.on_batch(Batch.of_events(Ad, ADS)) for event in batch.events()]
    assert plain(after) == plain(before) and len(after) > 0
    assert again.snapshot() == snapshot


def test_a_snapshot_before_the_stream_has_begun_carries_the_table_too():
    context = Context(ads=Ad, table_campaigns=Campaign)
    join = bound(context)
    context.input = "table:campaigns"
    join.on_batch(Batch.of_events(Campaign, CAMPAIGNS))
    again = bound(context)
    again.restore(join.snapshot())
    again.on_start()
    context.input = "ads"
    assert [event for batch in again.on_batch(Batch.of_events(Ad, ADS)) for event in batch.events()]


# -- what is refused before the run


def problems(rows: list, table: Any, **keys: Any) -> list[str]:
    topology = Topology()
    if isinstance(table, list):
        table = topology.source(table, name="campaigns")
    topology.source(rows, name="ads").through("static-join", table=table, name="join", **keys).collect()
    with pytest.raises(ConfigurationError) as raised:
        topology.graph()
    return [f"{each.where}: {each.message}; {each.allowed} ({each.hint})" for each in raised.value.problems]


def test_wrong_keys_are_named_with_the_nearest_right_ones():
    assert problems(ADS, CAMPAIGNS, on="add") == [
        "actors.join.on: the stream has no field 'add'; number, ad, site (did you mean 'ad'?)",
        "actors.join.on: the table has no field 'add'; ad, name, site (did you mean 'ad'?)",
    ]
    assert problems(ADS, CAMPAIGNS, on={"ad": "nam"}) == [
        "actors.join.on: the table has no field 'nam'; ad, name, site (did you mean 'name'?)"
    ]
    assert problems(ADS, CAMPAIGNS, on={"ad": "name"}) == [
        "actors.join.on: the stream's ad: int64? and the table's name: string? have no common type; "
        "keys of one type: integers, floats, text, ... ()"
    ]
    assert problems(ADS, CAMPAIGNS, on=[]) == [
        "actors.join.on: names 0 fields; 1 to 8 fields that both inputs have, or { left = right } ()"
    ]
    assert "names 'ad' twice" in problems(ADS, CAMPAIGNS, on=["ad", "ad"])[0]
    assert "is 'outer'" in problems(ADS, CAMPAIGNS, on="ad", how="outer")[0]


def test_a_join_without_a_table_says_what_one_may_be():
    topology = Topology()
    topology.source(ADS, name="ads").through("static-join", on="ad", name="join").collect()
    with pytest.raises(
        ConfigurationError, match=r"table: is missing; allowed: a file .*or the name of a source"
    ):
        topology.graph()


def test_a_table_that_cannot_be_read_is_a_problem_before_the_run(tmp_path):
    (tmp_path / "campaigns.csv").write_text(CSV)
    (tmp_path / "broken.parquet").write_text("no parquet")
    (tmp_path / "notes.txt").write_text("ad\n1\n")
    assert problems(ADS, tmp_path / "campaign.csv", on="ad") == [
        f"actors.join.table: '{tmp_path}/campaign.csv' does not exist; a file, a directory, or a glob "
        "(did you mean 'campaigns.csv'?)"
    ]
    assert "broken.parquet: is not a Parquet file" in problems(ADS, tmp_path / "broken.parquet", on="ad")[0]
    assert "'notes.txt' says no format" in problems(ADS, tmp_path / "notes.txt", on="ad")[0]


def test_streams_that_differ_cannot_share_a_join():
    topology = Topology()
    ads, named = topology.source(ADS, name="ads"), topology.source([Named("a")], name="named")
    table = topology.source(CAMPAIGNS, name="campaigns")
    topology.actor("join", "static-join", [ads, named], table=table, on="ad").collect()
    with pytest.raises(ConfigurationError, match="inputs of one schema"):
        topology.graph()


def test_rows_that_were_chosen_and_changed_before_are_still_the_same_rows() -> None:
    table = [Campaign(1, "one", "a"), Campaign(4, "four", "b")]
    schema = Schema.of(Ad)
    batch = Batch.of_events(schema, ADS)
    chosen = batch.take(np.arange(20, 60)).with_columns(number=np.arange(40) * 10)
    made, names = joined_schema(schema, Schema.of(Campaign), [("ad", "ad")], "inner")
    join = TableJoin(Batch.of_events(Campaign, table), [("ad", "ad")], schema, made, names, outer=False)
    found = join(chosen)
    assert isinstance(found, Batch)
    wanted = [
        (number * 10, ad.ad, {1: "one", 4: "four"}[ad.ad])
        for number, ad in enumerate(ADS[20:])
        if ad.ad in (1, 4)
    ]
    assert list(zip(*(found.column(name).tolist() for name in ("number", "ad", "name")))) == wanted
    again, names = joined_schema(made, Schema.of(Campaign), [("name", "name")], "inner")
    few = TableJoin(Batch.of_events(Campaign, table[1:]), [("name", "name")], made, again, names, outer=False)
    twice = few(found)
    assert isinstance(twice, Batch)
    numbers = [number for number, _, name in wanted if name == "four"]
    assert twice.column("number").tolist() == numbers
