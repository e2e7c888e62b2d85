"""Generated sales and clicks: in order, the same for a seed however they are read, with the tables that the app ships."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from actorstream import Batch
from apps.tpcx_bb import generate
from apps.tpcx_bb.generate import DAY, Repeated, StoreSales, WebClickstreams, rows_in, write
from tests.apps.dependency import read_all

DATA = Path(generate.__file__).with_name("data")


def all_rows(source: Repeated, max_rows: int) -> dict[str, list[object]]:
    """Everything that a source gives, and that its positions are without a gap."""
    batches: list[Batch] = []
    rows = 0
    while (batch := source.read(max_rows)) is not None:
        assert (source.row, len(batch)) <= (rows, max_rows)
        rows += len(batch)
        assert source.position() == dict.fromkeys(source.partitions(), rows)
        batches.append(batch)
    whole = Batch.concat(batches)
    return {name: whole.column(name).tolist() for name in whole.schema.names()}


@pytest.mark.parametrize("kind", [StoreSales, WebClickstreams])
def test_rows_do_not_depend_on_how_many_are_read_at_once(kind: type[Repeated]) -> None:
    assert all_rows(kind(count=50_000, kept=2), 700) == all_rows(kind(count=50_000, kept=2), 50_000)
    assert all_rows(kind(count=100, seed=1), 100) != all_rows(kind(count=100, seed=2), 100)


@pytest.mark.parametrize("kind", [StoreSales, WebClickstreams])
def test_a_source_goes_on_where_it_was_and_without_a_partition_it_reads_nothing(kind: type[Repeated]) -> None:
    whole = read_all(kind(count=50_000, kept=2), 4096)[0]
    ends = np.cumsum([rows_in(kind().make(number, 1, DAY)) for number in range(2)]).tolist()
    assert ends[1] < 49_000
    for row in (1, *ends, ends[0] - 1, ends[1] + 1000):
        assert read_all(kind(count=50_000, kept=2), 777, {"0": row}) == {0: whole[row:]}
    source = kind(count=10)
    source.open([])
    assert source.read(10) is None


def test_tickets_follow_each_other_and_have_one_time_and_store() -> None:
    rows = all_rows(StoreSales(count=60_000, kept=2), 4096)
    tickets = np.array(rows["ss_ticket_number"])
    assert set(np.diff(tickets)) == {0, 1}
    times = np.array(rows["ss_sold_date_sk"]) * DAY + np.array(rows["ss_sold_time_sk"])
    assert (np.diff(times) >= 0).all()
    same = np.diff(tickets) == 0
    assert not np.diff(times)[same].any()
    assert not np.diff(rows["ss_store_sk"])[same].any()


def test_clicks_come_in_the_order_of_their_time_and_some_fields_are_null() -> None:
    rows = all_rows(WebClickstreams(count=60_000, kept=2), 4096)
    times = np.array(rows["wcs_click_date_sk"]) * DAY + np.array(rows["wcs_click_time_sk"])
    assert (np.diff(times) >= 0).all()
    for name in ("wcs_sales_sk", "wcs_item_sk", "wcs_web_page_sk", "wcs_user_sk"):
        assert 0 < rows[name].count(None) < len(rows[name])
    sold = [sale for sale in rows["wcs_sales_sk"][:20_000] if sale is not None]
    assert len(set(sold)) == len(sold)


def test_a_span_that_is_not_whole_days_is_refused() -> None:
    with pytest.raises(ValueError, match="multiples of 86400"):
        StoreSales(span=3600)


def test_files_are_the_same_for_a_seed_and_tables_are_those_of_the_app(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write(tmp_path / folder, 1000, 1000, seed=3)
    for name in ("store_sales.csv.gz", "web_clickstreams.csv.gz"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    for name in ("item.csv", "web_page.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (DATA / name).read_bytes()
