from __future__ import annotations

from actorstream.topology.suggestions import did_you_mean, listed, nearest


def test_the_nearest_name_is_found_across_typos_case_and_dashes() -> None:
    assert nearest("pth", ["rate", "path"]) == "path"
    assert nearest("CSV_SOURCE", ["csv-sink", "csv-source"]) == "csv-source"


def test_nothing_is_proposed_where_nothing_is_near() -> None:
    assert nearest("zebra", ["path", "rate"]) == ""
    assert did_you_mean("zebra", ["path", "rate"]) == ""


def test_a_hint_is_a_question() -> None:
    assert did_you_mean("pth", ["path"]) == "did you mean 'path'?"


def test_long_lists_are_cut_and_say_how_many_there_are() -> None:
    assert listed(str(number) for number in range(30)).endswith("22, 23, … (30 in all)")
    assert listed(["a", "b"]) == "a, b"
