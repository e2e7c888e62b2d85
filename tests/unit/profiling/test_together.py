"""Costs in a run of the whole topology, from those of operators alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from actorstream.placement.rlas import Measured, OperatorProfile, OutputProfile
from actorstream.profiling.chunks import Look
from actorstream.profiling.together import (
    ActorWork,
    WholeRun,
    apart_of,
    behind_exchanges,
    beside_ns,
    both,
    contention_of,
    copy_of,
    costs_together,
    counted,
    halved_ns,
    hand_over_ns,
    line_through,
    routing_ns,
    scaled_to,
    took_more,
    with_routing,
)


def run(cpu_ns: int, **actors: tuple[int, ...]) -> WholeRun:
    return WholeRun(cpu_ns, {name: ActorWork(*each) for name, each in actors.items()})


def apart(cost: float, together: WholeRun, alone: WholeRun, contention: float = 1.0) -> float:
    """Of `count`, which has a core to itself in the run `alone`."""
    return apart_of(["count"], cost, together, (together, together), alone, contention)


def test_all_operators_together_take_the_processor_time_of_the_run() -> None:
    seen = run(2000, lines=(0, 10, 300), split=(10, 40, 500), count=(40, 0, 800))
    costs = costs_together({"lines": 50, "split": 60, "count": 10}, [["lines"], ["split"], ["count"]], seen)
    assert costs["lines"] * 10 + costs["split"] * 10 + costs["count"] * 40 == pytest.approx(2000)
    assert costs["count"] == 20.0, "its hooks, which took more than it took alone"
    assert costs["lines"] == pytest.approx(30 + 40 * 200 / 300), (
        "what is left goes to those that took more alone"
    )


def test_the_members_of_a_chain_share_its_cost() -> None:
    seen = run(1000, lines=(0, 10, 100), split=(10, 0, 300))
    costs = costs_together({"lines+split": 50.0}, [["lines", "split"]], seen)
    assert costs["lines+split"] == pytest.approx(100.0)
    assert costs["lines"] + costs["split"] == pytest.approx(100.0) and costs["split"] == 3 * costs["lines"]


def test_hooks_on_a_busy_machine_count_as_much_as_there_was_processor_time() -> None:
    seen = run(400, lines=(0, 10, 1000), count=(10, 0, 3000))
    assert costs_together({}, [["lines"], ["count"]], seen) == {"lines": 10.0, "count": 30.0}


def test_an_actor_without_rows_and_a_run_without_any_say_nothing() -> None:
    assert costs_together({"count": 5.0}, [["count"]], run(100, count=(0, 0, 0))) == {}


def costs_of(one: WholeRun) -> dict[str, float]:
    """Costs of a run whose actors are no chains; those without hooks take the same for a row."""
    return costs_together(dict.fromkeys(one.actors, 10.0), [[name] for name in one.actors], one)


def graph(replicas: int) -> Any:
    edge = SimpleNamespace(source="lines", producer="lines", consumer="count", route="key", static=False)
    actors = {
        "lines": SimpleNamespace(name="lines", role="source", replicas=1, inputs=[]),
        "count": SimpleNamespace(name="count", role="operator", replicas=replicas, inputs=[edge]),
    }
    return SimpleNamespace(actors=actors, edges=[edge])


def test_routing_is_what_two_replicas_on_one_core_take_more_than_one() -> None:
    one, two = (
        run(1000, lines=(0, 100, 0), count=(100, 0, 0)),
        run(4000, lines=(0, 200, 0), count=(200, 0, 0)),
    )
    assert routing_ns(graph(2), costs_of(one), two) == {"lines": 10.0}
    assert routing_ns(graph(1), costs_of(one), two) == {}
    assert routing_ns(graph(2), costs_of(two), one) == {"lines": 0.0}


def test_rows_that_wait_in_a_slower_run_do_not_make_it_look_faster() -> None:
    one = run(1000, lines=(0, 100, 200), count=(100, 0, 800))
    late = run(1200, lines=(0, 200, 400), count=(50, 0, 400))
    assert took_more(costs_of(one), late) == 400.0, "200 rows made, and 50 counted, take 800 ns there"
    assert took_more(costs_of(one), late, {"count": 2.0}) == 300.0
    assert took_more({"lines": 2.0}, late) == 800.0, "count had no rows in the other run"


def test_what_replicas_on_one_core_take_their_hooks_more_is_no_routing() -> None:
    one = run(1000, lines=(0, 100, 100, 100), count=(100, 0, 500, 500))
    two = run(4000, lines=(0, 200, 900, 200), count=(200, 0, 2000, 2000))
    beside = beside_ns(graph(2), one, two)
    assert beside == {"count": 5.0}, "10 and 5 ns of hooks a row; lines has one replica"
    assert routing_ns(graph(2), costs_of(one), two, beside) == {"lines": 5.0}
    assert routing_ns(graph(2), costs_of(one), two, beside, {"count": 2.0}) == {"lines": 3.0}, (
        "for smaller jumbo tuples"
    )
    assert beside_ns(graph(2), one, two, {"count": 3.0}) == {"count": 2.0}, (
        "smaller jumbo tuples take 3 of it"
    )
    assert beside_ns(graph(2), one, two, {"count": 4.8}) == {}
    assert beside_ns(graph(2), one, run(2000, count=(200, 0, 1040, 1040))) == {}, "as much as a speed varies"
    made = graph(2)
    made.actors["lines"].replicas = 2
    native = run(4000, lines=(0, 200, 900, 900), count=(200, 0, 1000, 1000))
    assert beside_ns(made, one, native) == {}, "a native chain routes within its hooks"


def test_jumbo_tuples_are_divided_behind_a_route_that_chooses_replicas_and_stay_so() -> None:
    def edge(producer: str, consumer: str, route: str) -> Any:
        return SimpleNamespace(producer=producer, consumer=consumer, route=route, static=False)

    edges = [
        edge("lines", "split", "forward"),
        edge("split", "count", "key"),
        edge("count", "sums", "forward"),
    ]
    actors = {
        name: SimpleNamespace(name=name, replicas=2, inputs=[each for each in edges if each.consumer == name])
        for name in ("lines", "split", "count", "sums")
    }
    made: Any = SimpleNamespace(actors=actors, edges=edges)
    assert behind_exchanges(made) == {"count", "sums"}
    actors["count"].replicas = 1
    assert behind_exchanges(made) == set(), "one replica gets whole ones"


def test_what_half_jumbo_tuples_cost_the_members_of_a_chain_comes_to_what_they_cost_the_chain() -> None:
    seen = run(1000, lines=(0, 10, 0), split=(10, 20, 0), count=(20, 0, 0))
    smaller = {"lines": 5.0, "split": 4.0, "count": 3.0, "split+count": 8.0}
    found = halved_ns([["lines"], ["split", "count"]], smaller, {"split", "count"}, seen)
    assert found == pytest.approx({"split": 3.2, "count": 2.4}), "40 and 60 ns, but 80 together"
    assert halved_ns([["split"]], {"split": 0.0}, {"split"}, seen) == {}


def test_two_runs_around_a_third_take_out_a_steady_change_of_speed() -> None:
    fast, slow = (
        run(1000, lines=(0, 100, 0), count=(100, 0, 0)),
        run(1400, lines=(0, 100, 0), count=(100, 0, 0)),
    )
    between = run(1700, lines=(0, 100, 0), count=(100, 0, 0))
    assert routing_ns(graph(2), costs_of(both(fast, slow)), between) == {"lines": 5.0}
    assert both(fast, WholeRun(0, {})) == fast


def test_a_chain_with_a_core_to_itself_is_compared_by_its_hooks() -> None:
    together = run(1000, lines=(0, 10, 300, 300), count=(10, 0, 500, 400))
    alone = run(500, lines=(0, 20, 700, 700), count=(20, 0, 450, 400))
    assert apart(70.0, together, alone) == pytest.approx(1 - 20 / 70, abs=1e-4), "40 and 20 ns of hooks a row"
    assert apart(500.0, together, alone) == 1.0, "no more than the speed of a machine changes"
    slow = run(250, lines=(0, 20, 700, 700), count=(20, 0, 500, 400))
    assert apart(60.0, together, slow) == pytest.approx(0.5), "of 500 ns the core had 250 for it"
    assert apart(70.0, together, run(500, count=(0, 0, 0, 0))) == 1.0


def test_rows_from_another_core_may_cost_a_chain_more_than_it_saves() -> None:
    together = run(1000, lines=(0, 10, 300, 300), count=(10, 0, 500, 400))
    alone = run(1300, lines=(0, 20, 700, 700), count=(20, 0, 1300, 1200))
    assert apart(70.0, together, alone) == pytest.approx(1 + 20 / 70, abs=1e-4), "40 and 60 ns of hooks a row"
    beside = 1000 / 700 - 1  # so busy is the other core, for a second of this one's
    assert apart(70.0, together, alone, 1.3) == pytest.approx(
        1 - (1 - 1.5 / (1 + 0.3 * beside)) * 40 / 70, abs=1e-4
    )
    slower = run(2000, lines=(0, 10, 600, 600), count=(10, 0, 1000, 800))
    assert apart_of(["count"], 70.0, together, (slower, slower), alone, 1.0) == pytest.approx(
        1 - 0.25 * 40 / 70, abs=1e-4
    ), "the runs beside it say how fast the machine was"
    assert apart_of(["count"], 70.0, together, (together, slower), alone, 1.0) == 1.0, (
        "one of them was as slow, so this was the machine"
    )


def test_hand_overs_do_not_count_what_the_other_core_takes() -> None:
    together = run(2000, lines=(0, 10, 300, 300), count=(10, 0, 500, 400))
    alone = run(2500, lines=(0, 20, 700, 700), count=(20, 0, 900, 800))
    # 85 ns a row outside the hooks, of 100 in all, where it was 60 of 100
    assert hand_over_ns(["count"], 100.0, together, alone) == pytest.approx(85 - 60)
    assert hand_over_ns(["count"], 100.0, together, alone, 1.2) == pytest.approx(85 - 72)


def test_a_run_beside_a_copy_says_what_the_copy_has_done() -> None:
    seen = WholeRun(7, {"lines": ActorWork(0, 100, 0), "copy.lines": ActorWork(0, 90, 0)})
    assert copy_of(seen) == WholeRun(7, {"lines": ActorWork(0, 90, 0)})


def test_contention_is_what_a_row_takes_more_while_another_core_has_the_same_work() -> None:
    one, crowded = run(1000, lines=(0, 100, 0)), run(1300, lines=(0, 100, 0))
    slow, none = run(1200, lines=(0, 100, 0)), WholeRun(0, {})
    assert contention_of(graph(1), [(one, crowded), (one, crowded)]) == pytest.approx(1.3)
    assert contention_of(graph(1), [(one, crowded), (slow, crowded)]) == pytest.approx(1.3 / 1.2, abs=1e-4), (
        "the least"
    )
    assert contention_of(graph(1), [(one, run(1040, lines=(0, 100, 0)))]) == 1.0
    assert contention_of(graph(1), [(crowded, one)]) == 1.0, "a machine that has become faster"
    assert contention_of(graph(1), [(one, crowded), (one, none)]) == pytest.approx(1.3), (
        "one pair was not measured"
    )
    assert contention_of(graph(1), [(one, none)]) == 1.0, "there is no other core"


def test_hand_overs_are_what_a_chain_takes_more_outside_its_hooks_beside_other_workers() -> None:
    part, together = ["split", "count"], run(5000, split=(50, 0, 2000, 2000), count=(50, 0, 1500, 1500))
    seen = run(2000, split=(20, 0, 900, 900), count=(20, 0, 700, 700))
    assert hand_over_ns(part, 80.0, together, seen) == 10.0, "20 ns a row outside the hooks instead of 10"
    assert hand_over_ns(part, 98.0, together, seen) == 0.0
    waiting = run(2000, split=(20, 0, 800, 800, 50), count=(20, 0, 700, 700, 50))
    assert hand_over_ns(part, 80.0, together, waiting) == 10.0, "while it waits it may spin"
    assert hand_over_ns(part, 87.0, together, waiting) == 0.0, "as much as a speed varies"
    longer = run(2000, split=(20, 0, 700, 700, 150), count=(20, 0, 700, 700, 50))
    assert hand_over_ns(part, 75.0, together, longer) == pytest.approx(7.5), "a tenth counts half"
    longest = run(2000, split=(20, 0, 600, 600, 150), count=(20, 0, 700, 700, 150))
    assert hand_over_ns(part, 75.0, together, longest) == 0.0, "it waits for too long"
    assert hand_over_ns(["split"], 80.0, together, run(2000, split=(0, 0, 0))) == 0.0


def test_a_machine_that_has_become_slower_is_no_hand_over() -> None:
    together = run(800, split=(10, 0, 700, 700))
    assert hand_over_ns(["split"], 80.0, together, run(1400, split=(10, 0, 1300, 1300))) == 0.0
    assert hand_over_ns(["split"], 70.0, together, run(1400, split=(10, 0, 1300, 1300))) == 10.0


def test_of_a_run_the_first_quarter_of_its_time_is_left_out() -> None:
    looks = [Look(0, 1000), Look(10, 2000), Look(60, 5000)]
    done: list[dict[str, ActorWork]] = [
        {},
        {"lines": ActorWork(0, 10, 100)},
        {"lines": ActorWork(0, 60, 700), "count": ActorWork(40, 0, 50)},
    ]
    seen = counted(looks, done, ["lines", "count"])
    assert seen == run(3000, lines=(0, 50, 600), count=(40, 0, 50))


def test_a_run_without_a_row_says_nothing() -> None:
    nothing = counted([], [], ["count"])
    assert apart(5.0, run(100, count=(10, 0, 50)), nothing) == 1.0
    assert hand_over_ns(["count"], 5.0, run(100, count=(10, 0, 50)), nothing) == 0.0
    some = run(100, count=(10, 0, 50))
    assert both(nothing, some) == both(some, nothing) == some


def test_a_profile_is_scaled_at_all_batch_sizes_and_says_by_how_much() -> None:
    alone = OperatorProfile(
        batches=[
            Measured(rows=64, execute_ns={"p50": 40.0, "p99": 80.0}),
            Measured(rows=1024, execute_ns={"p50": 10.0, "p99": 20.0}),
        ],
        outputs={"default": OutputProfile(selectivity=1.0)},
    )
    made = with_routing(scaled_to(alone, 15.0, 1024), "split", {"split": 7.0})
    assert [each.execute_ns for each in made.batches] == [
        {"p50": 60.0, "p99": 120.0},
        {"p50": 15.0, "p99": 30.0},
    ]
    assert made.in_run == 1.5 and made.outputs["default"].route_ns == 7.0


def test_an_operator_that_was_not_measured_alone_gets_its_cost_from_the_run() -> None:
    nothing = OperatorProfile(batches=[Measured(rows=1, execute_ns={"p50": 0.0})])
    assert scaled_to(nothing, 12.0, 1024).execute_ns(1024) == 12.0


def test_a_line_through_two_points_gives_what_a_jumbo_tuple_and_what_a_byte_costs() -> None:
    assert line_through([(1000, 5_000), (5000, 13_000)]) == (3000.0, 2.0)
    assert line_through([(1000, 5_000), (5000, 4_000)]) == (5000.0, 0.0), "a slope below 0 is noise"
    assert line_through([(1000, -500), (5000, 3_500)]) == (0.0, 0.7)
    assert line_through([(1000, 5_000)]) == (0.0, 5.0)
    assert line_through([(1000, 500), (5000, 5_000)]) == (0.0, 1.0), "no jumbo tuple costs less than nothing"
