"""The app's C kernel against plain Python: the same words, the same counts, for any text in any slices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.word_count import kernel
from apps.word_count.native_operators import CountNative
from apps.word_count.words import words

letters = st.sampled_from("abYZ@[`{019 '\u212aé■\n")
texts = st.lists(
    st.text(alphabet=letters, max_size=200) | st.text("ab ", min_size=60, max_size=140), max_size=12
)
any_words = st.lists(
    st.text(max_size=40) | st.sampled_from(["", "a", "a" * 16, "a" * 17, "b" * 17]), max_size=80
)


@pytest.fixture(scope="module", autouse=True, params=["as compiled here", "without vector instructions"])
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiles the kernel before the first example, and a second time for machines that have less."""
    with pytest.MonkeyPatch.context() as patch:
        if "without" in request.param:
            folder = tmp_path_factory.mktemp("plain")
            (folder / "kernel.c").write_text("#define WC_PLAIN\n" + kernel.SOURCE.read_text())
            patch.setattr(kernel, "SOURCE", folder / "kernel.c")
            patch.setenv("XDG_CACHE_HOME", str(folder))
        kernel.kernel.cache_clear()
        kernel.kernel()
        yield
        kernel.kernel.cache_clear()


@given(texts, st.integers(0, 3))
def test_a_column_splits_into_the_words_of_each_line(lines: list[str], skip: int) -> None:
    found, of_line = kernel.split_lines(pa.array(lines, pa.string()).slice(skip))
    by_line = [words(line) for line in lines[skip:]]
    assert found.to_pylist() == [word for line in by_line for word in line]
    assert of_line.tolist() == [row for row, line in enumerate(by_line) for _ in line]


@given(st.lists(any_words, max_size=4))
def test_every_word_gets_its_count_so_far(columns: list[list[str]]) -> None:
    table, counts = kernel.Table(), Counter[str]()
    for column in columns:
        expected = []
        for word in column:
            counts[word] += 1
            expected.append(counts[word])
        assert table.count(pa.array(column, pa.string())).tolist() == expected
    found, totals = table.read()
    assert dict(zip(found.to_pylist(), totals.tolist())) == counts


@settings(max_examples=5)
@given(st.integers(20_000, 60_000))
def test_a_table_grows_past_its_first_slots(number: int) -> None:
    column = [f"word{index}" if index % 2 else f"a much longer word {index}" for index in range(number)]
    table = kernel.Table()
    assert table.count(pa.array(column)).tolist() == [1] * number
    assert table.count(pa.array(column)).tolist() == [2] * number
    assert sorted(table.read()[0].to_pylist()) == sorted(column)


def test_added_counts_are_counted_on() -> None:
    table = kernel.Table()
    table.add("the", 41)
    table.add("supercalifragilisticexpialidocious", 1)
    column = pa.array(["the", "supercalifragilisticexpialidocious", "a"])
    assert table.count(column).tolist() == [42, 2, 1]


def test_restored_counts_are_kept_when_the_operator_starts() -> None:
    count = CountNative()
    count.restore({"the": 2, "end": 1})
    count.on_start()
    assert count.snapshot() == {"the": 2, "end": 1}
