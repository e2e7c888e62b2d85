"""Which time slices s and windows w of CT the suite `tpcx-bb` tries (ordered-multicore sections 6 and 6.4). No measuring."""

from __future__ import annotations

from dataclasses import dataclass

SLICE_MS, WINDOW_MS = 2.0, 100.0
"""What they are unless a deployment says otherwise."""
SLICES_MS = (0.1, 0.5, 2.0, 10.0)
WINDOWS_MS = (10.0, 50.0, 250.0)
HEURISTICS = ("lp", "ct")


@dataclass(frozen=True, slots=True)
class Setting:
    """A time slice and a window, ms; one of them is what it is unless it is said."""

    slice_ms: float = SLICE_MS
    window_ms: float = WINDOW_MS

    @property
    def slice_ns(self) -> int:
        return round(self.slice_ms * 1e6)

    @property
    def window_ns(self) -> int:
        return round(self.window_ms * 1e6)

    @property
    def keys(self) -> dict[str, str]:
        """Of a deployment."""
        return {"slice": f"{self.slice_ms * 1e3:g}us", "ct_window": f"{self.window_ms:g}ms"}

    @property
    def name(self) -> str:
        if self.window_ms != WINDOW_MS:
            return f"window-{self.window_ms:g}ms"
        return f"slice-{self.slice_ms:g}ms"


USUAL = Setting()
TRIED = (
    *((each, Setting(slice_ms)) for slice_ms in SLICES_MS for each in HEURISTICS),
    *(("ct", Setting(window_ms=window_ms)) for window_ms in WINDOWS_MS),
)
"""Heuristics and settings: each slice under each heuristic, each window under CT."""
