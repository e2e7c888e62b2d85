"""Spike detection, one call into C a batch. The C is kernel.c."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from actorstream import Batch
from apps.spike_detection import kernel
from apps.spike_detection.steps import Averaging, Detecting, Size


class AverageNative(Averaging):
    """Averages all readings of a batch. Motes are whole numbers."""

    mote_kinds: ClassVar = "iu"

    def __init__(self, field: str = "temperature", window: Size = 1000) -> None:
        super().__init__(field, window)
        self.averages = kernel.Averages(window)

    def on_start(self) -> None:
        self.schema = self.made

    def on_batch(self, batch: Batch) -> Batch:
        motes = np.ascontiguousarray(batch["mote_id"], np.int64)
        values = np.ascontiguousarray(batch[self.field], np.float64)
        averages = self.averages.average(motes, values)
        return batch.with_columns(event=self.schema, value=values, moving_avg=averages)

    def snapshot(self) -> Any:
        return self.averages.save()

    def restore(self, snapshot: Any) -> None:
        self.averages.load(snapshot)


class DetectNative(Detecting):
    """Looks at all readings of a batch."""

    def on_start(self) -> None:
        self.schema = self.made

    def on_batch(self, batch: Batch) -> Batch:
        values, averages = map(np.ascontiguousarray, (batch["value"], batch["moving_avg"]))
        if self.signals:
            spikes = kernel.signals(values, averages, self.threshold)
            return batch.with_columns(event=self.schema, spike=spikes)
        rows = kernel.spikes(values, averages, self.threshold)
        return batch.take(rows).with_columns(event=self.schema)
