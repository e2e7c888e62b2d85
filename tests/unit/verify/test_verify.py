"""What two runs have left in their files is compared, also where a sink had other numbers of replicas in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from actorstream.errors import ConfigurationError
from actorstream.topology.builder import Topology
from actorstream.verify.launches import Ran, add_files
from actorstream.verify.sinks import SinkOutput
from actorstream.verify.verify import first_difference, verify

SETTLED = SinkOutput("out", "file", "sequence", "out.csv", header=True, format="csv")
DEALT = SinkOutput("out", "file", "multiset", "out.csv", header=True, format="csv")
EACH = SinkOutput("out", "file", "sequence", "out.csv", each=True, header=True, format="csv")


def ran(folder: Path, output: SinkOutput, *parts: Sequence[int]) -> Ran:
    """A run whose sink has written these parts, or one file."""
    path = folder / "out.csv"
    texts = ["\n".join(map(str, ("n", *part))) + "\n" for part in parts]
    if len(texts) == 1:
        folder.mkdir()
        path.write_text(texts[0])
    else:
        path.mkdir(parents=True)
        for number, text in enumerate(texts):
            (path / f"part-{number:05d}.csv").write_text(text)
    found = Ran(1.0)
    add_files(found, output, path)
    return found


@pytest.mark.parametrize("output", [SETTLED, DEALT, EACH])
@pytest.mark.parametrize("numbers", [(1, 2), (2, 1), (2, 3), (2, 2), (1, 1)])
def test_rows_are_the_same_and_one_that_is_missing_is_found_however_many_files_they_are_in(
    output: SinkOutput, numbers: tuple[int, int], tmp_path: Path
) -> None:
    rows = list(range(10))
    parts = [[rows[number::count] for number in range(count)] for count in numbers]
    expected = ran(tmp_path / "baseline", output, *parts[0])
    assert first_difference([output], expected, ran(tmp_path / "same", output, *parts[1])) is None
    missing = parts[1][0].pop(0)
    difference = first_difference([output], expected, ran(tmp_path / "other", output, *parts[1]))
    assert difference is not None
    assert difference.expected == str(missing)
    assert difference.how == (output.how if numbers[0] == numbers[1] else "multiset")


def test_parts_of_equal_numbers_are_sequences_each(tmp_path: Path) -> None:
    expected = ran(tmp_path / "baseline", EACH, [1, 2], [3])
    difference = first_difference([EACH], expected, ran(tmp_path / "other", EACH, [2, 1], [3]))
    assert difference is not None and difference.sink == "out/part-00000.csv"


def test_a_sink_that_has_written_nothing_differs_from_one_that_has(tmp_path: Path) -> None:
    expected = ran(tmp_path / "baseline", EACH, [1, 2], [3])
    nothing = Ran(1.0)
    add_files(nothing, EACH, tmp_path / "none" / "out.csv")
    difference = first_difference([EACH], expected, nothing)
    assert difference is not None and difference.expected == "1"


def test_a_value_that_no_setting_can_have_is_refused_before_the_first_run() -> None:
    topology = Topology("never-run")
    topology.source([{"n": 1}], name="rows").collect("out")
    vary = {"actors.rows.count": [None, 1], "actors.out.what": [{"a": [object]}]}
    with pytest.raises(ConfigurationError) as caught:
        verify(topology, vary=vary)
    assert [(each.where, each.message[:9]) for each in caught.value.problems] == [
        ("vary actors.rows.count", "has None"),
        ("vary actors.out.what", "has {'a':"),
    ]
