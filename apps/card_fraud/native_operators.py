"""Card fraud, one call into C a batch. The C is kernel.c."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from actorstream import Batch
from apps.card_fraud.events import Score
from apps.card_fraud.kernel import Scorer
from apps.card_fraud.predictor import Predictor


class PredictNative(Predictor):
    """Scores all transactions of a batch at once."""

    def __init__(self, model: Path) -> None:
        super().__init__(model)
        self.scorer = Scorer(self.model)

    def on_batch(self, batch: Batch) -> Batch:
        score, outlier = self.scorer.score(batch["customer"], batch["state"])
        return batch.with_columns(event=Score, score=score, outlier=outlier)

    def snapshot(self) -> Any:
        return self.scorer.save()

    def restore(self, snapshot: Any) -> None:
        self.scorer.load(snapshot)
