"""The cost of a row, from looks at a running operator."""

from __future__ import annotations

from actorstream.profiling.chunks import Look, row_costs, warm_look


def test_a_steady_operator_costs_the_same_at_every_percentile() -> None:
    costs = row_costs([Look(10 * number, 1000 * number) for number in range(101)], 5000)
    assert set(costs.values()) == {100.0}


def test_the_first_quarter_of_the_time_does_not_count() -> None:
    slow = [Look(number, 1000 * number) for number in range(25)]
    fast = [Look(25 + 10 * number, 25_000 + 1000 * number) for number in range(76)]
    assert row_costs(slow + fast, 1000)["max"] == 100.0


def test_the_middle_is_not_moved_by_a_few_slow_rows_and_the_mean_is() -> None:
    looks = [Look(0, 0)]
    for number in range(1, 101):
        looks.append(Look(looks[-1].rows + 10, looks[-1].cpu_ns + (10_000 if number % 10 == 0 else 1000)))
    costs = row_costs(looks, 500)
    assert costs["p50"] == 100.0 and costs["p99"] > 900 and 150 < costs["mean"] < 220


def test_chunks_last_until_rows_have_come() -> None:
    looks = [Look(0, 0), Look(0, 5000), Look(10, 10_000), Look(10, 20_000), Look(20, 30_000)]
    assert row_costs(looks, 1000)["max"] == 2000.0


def test_too_few_looks_give_one_value_or_none() -> None:
    assert row_costs([], 1000) == row_costs([Look(5, 1)], 1000) == {}
    assert row_costs([Look(5, 0), Look(5, 100)], 1000) == {}
    assert row_costs([Look(0, 0), Look(10, 100)], 1000)["p50"] == 10.0


def test_a_quarter_of_what_a_run_took_is_left_out_however_early_it_ended() -> None:
    looks = [Look(number, 100 * number) for number in range(9)]
    assert warm_look(looks) == 2
    assert warm_look(looks[:5]) == 1
    assert warm_look(looks[:1]) == 0
    assert warm_look([Look(0, 0), Look(5, 900), Look(5, 1000)]) == 0, "no row came after it"
