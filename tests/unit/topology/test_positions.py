from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actorstream.topology.positions import Path, find_positions, without_repeats


def lines(text: str) -> dict[Path, int]:
    return find_positions(text).lines


def every_path(value: Any, path: Path = ()) -> set[Path]:
    """Paths of all keys and array elements of a parsed document."""
    found = {path} if path else set()
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in items:
        found |= every_path(item, (*path, step))
    return found


def test_tables_and_their_keys_have_lines() -> None:
    found = lines(
        'name = "x"\n\n[actors.lines]\n# a comment = 1\ntype = "text-source"\n  path="a"\n[actors.count]\n'
    )
    assert found == {
        ("name",): 1,
        ("actors",): 3,
        ("actors", "lines"): 3,
        ("actors", "lines", "type"): 5,
        ("actors", "lines", "path"): 6,
        ("actors", "count"): 7,
    }


def test_inputs_written_over_several_lines_have_a_line_each() -> None:
    text = '[actors.a]\ninputs = [\n  "b", # first\n  { from = "c",\n    key = ["x",\n "y"] },\n]\n'
    found = lines(text.replace("\n    key", " key"))
    assert found[("actors", "a", "inputs")] == 2
    assert found[("actors", "a", "inputs", 0)] == 3
    assert found[("actors", "a", "inputs", 1, "key")] == 4
    assert found[("actors", "a", "inputs", 1, "key", 1)] == 5


def test_arrays_of_tables_count_their_elements() -> None:
    found = lines(
        '[[actors.a.inputs]]\nfrom = "b"\n[[actors.a.inputs]]\nfrom = "c"\n[actors.a.inputs.x]\ny = 1\n'
    )
    assert found[("actors", "a", "inputs")] == 1
    assert found[("actors", "a", "inputs", 1)] == 3
    assert found[("actors", "a", "inputs", 1, "from")] == 4
    assert found[("actors", "a", "inputs", 1, "x", "y")] == 6


def test_a_table_written_after_its_subtable_has_its_own_line() -> None:
    found = lines("[a.b]\nx = 1\n[a]\ny = 2\n")
    assert found[("a",)] == 3
    assert found[("a", "b", "x")] == 2


def test_strings_hide_what_looks_like_toml() -> None:
    text = 'a = """\n[no]\nb = 1\n""""\nc = \'\'\'\nd = "\n\'\'\'\ne = "# \\" ]" # x\nf = \'\\\'\n'
    assert lines(text) == {("a",): 1, ("c",): 5, ("e",): 8, ("f",): 9}
    assert tomllib.loads(text).keys() == {"a", "c", "e", "f"}


def test_quoted_keys_are_unescaped() -> None:
    assert lines('"a.\\u00e9\\"" . \'b c\' = 1\n') == {('a.é"',): 1, ('a.é"', "b c"): 1}


def test_windows_line_ends_count_once() -> None:
    assert lines("a = 1\r\nb = 2\r\n\r\n[c]\r\n") == {("a",): 1, ("b",): 2, ("c",): 4}


def test_an_unknown_path_has_the_line_of_its_nearest_ancestor() -> None:
    found = find_positions("[a]\nb = 1\n")
    assert found.line(("a", "missing", 3)) == 1
    assert found.line(("other",)) == 0


def test_repeated_tables_and_keys_are_found_and_can_be_blanked() -> None:
    text = "[a]\nx = 1\n[b]\ny = 1\ny = [\n 2]\n[a]\nx = 3\nz = 4\n[c]\nx = 1\n[a]\n"
    found = find_positions(text)
    assert [(each.path, each.first_line, each.line) for each in found.repeats] == [
        (("b", "y"), 4, 5),
        (("a",), 1, 7),
        (("a",), 1, 12),
    ]
    rest = without_repeats(text, found.repeats)
    assert tomllib.loads(rest) == {"a": {"x": 1}, "b": {"y": 1}, "c": {"x": 1}}
    assert rest.count("\n") == text.count("\n")
    assert found.lines[("c",)] == 10
    assert ("a", "z") not in found.lines


def test_a_broken_text_keeps_what_was_found_before_the_break() -> None:
    assert lines('[a]\nb = 1\nc = "unclosed\n[d]\n') == {("a",): 1, ("a", "b"): 2, ("a", "c"): 3}


# -- random documents, written together with the line of every key

