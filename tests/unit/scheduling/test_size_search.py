"""The search for a batch size on simulated costs: it gets near the best whatever the costs are, and however they vary."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.scheduling.batch_size import CostFit, DrawnSize, FixedSize, FoundSize, PacedSize
from actorstream.scheduling.gathered_size import FIRST, DrawnFlow, FlowSize
from actorstream.scheduling.size_search import (
    LEAST,
    LEVELS,
    MOST,
    SizeSearch,
    level_above,
    level_within,
    rows_at,
)

SECOND = 1_000_000_000
BEST = 0.9
Cost = Callable[[int], float]


def costs(fixed: float, each: float, cache: int = 0, beyond: float = 0.0) -> Cost:
    """What a batch costs in ns: a fixed part and one for each row, which is greater where a batch is larger than a cache."""

    def cost(rows: int) -> float:
        over = max(0.0, 1 - cache / rows) if cache else 0.0
        return fixed + rows * each * (1 + beyond * over)

    return cost


class Machine:
    """Runs batches of the sizes that a search asks for, on a processor that other programs use, too."""

    def __init__(self, cost: Cost, noise: float, seed: int, most: int = LEVELS) -> None:
        self.cost, self.noise, self.dice = cost, noise, random.Random(seed)
        self.busy = 0.0
        self.search = SizeSearch(lambda: int(self.busy), most)

    def run(self, seconds: float) -> float:
        """Rows a second of its own time."""
        ends, before, rows = self.busy + seconds * SECOND, self.busy, 0
        spent = 0.0
        while self.busy < ends:
            size = self.search.rows
            took = self.cost(size) * self.dice.lognormvariate(0, self.noise)
            self.busy += took
            spent += self.cost(size)
            rows += size
            others = 3e6 if self.dice.random() < took / 2e7 else 0.0
            self.search.took(size, int(took + others))
        assert self.busy > before
        return rows / spent * SECOND


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize(
    "cost",
    [
        costs(35_000, 1.5, 40_000, 0.6),
        costs(35_000, 2.5, 20_000, 2.0),
        costs(3_000, 1.5, 8_000, 0.3),
        costs(1_000, 0.3, 20_000, 2.0),
        costs(40_000, 10.0),
        costs(40_000, 250.0),
        costs(100_000, 250.0, 8_000, 0.3),
    ],
)
def test_what_is_found_is_within_a_tenth_of_the_best(cost: Cost, noise: float) -> None:
    best = max(rows_at(level) / cost(rows_at(level)) for level in range(LEVELS + 1)) * SECOND
    machine = Machine(cost, noise, 1)
    machine.run(0.3)
    assert machine.run(0.7) > BEST * best


@settings(max_examples=20, deadline=None)
@given(
    fixed=st.floats(1e3, 1e5),
    each=st.floats(0.3, 300.0),
    cache=st.integers(4_000, 200_000),
    beyond=st.floats(0.0, 2.0),
    seed=st.integers(0, 99),
)
def test_it_is_near_the_best_whatever_batches_cost(
    fixed: float, each: float, cache: int, beyond: float, seed: int
) -> None:
    cost = costs(fixed, each, cache, beyond)
    best = max(rows_at(level) / cost(rows_at(level)) for level in range(LEVELS + 1)) * SECOND
    machine = Machine(cost, 0.02, seed)
    machine.run(0.3)
    assert machine.run(0.2) > BEST * best


def test_it_finds_another_size_when_the_work_changes() -> None:
    machine = Machine(costs(40_000, 1.0), 0.02, 1)
    machine.run(0.5)
    assert machine.search.rows >= 65_536
    machine.cost = costs(2_000, 5_000.0)
    machine.run(6.0)
    assert machine.search.rows <= 512


def test_it_grows_within_a_few_hundredths_of_a_second() -> None:
    machine = Machine(costs(35_000, 1.5), 0.0, 1)
    machine.run(0.05)
    assert machine.search.rows >= 65_536


def test_a_batch_that_takes_long_is_not_made_larger() -> None:
    machine = Machine(costs(1_000_000, 20_000.0), 0.0, 1)
    machine.run(5.0)
    assert machine.search.rows <= 512


def test_the_time_for_which_a_source_waits_for_its_consumer_counts() -> None:
    """The source's own batches cost nothing; each costs its consumer a millisecond."""
    busy = 0
    search = SizeSearch(lambda: busy)
    for _ in range(3_000):
        busy += 1_000
        search.waited(1_000_000 + 10 * search.rows)
        search.took(search.rows, 1_001_000 + 10 * search.rows)
    assert search.rows >= 65_536


