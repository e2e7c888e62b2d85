"""Checks before the run that all ranks run the same job. Each rank sends the others its identity: host, versions, fingerprints of
graph and plan, digests of the actors' code, names of shared files. Only `code_of` reads files, and `files_of` lists folders; the
rest is pure."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream import __version__
from actorstream.errors import ConfigurationError, shortened
from actorstream.topology.findings import PlainOutputs

if TYPE_CHECKING:
    from actorstream.plan.job import Job
    from actorstream.topology.hosts import HostSpec

OURS = "actorstream"
LONGEST_SHOWN = 60
"""Characters of a value that an error shows."""


class Identity(msgspec.Struct, kw_only=True):
    """One rank.

    Attributes:
        host, pid: where it runs. place: of the ranks with the same one, the lowest holds the locks of outputs.
        error: why it cannot run, in words; "" if it can. status: the exit status for that.
        graph, plan: fingerprints. keys: as of `keys_of`. code: as of `code_of`. deploy: the deployment, as JSON.
        resume: number of the checkpoint that it goes on from; 0: none.
        whole_plan: the execution plan, as JSON; of the home rank only.
        machine: the model of its host, as JSON, where a plan is to be made for it; of the lowest rank of each place.
        cpus: that it may use.
        outputs: of the actors that its host has the files for; only where another host lacks some.
        files: as of `files_of`, once the plan is made.
    """

    rank: int
    host: str
    pid: int
    place: str
    version: str = __version__
    python: str = platform.python_version()
    error: str = ""
    status: int = 0
    graph: int = 0
    plan: int = 0
    keys: dict[str, str] = {}
    deploy: str = ""
    code: dict[str, str] = {}
    resume: int = 0
    whole_plan: bytes = b""
    machine: bytes = b""
    cpus: list[int] = []
    outputs: PlainOutputs = {}
    files: dict[str, list[str]] = {}

    @property
    def name(self) -> str:
        """As errors name it."""
        return f"rank {self.rank} on host {self.host}"


class RefusedError(ConfigurationError):
    """The ranks cannot run together. `status`: the exit status that says what is wrong."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.text, self.status = text, status

    def __str__(self) -> str:
        """Nothing is wrong with the configuration of a run that was stopped or has lost a rank."""
        return super().__str__() if self.status == 2 else shortened(self.text)


def host_names(ranks: Sequence[Identity], listed: Sequence[HostSpec]) -> list[str]:
    """The name of each rank's host: its address in the deployment, else the name that it gives itself; hosts that give themselves
    the same name get numbers."""
    slots = [each.address for each in listed for _ in range(each.slots)]
    if len(slots) >= len(ranks):
        return slots[: len(ranks)]
    names: dict[str, str] = {}
    for each in ranks:
        same = sum(name.partition("#")[0] == each.host for name in names.values())
        names.setdefault(each.place, f"{each.host}#{same + 1}" if same else each.host)
    return [names[each.place] for each in ranks]


def code_of(job: Job) -> dict[str, str]:
    """Module -> digest of the file that it was read from, for all classes of actors that are not this package's."""
    found = {}
    for actor in job.graph.actors.values():
        for each in actor.cls.__mro__:
            name = each.__module__
            file = getattr(sys.modules.get(name), "__file__", None)
            if file and name.split(".")[0] not in (OURS, "builtins", "abc", "typing"):
                found[name] = blake2b(Path(file).read_bytes(), digest_size=8).hexdigest()
    return dict(sorted(found.items()))


def keys_of(job: Job) -> dict[str, str]:
    """`actor.key` -> its value as text, or a digest of a long one. Paths are left out, since each is read where the replica runs,
    and so are objects, whose text may say where they lie in memory."""
    found = {}
    for actor in job.graph.actors.values():
        for key, value in actor.keys.items():
            if _is_plain(value):
                text = repr(value)
                digest = blake2b(text.encode(), digest_size=8).hexdigest()
                found[f"{actor.name}.{key}"] = text if len(text) <= LONGEST_SHOWN else digest
    return found


def files_of(job: Job, rank: int) -> dict[str, list[str]]:
    """Source of which `rank` runs one of several replicas -> the files that they share out among themselves, in order, by their
    names in the folder that holds all of them, which may be another one on each host."""
    found = {}
    for name in job.actors_of(rank):
        actor = job.graph.actors[name]
        says: Any = getattr(actor.cls, "files_read", None)
        if says is not None and actor.role == "source" and actor.replicas > 1:
            files = [Path(each).absolute() for each in says(actor.keys)]
            folder = os.path.commonpath([each.parent for each in files]) if files else ""
            found[name] = [os.path.relpath(each, folder) for each in files]
    return found


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_plain(each) for item in value.items() for each in item)
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str | int | float | timedelta | datetime)


