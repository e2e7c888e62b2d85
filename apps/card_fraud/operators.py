"""Card fraud, one Python call an event: what the topology's `predict` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from apps.card_fraud.events import Score, Transaction
from apps.card_fraud.model import THRESHOLD, WINDOW
from apps.card_fraud.predictor import Predictor


class Predict(Predictor):
    """Scores transactions one by one."""

    def __init__(self, model: Path) -> None:
        super().__init__(model)
        self.state: dict[str, list[int]] = {}
        """Customer -> its last states, the oldest first."""

    def on_event(self, event: Transaction) -> Score:
        code = self.model.code(event.state)
        window = self.state.get(event.customer)
        if window is None:
            window = self.state[event.customer] = []
        window.append(code)
        if len(window) > WINDOW:
            del window[0]
        score = self.model.score(window)
        return Score(event.customer, event.transaction, score, int(score > THRESHOLD))

    def restore(self, snapshot: Any) -> None:
        self.state = dict(snapshot)
