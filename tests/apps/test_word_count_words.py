"""What a word is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.word_count.words import words


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("The ALASKAN", ["the", "alaskan"]),
        ("don't", ["don", "t"]),
        ("sil■  houetted 1923a2b", ["sil", "houetted", "a", "b"]),
        ("Åre caf\u00e9 \u212aelvin", ["re", "caf", "elvin"]),
        ("", []),
    ],
)
def test_words_are_maximal_runs_of_ascii_letters_in_lower_case(line: str, found: list[str]) -> None:
    assert words(line) == found


@given(st.text(alphabet=st.characters() | st.sampled_from("abYZ'\u0130\u212a")))
def test_lowering_before_splitting_changes_no_word(line: str) -> None:
    assert words(line) == [word.lower() for word in re.findall("[A-Za-z]+", line)]