def differ_in_errors(ranks: Sequence[Identity]) -> bool:
    """Whether what is wrong with the input of some ranks is not wrong with that of all: files may be missing on some hosts."""
    failed = [each for each in ranks if each.error]
    return {each.status for each in failed} == {2} and len({each.error for each in ranks}) > 1


def check_alike(ranks: Sequence[Identity], home: int) -> None:
    """RefusedError: a rank cannot run at all, would run something else than the home rank, or shares a source with a rank that
    has other files. It names the rank, its host and both values, and is the same on every rank."""
    check_none_failed([each for each in ranks if each.error], len(ranks))
    own = ranks[home]
    for each in ranks:
        _refuse(own, each, *_difference(own, each))
    for name in sorted({name for each in ranks for name in each.files}):
        own, *others = (each for each in ranks if name in each.files)
        for each in others:
            _refuse(own, each, *_files_difference(own, each, name))


def _refuse(own: Identity, other: Identity, what: str, hint: str) -> None:
    """RefusedError, if there is a difference."""
    if what:
        raise RefusedError(f"{other.name} does not fit {own.name}: {what}; {hint}", 2)


def check_none_failed(failed: Sequence[Identity], count: int) -> None:
    """RefusedError: these of `count` ranks have failed. It is the same on every rank, and names the first one."""
    if not failed:
        return
    first = failed[0]
    if len(failed) == count and len({each.error for each in failed}) == 1:
        raise RefusedError(first.error, first.status)
    raise RefusedError(f"{first.name}: {first.error}", first.status)


def _difference(own: Identity, other: Identity) -> tuple[str, str]:
    """What is different, with both values, and what to do; ("", "") if they are alike."""
    if other.version != own.version:
        return (
            f"actorstream is {_both(own, other, own.version, other.version)}",
            "install one version on all hosts",
        )
    if other.python.rpartition(".")[0] != own.python.rpartition(".")[0]:
        return f"Python is {_both(own, other, own.python, other.python)}", "use one version on all hosts"
    for name in sorted({*own.code, *other.code}):
        theirs, ours = other.code.get(name, "no file"), own.code.get(name, "no file")
        if theirs != ours:
            return (
                f"module {name} is {_both(own, other, ours, theirs)}",
                "copy the same code to all hosts, or start all ranks in one shared folder",
            )
    if other.deploy != own.deploy:
        return _deploy_difference(own, other), "give all ranks the same --deploy, --set and --workers"
    if other.graph != own.graph:
        return (
            f"the graph is {_both(own, other, f'{own.graph:016x}', f'{other.graph:016x}')}",
            "give all ranks the same topology file, --set and input files",
        )
    for name in sorted({*own.keys, *other.keys}):
        theirs, ours = other.keys.get(name, "not set"), own.keys.get(name, "not set")
        if theirs != ours:
            return (
                f"actors.{name} is {_both(own, other, ours, theirs)}",
                "give all ranks the same topology file and --set",
            )
    if other.resume != own.resume:
        return (
            f"the checkpoint that it goes on from is {_both(own, other, own.resume or 'none', other.resume or 'none')}",
            "all ranks have to use the same checkpoint folder, on a file system that all hosts share",
        )
    return "", ""


def _files_difference(own: Identity, other: Identity, name: str) -> tuple[str, str]:
    """As `_difference`, of the files of a source that both have replicas of."""
    pairs = zip_longest(own.files[name], other.files[name])
    for number, (ours, theirs) in enumerate(pairs, 1):
        if ours != theirs:
            shown = ["no file" if each is None else repr(each) for each in (ours, theirs)]
            return (
                f"file {number} of actors.{name} is {_both(own, other, *shown)}",
                "its replicas share the files out by their order, so the hosts of all its replicas need files of the same names, "
                "or set replicas = 1",
            )
    return "", ""


def _deploy_difference(own: Identity, other: Identity) -> str:
    theirs, ours = msgspec.json.decode(other.deploy), msgspec.json.decode(own.deploy)
    name = next(key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key))
    return f"deploy.{name} is {_both(own, other, repr(ours.get(name)), repr(theirs.get(name)))}"


def _both(own: Identity, other: Identity, ours: object, theirs: object) -> str:
    """Both values, each with the rank that has it, since every rank prints this text."""
    return f"{theirs} on rank {other.rank}, {ours} on rank {own.rank}"
