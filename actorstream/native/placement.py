"""Placement: groups of replicas on sockets, by branch and bound and by moves (include/placement.h). One thread at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from actorstream.native._core import ffi, lib

Doubles = npt.NDArray[np.float64]
MOST_SOCKETS = 64


class PlacementProblem:
    """Loads of groups and links between them; all times are for an ingress of one tuple per second.

    Args:
        execute: groups × sockets, seconds.
        memory: groups, bytes of memory traffic.
        divisor: groups, how many replicas share the work of a group.
        alike: groups; those with the same number may change places.
        links: (producer group, consumer group, cache lines, bytes).
        latency: consumer's socket × producer's socket, seconds for a cache line.
        cores: sockets.
        bandwidth: producer's socket × consumer's socket, bytes per second; the diagonal is local memory.
        floor: the least peak there can be.
    """

    def __init__(
        self,
        execute: npt.ArrayLike,
        memory: npt.ArrayLike,
        divisor: npt.ArrayLike,
        alike: npt.ArrayLike,
        links: Sequence[tuple[int, int, float, float]],
        latency: npt.ArrayLike,
        cores: npt.ArrayLike,
        bandwidth: npt.ArrayLike,
        floor: float = 0.0,
    ) -> None:
        work = np.ascontiguousarray(execute, np.float64)
        self.groups, self.sockets = work.shape
        if not 1 <= self.sockets <= MOST_SOCKETS:
            raise ValueError(f"{self.sockets} sockets; allowed: 1 to {MOST_SOCKETS}")
        table = np.array(links, np.float64).reshape(len(links), 4)
        producer, consumer = table[:, 0].astype(np.uint32), table[:, 1].astype(np.uint32)
        entering = np.argsort(consumer, kind="stable")
        leaving = np.argsort(producer, kind="stable")
        numbers = np.arange(self.groups + 1)
        self._kept: dict[str, Any] = {
            "execute": work,
            "memory": np.ascontiguousarray(memory, np.float64),
            "divisor": np.ascontiguousarray(divisor, np.float64),
            "alike": np.ascontiguousarray(alike, np.uint32),
            "in_first": np.searchsorted(consumer[entering], numbers).astype(np.uint32),
            "producer": producer[entering],
            "in_lines": np.ascontiguousarray(table[entering, 2]),
            "in_bytes": np.ascontiguousarray(table[entering, 3]),
            "out_first": np.searchsorted(producer[leaving], numbers).astype(np.uint32),
            "consumer": consumer[leaving],
            "out_lines": np.ascontiguousarray(table[leaving, 2]),
            "out_bytes": np.ascontiguousarray(table[leaving, 3]),
            "latency": np.ascontiguousarray(latency, np.float64),
            "cores": np.ascontiguousarray(cores, np.float64),
            "bandwidth": np.ascontiguousarray(bandwidth, np.float64),
        }
        self._problem = ffi.new("as_placement_problem *")
        self._problem.groups, self._problem.sockets, self._problem.floor = self.groups, self.sockets, floor
        for name, array in self._kept.items():
            kind = "uint32_t *" if array.dtype == np.uint32 else "double *"
            setattr(self._problem, name, ffi.cast(kind, array.ctypes.data))
        size = self.groups + 2 * self.sockets + self.sockets**2
        self._loads = np.zeros(size, np.float64)
        self._loads_pointer = ffi.cast("double *", self._loads.ctypes.data)

    def peak(self, places: Sequence[int]) -> float:
        """The highest load of a placement, relative to what there is."""
        _array, pointer = self._placed(places)  # its memory lives as long as the name
        return float(lib.as_placement_evaluate(self._problem, pointer, self._loads_pointer))

    def loads(self, places: Sequence[int]) -> tuple[Doubles, Doubles, Doubles, Doubles]:
        """Seconds of each group; seconds and bytes of memory traffic of each socket; bytes from socket to socket."""
        self.peak(places)
        groups, count = self.groups, self.sockets
        first = groups + 2 * count
        return (
            self._loads[:groups].copy(),
            self._loads[groups : groups + count].copy(),
            self._loads[groups + count : first].copy(),
            self._loads[first : first + count * count].reshape(count, count).copy(),
        )

    def search(
        self, steps: int, *, heuristics: bool = True, best: Sequence[int] | None = None
    ) -> tuple[list[int] | None, float, int, bool]:
        """Branch and bound from `best`, if one is known: the best placement (None: none is better than nothing), its peak, how
        many nodes were visited, and whether the search ended by itself."""
        places, pointer = self._placed(best if best is not None else [0] * self.groups)
        peak = ffi.new("double *", self.peak(best) if best is not None else float("inf"))
        left = ffi.new("uint64_t *", steps)
        memory = ffi.new("double[]", lib.as_placement_size(self._problem) // 8 + 1)
        ended = lib.as_placement_search(self._problem, int(heuristics), left, memory, pointer, peak)
        found = places.tolist() if peak[0] != float("inf") else None
        return found, float(peak[0]), int(left[0]), bool(ended)

    def improved(self, places: Sequence[int], steps: int, seed: int = 1) -> tuple[list[int], float]:
        """A placement at least as good, found by moves and exchanges in so many steps; and its peak."""
        made, pointer = self._placed(places)
        peak = ffi.new("double *", self.peak(places))
        memory = ffi.new("double[]", lib.as_placement_improve_size(self._problem) // 8 + 1)
        lib.as_placement_improve(self._problem, steps, seed, memory, pointer, peak)
        return made.tolist(), float(peak[0])

    def _placed(self, places: Sequence[int]) -> tuple[npt.NDArray[np.int32], Any]:
        array = np.array(places, np.int32)
        if array.shape != (self.groups,) or (
            self.groups and not 0 <= array.min() <= array.max() < self.sockets
        ):
            raise ValueError(f"{len(array)} places; allowed: {self.groups}, each 0 to {self.sockets - 1}")
        return array, ffi.cast("int32_t *", array.ctypes.data)
