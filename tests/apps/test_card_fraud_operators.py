"""The predictors called directly: the C and NumPy give what one transaction after the other gives, in any batches, also after
their states have been saved and loaded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream import Batch
from apps.card_fraud import kernel
from apps.card_fraud.batch_operators import PredictBatch
from apps.card_fraud.events import Transaction
from apps.card_fraud.model import ModelError
from apps.card_fraud.native_operators import PredictNative
from apps.card_fraud.operators import Predict

MODEL = Path(kernel.__file__).with_name("data") / "model.txt"
STATES = MODEL.read_text().splitlines()[0].split(",")
customers = st.sampled_from(["", "a", "b", "x" * 8, "x" * 16, "x" * 17, "x" * 17 + "y", "é"])
transactions = st.lists(st.builds(Transaction, customers, st.just("t"), st.sampled_from(STATES)), max_size=60)


@pytest.fixture(scope="module", autouse=True)
def compiled() -> Iterator[Any]:
    """Before the first example, which would else take too long."""
    yield kernel.kernel()


@settings(deadline=None)
@pytest.mark.parametrize("kind", [PredictBatch, PredictNative])
@given(st.lists(transactions, max_size=4), st.integers(0, 3))
def test_batches_are_scored_as_single_transactions_are(
    kind: type, parts: list[list[Transaction]], skip: int
) -> None:
    one, many = Predict(MODEL), kind(MODEL)
    for part in parts:
        expected = [one.on_event(event) for event in part[skip:]]
        given_rows = Batch.of_columns(
            Transaction,
            {name: [getattr(event, name) for event in part] for name in ("customer", "transaction", "state")},
        )
        found = many.on_batch(given_rows.slice(min(skip, len(part)), max(0, len(part) - skip)))
        assert found.events() == expected
        again = kind(MODEL)
        again.restore(many.snapshot())
        many = again


@pytest.mark.parametrize("kind", [PredictBatch, PredictNative])
def test_a_batch_with_an_unknown_state_changes_nothing(kind: type) -> None:
    known = [Transaction("a", "1", state) for state in STATES[:4]]
    many, before = kind(MODEL), kind(MODEL)
    for each in (many, before):
        each.on_batch(Batch.of_events(Transaction, known))
    with pytest.raises(ModelError, match="state 'none'"):
        many.on_batch(Batch.of_events(Transaction, [*known, Transaction("b", "2", "none")]))
    assert many.snapshot() == before.snapshot()


@pytest.mark.parametrize("kind", [PredictBatch, PredictNative])
def test_many_customers_are_kept(kind: type) -> None:
    events = [
        Transaction(f"customer-{number % 5000}", str(number), STATES[number % 18]) for number in range(30_000)
    ]
    one, many = Predict(MODEL), kind(MODEL)
    assert many.on_batch(Batch.of_events(Transaction, events)).events() == [
        one.on_event(event) for event in events
    ]
