"""Batches: one set of rows in any of its forms, its lineage, and what users are told when they get it wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.errors import SchemaError
from actorstream.events import Batch, Event, Schema, decode, encode


class Bid(Event, event_time="ts"):
    ts: int
    price: float
    item: str


class Score(Event):
    item: str
    score: float


class Priced(Event, event_time="ts"):
    ts: int
    price: float


BIDS = [Bid(i * 10, i / 2, f"item {i % 7}") for i in range(50)]
WIRE = Schema.of(Bid).with_system(("_origin", "_position"))


def forms() -> dict[str, Batch]:
    """The same rows as events, columns, Arrow, jumbo tuple, run and selection."""
    events = Batch.of_events(Bid, BIDS)
    columns = Batch.of_columns(Bid, {name: events[name] for name in ("ts", "price", "item")})
    doubled = Batch.concat([columns, columns])
    return {
        "events": Batch.of_events(Bid, BIDS),
        "columns": columns,
        "arrow": Batch.from_arrow(Bid, columns.arrow()),
        "table": Batch.from_arrow(
            Bid, pa.Table.from_batches([columns.arrow().slice(0, 20), columns.arrow().slice(20)])
        ),
        "jumbo": decode(Schema.of(Bid), encode([events], None)),
        "jumbo run": decode(Schema.of(Bid), encode([doubled], None)).slice(50, 50),
        "run": doubled.slice(50, 50),
        "selection": doubled.take(np.arange(50)),
        "selection of run": doubled.slice(20, 60)
        .take(np.arange(30, 80) % 60)
        .take(np.arange(50))
        .slice(0, 50),
        "replaced": columns.with_columns(price=columns["price"] * 0).with_columns(price=columns["price"]),
    }


FORMS = [name for name in forms() if name != "selection of run"]


@pytest.fixture(params=FORMS)
def batch(request: pytest.FixtureRequest) -> Batch:
    return forms()[request.param]


def with_origin(batch: Batch) -> Batch:
    return batch.with_system(_origin=np.full(batch.rows, 3), _position=np.arange(batch.rows))


def test_every_form_gives_the_same_events(batch: Batch) -> None:
    assert batch.events() == BIDS and batch.events() is batch.events()
    assert list(batch) == BIDS and len(batch) == batch.rows == 50


def test_every_form_gives_the_same_columns(batch: Batch) -> None:
    assert batch["ts"].tolist() == [bid.ts for bid in BIDS]
    assert batch["price"].tolist() == [bid.price for bid in BIDS]
    assert batch["item"].to_pylist() == [bid.item for bid in BIDS]
    assert not batch["ts"].flags.writeable
    assert batch.arrow().schema == Schema.of(Bid).arrow()
    assert batch.time_range() == (0, 490) and batch.event_times().tolist() == batch["ts"].tolist()


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_runs_and_selections_of_every_form_are_those_rows(form: str, data: st.DataObject) -> None:
    batch, expected = forms()[form], BIDS
    for _ in range(4):
        if data.draw(st.booleans()):
            first = data.draw(st.integers(0, len(expected)))
            rows = data.draw(st.integers(0, len(expected) - first))
            batch, expected = batch.slice(first, rows), expected[first : first + rows]
        elif data.draw(st.booleans()):
            bits = data.draw(st.integers(0, 2 ** len(expected) - 1))
            mask = [bool(bits >> row & 1) for row in range(len(expected))]
            batch = batch.take(np.array(mask, np.bool_))
            expected = [bid for bid, take in zip(expected, mask) if take]
        elif expected:
            index = data.draw(st.lists(st.integers(0, len(expected) - 1), max_size=20))
            batch, expected = batch.take(index), [expected[row] for row in index]
        order = data.draw(st.permutations(["events", "columns", "bytes", "copy"]))
        for check in order[: data.draw(st.integers(0, 4))]:
            if check == "events":
                assert batch.events() == expected
            elif check == "columns":
                assert batch["item"].to_pylist() == [bid.item for bid in expected]
                assert batch["ts"].tolist() == [bid.ts for bid in expected]
            elif check == "bytes":
                assert decode(Schema.of(Bid), encode([batch], None)).events() == expected
            else:
                assert batch.compact().events() == expected
    assert batch.events() == expected


def test_nothing_is_converted_that_is_not_asked_for() -> None:
    batch = Batch.of_events(Bid, [Bid(1, 2.0, 3)])  # type: ignore[arg-type]
    assert batch["ts"].tolist() == [1]
    with pytest.raises(SchemaError, match="field 'item', Bid event 0: 3 is a int; allowed: str"):
        batch["item"]
    assert batch.events()[0].ts == 1  # type: ignore[attr-defined]


def test_an_empty_batch_works_in_every_form(batch: Batch) -> None:
    for empty in (
        batch.slice(7, 0),
        batch.take([]),
        batch.take(np.zeros(50, np.bool_)),
        batch.slice(0, 0).compact(),
    ):
        assert empty.events() == [] and empty["ts"].tolist() == [] and empty["item"].to_pylist() == []
        assert empty.arrow().num_rows == 0 and empty.time_range() is None
        assert decode(Schema.of(Bid), encode([empty], None)).events() == []
        assert empty.with_columns(event=Priced).take([]).events() == []


def test_concat_joins_rows_of_any_form() -> None:
    made = forms()
    joined = Batch.concat(
        [made["jumbo"].slice(0, 10), made["events"].slice(10, 5), made["columns"].slice(15, 35)]
    )
    assert joined.events() == BIDS
    assert Batch.concat([made["events"], made["events"].slice(0, 0)]).events() == BIDS
    assert Batch.concat([made["jumbo"]]) is made["jumbo"]
    with pytest.raises(SchemaError, match="among batches of"):
        Batch.concat([made["events"], Batch.of_columns(Priced, {"ts": [1], "price": [1.0]})])
    with pytest.raises(SchemaError, match="no batches"):
        Batch.concat([])


def test_with_columns_replaces_adds_and_changes_the_class(batch: Batch) -> None:
    dearer = batch.with_columns(price=batch["price"] + 1)
    assert dearer.schema == batch.schema and dearer.events()[3] == Bid(30, 2.5, "item 3")
    assert dearer.take([3]).events() == dearer.slice(3, 1).events() == [Bid(30, 2.5, "item 3")]
    scored = batch.with_columns(event=Score, score=batch["price"] * 2)
    assert scored.events()[1] == Score("item 1", 1.0)
    wider = batch.with_columns(double=batch["price"] * 2)
    assert wider.schema.names() == ("ts", "price", "item", "double") and wider.schema.event_time == "ts"
    assert batch.select(["price", "ts"]).schema.names() == ("price", "ts")
    assert batch.with_columns(event=Priced).events()[2] == Priced(20, 1.0)


def test_a_batch_may_descend_from_as_many_others_as_one_likes() -> None:
    """No column of the first is asked for before the last one's is."""
    batch = with_origin(
        Batch.of_columns(Bid, {"ts": range(50), "price": np.arange(50.0), "item": ["x"] * 50})
    )
    for number in range(700):
        if number % 3:
            batch = batch.with_columns(price=np.full(batch.rows, float(number)))
        else:
            made = {"ts": batch["ts"], "price": batch["price"], "item": ["y"] * batch.rows}
            batch = Batch.of(made, event=Bid, origin=batch).take(np.arange(batch.rows))
    assert batch["ts"].tolist() == list(range(50))
    assert batch["_position"].tolist() == list(range(50))
    assert batch["item"][0].as_py() == "y" and batch["price"].tolist() == [698.0] * 50


