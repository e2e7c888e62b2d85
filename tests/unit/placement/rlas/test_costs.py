"""Costs of operators and chains from a profile, and how much flows where."""

from __future__ import annotations

import msgspec
import pytest

from actorstream.errors import ConfigurationError
from actorstream.placement.rlas import Dataflow, Flow, OutputProfile, PlannedOperator
from actorstream.placement.rlas.costs import MADE, costs_of

from .small import dataflow, operator, profile


def test_selectivities_multiply_along_the_streams() -> None:
    costs = costs_of(dataflow("a>b", "b>c"), profile(a=operator(1, 2), b=operator(1, 10), c=operator(1)))
    assert costs.totals([1, 1, 1]) == [2, 20]
    assert costs.sinks() == [2]


def test_every_replica_behind_a_broadcast_reads_all_rows() -> None:
    costs = costs_of(dataflow("a*b", "b>c"), profile(a=operator(1), b=operator(1), c=operator(1)))
    assert costs.totals([1, 3, 1]) == [3, 3]


def test_a_chain_of_direct_calls_costs_what_its_members_cost_and_fetches_nothing_between_them() -> None:
    flow = Dataflow(
        name="chain",
        operators=[PlannedOperator(members=["a", "b"]), PlannedOperator(members=["c"])],
        flows=[Flow(producer="a", consumer="b", route="forward"), Flow(producer="b", consumer="c")],
    )
    known = profile(a=operator(100, 3, memory=8), b=operator(10, 0.5, memory=2), c=operator(1))
    entry = costs_of(flow, known).entries[0][MADE]
    assert (entry.execute_ns, entry.memory_bytes, entry.leaving) == (130, 14, {1: 1.5})


def test_a_chain_that_was_measured_as_one_costs_what_was_measured() -> None:
    flow = Dataflow(
        name="chain",
        operators=[PlannedOperator(members=["a", "b"]), PlannedOperator(members=["c"])],
        flows=[Flow(producer="a", consumer="b", route="forward"), Flow(producer="b", consumer="c")],
    )
    known = profile(c=operator(1))
    known.operators["a+b"] = msgspec.structs.replace(operator(70, 1.25, 32), members=["a", "b"])
    costs = costs_of(flow, known)
    assert (costs.entries[0][MADE].execute_ns, costs.entries[0][MADE].leaving, costs.bytes[1]) == (
        70,
        {1: 1.25},
        32,
    )


def test_the_selectivity_may_depend_on_the_stream_that_a_tuple_comes_from() -> None:
    flow = dataflow("a>c", "b>c", "c>d")
    outputs = {"default": OutputProfile(selectivity=1, by_input={"b": 0.25})}
    known = profile(a=operator(1), b=operator(1), d=operator(1))
    known.operators["c"] = msgspec.structs.replace(operator(1), outputs=outputs)
    assert costs_of(flow, known).totals([1, 1, 1, 1]) == [0.5, 0.5, 0.625]


def test_an_operator_that_was_not_profiled_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(
        ConfigurationError, match=r"operators.split: is not in the profile.*did you mean 'spilt'"
    ):
        costs_of(dataflow("lines>split"), profile(lines=operator(1), spilt=operator(1)))


def test_a_percentile_that_was_not_measured_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match=r"operators.a.execute_ns: has no 'p95'; allowed: p50"):
        costs_of(dataflow("a>b"), profile(a=operator(1), b=operator(1)), percentile="p95")


def test_a_consumer_that_only_counts_its_rows_fetches_none_of_them() -> None:
    flow = dataflow("a>b")
    replace = msgspec.structs.replace
    counting = replace(flow, flows=[replace(each, fetched=False) for each in flow.flows])
    known = replace(profile(a=operator(1, size=64), b=operator(1)), byte_hop_ns=0.5)
    read, counted = costs_of(flow, known), costs_of(counting, known)
    assert (read.bytes, counted.bytes) == ([64], [0])
    assert read.hops == counted.hops == [32], "its producer writes them in any case"


