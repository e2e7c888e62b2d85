"""What a search has found as a table and as a drawing."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

import pytest

from actorstream.launch.sustain import Sustained
from actorstream.launch.sustain_curve import COLUMNS, conclusion, duration, hint, line, short, svg
from actorstream.launch.sustainable import Verdict

HELD = Verdict(1e6, True, "", 1e6, 1e-4, 0.0021, 0.0123, 4321)
FAILED = Verdict(4e6, False, "the source fell 1.2 s behind in 3.75 s", 2.9e6, 1.2, math.nan, math.nan, 0)


def sustained(*trials: Verdict) -> Sustained:
    best = max((trial for trial in trials if trial.holds), key=lambda trial: trial.rate, default=None)
    return Sustained("ysb<bench>", "events", 5e6, best, list(trials), 2, "shm")


def test_a_row_of_the_table_says_what_happened_at_a_rate():
    assert line(HELD).split() == [
        *("1,000,000", "1,000,000", "100", "µs", "4,321", "2.1", "ms", "12.3", "ms", "yes")
    ]
    assert line(FAILED).endswith("no: the source fell 1.2 s behind in 3.75 s")
    held = COLUMNS.index("held")
    assert line(HELD)[held:] == "yes" and line(FAILED)[held:].startswith("no")


def test_the_conclusion_names_rate_source_and_latency():
    assert conclusion(sustained(HELD, FAILED)) == (
        "ysb<bench>: 1,000,000 rows/s of events are sustained on 2 workers (shm); "
        "event-time latency 2.1 ms, p99 12.3 ms"
    )
    assert conclusion(sustained(FAILED)) == "ysb<bench>: no rate of events held on 2 workers (shm)"


def test_trials_without_results_get_a_hint():
    silent = Verdict(2e6, True, "", 2e6, 1e-4, math.nan, math.nan, 0)
    assert hint(sustained(HELD, silent, FAILED)).startswith("1 of 3 trials had no results")
    assert hint(sustained(HELD, FAILED)) == ""


SPACE = "{http://www.w3.org/2000/svg}"
SILENT = Verdict(2e6, True, "", 2e6, 0.03, math.nan, math.nan, 0)
SLOW = Verdict(3e6, False, "latency rose from 0.1 to 0.4 s", 3e6, 0.2, 0.3, 0.5, 99)


def test_the_drawing_has_a_point_a_trial_at_its_p99_and_a_line_at_the_best_rate():
    root = ElementTree.fromstring(svg(sustained(HELD, SLOW)))
    held, slow = (each for each in root.findall(f"{SPACE}circle") if len(each))
    assert [held.get("class"), slow.get("class")] == ["held", "failed"]
    assert [title.text for title in root.iter(f"{SPACE}title")] == [
        "1,000,000/s: held, p99 12.3 ms",
        f"3,000,000/s: {SLOW.reason}, p99 500 ms",
    ]
    best = next(each for each in root.findall(f"{SPACE}line") if each.get("class") == "best")
    assert best.get("x1") == held.get("cx")
    (curve,) = root.findall(f"{SPACE}polyline")
    assert curve.get("points") == " ".join(f"{each.get('cx')},{each.get('cy')}" for each in (held, slow))
    texts = [text.text for text in root.findall(f"{SPACE}text")]
    assert "ysb<bench>: sustainable throughput" in texts and "1 M/s held, p99 12.3 ms" in texts


def test_trials_without_results_are_squares_beside_the_curve_and_the_legend_says_what_they_are():
    root = ElementTree.fromstring(svg(sustained(HELD, SILENT, FAILED)))
    squares = [each.get("class") for each in root.findall(f"{SPACE}rect") if len(each)]
    assert squares == ["held silent", "failed silent"]
    (curve,) = root.findall(f"{SPACE}polyline")
    assert len((curve.get("points") or "").split()) == 1
    texts = [text.text for text in root.findall(f"{SPACE}text")]
    assert "held, no results: how far the source was behind" in texts and "not held" not in texts


def test_of_a_rate_that_was_tried_twice_the_curve_takes_the_trial_that_held():
    again = Verdict(1e6, False, "a hiccup", 9e5, 0.1, 0.2, 0.4, 50)
    root = ElementTree.fromstring(svg(sustained(again, HELD, SLOW)))
    (curve,) = root.findall(f"{SPACE}polyline")
    assert len((curve.get("points") or "").split()) == 2
    assert len([each for each in root.findall(f"{SPACE}circle") if len(each)]) == 3


def test_one_trial_alone_can_be_drawn_and_none_cannot():
    assert "failed silent" in svg(sustained(FAILED))
    with pytest.raises(ValueError, match="no trial"):
        svg(sustained())


def test_figures_are_short():
    assert [duration(each) for each in (2.5, 0.0123, 4.2e-5, 0.0, math.nan)] == [
        *("2.5 s", "12.3 ms", "42 µs", "0 µs", "")
    ]
    assert [short(each) for each in (5, 12345, 123_456_789, 2e9)] == ["5", "12.3 k", "123 M", "2 G"]
