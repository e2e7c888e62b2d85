"""Which source a search varies, what each trial is run with, and what comes of it; the runs are simulated."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from actorstream.errors import ConfigurationError
from actorstream.launch.sustain import Sustain, find_source
from actorstream.launch.sustainable import Samples
from actorstream.plan.compile import read_job
from actorstream.plan.job import Job

from .test_sustainable import System

TOPOLOGY = """
name = "small"
[actors.events]
type = "generator-source"
count = 10
schema = {{ a = "int" }}
[actors.out]
type = "null-sink"
inputs = ["events"]
{more}
"""
SECOND = """
[actors.more]
type = "generator-source"
schema = { a = "int" }
[actors.other]
type = "null-sink"
inputs = ["more"]
"""


class Simulated(Sustain):
    """Asks a simulated system instead of running the job."""

    system = System(1e6)

    def _run(self, job: Job, seconds: float) -> Samples:
        keys = job.graph.actors[self.source].keys
        rate = keys.get("rate")
        self.asked = [*getattr(self, "asked", []), (rate, keys.get("count"), seconds)]
        return self.system.run(rate or 1e12, seconds)


def topology(folder: Path, more: str = "") -> Path:
    path = folder / "small.toml"
    path.write_text(TOPOLOGY.format(more=more))
    return path


def test_a_search_begins_at_a_quarter_of_what_comes_without_a_rate_and_ends_with_a_longer_run(tmp_path):
    shown = []
    search = Simulated(
        topology(tmp_path),
        seconds=4.0,
        confirm_s=9.0,
        show=lambda verdict, last: shown.append((verdict, last)),
    )
    found = search.run()
    assert found.unlimited == pytest.approx(1e6, rel=0.01)
    (rate, count, _), first, *_, last = search.asked
    assert (rate, count) == (None, 10**9)
    assert first[0] == pytest.approx(2.5e5, rel=0.01)
    assert first[1] >= first[0] * 4.0
    assert last[2] == 9.0
    assert found.best is not None and 0.93e6 <= found.best.rate <= 1.03e6
    assert [last for _, last in shown] == [False] * len(found.trials) + [True]
    report = found.as_json()
    assert report["sustainable_eps"] == pytest.approx(found.best.rate, abs=0.1)
    assert report["latency_ms"] == {"mean": pytest.approx(2, abs=1), "p99": pytest.approx(4, abs=1)}
    assert [trial["holds"] for trial in report["trials"]] == [trial.holds for trial in found.trials]


def test_a_rate_that_does_not_hold_for_long_is_not_reported(tmp_path):
    class Tiring(Simulated):
        def _run(self, job: Job, seconds: float) -> Samples:
            self.system = System(1e6 if seconds < 9 else 0.7e6)
            return super()._run(job, seconds)

    found = Tiring(topology(tmp_path), seconds=4.0, confirm_s=9.0, start=5e5).run()
    assert found.best is not None and found.best.rate <= 0.73e6
    assert not found.trials[-1].holds


def test_a_system_that_holds_no_rate_is_reported_as_such(tmp_path):
    class Stuck(Simulated):
        def _run(self, job: Job, seconds: float) -> Samples:
            self.system = System(0.5 * job.graph.actors["events"].keys["rate"])
            return super()._run(job, seconds)

    found = Stuck(topology(tmp_path), start=1e9).run()
    assert found.best is None
    assert found.as_json()["sustainable_eps"] is None
    assert found.as_json()["latency_ms"] is None


def test_an_input_that_fits_into_the_channels_of_its_consumers_is_too_short(tmp_path):
    class Filled(Simulated):
        def _run(self, job: Job, seconds: float) -> Samples:
            samples = Samples()
            for number in range(21):
                samples.add(number / 10, 0 if number == 0 else 600, 1, 0.1, 0.2)
            return samples

    with pytest.raises(ConfigurationError, match=r"events: sent 600 rows at once .* 2\.0 s: .* longer input"):
        Filled(topology(tmp_path)).run()


def test_a_latency_that_is_allowed_lowers_what_is_found(tmp_path):
    class Loaded(Simulated):
        def _run(self, job: Job, seconds: float) -> Samples:
            rate = job.graph.actors["events"].keys["rate"]
            self.system = System(1e6, delay=0.001 / max(1 - rate / 1e6, 1e-3))
            return super()._run(job, seconds)

    found = Loaded(topology(tmp_path), start=1e5, limit_s=0.004).run()
    assert found.best is not None and 0.4e6 <= found.best.rate <= 0.5e6


def test_the_only_source_need_not_be_named_and_a_table_is_none(tmp_path):
    table = SECOND.replace(
        '[actors.other]\ntype = "null-sink"\ninputs = ["more"]',
        '[actors.other]\ntype = "static-join"\ninputs = ["events"]\ntable = "more"\non = "a"\n'
        '[actors.end]\ntype = "null-sink"\ninputs = ["other"]',
    )
    assert find_source(read_job(topology(tmp_path)), None) == "events"
    assert find_source(read_job(topology(tmp_path, table)), None) == "events"


def test_several_sources_need_a_name_and_a_misspelt_one_is_a_problem(tmp_path):
    job = read_job(topology(tmp_path, SECOND))
    assert find_source(job, "more") == "more"
    with pytest.raises(ConfigurationError, match="has 2 sources; allowed: events, more"):
        find_source(job, None)
    with pytest.raises(ConfigurationError, match="did you mean 'events'"):
        find_source(job, "event")


def test_unmeasured_latency_is_null_in_the_report(tmp_path):
    class Silent(Simulated):
        system = System(1e6, window=math.inf)

    found = Silent(topology(tmp_path), start=5e5, precision=0.5).run()
    assert found.as_json()["latency_ms"] == {"mean": None, "p99": None}