def test_hand_overs_cost_an_operator_what_it_takes_more_on_a_worker_of_its_own() -> None:
    replace = msgspec.structs.replace
    known = profile(a=operator(10, size=64), b=operator(100, size=64), c=operator(1))
    known = replace(known, jumbo_hop_ns=640.0, jumbo_take_ns=320.0)  # 10 and 5 ns a tuple
    plain = costs_of(dataflow("a>b", "b>c"), known, rows=64)
    assert (plain.hops, plain.takes) == ([10, 10], [5, 5])
    # 30 ns for both of its hand-overs, where 15 were measured without an operator
    known.operators["b"] = replace(known.operators["b"], hand_over_ns=30.0)
    found = costs_of(dataflow("a>b", "b>c"), known, rows=64)
    assert (found.hops, found.takes) == (pytest.approx([10, 20]), pytest.approx([10, 5]))
    # five times is too much for hand-overs: the machine's speed has changed
    known.operators["b"] = replace(known.operators["b"], hand_over_ns=75.0)
    assert costs_of(dataflow("a>b", "b>c"), known, rows=64).hops == [10, 30]
    # where it takes less than those, no less is counted
    known.operators["b"] = replace(known.operators["b"], hand_over_ns=3.0)
    assert costs_of(dataflow("a>b", "b>c"), known, rows=64).hops == [10, 10]


def test_what_an_output_costs_is_paid_for_each_of_its_consumers() -> None:
    replace = msgspec.structs.replace
    known = profile(a=operator(10, size=64), b=operator(100, size=64), c=operator(1), d=operator(1))
    known = replace(known, jumbo_hop_ns=640.0, jumbo_take_ns=640.0)  # 10 ns a tuple, each
    known.operators["b"] = replace(known.operators["b"], hand_over_ns=60.0)  # in, and out twice
    found = costs_of(dataflow("a>b", "b>c", "b>d"), known, rows=64)
    assert (found.takes[0], found.hops[1], found.hops[2]) == (20, 20, 20)


def test_a_tuple_costs_more_in_the_smaller_jumbo_tuples_behind_an_exchange() -> None:
    smaller = msgspec.structs.replace(operator(10), halved_ns=4.0)
    known = profile(a=operator(1), b=smaller, c=smaller)
    found = costs_of(dataflow("a>b", "b=c"), known, rows=64)

    def costs(*replicas: int) -> list[float]:
        return [entry.execute_ns for each in found.routed(list(replicas)).entries for entry in each.values()]

    assert costs(1, 1, 1) == [1, 10, 10]
    assert costs(1, 2, 2) == [1, 14, 14], "halves of jumbo tuples, also where rows go on to one replica"
    assert costs(1, 3, 3) == [1, 14, 14], "smaller ones are gathered"
    assert costs(3, 1, 1) == [1, 10, 10], "several producers send whole ones"


def test_a_source_takes_nothing_in_and_an_output_of_few_rows_sends_few() -> None:
    replace = msgspec.structs.replace
    known = profile(a=operator(100, 0.5, size=64), b=operator(1))
    known = replace(known, jumbo_hop_ns=1280.0, jumbo_take_ns=640.0)  # 20 and 10 ns a tuple
    known.operators["a"] = replace(known.operators["a"], hand_over_ns=25.0)  # for half a tuple
    assert costs_of(dataflow("a>b"), known, rows=64).hops == pytest.approx([50])


def test_a_chain_takes_in_as_its_first_member_does_and_sends_as_its_last() -> None:
    replace = msgspec.structs.replace
    flow = Dataflow(
        name="chain",
        operators=[PlannedOperator(members=[each]) for each in "a"]
        + [PlannedOperator(members=["b", "c"]), PlannedOperator(members=["d"])],
        flows=[Flow(producer=a, consumer=b) for a, b in ("ab", "bc", "cd")],
    )
    known = profile(**{each: operator(100, size=64) for each in "abcd"})
    known = replace(known, jumbo_hop_ns=640.0, jumbo_take_ns=640.0)
    known.operators["b"] = replace(known.operators["b"], hand_over_ns=40.0)  # for both
    known.operators["c"] = replace(known.operators["c"], hand_over_ns=30.0)
    costs = costs_of(flow, known, rows=64)
    assert (costs.takes[0], costs.hops[2]) == (pytest.approx(20), pytest.approx(15))
    known.operators["b+c"] = replace(operator(200, size=64), members=["b", "c"], hand_over_ns=60.0)
    costs = costs_of(flow, known, rows=64)
    assert (costs.takes[0], costs.hops[2]) == (pytest.approx(30), pytest.approx(30)), "as it was measured"
