"""Card fraud, one Python call a batch: NumPy over the states, Arrow for the dictionary of customers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from actorstream import Batch
from apps.card_fraud.events import Score
from apps.card_fraud.model import THRESHOLD, WINDOW
from apps.card_fraud.predictor import Predictor

BEFORE = WINDOW - 1
"""States that are kept of each customer."""
NONE = -1
"""In place of a state that has not come yet."""


class PredictBatch(Predictor):
    """Scores all transactions of a batch at once."""

    def __init__(self, model: Path) -> None:
        super().__init__(model)
        self.misses = np.array(self.model.misses)
        self.numbers: dict[str, int] = {}
        """Customer -> row of `last`."""
        self.last = np.full((1024, BEFORE), NONE, np.int16)
        """The last states of each customer, the oldest first."""

    def on_batch(self, batch: Batch) -> Batch:
        states = batch["state"].dictionary_encode()
        codes = np.array([self.model.code(name) for name in states.dictionary.to_pylist()], np.int16)
        customers = batch["customer"].dictionary_encode()
        names = customers.dictionary.to_pylist()
        of_names = np.array([self.numbers.setdefault(name, len(self.numbers)) for name in names], np.int64)
        score = self.scores(of_names[customers.indices.to_numpy()], codes[states.indices.to_numpy()])
        return batch.with_columns(event=Score, score=score, outlier=(score > THRESHOLD).astype(np.int8))

    def scores(self, customers: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """The score of each row; customers are rows of `last`, which takes in the states."""
        rows = len(codes)
        if len(self.numbers) > len(self.last):
            more = np.full((2 * len(self.numbers), BEFORE), NONE, np.int16)
            self.last = np.concatenate([self.last, more])
        order = np.argsort(customers, kind="stable")
        owners = customers[order]
        firsts = np.flatnonzero(np.diff(owners, prepend=NONE))
        owner_of = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=rows))
        # the states in runs of one customer each, and in front of each run those that came before this batch
        runs = np.empty(rows + BEFORE * len(firsts), np.int16)
        places = np.arange(rows) + BEFORE * (owner_of + 1)
        runs[places] = codes[order]
        fronts = firsts + BEFORE * np.arange(len(firsts))
        runs[fronts[:, None] + np.arange(BEFORE)] = self.last[owners[firsts]]
        steps = [runs[places - back] for back in range(BEFORE, -1, -1)]
        total = self.misses[steps[0], steps[1]]
        for step in range(1, BEFORE):
            total += self.misses[steps[step], steps[step + 1]]
        scores = np.empty(rows)
        scores[order] = np.where(steps[0] == NONE, 0.0, total / BEFORE)
        lasts = np.append(firsts, rows)[1:] - 1
        self.last[owners[firsts]] = np.stack([step[lasts] for step in steps[1:]], axis=1)
        return scores

    def snapshot(self) -> dict[str, list[int]]:
        kept = self.last[: len(self.numbers)].tolist()
        return {name: [code for code in codes if code != NONE] for name, codes in zip(self.numbers, kept)}

    def restore(self, snapshot: Any) -> None:
        self.numbers = {name: number for number, name in enumerate(snapshot)}
        kept = [[NONE] * (BEFORE - len(codes)) + codes for codes in snapshot.values()]
        self.last = np.array([*kept, [NONE] * BEFORE], np.int16)