def test_a_field_may_be_named_event_or_self() -> None:
    batch = Batch.of_columns(Schema.from_dict({"event": "str", "self": "int"}), {"event": ["a"], "self": [1]})
    changed = batch.with_columns(event=["b"], self=[2])
    assert changed["event"].to_pylist() == ["b"] and changed["self"].tolist() == [2]


def test_cast_renames_nothing_and_converts_widths(batch: Batch) -> None:
    target = Schema.from_dict({"ts": "int32", "price": "float?", "item": "str"}, event_time="ts")
    assert batch.cast(target).column("ts").numpy().dtype == np.int32
    assert batch.cast(Bid) is batch
    with pytest.raises(SchemaError, match="has no field 'price'"):
        batch.cast(Schema.from_dict({"ts": "int", "item": "str"}))


def test_of_takes_the_class_of_its_origin_or_tells_it_from_the_columns(batch: Batch) -> None:
    columns = {"ts": batch["ts"], "price": batch["price"], "item": batch["item"]}
    assert Batch.of(columns, origin=batch).schema == Schema.of(Bid)
    assert Batch.of(columns).schema == Schema.from_dict({"ts": "int", "price": "float", "item": "str"})
    assert Batch.of({"item": ["a"], "score": [1]}, event=Score).events() == [Score("a", 1.0)]


# -- lineage ----


def test_with_columns_takes_one_value_for_all_rows(batch: Batch) -> None:
    assert [event.price for event in batch.with_columns(price=2.5).events()] == [2.5] * batch.rows
    scored = batch.with_columns(event=Score, score=np.float64(1.5))
    assert [event.score for event in scored.events()] == [1.5] * batch.rows
    wider = batch.with_columns(label="a", number=np.int64(3))
    assert wider["label"].to_pylist() == ["a"] * batch.rows and wider["number"].tolist() == [3] * batch.rows
    with pytest.raises(SchemaError, match="field 'price'"):
        batch.with_columns(price="dear")