def test_a_size_below_the_least_allowed_is_left_at_once_and_not_tried_again() -> None:
    machine = Machine(costs(1_000, 300.0), 0.02, 1)
    machine.run(0.5)
    assert machine.search.rows < 4096
    machine.search.keep_above(level_within(4096))
    for _ in range(2_000):
        assert machine.search.rows >= 4096
        machine.run(0.001)
    machine.search.keep_above(0)
    machine.run(2.0)
    assert machine.search.rows < 4096


def test_a_search_that_still_grows_goes_on_from_the_least_allowed_or_where_it_is() -> None:
    search = SizeSearch(lambda: 0, level_within(8192))
    search.keep_above(0)
    assert search.rows == 256
    search.keep_above(level_within(4096))
    assert search.rows == 4096
    machine = Machine(costs(35_000, 1.5), 0.0, 1)
    while machine.search.rows < 4096:
        machine.run(0.001)
    assert machine.search.hurries
    rows = machine.search.rows
    machine.search.keep_above(level_within(1024))
    assert machine.search.rows == rows
    search.keep_above(LEVELS)
    assert search.rows == 8192


class HeldUp:
    """A source whose rows wait in a queue for a consumer that takes more time for each batch, on a processor of its own or
    on the source's."""

    def __init__(self, own: Cost, consumer: Cost, queue: int, *, beside: bool, size: int = 0) -> None:
        self.own, self.consumer, self.queue, self.beside = own, consumer, queue, beside
        self.dice = random.Random(1)
        self.now = self.busy = self.free = 0.0
        self.waiting: deque[tuple[float, int]] = deque()
        """When the consumer will be done with a batch, or what it will take, and its rows."""
        self.found = FoundSize(MOST, lambda: int(self.busy)) if not size else FixedSize(size)

    def run(self, seconds: float) -> float:
        """Rows a second."""
        began, rows = self.now, 0
        while self.now < began + seconds * SECOND:
            size = self.found.rows
            queued = sum(rows for _, rows in self.waiting)
            if self.beside:
                self._wait_for(size, queued)
            elif queued + size > self.queue:
                self._work()
            start = self.now
            self.now += self.own(size) * self.dice.lognormvariate(0, 0.1)
            self.busy += self.now - start
            cost = self.consumer(size) * self.dice.lognormvariate(0, 0.1)
            self.free = max(self.now, self.free) + cost
            self.waiting.append((self.free if self.beside else cost, size))
            self.found.took(size, int(start), int(self.now))
            rows += size
        return rows / (self.now - began) * SECOND

    def _wait_for(self, size: int, queued: int) -> None:
        """Sleeps until the queue has room."""
        began = self.now
        while self.waiting and (self.waiting[0][0] <= self.now or queued + size > self.queue):
            done, rows = self.waiting.popleft()
            queued -= rows
            self.now = max(self.now, done)
        self.found.waited(int(self.now - began))

    def _work(self) -> None:
        """The consumer has its turn in the same thread, and takes all."""
        for cost, _ in self.waiting:
            self.now += cost
            self.busy += cost
        self.waiting.clear()


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("fixed", [20_000, 100_000])
def test_what_batches_cost_later_on_their_way_counts_too(fixed: int, *, beside: bool) -> None:
    """The source sees little of it: what a batch leads to comes long after it, in one go for many."""
    own, consumer = costs(5_000, 170.0), costs(fixed, 900.0)
    ways = [HeldUp(own, consumer, 40_000, beside=beside, size=rows_at(level)) for level in range(10)]
    best = max(way.run(0.5) for way in ways)
    found = HeldUp(own, consumer, 40_000, beside=beside)
    found.run(0.5)
    assert found.run(0.5) > BEST * best


@pytest.mark.parametrize(
    ("rows", "level"), [(1, 0), (64, 0), (65, 1), (128, 1), (MOST, LEVELS), (10**9, LEVELS)]
)
def test_a_level_has_at_least_the_rows_asked_for(rows: int, level: int) -> None:
    assert level_above(rows) == level
    assert rows_at(level) >= min(rows, MOST)
    assert rows_at(level_within(rows)) <= max(rows, LEAST)


def test_no_batch_is_larger_than_allowed() -> None:
    found = FoundSize(1_000, lambda: 0)
    now = 1
    for _ in range(500):
        found.took(found.rows, now, now + 100_000)
        now += 100_000
        assert LEAST <= found.rows <= 1024


