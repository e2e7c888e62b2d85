from __future__ import annotations

import pytest

from actorstream import Actor
from actorstream.topology.modules import NotFoundError
from actorstream.topology.registry import GROUP, TypeRegistry

from .conftest import Lines, Split


def test_names_lead_to_classes_given_as_they_are_or_by_name() -> None:
    registry = TypeRegistry({"lines": Lines, "actor": "actorstream.actors.actor:Actor"}, plugins=False)
    assert registry.names() == ["actor", "lines"]
    assert registry.resolve("lines") is Lines
    assert registry.resolve("actor").__name__ == "Actor"
    assert registry.resolve(Split) is Split
    assert registry.resolve("actorstream.actors.actor:Actor").__name__ == "Actor"


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(NotFoundError) as caught:
        TypeRegistry({"lines": Lines}, plugins=False).resolve("line")
    assert caught.value.message == "there is no type 'line'"
    assert caught.value.allowed == 'lines, or "package.module:Class"'
    assert caught.value.hint == "did you mean 'lines'?"


@pytest.mark.parametrize("name", ["json:dumps", "pathlib:Path"])
def test_only_actors_are_types(name: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        TypeRegistry({}, plugins=False).resolve(name)
    assert caught.value.allowed == "a subclass of actorstream.Actor, Source or Sink"


@pytest.mark.parametrize(
    ("role", "method", "base"), [("source", "partitions", "Source"), ("sink", "prepare", "Sink")]
)
def test_a_role_alone_makes_no_source_or_sink(role: str, method: str, base: str) -> None:
    found = type("Mine", (Actor,), {"role": role})
    with pytest.raises(NotFoundError) as caught:
        TypeRegistry({"mine": found}, plugins=False).resolve("mine")
    assert (
        caught.value.message
        == f"'mine' has the role '{role}' and no method '{method}', which {base} gives it"
    )
    assert caught.value.allowed == f"a subclass of actorstream.{base}"


def test_plugins_are_found_by_their_entry_points_and_cannot_replace_a_built_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from importlib.metadata import EntryPoint

    points = [EntryPoint(name, "actorstream.actors.actor:Actor", GROUP) for name in ("plugin", "lines")]
    monkeypatch.setattr("actorstream.topology.registry.entry_points", lambda group: points)
    registry = TypeRegistry({"lines": Lines})
    assert registry.names() == ["lines", "plugin"]
    assert registry.resolve("plugin").__name__ == "Actor"
    assert registry.resolve("lines") is Lines
