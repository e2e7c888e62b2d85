"""Profiles in TOML files."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from actorstream.errors import ConfigurationError
from actorstream.placement.rlas import (
    Measured,
    OperatorProfile,
    OutputProfile,
    Profile,
    load_profile,
    profile_text,
)

WORDS = Profile(
    name="word-count",
    topology=0xA1B2,
    machine="here",
    hertz=2.5e9,
    contention=1.25,
    operators={
        "lines": OperatorProfile(
            batches=[Measured(rows=64, execute_ns={"p50": 400.0, "p99": 500.0}, memory_bytes=80.0)],
            outputs={"default": OutputProfile(selectivity=1.0, bytes=64.0)},
        ),
        "split+count": OperatorProfile(
            batches=[
                Measured(rows=1, execute_ns={"p50": 900.0}),
                Measured(rows=100, execute_ns={"p50": 306.0}),
            ],
            outputs={"final": OutputProfile(selectivity=2.0, bytes=16.0, by_input={"lines": 0.5})},
            members=["split", "count"],
            memory="counters",
            in_run=1.5,
            apart=0.9,
            hand_over_ns=12.5,
            halved_ns=1.5,
            beside_ns=3.0,
        ),
    },
)


def test_a_written_profile_is_read_back_the_same(tmp_path: Path) -> None:
    (tmp_path / "profile.toml").write_text(profile_text(WORDS))
    assert load_profile(tmp_path / "profile.toml", 0xA1B2) == WORDS


def test_a_profile_from_before_contention_was_measured_has_none(tmp_path: Path) -> None:
    (tmp_path / "profile.toml").write_text(profile_text(WORDS).replace("contention = 1.25\n", ""))
    assert load_profile(tmp_path / "profile.toml") == replace(WORDS, contention=1.0)


def test_a_profile_of_another_topology_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "profile.toml").write_text(profile_text(WORDS))
    with pytest.raises(
        ConfigurationError, match=r"000000000000a1b2, so the profile was measured on another topology"
    ):
        load_profile(tmp_path / "profile.toml", 0xA1B3)


def test_all_that_is_wrong_in_a_profile_is_told_at_once(tmp_path: Path) -> None:
    text = (
        profile_text(WORDS)
        .replace("p50 = 400.0, ", "")
        .replace("p50 = 400.0\n", "")
        .replace("rows = 100", "rows = 1")
    )
    text = text.replace("selectivity = 2.0", "selectivity = -2.0").replace(
        "hertz = 2500000000.0", "hertz = 0"
    )
    (tmp_path / "profile.toml").write_text(text)
    with pytest.raises(ConfigurationError) as raised:
        load_profile(tmp_path / "profile.toml")
    assert [each.where for each in raised.value.problems] == [
        "hertz",
        "operators.lines.batches[0].execute_ns",
        "operators.split+count.outputs.final.selectivity",
    ]


@pytest.mark.parametrize(
    ("good", "bad", "told"),
    [
        ("p50 = 400.0", "p50 = nan", "operators.lines.batches[0].execute_ns.p50: is nan"),
        ("p50 = 400.0", "p50 = inf", "operators.lines.batches[0].execute_ns.p50: is inf"),
        ("p50 = 400.0", "p50 = -1.0", "operators.lines.batches[0].execute_ns.p50: is -1"),
        ("hertz = 2500000000.0", "hertz = inf", "hertz: is inf"),
        ('topology = "000000000000a1b2"', "topology = inf", "topology: is inf"),
        ("contention = 1.25", "contention = 0.9", "contention: is 0.9"),
        ("selectivity = 2.0", "selectivity = inf", "operators.split+count.outputs.final.selectivity: is inf"),
    ],
)
def test_a_cost_that_no_operator_has_is_told(good: str, bad: str, told: str, tmp_path: Path) -> None:
    assert good in profile_text(WORDS)
    (tmp_path / "profile.toml").write_text(profile_text(WORDS).replace(good, bad, 1))
    with pytest.raises(ConfigurationError) as raised:
        load_profile(tmp_path / "profile.toml")
    assert [f"{each.where}: {each.message}" for each in raised.value.problems] == [told]


def test_the_time_of_a_batch_size_between_two_lies_on_the_line_over_its_inverse() -> None:
    chain = WORDS.operators["split+count"]
    assert [chain.execute_ns(rows) for rows in (1, 2, 100, 4096)] == pytest.approx([900, 600, 306, 306])


def test_selectivity_may_depend_on_the_input() -> None:
    chain = WORDS.operators["split+count"]
    assert [chain.selectivity("final"), chain.selectivity("final", "lines"), chain.selectivity("other")] == [
        2,
        0.5,
        0,
    ]