def test_lineage_goes_with_the_rows_through_take_slice_and_with_columns(batch: Batch) -> None:
    rows = with_origin(batch)
    assert rows.events() == BIDS
    taken = rows.take([5, 3, 3]).slice(1, 2)
    assert taken.system["_position"].tolist() == [3, 3] and taken.system["_origin"].tolist() == [3, 3]
    assert taken.column("_position").tolist() == [3, 3]
    changed = rows.with_columns(event=Score, score=batch["price"]).take(batch["ts"] > 470)
    assert changed.system["_position"].tolist() == [48, 49]
    assert changed.compact().system["_position"].tolist() == [48, 49]
    assert (
        rows.cast(Schema.from_dict({"ts": "int32", "price": "float", "item": "str"})).system["_origin"].length
        == 50
    )


def test_rows_whose_class_has_no_event_time_inherit_it_as_a_system_column(batch: Batch) -> None:
    scored = batch.with_columns(event=Score, score=batch["price"])
    assert scored.system["_time"].tolist() == batch["ts"].tolist()
    assert scored.take([4]).time_range() == (40, 40)
    again = scored.take([4, 5]).with_columns(event=Priced, ts=[7, 8], price=[0.0, 0.0])
    assert "_time" not in again.system and again.time_range() == (7, 8)


def test_rows_made_from_input_rows_inherit_their_lineage(batch: Batch) -> None:
    rows = with_origin(batch)
    by_batch = Batch.of({"item": ["a", "b"], "score": [1, 2]}, event=Score, origin=rows.take([7, 9]))
    by_number = Batch.of({"item": ["a", "b"], "score": [1, 2]}, event=Score, origin=[7, 9])
    assert by_number.system == {}
    for made in (by_batch, by_number.inherit(rows)):
        assert made.system["_position"].tolist() == [7, 9] and made.system["_time"].tolist() == [70, 90]
        assert made.take([1]).system["_position"].tolist() == [9]
    events = Batch.of_events(Score, [Score("x", 0.0)] * 3).inherit(rows, [1, 1, 2])
    assert events.system["_position"].tolist() == [1, 1, 2]


@pytest.mark.parametrize("rows", [0, 1, 2, 3])
def test_a_dataframe_gives_its_columns_whatever_its_length(rows: int) -> None:
    frame = pd.DataFrame({"item": ["a"] * 3, "score": [0.5] * 3}).head(rows)
    for made in (Batch.of(frame, event=Score), Batch.of_columns(Score, frame)):
        assert made.events() == [Score("a", 0.5)] * rows
    with pytest.raises(SchemaError, match="Score has no field 'other'"):
        Batch.of(frame.assign(other=1), event=Score)
    arrow: Any = pa.table({"item": ["a"] * rows, "score": [0.5] * rows})
    for make in (lambda: Batch.of(arrow), lambda: Batch.of_columns(Score, arrow)):
        with pytest.raises(SchemaError, match=r"a Table in place of columns.*a dict, or a DataFrame"):
            make()


@pytest.mark.parametrize(
    ("change", "positions"),
    [
        (lambda made: made.take([2, 0]), [5, 7]),
        (lambda made: made.slice(1, 2), [9, 5]),
        (lambda made: made.slice(1, 2).take([1]), [5]),
        (lambda made: made.take([2, 0, 1]).slice(1, 2), [7, 9]),
        (lambda made: made.with_columns(score=[0.0, 0.0, 0.0]), [7, 9, 5]),
        (lambda made: made.select(["score"]).take([1]), [9]),
        (lambda made: made.cast(Schema.from_dict({"item": "str", "score": "float32"})), [7, 9, 5]),
        (lambda made: made.take([1]).compact(), [9]),
        (lambda made: Batch.concat([made.slice(2, 1), made]), [5, 7, 9, 5]),
        (lambda made: Batch.of({"by": [1, 2]}, origin=made.take([1, 2])), [9, 5]),
    ],
)
def test_rows_taken_from_rows_with_row_numbers_inherit_by_these(
    batch: Batch, change: Any, positions: list[int]
) -> None:
    made = Batch.of({"item": ["a", "b", "c"], "score": [1, 2, 3]}, event=Score, origin=[7, 9, 5])
    changed = change(made)
    assert changed.system == {}
    inherited = changed.inherit(with_origin(batch))
    assert inherited.system["_position"].tolist() == positions
    assert inherited.event_times().tolist() == [10 * position for position in positions]


def test_rows_without_origin_have_no_lineage() -> None:
    assert Batch.of({"item": ["a"], "score": [1.0]}, event=Score).system == {}
    with pytest.raises(SchemaError, match=r"carry no _origin: an operator dropped their lineage.*origin="):
        encode([Batch.of_events(Bid, BIDS)], None, WIRE)


