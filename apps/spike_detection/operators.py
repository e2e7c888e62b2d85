"""Spike detection, one Python call an event: what the topology's `average` and `detect` do."""

from __future__ import annotations

from typing import Any

from apps.spike_detection.steps import Averaging, Detecting, Size
from apps.spike_detection.window import Window


class Average(Averaging):
    """Averages readings one by one."""

    def __init__(self, field: str = "temperature", window: Size = 1000) -> None:
        super().__init__(field, window)
        self.windows: dict[Any, Window] = {}
        """Of each mote."""

    def on_start(self) -> None:
        self.event = self.made.event_class()

    def on_event(self, event: Any) -> Any:
        mote, value = event.mote_id, float(getattr(event, self.field))
        window = self.windows.get(mote)
        if window is None:
            window = self.windows[mote] = Window(self.window)
        return self.event(mote, event.reading, value, window.add(value))

    def snapshot(self) -> Any:
        return [(mote, window.save()) for mote, window in self.windows.items()]

    def restore(self, snapshot: Any) -> None:
        self.windows = {mote: Window(self.window, saved) for mote, saved in snapshot}


class Detect(Detecting):
    """Looks at readings one by one."""

    def on_start(self) -> None:
        self.event = self.made.event_class()

    def on_event(self, event: Any) -> Any:
        value, average = event.value, event.moving_avg
        spike = abs(value - average) > self.threshold * average
        if self.signals:
            return self.event(event.mote_id, event.reading, value, average, spike)
        return self.event(event.mote_id, event.reading, value, average) if spike else None
