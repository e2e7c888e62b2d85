"""Spike detection, one Python call a batch: NumPy over the values, a few calls for each mote of the batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorstream import Batch
from apps.spike_detection.steps import Averaging, Detecting, Size
from apps.spike_detection.window import Window


class AverageBatch(Averaging):
    """Averages all readings of a batch, mote by mote."""

    def __init__(self, field: str = "temperature", window: Size = 1000) -> None:
        super().__init__(field, window)
        self.windows: dict[Any, Window] = {}
        """Of each mote."""

    def on_start(self) -> None:
        self.schema = self.made

    def on_batch(self, batch: Batch) -> Batch:
        motes = batch.column("mote_id").arrow().dictionary_encode()
        values = np.asarray(batch[self.field], np.float64)
        codes = motes.indices.to_numpy()
        order = np.argsort(codes, kind="stable")
        cuts = np.cumsum(np.bincount(codes, minlength=len(motes.dictionary)))[:-1]
        means = np.empty(batch.rows)
        for mote, rows in zip(motes.dictionary.to_pylist(), np.split(order, cuts)):
            window = self.windows.get(mote)
            if window is None:
                window = self.windows[mote] = Window(self.window)
            means[rows] = window.add_all(values[rows])
        return batch.with_columns(event=self.schema, value=values, moving_avg=means)

    def snapshot(self) -> Any:
        return [(mote, window.save()) for mote, window in self.windows.items()]

    def restore(self, snapshot: Any) -> None:
        self.windows = {mote: Window(self.window, saved) for mote, saved in snapshot}


class DetectBatch(Detecting):
    """Looks at all readings of a batch."""

    def on_start(self) -> None:
        self.schema = self.made

    def on_batch(self, batch: Batch) -> Batch:
        averages = batch["moving_avg"]
        spikes = np.abs(batch["value"] - averages) > self.threshold * averages
        if self.signals:
            return batch.with_columns(event=self.schema, spike=spikes)
        return batch.take(spikes).with_columns(event=self.schema)
