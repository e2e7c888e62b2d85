"""`actorstream plan --machine`."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actorstream.placement.rlas import Measured, OperatorProfile, OutputProfile, Profile, profile_text

from .conftest import Answer

Run = Callable[..., Answer]
ROOT = Path(__file__).resolve().parents[3]
SERVER_A = ROOT / "deploy/machines/server-a.toml"


@pytest.fixture
def profiled(topology: Path) -> Path:
    def operator(time: float, selectivity: float) -> OperatorProfile:
        return OperatorProfile(
            batches=[Measured(rows=64, execute_ns={"p50": time})],
            outputs={"default": OutputProfile(selectivity=selectivity, bytes=20)},
        )

    known = {"lines": operator(500, 1), "split": operator(2000, 3), "out": operator(700, 0)}
    text = profile_text(Profile(name="small", hertz=1.2e9, operators=known))
    (topology.parent / "profile.toml").write_text(text)
    return topology


def test_the_text_shows_replicas_sockets_rates_and_the_bottleneck(run: Run, profiled: Path) -> None:
    answer = run("plan", profiled, "--machine", SERVER_A, "--as-written")
    assert (answer.code, answer.err) == (0, "")
    assert "for server-a by rlas: 4 replicas on 1 of 8 sockets" in answer.out
    assert "bottleneck: operator lines+split: its replica works all the time" in answer.out
    assert "predicted: 400 k tuples/s in, 1.2 M tuples/s processed by the sinks" in answer.out
    assert "replicas as written: lines+split, out; without --as-written operators grow" in answer.out


def test_scaled_operators_get_more_replicas(run: Run, profiled: Path) -> None:
    args = ("plan", profiled, "--machine", SERVER_A, "--set", "deploy.pipelining=false", "--json")
    few, many = json.loads(run(*args, "--as-written").out), json.loads(run(*args).out)
    assert (few["bottleneck"], many["bottleneck"]) == ("split", "out")
    assert many["throughput"] > 1.5 * few["throughput"]
    assert sum(each["actor"] == "split" for each in many["replicas"]) > 1


CHAIN = """
[actors.rows]
type = "generator-source"
schema = { number = "int64" }

[actors.more]
type = "map"
inputs = ["rows"]
set = { number = "number + 1" }

[actors.even]
type = "filter"
inputs = ["more"]
where = "number % 2 == 0"

[actors.out]
type = "csv-sink"
inputs = ["even"]
path = "out.csv"
"""


def planned_chain(run: Run, folder: Path, costs: dict[str, float], *options: str) -> Any:
    """The plan of CHAIN for Server A. `costs`: nanoseconds a row of each actor; to choose one of several replicas takes 400."""
    operators = {
        name: OperatorProfile(
            batches=[Measured(rows=64, execute_ns={"p50": time})],
            outputs={} if name == "out" else {"default": OutputProfile(selectivity=1, bytes=8, route_ns=400)},
        )
        for name, time in costs.items()
    }
    (folder / "topology.toml").write_text(CHAIN)
    (folder / "profile.toml").write_text(
        profile_text(Profile(name="chain", hertz=1.2e9, operators=operators))
    )
    args = ("plan", folder / "topology.toml", "--machine", SERVER_A, "--json", *options)
    return json.loads(run(*args).out)


def test_what_a_source_calls_gets_replicas_of_its_own_where_that_lets_in_more(
    run: Run, tmp_path: Path
) -> None:
    costs = {"rows": 500.0, "more": 4000.0, "even": 100.0, "out": 400.0}
    found = planned_chain(run, tmp_path, costs)
    counts = {name: sum(each["actor"] == name for each in found["replicas"]) for name in costs}
    assert counts["more"] > 4 and counts["rows"] == counts["out"] == 1
    assert found["ingress"] == pytest.approx(1e9 / 900), "that of the source with its routing"
    written = planned_chain(run, tmp_path, costs, "--as-written")
    assert len(written["replicas"]) == 4 and written["ingress"] == pytest.approx(1e9 / 5000)


def test_what_a_source_calls_stays_with_it_where_handing_over_costs_more(run: Run, tmp_path: Path) -> None:
    costs = {"rows": 500.0, "more": 4.0, "even": 1.0, "out": 4.0}
    found = planned_chain(run, tmp_path, costs)
    assert [each["operator"] for each in found["rates"]] == ["rows+more+even+out"]


def test_json_is_the_same_every_time_and_names_machine_and_profile(run: Run, profiled: Path) -> None:
    args = ("plan", profiled, "--machine", SERVER_A, "--json", "--steps", 100)
    assert run(*args).out == run(*args).out
    found = json.loads(run(*args).out)
    assert found["machine"] == "server-a"
    assert all(len(found[key]) == 16 for key in ("fingerprint", "machine_fingerprint", "profile_fingerprint"))


def test_pictures_have_a_lane_for_each_socket_in_use(run: Run, profiled: Path, tmp_path: Path) -> None:
    assert 'subgraph w0["socket 0: cores' in run("plan", profiled, "--machine", SERVER_A, "--mermaid").out
    answer = run("plan", profiled, "--machine", SERVER_A, "--svg", tmp_path / "sockets.svg")
    assert (answer.code, answer.out) == (0, "")
    assert "socket 0: cores" in "".join(ElementTree.parse(tmp_path / "sockets.svg").getroot().itertext())


def test_without_a_profile_the_error_says_how_to_measure_one(run: Run, topology: Path) -> None:
    answer = run("plan", topology, "--machine", SERVER_A)
    assert answer.code == 2
    assert f"actorstream profile {topology} --out" in answer.err


def test_an_ingress_that_no_plan_sustains_says_what_would_fit(run: Run, profiled: Path) -> None:
    answer = run("plan", profiled, "--machine", SERVER_A, "--ingress", 800_000, "--as-written")
    assert answer.code == 2
    assert "allowed: at most 400,000 tuples/s" in answer.err
    assert "it needs 2.00 times as much" in answer.err


def test_options_that_would_do_nothing_are_refused(run: Run, profiled: Path, tmp_path: Path) -> None:
    saved = run("plan", profiled, "--machine", SERVER_A, "--save", tmp_path / "plan.json", "--graph")
    assert (saved.code, saved.err.count("is given beside --machine; allowed: one of them")) == (2, 2)
    alone = run("plan", profiled, "--strategy", "fix-l", "--ingress", 5)
    assert (alone.code, alone.err.count("is given; allowed: beside --machine FILE")) == (2, 2)


@pytest.mark.parametrize("option", ["--steps", "--compression"])
def test_a_search_without_steps_is_refused(run: Run, profiled: Path, option: str) -> None:
    answer = run("plan", profiled, "--machine", SERVER_A, option, 0)
    assert (answer.code, f"{option}: is 0; allowed: " in answer.err) == (2, True)


@pytest.mark.parametrize(
    ("app", "bottleneck"), [("word_count", "lines"), ("card_fraud", None), ("spike_detection", None)]
)
def test_the_shipped_profile_of_an_app_fits_its_topology(run: Run, app: str, bottleneck: str | None) -> None:
    answer = run("plan", ROOT / "apps" / app / "topology.toml", "--machine", SERVER_A)
    assert (answer.code, answer.err) == (0, "")
    assert f"bottleneck: operator {bottleneck or ''}" in answer.out
