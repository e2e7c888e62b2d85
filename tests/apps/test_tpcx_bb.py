"""The TPCx-BB queries through the real command line: the expected files byte for byte, under every deployment, and the
same as the sequential reference on generated data."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from pathlib import Path

import pytest

from apps.tpcx_bb import generate, reference
from tests.apps.launched import command

ROOT = Path(__file__).parents[2]
APP = ROOT / "apps" / "tpcx_bb"
EXPECTED = Path(__file__).parent / "data" / "tpcx_bb"
INPUTS = {
    "q1": ("store_sales", "item"),
    "q1_hourly": ("store_sales", "item"),
    "q2": ("web_clickstreams",),
    "q2_pairs": ("web_clickstreams",),
    "q3": ("web_clickstreams", "item"),
    "q4": ("web_clickstreams", "web_page"),
    "q15": ("store_sales", "item"),
}
DEPLOYMENTS = [(1, 4096), (2, 61), (4, 1000)]
"""Workers, batch size."""


def launch(query: str, out: Path, *options: str) -> bytes:
    """Runs a query and reads the file that it writes."""
    command("launch", APP / f"{query}.toml", "--set", f"actors.result.path={out}", *options)
    return out.read_bytes()


def file_of(folder: Path, name: str) -> Path:
    return folder / (f"{name}.csv" if name in ("item", "web_page") else f"{name}.csv.gz")


def by_reference(query: str, folder: Path) -> bytes:
    """The result file of the sequential reference."""
    stream, *tables = INPUTS[query]
    rows = reference.QUERIES[query](
        reference.read(file_of(folder, stream)),
        *(reference.read_table(file_of(folder, table)) for table in tables),
    )
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([reference.COLUMNS[query], *rows])
    return text.getvalue().encode()


def expected(query: str) -> bytes:
    """What DuckDB found; of Q15's floats the reference's, which are held against DuckDB's below."""
    if query == "q4":
        found = json.loads((EXPECTED / "expected_q4.json").read_text())
        return f"pages,sessions,average\n{found['pages']},{found['sessions']},{found['average']}\n".encode()
    if query == "q15":
        return by_reference(query, APP / "data")
    packed = EXPECTED / f"expected_{query}.csv.gz"
    if packed.exists():
        return gzip.decompress(packed.read_bytes())
    return (EXPECTED / f"expected_{query}.csv").read_bytes()


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More rows than the app ships, with more users and tickets that overlap in time."""
    folder = tmp_path_factory.mktemp("generated")
    generate.write(folder, 20_000, 20_000, seed=5)
    return folder


@pytest.mark.parametrize("query", INPUTS)
def test_the_reference_finds_what_duckdb_found(query: str) -> None:
    assert by_reference(query, APP / "data") == expected(query)


def test_lines_of_q15_are_those_of_duckdb_but_for_its_rounding() -> None:
    def rows(data: bytes) -> list[list[str]]:
        return list(csv.reader(data.decode().splitlines()))

    found = rows(by_reference("q15", APP / "data"))
    theirs = rows((EXPECTED / "expected_q15.csv").read_bytes())
    assert [row[0] for row in found] == [row[0] for row in theirs]
    for ours, row in zip(found[1:], theirs[1:], strict=True):
        assert [float(value) for value in ours] == pytest.approx([float(value) for value in row], rel=1e-11)


@pytest.mark.parametrize("query", INPUTS)
@pytest.mark.parametrize(("workers", "batch_size"), DEPLOYMENTS)
def test_a_query_writes_the_expected_file_under_every_deployment(
    query: str, workers: int, batch_size: int, tmp_path: Path
) -> None:
    options = ("--workers", str(workers), "--set", f"deploy.batch_size={batch_size}")
    assert launch(query, tmp_path / "result.csv", *options) == expected(query)


@pytest.mark.parametrize("query", ["q1_hourly", "q2_pairs", "q3", "q4", "q15"])
def test_a_query_finds_what_the_reference_finds_on_generated_data(
    query: str, tmp_path: Path, generated: Path
) -> None:
    paths = [f"actors.{name}.path={file_of(generated, name)}" for name in INPUTS[query]]
    options = [part for path in paths for part in ("--set", path)]
    found = launch(query, tmp_path / "result.csv", "--workers", "2", *options)
    assert found == by_reference(query, generated)
    assert found.count(b"\n") > 1


@pytest.mark.parametrize("schedule", ["ct", "lp", "et", "qst"])
def test_no_heuristic_changes_the_order_of_a_query(schedule: str, tmp_path: Path) -> None:
    settings = {"schedule": schedule, "threads": 2, "reorder_window": 2, "batch_size": 211, "workers": 1}
    settings |= {"testing.delay": "1ms", "testing.seed": 3}
    options = [part for key, value in settings.items() for part in ("--set", f"deploy.{key}={value}")]
    assert launch("q1_hourly", tmp_path / "result.csv", *options) == expected("q1_hourly")


@pytest.mark.slow
@pytest.mark.parametrize("query", INPUTS)
@pytest.mark.parametrize("seed", range(6))
def test_random_deployments_with_delays_write_the_expected_file(
    query: str, seed: int, tmp_path: Path
) -> None:
    dice = random.Random(f"{query} {seed}")
    settings = {
        "workers": dice.randint(1, 8),
        "schedule": dice.choice(["none", "ct", "lp", "et", "qst"]),
        "threads": dice.randint(1, 4),
        "reorder_window": dice.choice([1, 2, 16, 1024]),
        "batch_size": dice.choice([31, 500, 4096]),
        "edge_bytes": dice.choice([1, 20_000, 4 << 20]),
        "testing.delay": "1ms",
        "testing.seed": seed,
    }
    if settings["schedule"] == "none":
        settings["threads"] = 0
    options = [part for key, value in settings.items() for part in ("--set", f"deploy.{key}={value}")]
    assert launch(query, tmp_path / "result.csv", *options) == expected(query), settings


def test_fewer_pairs_are_frequent_if_more_sales_are_asked_for(tmp_path: Path) -> None:
    found = launch("q1", tmp_path / "result.csv", "--set", "actors.pairs.min_count=8").splitlines()
    assert found == expected("q1").splitlines()[:6]


def test_an_input_without_rows_gives_a_header_and_no_rows(tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text(",".join(generate.StoreSale.__struct_fields__) + "\n")
    found = launch(
        "q1", tmp_path / "result.csv", "--set", f"actors.store_sales.path={tmp_path / 'sales.csv'}"
    )
    assert found == b"item_1,item_2,cnt\n"


def test_sales_without_a_price_count_in_no_trend(tmp_path: Path) -> None:
    rows = gzip.decompress((APP / "data" / "store_sales.csv.gz").read_bytes()).decode().splitlines()
    assert rows[0].endswith(",ss_net_paid")
    unpaid = [row[: row.rindex(",") + 1] for row in rows[1::3]]
    (tmp_path / "store_sales.csv.gz").write_bytes(gzip.compress("\n".join([*rows, *unpaid, ""]).encode()))
    (tmp_path / "item.csv").write_bytes((APP / "data" / "item.csv").read_bytes())
    found = launch(
        "q15",
        tmp_path / "result.csv",
        *("--set", f"actors.store_sales.path={tmp_path / 'store_sales.csv.gz'}"),
    )
    assert found == by_reference("q15", tmp_path) == expected("q15")
