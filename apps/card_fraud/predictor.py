"""What the three speeds of the predictor have in common."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from actorstream import Actor, Contract
from actorstream.errors import Problem
from apps.card_fraud.events import Score
from apps.card_fraud.model import Model, ModelError

if TYPE_CHECKING:
    from actorstream import Schema


class Predictor(Actor):
    """Scores each transaction by the last ones of its customer, which meet in one replica. A batch with a state that the model
    does not know changes nothing.

    Args:
        model: the file of the Markov model.
    """

    outputs: ClassVar = {"default": Score}
    contract = Contract(stateless=True, order_sensitive=True)

    def __init__(self, model: Path) -> None:
        self.model = Model(model)

    @classmethod
    def keyed_by(cls, keys: dict[str, Any], input: int) -> tuple[str, ...]:
        return ("customer",)

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        try:
            Model(base / keys["model"])
        except ModelError as error:
            return [Problem("model", str(error))]
        return []