KEYS = st.sampled_from(["a", "b", "key-1", "x_y", "3", "été", "with space", 'q"uote', "dot.ted", "#", "="])
SCALARS = st.sampled_from(
    ["1", "-2.5e3", "true", '"text"', "'it # is'", '"a \\" ] } , = b"', "2024-01-01 10:00:00", "inf", "0x1F",
     '"""one\n[two]\nthree = """', "'''\n'''", '""', '"""\\""""""']
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: ("array", items)),
        st.dictionaries(KEYS, inner, max_size=3).map(lambda items: ("table", items)),
    ),
    max_leaves=6,
)
BLANKS = st.sampled_from(["", "", "\n", "\n\n", "# [comment] = 1\n", "   \n"])


class Writer:
    """Writes TOML and notes the line of every path."""

    def __init__(self, data: st.DataObject) -> None:
        self.data, self.text, self.expected = data, "", {}

    def note(self, path: Path) -> None:
        self.expected[path] = self.text.count("\n") + 1

    def key(self, key: str) -> None:
        bare = key.replace("-", "").replace("_", "").isalnum() and key.isascii()
        if bare and not self.data.draw(st.booleans()):
            self.text += key
        elif "'" not in key and self.data.draw(st.booleans()):
            self.text += f"'{key}'"
        else:
            self.text += '"' + key.replace('"', '\\"') + '"'

    def value(self, value: Any, path: Path, *, inline: bool = False) -> None:
        if isinstance(value, str):
            self.text += value
        elif value[0] == "array":
            self.text += "["
            for number, item in enumerate(value[1]):
                self.text += self.data.draw(
                    st.sampled_from(["", " "] if inline else ["", "\n  ", " # , ]\n"])
                )
                self.note((*path, number))
                self.value(item, (*path, number), inline=inline)
                self.text += ","
            self.text += "]"
        else:
            self.text += "{ "
            for number, (key, item) in enumerate(value[1].items()):
                self.text += ", " if number else ""
                self.note((*path, key))
                self.key(key)
                self.text += "="
                self.value(item, (*path, key), inline=True)
            self.text += " }"

    def pairs(self, pairs: dict[str, Any], path: Path) -> None:
        for key, value in pairs.items():
            self.text += self.data.draw(BLANKS)
            self.note((*path, key))
            self.key(key)
            self.text += self.data.draw(st.sampled_from([" = ", "="]))
            self.value(value, (*path, key))
            self.text += self.data.draw(st.sampled_from(["\n", "  # x = [1\n"]))

    def header(self, path: tuple[str, ...], brackets: str) -> None:
        self.text += self.data.draw(BLANKS) + brackets[0] * len(brackets)
        for number, key in enumerate(path):
            self.text += " . " if number and self.data.draw(st.booleans()) else "." if number else ""
            self.key(key)
        self.text += "]" * len(brackets) + "\n"


@given(
    st.data(),
    st.dictionaries(KEYS, VALUES, max_size=3),
    st.dictionaries(
        KEYS, st.dictionaries(KEYS, st.dictionaries(KEYS, VALUES, max_size=3), max_size=3), max_size=3
    ),
    st.lists(st.dictionaries(KEYS, VALUES, max_size=2), max_size=3),
)
def test_every_key_of_a_random_document_has_the_line_it_was_written_in(
    data: st.DataObject, top: dict[str, Any], tables: dict[str, Any], array: list[dict[str, Any]]
) -> None:
    writer = Writer(data)
    writer.pairs({f"top {key}": value for key, value in top.items()}, ())
    for outer, inner_tables in tables.items():
        for inner, pairs in inner_tables.items():
            line = writer.text
            writer.header(("tables", outer, inner), "[")
            line_number = writer.text.count("\n")
            assert line is not writer.text
            writer.expected.setdefault(("tables",), line_number)
            writer.expected.setdefault(("tables", outer), line_number)
            writer.expected[("tables", outer, inner)] = line_number
            writer.pairs(pairs, ("tables", outer, inner))
    for number, pairs in enumerate(array):
        writer.header(("array",), "[[")
        writer.expected.setdefault(("array",), writer.text.count("\n"))
        writer.expected[("array", number)] = writer.text.count("\n")
        writer.pairs(pairs, ("array", number))

    parsed = tomllib.loads(writer.text)
    found = find_positions(writer.text)
    assert found.lines == writer.expected
    assert set(found.lines) == every_path(parsed)
    assert found.repeats == []


@given(st.text(alphabet="ab.=[]{}\"'#,\n \\1", max_size=60))
def test_any_text_is_scanned_without_an_error_and_agrees_with_tomllib_where_it_parses(text: str) -> None:
    found = find_positions(text)
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert every_path(parsed) == set(found.lines)
    assert found.repeats == []
