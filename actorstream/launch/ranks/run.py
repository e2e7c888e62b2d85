"""Runs one rank of a job: the ranks agree on what they run, open the ways between them, and run their workers. One of them, the
home rank, answers with the report of the whole run."""

from __future__ import annotations

import asyncio
import os
import resource
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec.structs import replace

from actorstream.checkpoint.store import CheckpointStore
from actorstream.control.interrupted import Interrupted, Suspended
from actorstream.control.messages import Leave
from actorstream.errors import ActorstreamError, ConfigurationError, RunError
from actorstream.launch.bind import placement_rows
from actorstream.launch.locks import locked
from actorstream.launch.ranks.home_rank import HomeRank
from actorstream.launch.ranks.identity import (
    Identity,
    check_alike,
    check_none_failed,
    code_of,
    differ_in_errors,
    files_of,
    host_names,
    keys_of,
)
from actorstream.launch.ranks.other_rank import OtherRank
from actorstream.launch.ranks.own_worker import OwnWorker
from actorstream.launch.ranks.ways import Ways
from actorstream.launch.report import Sampler, build_report, clock_rows, pss_bytes
from actorstream.launch.resume import check_latest, commit_ended
from actorstream.launch.run import RunResult
from actorstream.metrics.counters import CounterTable
from actorstream.placement.rlas import MachineModel
from actorstream.plan.compile import is_undecided
from actorstream.plan.measured_machine import this_machine
from actorstream.plan.rlas_inputs import RankHosts
from actorstream.topology.findings import HostFindings
from actorstream.topology.plan import ExecutionPlan
from actorstream.transports.network.exchange import here
from actorstream.transports.network.failed_ranks import FailedRanksError, as_failure, failures

if TYPE_CHECKING:
    from actorstream.launch.signals import Signals
    from actorstream.plan.job import Job
    from actorstream.transports.assembly import Assembly

START_S = 60.0
"""How long ranks wait for each other before the run, unless `network.start_timeout` is longer; compiling a job is the longest
that one may take."""


MOVE = "what it reads and writes has to be on its host, or on a file system that all hosts share"
"""The next step where a replica cannot use its files."""


class Compile(Protocol):
    """Compiles the job of this rank: under `planned`, or with a plan for the ranks on `hosts`. With neither, placement "rlas"
    stays undecided (`plan.compile.is_undecided`). `findings`: of this host."""

    def __call__(
        self, findings: HostFindings, planned: ExecutionPlan | None = None, hosts: RankHosts | None = None
    ) -> Job: ...