def test_system_columns_travel_and_arrive_beside_the_rows(batch: Batch) -> None:
    found = decode(
        WIRE, encode([with_origin(batch).take([1, 2]), with_origin(batch).slice(9, 1)], None, WIRE)
    )
    assert found.schema is Schema.of(Bid) and found.events() == [BIDS[1], BIDS[2], BIDS[9]]
    assert found.system["_position"].tolist() == [1, 2, 9] and list(found.system) == ["_origin", "_position"]
    assert found.arrow().schema.names == ["ts", "price", "item"]
    assert decode(WIRE, encode([found], None, WIRE)).system["_position"].tolist() == [1, 2, 9]
    assert decode(Schema.of(Bid), encode([found], None, Schema.of(Bid))).events() == found.events()


def test_concat_keeps_the_lineage_all_have(batch: Batch) -> None:
    joined = Batch.concat([with_origin(batch), with_origin(batch).take([4])])
    assert joined.system["_position"].tolist() == [*range(50), 4]
    assert Batch.concat([with_origin(batch), batch]).system == {}


def test_entry_times_stay_with_the_rows() -> None:
    batch = forms()["jumbo"]
    batch.entry_min, batch.entry_max, batch.began = 5, 9, 7
    other = forms()["events"]
    for made in (batch.take([1]), batch.slice(1, 2), batch.with_columns(event=Priced), batch.compact()):
        assert (made.entry_min, made.entry_max, made.began) == (5, 9, 7)
    assert Batch.concat([other, batch]).entry_min == 5 and Batch.concat([other, batch]).entry_max == 9


# -- memory ----


def test_compact_shares_no_memory_with_the_jumbo_tuple() -> None:
    batch = forms()["jumbo"].slice(3, 4)
    copied = batch.compact()
    assert not np.shares_memory(copied["ts"], batch["ts"])
    assert copied.events() == BIDS[3:7]


def test_nbytes_is_cheap_and_about_right(batch: Batch) -> None:
    exact = encode([batch], None).nbytes
    assert exact / 2 < batch.nbytes < exact * 2
    assert batch.slice(0, 10).nbytes < batch.nbytes / 3


# -- mistakes ----


@pytest.mark.parametrize(
    "columns, message",
    [
        (
            {"ts": [1], "price": [1.0]},
            "Bid has a field 'item' that the columns do not give; allowed: ts, price",
        ),
        (
            {"ts": [1], "prise": [1.0], "item": ["a"]},
            "field 'price' that the columns do not give.*did you mean 'prise'",
        ),
        (
            {"ts": [1], "price": [1.0], "item": ["a"], "itme": [1]},
            "Bid has no field 'itme'.*did you mean 'item'",
        ),
        (
            {"ts": [1, 2], "price": [1.0], "item": ["a"]},
            "columns of Bid differ in length .ts: 2, price: 1, item: 1",
        ),
    ],
)
def test_columns_that_do_not_fit_the_schema_are_named(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Batch.of_columns(Bid, columns)


def test_misuse_is_refused_with_what_is_allowed(batch: Batch) -> None:
    with pytest.raises(SchemaError, match=r"Bid has no field 'prise'.*did you mean 'price'"):
        batch["prise"]
    with pytest.raises(IndexError, match="rows 40 to 51 of a batch of 50"):
        batch.slice(40, 11)
    with pytest.raises(SchemaError, match="field 'price' has 1 values for 50 rows"):
        batch.with_columns(price=[1.0])
    with pytest.raises(
        SchemaError, match="Score has a field 'score' that neither the batch nor the keywords give"
    ):
        batch.with_columns(event=Score)
    with pytest.raises(SchemaError, match="Score has no field 'price'"):
        batch.with_columns(event=Score, price=batch["price"])
    with pytest.raises(SchemaError, match="2 rows of Score descend from 3 rows"):
        Batch.of({"item": ["a", "b"], "score": [1, 2]}, event=Score, origin=[1, 2, 3])
    with pytest.raises(SchemaError, match="'_colour' is not a system column"):
        batch.with_system(_colour=[1])
    with pytest.raises(SchemaError, match="cast"):
        encode([batch], None, Schema.of(Score))
    with pytest.raises(SchemaError, match="the edge's Schema"):
        encode([batch], None, 12345)


def test_a_batch_shows_what_it_is() -> None:
    assert repr(Batch.of_events(Bid, BIDS)) == "Batch(Bid, 50 rows: ts: int64, price: float64, item: string)"


def test_events_without_fields_are_counted_also_as_arrow() -> None:
    class Ping(Event):
        """Something has happened."""

    batch = Batch.of_events(Ping, [Ping(), Ping(), Ping()])
    again = Batch.from_arrow(Ping, batch.arrow())
    assert again.rows == 3
    assert again.events() == [Ping(), Ping(), Ping()]
