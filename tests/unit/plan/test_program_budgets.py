"""The part of a worker's budget that each producer of a program's input gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from actorstream.plan.compile import read_job
from actorstream.plan.job import Job
from actorstream.topology.plan import PlannedChannel, load_plan

ROOT = Path(__file__).parents[3]


def job_of(workers: int) -> Job:
    path = ROOT / "apps" / "value_barrier" / "bench.toml"
    return read_job(
        path, None, (f"deploy.workers={workers}", 'deploy.transport="shm"', "deploy.edge_bytes=1000")
    )


def by_ends(job: Job) -> dict[tuple[str, str], PlannedChannel]:
    replicas = job.plan.replicas
    return {(replicas[each.producer].name, replicas[each.consumer].name): each for each in job.plan.channels}


def test_who_alone_brings_the_rows_of_a_worker_has_all_of_its_budget() -> None:
    found = by_ends(job_of(2))
    budgets = {ends: channel.budget for ends, channel in found.items()}
    assert budgets["values/0", "sum/1"] == budgets["values/1", "sum/2"] == 1000
    assert budgets["barriers/0", "sum/0"] == 1000
    marks_only = set(budgets) - {("values/0", "sum/1"), ("values/1", "sum/2"), ("barriers/0", "sum/0")}
    assert {budgets[each] for each in marks_only} == {1}


def test_those_who_bring_rows_of_the_same_worker_share_its_budget() -> None:
    budgets = {ends: channel.budget for ends, channel in by_ends(job_of(1)).items()}
    assert budgets == {("values/0", "sum/0"): 500, ("values/1", "sum/0"): 500, ("barriers/0", "sum/0"): 1000}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_plan_that_is_read_back_has_the_same_shares(workers: int, tmp_path: Path) -> None:
    job = job_of(workers)
    job.plan.save(tmp_path / "plan.json")
    assert load_plan(tmp_path / "plan.json").channels == job.plan.channels
