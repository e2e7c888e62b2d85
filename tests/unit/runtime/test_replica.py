"""What a hook yields leaves its replica."""

from __future__ import annotations

from actorstream import Actor, Batch, Event, Schema, Topology


class Row(Event):
    ts: int
    key: int


def test_batches_that_a_hook_yields_go_on_one_after_the_other():
    waiting: list[int] = []

    class Sink(Actor):
        def on_batch(self, batch: Batch) -> None:
            waiting.append(batch.rows)

    class Many(Actor):
        def on_batch(self, batch: Batch) -> None:
            pass

        def on_end(self):  # type: ignore[no-untyped-def]
            for number in range(4):
                assert len(waiting) == number
                yield Batch.of_columns(Schema.of(Row), {"ts": [number], "key": [0]})

    topology = Topology()
    topology.source([Row(1, 1)], name="rows").through(Many, name="many").through(Sink, name="sink")
    topology.run(workers=1)
    assert waiting == [1, 1, 1, 1]
