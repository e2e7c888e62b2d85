from __future__ import annotations

from typing import Any

import pytest

from actorstream.actors import Actor, System
from actorstream.errors import ActorError


class Curious(Actor):
    def on_message(self, message: str) -> Any:
        match message:
            case "who":
                return (self.name, self.replica, self.replicas, self.input)
            case "me":
                return self.actor_ref
            case "allocate":
                return self.allocate(object, 3)
            case "late":
                return self.context.count_late(3)
            case _:
                return self.ref(message)


async def test_an_actor_knows_its_name_and_finds_others() -> None:
    async with System() as system:
        ref = await system.spawn(Curious, name="c")
        other = await system.spawn(Curious, name="other")
        assert await ref.ask("who") == ("c", 0, 1, "")
        assert await ref.ask("me") == ref
        assert await ref.ask("other") == other


async def test_batches_are_for_dataflows() -> None:
    async with System() as system:
        ref = await system.spawn(Curious)
        with pytest.raises(ActorError, match="no outputs"):
            await ref.ask("allocate")
        with pytest.raises(ActorError, match="no input"):
            await ref.ask("late")
