"""Which deployments a topology is tried under. Pure: draws from a seed, starts nothing."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from random import Random
from typing import Any

import msgspec

from actorstream.topology.toml_value import plain, toml_key, toml_value

Choice = Mapping[str, Any]
"""Dotted keys, as `--set` takes them, and their values; empty: as the deployment says."""

CANDIDATES = 40
"""Drawn for each run; the one with the most pairs of choices that no run before has had is taken."""
HAND_OVERS = 2000
"""The smallest batch size is such that the busiest actor has about so many."""
DELAYED_S = 2.0
"""What the delays of one run add up to, at the most, if nothing overlaps."""
DELAYS = (("2ms", 2e-3), ("1ms", 1e-3), ("500us", 5e-4), ("200us", 2e-4), ("100us", 1e-4), ("30us", 3e-5))
DELAY, SEED, BATCH = "deploy.testing.delay", "deploy.testing.seed", "deploy.batch_size"
SAME_HOST = "deploy.same_host"
UNSHOWN = frozenset((SEED, SAME_HOST))
"""Keys that follow from others of their dimension."""
DEFAULT_BATCH = 512
"""The mean of the sizes that are drawn in a run with delays if no size is set, about."""


class Dimension(msgspec.Struct, frozen=True):
    """One thing in which deployments differ.

    Attributes:
        name: as the table shows it.
        choices: what the runs may have.
        baseline: what the run has that the others are compared with.
        given: whether the user named the choices: then one that cannot be is his mistake.
    """

    name: str
    choices: tuple[Choice, ...]
    baseline: Choice = {}
    given: bool = False


class Deployment(msgspec.Struct, frozen=True):
    """One run: its number (0: the baseline) and what it has of each dimension."""

    number: int
    chosen: Mapping[str, Choice]

    def settings(self) -> dict[str, Any]:
        """Dotted key -> value, of all dimensions."""
        return {key: value for choice in self.chosen.values() for key, value in choice.items()}

    def sets(self) -> list[str]:
        """The values of `--set`."""
        return [f"{key}={toml_text(value)}" for key, value in self.settings().items()]

    def cell(self, dimension: str) -> str:
        """What a table shows; "" where it is as the deployment says."""
        values = [plain(value) for key, value in self.chosen.get(dimension, {}).items() if key not in UNSHOWN]
        return " ".join(value if isinstance(value, str) else toml_text(value) for value in values)


def toml_text(value: Any) -> str:
    """A value behind `--set KEY=`: TOML, and bare text where that is not read as something else. TypeError: TOML has no
    such value."""
    value = plain(value)
    if not isinstance(value, str):
        return toml_value(value)
    try:
        tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        return value
    return toml_value(value)


def _of_transport(name: str) -> dict[str, Any]:
    """What makes a run use a transport. Ranks of one host would share memory in place of MPI."""
    found = {"deploy.transport": name}
    return found | ({SAME_HOST: name} if name == "mpi" else {})


def dimensions(
    *,
    workers: Sequence[int] | None = None,
    transports: Sequence[str] | None = None,
    batch_sizes: Sequence[int] | None = None,
    rows: int = 0,
    schedules: Iterable[str] = (),
    serial: bool = False,
    timestamp: bool = False,
    vary: Mapping[str, Sequence[Any]] | None = None,
    declared: Mapping[str, Sequence[Any]] | None = None,
    fixed: Iterable[str] = (),
) -> list[Dimension]:
    """In what the deployments differ.

    Args:
        workers, transports, batch_sizes: what the user asked for; None: 1, 2 and 4 workers, `local` and `shm`, and two
            sizes that fit the input beside the deployment's own.
        rows: of the busiest actor, about.
        schedules: heuristics there are.
        serial: whether an input has serial order, so that `reorder_window` matters.
        timestamp: whether one has timestamp order, so that it matters who merges.
        vary: further keys and their values, the first of them the baseline's; values that are tables vary several keys
            below it together.
        declared: the same, as classes of actors declare it; nobody has asked for it.
        fixed: dotted keys that the user has set: they are left as they are.
    """
    small = max(1, rows // HAND_OVERS)
    sizes = [{BATCH: size} for size in (batch_sizes or (small, 16 * small + 1))]
    found = [
        Dimension(
            "workers",
            tuple({"deploy.workers": count} for count in workers or (1, 2, 4)),
            {"deploy.workers": 1},
            workers is not None,
        ),
        Dimension(
            "transport",
            tuple(_of_transport(name) for name in transports or ("shm", "local")),
            {"deploy.transport": "local"},
            transports is not None,
        ),
        Dimension("batch_size", (*sizes, *([] if batch_sizes else [{}])), {}, batch_sizes is not None),
        Dimension("edge_bytes", ({}, {"deploy.edge_bytes": 1}, {"deploy.edge_bytes": 20_000})),
        Dimension("delay", ({DELAY: "2ms"}, {DELAY: "2ms"}, {})),
        Dimension(
            "schedule",
            (
                {},
                {},
                *(
                    {"deploy.schedule": name, "deploy.threads": number % 3 + 1}
                    for number, name in enumerate(schedules)
                ),
            ),
            {"deploy.schedule": "none", "deploy.threads": 0},
        ),
        Dimension("placement", ({}, {"deploy.placement": "round-robin"}, {"deploy.placement": "first-fit"})),
        Dimension(
            "bind", ({}, {"deploy.bind": "core"}, {"deploy.bind": "node", "deploy.arenas": "consumer"})
        ),
        Dimension("pipelining", ({}, {"deploy.pipelining": False})),
        Dimension("heartbeat_every", ({}, {"deploy.heartbeat_every": "1ms"})),
    ]
    if serial:
        windows = tuple({"deploy.reorder_window": window} for window in (1, 16))
        found.append(Dimension("reorder_window", ({}, *windows)))
    if timestamp:
        found.append(Dimension("merge", ({}, {"deploy.merge": "gate"}), {"deploy.merge": "channel"}))
    found += [
        Dimension(key, tuple({key: value} for value in values), {key: values[0]})
        for key, values in (declared or {}).items()
    ]
    held = set(fixed)
    found = [each for each in found if each.given or not held & _keys(each)]
    for key, values in (vary or {}).items():
        choices = tuple(
            {f"{key}.{toml_key(inner)}": each for inner, each in value.items()}
            if isinstance(value, dict)
            else {key: value}
            for value in values
        )
        varied = Dimension(key, choices, choices[0], True)
        found = [each for each in found if not _keys(each) & _keys(varied)] + [varied]
    return found


def _keys(dimension: Dimension) -> set[str]:
    return {key for choice in (dimension.baseline, *dimension.choices) for key in choice}


def baseline(among: Sequence[Dimension]) -> Deployment:
    """The run that the others are compared with."""
    return Deployment(0, {each.name: each.baseline for each in among})


def singles(among: Sequence[Dimension]) -> Iterator[tuple[Dimension, Choice, Deployment]]:
    """The baseline with one choice changed, for each choice: what must be possible by itself."""
    start = baseline(among).chosen
    for each in among:
        for choice in each.choices:
            yield each, choice, Deployment(0, {**start, each.name: choice})


def choose(
    among: Sequence[Dimension],
    runs: int,
    seed: int = 0,
    *,
    rows: int = 0,
    possible: Callable[[Deployment], bool] = lambda deployment: True,
) -> list[Deployment]:
    """The deployments of `runs` runs, numbered from 1, the same for the same seed.

    The first is the deployment as it is, with the most workers and the first transport; the others are drawn so that all
    pairs of settings are covered quickly. It returns fewer if hardly any combination is `possible`.

    rows: of the busiest actor, about; it decides how long a hand-over may be delayed.
    """
    dice = Random(seed)
    found: list[Deployment] = []
    seen: set[tuple[Any, ...]] = set()
    while len(found) < runs:
        candidates = [_first(among)] if not found else []
        candidates += [{each.name: dice.choice(each.choices) for each in among} for _ in range(CANDIDATES)]
        if found:
            candidates.sort(key=lambda each: -len(set(_pairs(each)) - seen))
        for chosen in candidates:
            deployment = _timed(Deployment(len(found) + 1, chosen), seed, rows)
            if possible(deployment):
                found.append(deployment)
                seen.update(_pairs(chosen))
                break
        else:
            break
    return found


def _first(among: Sequence[Dimension]) -> dict[str, Choice]:
    plain: dict[str, Choice] = {each.name: each.baseline if each.given else {} for each in among}
    for each in among:
        if each.name == "workers":
            plain[each.name] = max(each.choices, key=lambda choice: choice["deploy.workers"])
        elif each.name == "transport":
            plain[each.name] = each.choices[0]
    return plain


def _pairs(chosen: Mapping[str, Choice]) -> Iterator[tuple[Any, ...]]:
    cells = [(name, tuple(map(str, choice.items()))) for name, choice in chosen.items()]
    return combinations(cells, 2)


def _timed(deployment: Deployment, seed: int, rows: int) -> Deployment:
    """With a delay that fits the number of hand-overs, and a seed of its own."""
    settings = deployment.settings()
    if DELAY not in settings:
        return deployment
    delay = delay_for(rows, settings.get(BATCH, DEFAULT_BATCH))
    chosen = {**deployment.chosen, "delay": {DELAY: delay, SEED: seed * 1000 + deployment.number}}
    return Deployment(deployment.number, chosen)


def delay_for(rows: int, batch_size: int) -> str:
    """The longest delay that keeps a run short: each hand-over is delayed by half of it on average."""
    hand_overs = max(1, rows // batch_size)
    return next((text for text, value in DELAYS if hand_overs * value / 2 <= DELAYED_S), DELAYS[-1][0])
