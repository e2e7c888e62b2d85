"""The static join of the benchmark variants: its table goes with the ids that the generator makes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from actorstream.operators.static_join import StaticJoin

if TYPE_CHECKING:
    from actorstream import Event, Schema

DATA = Path(__file__).with_name("data")
TABLES = {False: DATA / "ads.csv", True: DATA / "ads_uuid.csv"}
"""Whether ids are texts -> the ads and campaigns of `generator-source`, preset "ysb-ads"."""


class Campaigns(StaticJoin):
    """`static-join` on ad_id.

    Args:
        table: unless set, the table of the generator's ads with ids of the events' type.
    """

    def __init__(self, table: Path | None = None) -> None:
        super().__init__(table or TABLES[False], "ad_id")
        self.given = table

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        return super().output_types(full_keys(keys, inputs[0]), inputs)

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Any]:
        return super().check(full_keys(keys, inputs[0]), inputs, base)

    def on_start(self) -> None:
        self.table = full_keys({"table": self.given}, self._stream())["table"]
        super().on_start()


def full_keys(keys: dict[str, Any], stream: Schema) -> dict[str, Any]:
    """The keys of a static join that goes with the events of `stream`."""
    texts = "ad_id" in stream and stream.field("ad_id").dtype is None
    return {"on": "ad_id", "table": keys.get("table") or TABLES[texts]}