def paced(rate: float, cost: Cost, *, behind: bool = False, most: int = MOST) -> int:
    """The size that a paced source has after a while."""
    size, now = PacedSize(rate, most), 0
    for number in range(600):
        rows = size.rows - number % 3 * (size.rows // 4)  # seldom as many are due as may be taken
        size.behind(behind=behind)
        size.took(rows, now, now + int(cost(rows)))
        now += int(rows * SECOND / rate)
    return size.rows


def test_a_source_at_a_low_rate_takes_few_rows() -> None:
    assert paced(1_000, costs(30_000, 100.0)) == LEAST


def test_a_source_at_half_load_takes_as_many_rows_as_make_it_quick() -> None:
    """Half of what the source could do: with 64 rows it would be busy for longer than there is, with 65,536 rows slow."""
    cost = costs(30_000, 2.0)
    size = paced(200e6, cost)
    assert 8_192 <= size <= 32_768
    assert cost(size) / (size / 200e6 * SECOND) < 0.8


def test_a_paced_source_takes_more_rows_while_its_consumers_are_behind() -> None:
    assert paced(1_000, costs(30_000, 100.0), behind=True) > 1_024


@given(rate=st.floats(1, 1e9), fixed=st.floats(0, 1e6), each=st.floats(0, 1e4), most=st.integers(1, 10**7))
def test_every_size_is_allowed(rate: float, fixed: float, each: float, most: int) -> None:
    size = PacedSize(rate, most)
    for _ in range(20):
        size.took(size.rows, 0, int(fixed + each * size.rows))
        assert LEAST <= size.rows <= rows_at(level_above(most))


def test_a_line_through_the_costs_gives_both_parts() -> None:
    fit, dice = CostFit(), random.Random(1)
    for _ in range(300):
        rows = dice.choice([64, 512, 4096])
        fit.took(rows, int((20_000 + 5 * rows) * dice.lognormvariate(0, 0.05)))
    assert fit.fixed == pytest.approx(20_000, rel=0.15)
    assert fit.each == pytest.approx(5, rel=0.15)


def test_one_batch_that_lost_the_processor_changes_little() -> None:
    fit = CostFit()
    for rows in [64, 512] * 50:
        fit.took(rows, 20_000 + 5 * rows)
    fit.took(512, 8_000_000)
    assert fit.fixed + 512 * fit.each < 30_000


def flow(gap_ns: int, fixed: int, rows: int = 100) -> FlowSize:
    """A builder that sends `rows` rows after each gap, which takes `fixed` ns."""
    size, now = FlowSize(MOST), 0
    for _ in range(100):
        now += gap_ns
        size.sent(rows, now, now + fixed)
        now += fixed
    return size


def test_rows_that_come_fast_are_gathered_longer_than_rows_that_come_slowly() -> None:
    fast, slow = flow(1_000, 10_000), flow(1_000_000, 10_000)
    assert fast.enough > 10 * slow.enough
    assert slow.enough == LEAST


def test_rows_wait_no_longer_than_some_times_what_sending_costs() -> None:
    """100 rows in 60 µs, of which sending takes 10: 64 times 10 µs are some 1,070 rows."""
    assert flow(50_000, 10_000).enough == pytest.approx(1_067, rel=0.1)


def test_a_builder_gathers_no_more_than_fits() -> None:
    size = FlowSize(500)
    for _ in range(50):
        size.sent(10_000, 0, 50_000)
    assert size.enough <= 500
    assert FlowSize(MOST).enough == FIRST


@pytest.mark.parametrize("seed", range(3))
def test_drawn_sizes_are_the_same_for_the_same_seed_and_vary(seed: int) -> None:
    draws = []
    for size in (DrawnSize(seed), DrawnSize(seed)):
        draws.append([size.rows])
        for _ in range(50):
            size.took(1, 0, 1)
            draws[-1].append(size.rows)
    assert draws[0] == draws[1]
    assert len(set(draws[0])) > 20
    assert all(1 <= rows < 4096 for rows in draws[0])
    flows = DrawnFlow(seed)
    for _ in range(50):
        flows.sent(1, 0, 1)
        assert 1 <= flows.enough <= flows.most < 4096
        assert 1 <= flows.passing <= flows.most


def test_a_number_that_was_set_stays() -> None:
    size = FixedSize(7)
    size.took(7, 0, 1)
    size.behind(behind=True)
    size.waited(5)
    size.rested()
    assert size.rows == 7
