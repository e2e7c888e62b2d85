"""The batch operators' NumPy and Arrow steps against plain Python, without running a topology."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from apps.word_count.batch_operators import CountBatch, split_lines
from apps.word_count.words import words

texts = st.lists(st.text(alphabet=st.sampled_from("abYZ019 '\u212aé■\n"), max_size=60), max_size=12)
columns = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "dd", "ee", "the"]), min_size=1, max_size=40), max_size=5
)


@given(texts, st.integers(0, 3))
def test_a_column_splits_into_the_words_of_each_line(lines: list[str], skip: int) -> None:
    found, of_line = split_lines(pa.array(lines, pa.string()).slice(skip))
    by_line = [words(line) for line in lines[skip:]]
    assert found.to_pylist() == [word for line in by_line for word in line]
    assert of_line.tolist() == [row for row, line in enumerate(by_line) for _ in line]


@given(columns)
def test_every_word_gets_its_count_so_far(batches: list[list[str]]) -> None:
    counter, counts = CountBatch(), Counter[str]()
    for batch in batches:
        expected = []
        for word in batch:
            counts[word] += 1
            expected.append(counts[word])
        encoded = pa.array(batch).dictionary_encode()
        assert counter.count(encoded.indices.to_numpy(), encoded.dictionary.to_pylist()).tolist() == expected
    assert counter.snapshot() == counts


@given(columns, columns)
def test_a_restored_counter_counts_on(before: list[list[str]], after: list[list[str]]) -> None:
    first, second = CountBatch(), CountBatch()
    for batch in before:
        run(first, batch)
    second.restore(first.snapshot())
    for batch in after:
        assert run(first, batch) == run(second, batch)
    assert first.snapshot() == second.snapshot()


def run(counter: CountBatch, batch: list[str]) -> list[int]:
    encoded = pa.array(batch).dictionary_encode()
    return counter.count(encoded.indices.to_numpy(), encoded.dictionary.to_pylist()).tolist()
