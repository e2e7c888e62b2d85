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


def test_the_drawing_has_a_point_a_trial_and_a_line_at_the_best_rate():
    root = ElementTree.fromstring(svg(sustained(HELD, FAILED)))
    space = "{http://www.w3.org/2000/svg}"
    circles = root.findall(f"{space}circle")
    assert [circle.get("class") for circle in circles] == ["held", "failed"]
    assert [title.text for title in root.iter(f"{space}title")][1] == f"4,000,000/s: {FAILED.reason}"
    best = next(each for each in root.findall(f"{space}line") if each.get("class") == "best")
    assert best.get("x1") == circles[0].get("cx")
    texts = [text.text for text in root.findall(f"{space}text")]
    assert "ysb<bench>: sustainable throughput" in texts and "1 M/s held" in texts


def test_one_trial_alone_can_be_drawn_and_none_cannot():
    assert "circle" in svg(sustained(FAILED))
    with pytest.raises(ValueError, match="no trial"):
        svg(sustained())


def test_figures_are_short():
    assert [duration(each) for each in (2.5, 0.0123, 4.2e-5, 0.0, math.nan)] == [
        *("2.5 s", "12.3 ms", "42 µs", "0 µs", "")
    ]
    assert [short(each) for each in (5, 12345, 123_456_789, 2e9)] == ["5", "12.3 k", "123 M", "2 G"]