class Rank:
    """This process's part of a run.

    Args:
        assembly: the ranks. exit_status: what an error that ends the run makes of it.

    Attributes:
        job: once `agree` has returned. in_order: whether every rank has ended by itself.
        hosts: of all ranks, where the plan is made from a model of their machines.
        findings: of this host; they change no more once `agree` has returned.
    """

    def __init__(self, assembly: Assembly, exit_status: Callable[[BaseException], int | None]) -> None:
        self.assembly, self._exit_status = assembly, exit_status
        self._start_s = max(START_S, assembly.start_s)
        self.is_home = assembly.rank == assembly.home
        self.in_order = True
        self.identities: list[Identity] = []
        self.job: Job | None = None
        self.hosts: RankHosts | None = None
        self.findings = HostFindings()
        self._ways: Ways | None = None
        self._home: HomeRank | None = None
        self._told: Leave | None = None

    # -- before the run

    def agree(self, compile_job: Compile) -> Job:
        """The job of this rank, once all ranks have compiled one and they are alike. RefusedError, on every rank: they are
        not, or one could not; or a rank that runs a replica does not have its files, or others than the other replicas."""
        job = self._all_compiled(compile_job)
        home = self.identities[self.assembly.home]
        if job.deploy.rlas is not None and (is_undecided(job) or job.plan.model is not None):
            self.hosts = self._hosts(job)
        if is_undecided(job):  # the home rank plans for all, and no rank from its own measurements
            home = self._all_told(lambda own: self._planned(own, compile_job))[self.assembly.home]
        with self._agreed() as own:
            if job.fingerprint != home.plan:
                job = self._planned_by(home, compile_job)
            self._check_files(job)
            own.files = files_of(job, self.assembly.rank)
        if not self.is_home:
            job.counters = CounterTable(job.counters.rows, is_shared=False)
        self.job = job
        return job

    def _all_compiled(self, compile_job: Compile) -> Job:
        """The job of this rank, once all have compiled one, and `identities`. Ranks on hosts without the files of an actor get
        its schemas from those that have found them, as often as that makes more actors known, and plans of programs, which
        are made from the files, from one that has made them. RefusedError as `_all_told`."""
        jobs: list[Job] = []
        plans: list[ExecutionPlan] = []

        def compiled(own: Identity) -> None:
            if not jobs:
                jobs.append(compile_job(self.findings, plans[0] if plans else None))
            job = jobs[0]
            own.graph, own.plan, own.code = job.graph.fingerprint, job.fingerprint, code_of(job)
            own.keys = keys_of(job)
            own.deploy = msgspec.json.encode(job.deploy, order="deterministic").decode()
            own.resume = job.restored.number if job.restored is not None else 0
            own.whole_plan = job.plan.to_json() if self.is_home else b""

        def found(own: Identity) -> None:
            own.outputs = self.findings.plain()
            if jobs and jobs[0].plan.dependencies:
                own.whole_plan = jobs[0].plan.to_json()

        told, is_more = self._told_by_all(compiled), True
        while is_more and differ_in_errors(told):
            shared = self._told_by_all(found)
            is_more = self.findings.give(each.outputs for each in shared)
            made = [each.whole_plan for each in shared if each.whole_plan]
            plans = [msgspec.json.decode(plan, type=ExecutionPlan) for plan in made[:1]]
            told = self._told_by_all(compiled)
        check_alike(told, self.assembly.home)
        self.identities = told
        return jobs[0]

    def _check_files(self, job: Job) -> None:
        """ConfigurationError: the files of an actor are missing here, although this rank runs one of its replicas."""
        wrong = [
            replace(
                each, hint="; ".join(filter(None, (each.hint, f"this rank runs a replica of {name!r}", MOVE)))
            )
            for name in job.actors_of(self.assembly.rank)
            for each in dict.fromkeys(self.findings.problems.get(name, ()))
        ]
        if wrong:
            raise ConfigurationError(wrong)

    def _all_told(self, fill: Callable[[Identity], None]) -> list[Identity]:
        """Gathers what all ranks say of themselves. RefusedError, on every rank: one could not fill in its own, or they are not
        alike."""
        told = self._told_by_all(fill)
        check_alike(told, self.assembly.home)
        return told

    def _told_by_all(self, fill: Callable[[Identity], None]) -> list[Identity]:
        """Gathers what all ranks say of themselves. A rank that could not fill in its own says its error."""
        own, failure = self._identity(), None
        try:
            fill(own)
        except BaseException as error:
            failure = error
            self._note(own, error)
        gathered = self.assembly.gather(msgspec.msgpack.encode(own), self._start_s)
        if failure is not None and not isinstance(failure, ActorstreamError):
            raise failure
        return [msgspec.msgpack.decode(each, type=Identity) for each in gathered]

    def _hosts(self, job: Job) -> RankHosts:
        """The hosts of all ranks, and their machines, each measured by its lowest rank unless the deployment names a file. A
        machine has the cores of all of its ranks, each of which may be bound to some of them."""
        places = [each.place for each in self.identities]
        spec, mine = job.deploy.rlas, places[self.assembly.rank]

        def measured(own: Identity) -> None:
            if spec is not None and spec.machine is None and places.index(mine) == self.assembly.rank:
                cpus = {cpu for each in self.identities if each.place == mine for cpu in each.cpus}
                own.machine = msgspec.json.encode(this_machine(sorted(cpus)))

        told = self._all_told(measured)
        machines = {
            each.place: msgspec.json.decode(each.machine, type=MachineModel) for each in told if each.machine
        }
        names = host_names(self.identities, job.deploy.hosts)
        return RankHosts(
            names,
            {name: machines[place] for name, place in zip(names, places) if place in machines},
            [each.cpus for each in self.identities],
        )

    def _planned(self, own: Identity, compile_job: Compile) -> None:
        if self.is_home:
            job = compile_job(self.findings, hosts=self.hosts)
            own.plan, own.whole_plan = job.fingerprint, job.plan.to_json()

    def _planned_by(self, home: Identity, compile_job: Compile) -> Job:
        """The job of this rank under the home rank's plan. ConfigurationError: it has another topology."""
        try:
            return compile_job(self.findings, msgspec.json.decode(home.whole_plan, type=ExecutionPlan))
        except ConfigurationError as error:
            said = "; ".join(f"{each.message}; allowed: {each.allowed}" for each in error.problems)
            raise ConfigurationError(
                f"the plan of {home.name} does not fit what this rank was given: it {said}; give all ranks the same "
                "topology file and --set"
            ) from error

    @property
    def speaker(self) -> int | None:
        """The rank that says that the home rank is lost; None: they do not know each other yet. One on another host, if there
        is any: it may be the home rank's host that is gone."""
        if not self.identities:
            return None
        home = self.identities[self.assembly.home]
        others = [each for each in self.identities if each is not home]
        return min(others, key=lambda each: (each.place == home.place, each.rank)).rank

    def _identity(self) -> Identity:
        place = f"{here().hex()}-{Path('/proc/self/ns/mnt').stat().st_ino}"
        cpus = sorted(os.sched_getaffinity(0))
        return Identity(
            rank=self.assembly.rank, host=socket.gethostname(), pid=os.getpid(), place=place, cpus=cpus
        )

    def _note(self, own: Identity, error: BaseException) -> None:
        status = self._exit_status(error)
        own.error = str(error) if isinstance(error, ActorstreamError) else repr(error)
        own.status = 1 if status is None else status

    @contextmanager
    def _agreed(self) -> Iterator[Identity]:
        """Yields what this rank says of itself at the end. Raises RefusedError on all ranks if one of them fails, or they are
        not alike. A rank that fails leaves out what the others gather in between. They learn of the failure there, and leave
        out the gather at the end."""
        own, failed = self._identity(), None
        told: list[bytes] = []
        try:
            yield own
        except FailedRanksError as error:
            told = error.told
        except BaseException as error:
            failed = error
            self._note(own, error)
        if not told:
            said = msgspec.msgpack.encode(own)
            told = self.assembly.gather(said if failed is None else as_failure(said), self._start_s)
        if failed is not None and not isinstance(failed, ActorstreamError):
            raise failed
        wrong = [msgspec.msgpack.decode(each, type=Identity) for each in failures(told)]
        check_none_failed(wrong, self.assembly.size)
        check_alike([msgspec.msgpack.decode(each, type=Identity) for each in told], self.assembly.home)

    # -- the run

    def run(
        self,
        signals: Signals,
        *,
        started: float,
        memory: bool = False,
        on_start: Callable[[Sampler], Callable[[], None] | None] | None = None,
    ) -> RunResult | Leave:
        """Runs the job: at the home rank, the result of the whole run; elsewhere, how the home rank said that it ended.
        Raises, at the home rank, what ended the run; elsewhere WorkerDiedError, if the home rank is lost."""
        job = self.job
        assert job is not None
        with ExitStack() as held:
            self._lock(job, held)
            if job.restored is not None and job.restored.ended:
                return self._commit(job, started)
            with self._agreed():
                fabric = job.make_fabric(self.assembly.options())
                ways = self._ways = Ways(self.assembly, job, self._start_s)
            own = OwnWorker(job, self.assembly.rank, fabric, ways.peers)
            if not self.is_home:
                other = OtherRank(own, ways, self.identities[self.assembly.home], memory=memory)
                self.in_order = False
                self._told = asyncio.run(other.run(signals))
                self.in_order = self._told.in_order and not own.is_alive
                return self._told
            sampler = Sampler(job, started, memory=memory)
            tick = on_start(sampler) if on_start is not None else None
            self._home = home = HomeRank(job, own, ways, self.identities, sampler, tick)
            return self._watch(home, signals, started)

    def _lock(self, job: Job, held: ExitStack) -> None:
        """Locks the checkpoint folder at the home rank, and outputs once on each host; sees that all have one folder."""
        places = [each.place for each in self.identities]
        is_first = places.index(places[self.assembly.rank]) == self.assembly.rank
        proof = secrets.token_bytes(16)
        spec = job.deploy.checkpoint
        with self._agreed():
            held.enter_context(locked(job, store=self.is_home, outputs=is_first))
            if self.is_home:
                check_latest(job)
                if spec is not None:
                    CheckpointStore(spec.path).mark(proof)
        if spec is not None:
            proof = self.assembly.gather(proof, self._start_s)[self.assembly.home]
            with self._agreed():
                if CheckpointStore(spec.path).marked() != proof:
                    home = self.identities[self.assembly.home]
                    raise RunError(
                        f"the checkpoint folder {spec.path!r} is not that of {home.name}: all ranks have to use one folder, "
                        "on a file system that all hosts share"
                    )

    def _commit(self, job: Job, started: float) -> RunResult | Leave:
        """The run had ended, and only its commit may be left to do."""
        assert job.restored is not None
        with self._agreed():
            commit_ended(job, job.restored, self.assembly.rank)
        if not self.is_home:
            return Leave(0, True)
        report = build_report(job, Sampler(job, started), elapsed_s=monotonic() - started, cpu_s=0.0)
        return RunResult(report, {name: [] for name in job.collecting()})

    def _watch(self, home: HomeRank, signals: Signals, started: float) -> RunResult:
        interrupted = suspended = None
        try:
            asyncio.run(home.run(signals))
        except Interrupted as error:
            if not error.drained:
                raise
            interrupted = error
        except Suspended as error:
            suspended = error
        finally:
            self.in_order = home.in_order
        own = resource.getrusage(resource.RUSAGE_SELF)
        sampler = home.sampler
        if sampler.memory:
            sampler.peak_pss = max(sampler.peak_pss, pss_bytes(os.getpid())) + home.pss
        cpu_s = own.ru_utime + own.ru_stime + home.cpu_s
        job = home.job
        report = build_report(job, sampler, elapsed_s=monotonic() - started, cpu_s=cpu_s)
        checkpoints = home.host.coordinator.checkpoints
        if home.host.bound:
            report["placement"] = placement_rows(home.host.bound)
        clocks = self.assembly.clocks()
        if clocks:
            report["clocks"] = clock_rows(clocks)
        report["checkpoints"] = checkpoints.made if checkpoints is not None else 0
        found: dict[str, list[Any]] = {
            name: job.decode_collected(name, home.host.collected.get(name, [])) for name in job.collecting()
        }
        return RunResult(report, found, interrupted, suspended)

    # -- after the run

    def leave(self, status: int, text: str = "") -> None:
        """To be called last, when this process has said everything. At the home rank, it lets the others end."""
        if self._home is not None:
            self._home.dismiss(status, text)
        if self._ways is not None:
            if self.in_order or not self.is_home:
                self._ways.close()
            else:
                self._ways.signs.close()
        ends_others = self.is_home or self._told is None
        self.assembly.end(status, in_order=self.in_order, ends_others=ends_others)
