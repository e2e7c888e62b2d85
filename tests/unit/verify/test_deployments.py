"""Which deployments are tried: every choice meets every other one soon, the same for the same seed."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from actorstream.topology.conversion import convert
from actorstream.topology.overrides import parse_override
from actorstream.verify.deployments import (
    DELAY,
    SEED,
    Deployment,
    Dimension,
    baseline,
    choose,
    delay_for,
    dimensions,
    singles,
    toml_text,
)

SCHEDULES = ("ct", "lp", "et", "qst")


def named(found: list[Dimension], name: str) -> Dimension:
    return next(each for each in found if each.name == name)


def test_the_baseline_is_one_worker_in_one_process_that_takes_turns() -> None:
    assert baseline(dimensions(schedules=SCHEDULES, serial=True)).settings() == {
        "deploy.workers": 1,
        "deploy.transport": "local",
        "deploy.schedule": "none",
        "deploy.threads": 0,
    }


def test_the_first_run_is_the_deployment_as_it_stands_with_the_most_workers() -> None:
    (first,) = choose(dimensions(workers=[2, 8, 4], schedules=SCHEDULES), 1)
    assert first.number == 1
    assert first.settings() == {"deploy.workers": 8, "deploy.transport": "shm"}


def test_a_few_runs_have_every_choice_and_more_have_every_pair() -> None:
    among = dimensions(schedules=SCHEDULES, serial=True, rows=10_000)

    def met(runs: int, of: int) -> set[Any]:
        return {
            pair
            for each in choose(among, runs, 3)
            for pair in combinations(
                [(name, tuple(sorted(choice))) for name, choice in each.chosen.items()], of
            )
        }

    everything = {
        (each.name, tuple(sorted(choice) if each.name != "delay" else (*choice, *([SEED] if choice else ()))))
        for each in among
        for choice in each.choices
    }
    assert {item for (item,) in met(12, 1)} == everything
    pairs = sum(
        len({tuple(sorted(a)) for a in one.choices}) * len({tuple(sorted(b)) for b in other.choices})
        for one, other in combinations(among, 2)
    )
    assert len(met(60, 2)) == pairs


def test_the_same_seed_gives_the_same_runs_and_another_one_others() -> None:
    among = dimensions(schedules=SCHEDULES)
    assert choose(among, 9, 5) == choose(among, 9, 5)
    assert choose(among, 9, 5) != choose(among, 9, 6)


def test_runs_are_numbered_and_delayed_from_seeds_of_their_own() -> None:
    found = choose(dimensions(), 20, 7, rows=100)
    assert [each.number for each in found] == list(range(1, 21))
    delayed = [each for each in found if DELAY in each.settings()]
    assert delayed
    assert all(each.settings()[SEED] == 7000 + each.number for each in delayed)


def test_impossible_combinations_are_left_out_and_where_none_is_possible_there_are_no_runs() -> None:
    among = dimensions(schedules=SCHEDULES)

    def possible(deployment: Deployment) -> bool:
        return deployment.settings()["deploy.workers"] != 4

    found = choose(among, 10, possible=possible)
    assert len(found) == 10
    assert {each.settings()["deploy.workers"] for each in found} == {1, 2}
    assert choose(among, 10, possible=lambda deployment: False) == []


def test_keys_that_the_user_has_set_are_not_varied_unless_he_asks_for_both() -> None:
    fixed = ["deploy.batch_size", "deploy.threads", "deploy.workers", "actors.lines.path"]
    found = dimensions(schedules=SCHEDULES, fixed=fixed, workers=[1, 3])
    names = {each.name for each in found}
    assert names.isdisjoint({"batch_size", "schedule"})
    assert {"workers", "transport", "delay"} <= names


def test_a_further_key_is_varied_from_its_first_value_on() -> None:
    found = dimensions(vary={"actors.count.replicas": [1, 2], "deploy.placement": ["spread"]})
    assert named(found, "actors.count.replicas").baseline == {"actors.count.replicas": 1}
    assert [each.name for each in found].count("placement") == 0
    assert baseline(found).settings()["deploy.placement"] == "spread"


def test_what_a_class_declares_is_varied_from_its_first_value_on_but_not_where_the_user_sets_it() -> None:
    declared = {"actors.sum.plan": ["sequential", "balanced"]}
    plan = named(dimensions(declared=declared), "actors.sum.plan")
    assert (plan.baseline, plan.given) == ({"actors.sum.plan": "sequential"}, False)
    assert len(plan.choices) == 2
    fixed = dimensions(declared=declared, fixed=["actors.sum.plan"])
    assert "actors.sum.plan" not in {each.name for each in fixed}


def test_tables_vary_several_keys_together_in_place_of_what_varied_them_before() -> None:
    tables = [{"schedule": "none", "threads": 0}, {"schedule": "ct", "threads": 2}]
    found = dimensions(schedules=SCHEDULES, vary={"deploy": tables})
    assert [each.name for each in found if "deploy.schedule" in each.baseline] == ["deploy"]
    assert named(found, "deploy").choices[1] == {"deploy.schedule": "ct", "deploy.threads": 2}


@pytest.mark.parametrize(("rows", "sizes"), [(0, {1, 17}), (1000, {1, 17}), (2_000_000, {1000, 16001})])
def test_batches_are_as_small_as_the_input_allows(rows: int, sizes: set[int]) -> None:
    choices = named(dimensions(rows=rows), "batch_size").choices
    assert {choice.get("deploy.batch_size") for choice in choices} == sizes | {None}


def test_the_more_hand_overs_the_shorter_is_their_delay() -> None:
    assert [delay_for(rows, 1) for rows in (0, 2000, 100_000, 10**9)] == ["2ms", "2ms", "30us", "30us"]
    assert delay_for(100_000, 1000) == "2ms"


def test_singles_change_one_choice_of_the_baseline() -> None:
    among = [Dimension("a", ({"deploy.a": 1}, {}), {"deploy.a": 0}), Dimension("b", ({"deploy.b": 2},))]
    assert [each.settings() for _, _, each in singles(among)] == [
        {"deploy.a": 1},
        {},
        {"deploy.a": 0, "deploy.b": 2},
    ]


@pytest.mark.parametrize(
    "value",
    [
        *(1, 2.5, True, "shm", "true", "12", "/tmp/a b.csv", "2ms", [1, 2], '"x"'),
        *(math.inf, -math.inf, 1e300, ["\U0001f600 \x7f\n\\"], '"\U0001f600"', "2024-02-29"),
        *(date(2024, 2, 29), time(1, 2, 3), datetime(2024, 2, 29, 1, 2), datetime(2024, 2, 29, tzinfo=UTC)),
        *([{"to": date(2024, 2, 29)}], {"a b": {"c": [1.5, "x"]}, "": {}}),
    ],
)
def test_a_value_is_read_back_as_it_was(value: Any) -> None:
    assert parse_override(f"deploy.key={toml_text(value)}") == (("deploy", "key"), value)


@pytest.mark.parametrize("value", [Path("a b.csv"), Path("12"), timedelta(days=400, microseconds=3)])
def test_a_path_and_a_duration_are_text_that_means_them(value: Any) -> None:
    _, text = parse_override(f"deploy.key={toml_text(value)}")
    assert convert(text, type(value), Path()) == value


def test_no_number_is_read_back_as_no_number() -> None:
    _, value = parse_override(f"deploy.key={toml_text(math.nan)}")
    assert math.isnan(value)


def test_the_keys_of_a_table_vary_together_whatever_they_are_called() -> None:
    among = dimensions(vary={"actors.a.window": [{"a b": 1, "c": date(2024, 2, 29)}]})
    paths = [parse_override(text)[0] for text in baseline(among).sets()]
    assert [path[2:] for path in paths if path[0] == "actors"] == [("window", "a b"), ("window", "c")]


def test_a_table_shows_what_differs_from_the_deployment_and_no_seeds() -> None:
    chosen = {"workers": {"deploy.workers": 2}, "x": {}, "delay": {DELAY: "1ms", SEED: 4}}
    deployment = Deployment(3, {**chosen, "pipelining": {"deploy.pipelining": False}})
    assert [deployment.cell(name) for name in (*deployment.chosen, "unknown")] == [
        "2",
        "",
        "1ms",
        "false",
        "",
    ]
    assert deployment.sets() == [
        "deploy.workers=2",
        "deploy.testing.delay=1ms",
        "deploy.testing.seed=4",
        "deploy.pipelining=false",
    ]


def test_a_table_shows_values_as_toml_has_them() -> None:
    chosen = {"a": {"a": [{"to": date(2024, 2, 29)}]}, "b": {"b": Path("12")}, "c": {"c": "12", "d": 1.5}}
    deployment = Deployment(1, chosen)
    assert [deployment.cell(name) for name in chosen] == ["[{to = 2024-02-29}]", "12", "12 1.5"]


def test_who_merges_is_varied_only_where_an_input_is_in_timestamp_order() -> None:
    assert "merge" not in {each.name for each in dimensions(serial=True)}
    among = dimensions(timestamp=True, rows=10_000)
    assert baseline(among).settings()["deploy.merge"] == "channel"
    tried = {each.settings().get("deploy.merge") for each in choose(among, 12)}
    assert tried == {None, "gate"}
