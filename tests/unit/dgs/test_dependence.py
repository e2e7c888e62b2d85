"""The dependence relation as a graph."""

from __future__ import annotations

import pytest

from actorstream.dgs.dependence import Dependence
from actorstream.dgs.tags import ImplementationTag, Tag
from actorstream.errors import ConfigurationError


def counters(one: Tag, other: Tag) -> bool:
    """The paper's running example: reads depend on all of their key, increments only on reads."""
    return one.key == other.key and "r" in (one.name, other.name)


def tag(name: str, key: int | str | None = None, stream: str = "") -> ImplementationTag:
    return ImplementationTag(Tag(name, key), stream)


R1, R2, I1, I2A, I2B = tag("r", 1), tag("r", 2), tag("i", 1), tag("i", 2, "a"), tag("i", 2, "b")


def test_streams_of_one_tag_depend_on_each_other_only_if_the_tag_depends_on_itself() -> None:
    relation = Dependence([I2A, I2B, R2], counters)
    assert not relation.depends(I2A, I2B)
    assert relation.on(R2) == {I2A, I2B}
    reads = Dependence([tag("r", 2, "a"), tag("r", 2, "b")], counters)
    assert reads.depends(*reads.tags)


def test_components_are_groups_without_dependence_between_them() -> None:
    relation = Dependence([R1, R2, I1, I2A, I2B], counters)
    assert relation.components(relation.tags) == [{I1, R1}, {I2A, I2B, R2}]
    assert relation.components([I1, I2A, I2B]) == [{I1}, {I2A}, {I2B}]
    assert relation.components([]) == []


def test_tags_have_one_order_everywhere() -> None:
    mixed = [tag("b"), tag("a", "x"), tag("a", 10), tag("a", 9), tag("a", 9, "s")]
    assert [str(each) for each in Dependence(mixed, lambda a, b: False).tags] == [
        "a(9)",
        "a(9)@s",
        "a(10)",
        "a(x)",
        "b",
    ]


def test_a_pair_of_two_groups_that_depends_is_found() -> None:
    relation = Dependence([R1, R2, I1, I2A, I2B], counters)
    assert relation.between([I1], [I2A, R2]) is None
    assert relation.between([I1, I2A], [R2]) == (I2A, R2)
    assert relation.between([I1], [I1]) == (I1, I1)


def test_a_relation_that_is_not_symmetric_is_refused_with_every_pair() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Dependence([R1, I1, I2A], lambda one, other: one.name == "r" and other.name == "i", "Counters")
    text = str(caught.value)
    assert "Counters.depends: depends(i(1), r(1)) is False, depends(r(1), i(1)) is True" in text
    assert "depends(i(2), r(1)) is False" in text
