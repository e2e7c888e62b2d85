"""Schemas: where they come from, fingerprints that never change, and errors that name what is allowed."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from datetime import datetime, timedelta
from typing import Literal

import msgspec
import pyarrow as pa
import pytest

from actorstream.errors import SchemaError
from actorstream.events import Event, EventTime, Float32, Int8, Kind, Schema


class Bid(Event, event_time="ts"):
    ts: int
    price: float
    item: str | None
    kind: Literal["low", "high"]
    flag: bool = False


FINGERPRINT = 0x2DD78D248C719EE2


def test_the_schema_of_a_class_is_made_once() -> None:
    assert Schema.of(Bid) is Schema.of(Bid)
    assert Schema.of(Schema.of(Bid)) is Schema.of(Bid)
    assert Schema.of(Bid).event_class() is Bid


def test_a_subclass_has_a_schema_of_its_own() -> None:
    class Loud(Bid):
        volume: int = 0

    assert Schema.of(Loud).names() == (*Schema.of(Bid).names(), "volume")


def test_the_fingerprint_never_changes() -> None:
    assert Schema.of(Bid).fingerprint == FINGERPRINT


def test_the_fingerprint_is_the_same_in_another_process() -> None:
    code = (
        "from actorstream.events import *\n"
        "from typing import Literal\n"
        "class Other(Event):\n"
        "    ts: EventTime; price: float; item: str | None; kind: Literal['low', 'high']; flag: bool\n"
        "print(Schema.of(Other).fingerprint)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert int(out.stdout) == FINGERPRINT


def test_everything_that_matters_changes_the_fingerprint_and_the_name_does_not() -> None:
    base = {"a": "int", "b": "str"}
    made = [
        Schema.from_dict(base),
        Schema.from_dict({"a": "int32", "b": "str"}),
        Schema.from_dict({"a": "int?", "b": "str"}),
        Schema.from_dict({"b": "str", "a": "int"}),
        Schema.from_dict({"a": "int", "c": "str"}),
        Schema.from_dict(base, event_time="a"),
        Schema.from_dict(base, event_time="a", time_unit="us"),
        Schema.from_dict(base).with_system(("_time",)),
    ]
    assert len({schema.fingerprint for schema in made}) == len(made)
    assert Schema.from_dict(base, name="Other") == Schema.from_dict(base)
    assert hash(Schema.from_dict(base, name="Other")) == hash(Schema.from_dict(base))


def test_types_are_named_in_words_and_a_question_mark_allows_nulls() -> None:
    schema = Schema.from_dict(
        {"a": "int", "b": "float32?", "c": "str", "d": "bytes", "e": "bool", "f": "datetime"}
    )
    kinds = [Kind.INT64, Kind.FLOAT32, Kind.STRING, Kind.BYTES, Kind.BOOL, Kind.DATETIME]
    assert [field.kind for field in schema.fields] == kinds
    assert [field.nullable for field in schema.fields] == [False, True, False, False, False, False]


def test_a_schema_without_class_makes_one_whose_schema_it_is() -> None:
    schema = Schema.from_dict(
        {"a": "int", "b": "str?", "t": "int32"}, name="Read", event_time="t", time_unit="s"
    )
    made = schema.event_class()
    assert issubclass(made, Event) and made.__name__ == "Read"
    assert made(1, None, 2) == schema.event_class()(a=1, b=None, t=2)
    assert Schema.of(made) is schema


def test_a_class_made_for_a_schema_has_the_same_fingerprint_when_read_again() -> None:
    schema = Schema.from_dict({"a": "uint8", "b": "datetime?", "c": "float32", "t": "int"}, event_time="t")
    made = schema.event_class()
    del made.__schema__
    assert Schema.of(made) == schema


def test_arrow_schemas_come_and_go() -> None:
    given = pa.schema(
        [
            pa.field("a", pa.int32(), nullable=False),
            pa.field("b", pa.large_string()),
            pa.field("c", pa.bool_(), nullable=False),
            pa.field("d", pa.timestamp("ns")),
            pa.field("e", pa.dictionary(pa.int32(), pa.string())),
            pa.field("f", pa.date32()),
            pa.field("g", pa.float16()),
        ]
    )
    schema = Schema.from_arrow(given, "File")
    assert [str(field) for field in schema.fields] == [
        "a: int32", "b: string?", "c: bool", "d: datetime?", "e: string?", "f: datetime?", "g: float32?",
    ]  # fmt: skip
    assert not any(field.nullable for field in Schema.from_arrow(given, nullable=False).fields)
    assert Schema.from_arrow(schema.arrow()) == schema
    with pytest.raises(SchemaError, match=r"field 'x' of File has the Arrow type list.*name an Event class"):
        Schema.from_arrow(pa.schema([("x", pa.list_(pa.int8()))]), "File")


def test_system_columns_come_last_and_can_be_taken_off_again() -> None:
    schema = Schema.of(Bid).with_system(("_origin", "_position", "_ordinal0"))
    assert schema.names()[-3:] == ("_origin", "_position", "_ordinal0")
    assert schema.user is Schema.of(Bid) and schema.event_class() is Bid
    assert schema.with_system(()).fingerprint == Schema.of(Bid).fingerprint
    with pytest.raises(SchemaError, match="'_color' is not a system column"):
        schema.with_system(("_color",))


def test_the_event_time_can_be_chosen_later() -> None:
    schema = Schema.from_dict({"a": "int", "d": "datetime"}).with_event_time("a", "s")
    assert (schema.event_time, schema.time_unit, schema.time_unit_ns) == ("a", "s", 10**9)
    assert schema.with_event_time("d").time_unit == "us"


def test_some_fields_make_a_schema() -> None:
    assert Schema.of(Bid).select(["price", "ts"]).names() == ("price", "ts")
    assert Schema.of(Bid).select(["price", "ts"]).event_time == "ts"
    assert Schema.of(Bid).select(["price"]).event_time is None


def test_an_unknown_field_names_the_nearest() -> None:
    with pytest.raises(SchemaError, match=r"Bid has no field 'prise'; allowed: .*did you mean 'price'"):
        Schema.of(Bid).index("prise")


def test_wrong_schemas_say_what_is_allowed() -> None:
    with pytest.raises(SchemaError, match=r"field 'a' of Row: 'integer' is not a type.*did you mean"):
        Schema.from_dict({"a": "integer"})
    with pytest.raises(SchemaError, match="event time of Row is 'b', not a field; allowed: a"):
        Schema.from_dict({"a": "int", "s": "str"}, event_time="b")
    with pytest.raises(SchemaError, match="field 's' of Row cannot be the event time"):
        Schema.from_dict({"a": "int", "s": "str"}, event_time="s")
    with pytest.raises(SchemaError, match="field 'a' of Row cannot be the event time"):
        Schema.from_dict({"a": "int?"}, event_time="a")
    with pytest.raises(SchemaError, match="time unit of Row is 'min'; allowed: s, ms, us, ns"):
        Schema.from_dict({"a": "int"}, time_unit="min")
    with pytest.raises(SchemaError, match="name of a system column"):
        Schema.from_dict({"_time": "int"})
    with pytest.raises(SchemaError, match="two fields named 'a'"):
        Schema("Twice", Schema.from_dict({"a": "int"}).fields * 2)


def test_two_event_times_are_refused() -> None:
    class Two(Event, event_time="a"):
        a: int
        b: EventTime

    with pytest.raises(SchemaError, match="Two has two event times, 'a' and 'b'"):
        Schema.of(Two)


def test_what_is_not_an_event_class_is_refused() -> None:
    with pytest.raises(SchemaError, match="is not an Event class"):
        Schema.of(dict)  # type: ignore[arg-type]


def test_an_annotation_that_cannot_be_resolved_says_where_to_import_it() -> None:
    made = msgspec.defstruct("Loose", [("a", "Missing")])
    with pytest.raises(SchemaError, match=r"Loose cannot be resolved.*module level"):
        Schema.of(made)


def test_a_name_that_no_event_can_have_is_fine_until_events_are_asked_for() -> None:
    schema = Schema.from_dict({"user id": "int", "class": "str"})
    assert schema.names() == ("user id", "class")
    with pytest.raises(SchemaError, match="'user id' of Row cannot be an attribute"):
        schema.event_class()


def test_a_name_that_python_reads_as_another_is_no_attribute() -> None:
    with pytest.raises(SchemaError, match=r"'\u00b5g' of Row cannot be an attribute.*NFKC"):
        Schema.from_dict({"\u00b5g": "float"}).event_class()  # Python's \u00b5 is \u03bc
    assert Schema.from_dict({"\u03bcg": "float"}).event_class()(1.0) is not None


def test_schemas_are_not_pickled() -> None:
    with pytest.raises(TypeError, match="no pickle"):
        pickle.dumps(Schema.of(Bid))


def test_widths_and_row_bytes_are_known() -> None:
    class Wide(Event):
        a: Int8
        b: Float32
        c: str
        d: datetime

    schema = Schema.of(Wide)
    assert schema.widths == (1, 4, 0, 8)
    assert schema.row_bytes == 17
    assert not schema.fixed and schema.select(["a", "b", "d"]).fixed


@pytest.mark.parametrize(
    ("unit", "units"), [("s", 2), ("ms", 1001), ("us", 1_000_001), ("ns", 1_000_001_000)]
)
def test_a_duration_has_at_least_so_many_units_of_the_event_time_as_it_lasts(unit: str, units: int) -> None:
    schema = Schema.from_dict({"ts": "int"}, event_time="ts", time_unit=unit)
    assert schema.time_units_in(timedelta(seconds=1, microseconds=1)) == units
    assert schema.time_units_in(timedelta(0)) == 0
    assert schema.time_units_in(timedelta(days=300_000)) == 300_000 * schema.time_units_in(timedelta(days=1))
