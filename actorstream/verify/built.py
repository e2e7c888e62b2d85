"""Runs a topology that was built in Python, in this process and its forks, its sinks led into a folder of the run."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from actorstream.errors import ActorstreamError, ConfigurationError, Problem
from actorstream.launch.run import run_spec
from actorstream.plan.compile import available
from actorstream.plan.registry import registry
from actorstream.topology.available import check_deploy
from actorstream.topology.decode import MismatchError, decode_value, mismatched
from actorstream.topology.load import load_deploy
from actorstream.topology.overrides import parse_override
from actorstream.topology.spec import RESERVED, OnError, Replicas
from actorstream.topology.validate import check_graph
from actorstream.verify.deployments import Deployment
from actorstream.verify.launches import CHECKPOINT, Ran, add_files, busiest, led_to
from actorstream.verify.sinks import SinkOutput

if TYPE_CHECKING:
    from actorstream.topology.builder import Topology
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.graph import Graph
    from actorstream.topology.spec import TopologySpec


class BuiltTarget:
    """A topology object, or a function that builds one (where its rows can be had once only).

    Args:
        topology: which is left as it is; deploy, sets: as for `actorstream launch`, `actors.NAME.KEY` only where KEY is
            a key of its own, `replicas` or `on_error`."""

    memory = True
    no_console = "its lines go to this process's standard output"

    def __init__(
        self,
        topology: Topology | Callable[[], Topology],
        deploy: Path | None = None,
        sets: Sequence[str] = (),
    ) -> None:
        self.build: Callable[[], Topology] = topology if callable(topology) else (lambda: topology)
        self.deploy, self.sets = deploy, list(sets)

    def graph(self, deployment: Deployment) -> Graph:
        spec, deploy = self._spec(deployment), self._deploy(deployment)
        problems: list[Problem] = []
        check_deploy(deploy, available(), spec.written, problems)
        graph = check_graph(spec, registry(), deploy, available(), problems)
        if problems or graph is None:
            raise ConfigurationError(problems)
        return graph

    def command(self, deployment: Deployment, outputs: Sequence[SinkOutput], folder: Path) -> str:
        keys: dict[str, Any] = {}
        actors = []
        for text in [*self.sets, *deployment.sets()]:
            path, value = parse_override(text)
            if path[0] == "deploy":
                inside = keys
                for step in path[1:-1]:
                    inside = inside.setdefault(str(step), {})
                inside[str(path[-1])] = value
            else:
                actors.append(f"{'.'.join(map(str, path))} = {value!r}")
        call = f"topology.run({', '.join(f'{key}={value!r}' for key, value in keys.items())})"
        return f"{call}, with {', '.join(actors)}" if actors else call

    def run(self, deployment: Deployment, outputs: Sequence[SinkOutput], folder: Path, timeout: float) -> Ran:
        folder.mkdir(parents=True)
        spec = self._spec(deployment)
        for output in outputs:
            if output.kind == "file":
                spec.actors[output.sink].keys["path"] = led_to(output, folder)
        started = monotonic()
        try:
            deploy = self._deploy(deployment)
            if deploy.checkpoint is not None:
                deploy.checkpoint.path = str(folder.absolute() / CHECKPOINT)
            result = run_spec(spec, deploy)
        except ConfigurationError:
            raise
        except ActorstreamError as error:
            return Ran(monotonic() - started, error=str(error))
        ran = Ran(monotonic() - started, busiest=busiest(result.report))
        for output in outputs:
            if output.kind == "file":
                add_files(ran, output, led_to(output, folder))
            elif output.kind == "memory":
                ran.rows[output.sink] = partial(_shown, result.collected.get(output.sink, []))
        return ran

    def _spec(self, deployment: Deployment) -> TopologySpec:
        spec = self.build().spec()
        actors = {name: copy.copy(actor) for name, actor in spec.actors.items()}
        for actor in actors.values():
            actor.keys = dict(actor.keys)
        for text in [*self.sets, *deployment.sets()]:
            path, value = parse_override(text)
            if path[0] == "deploy":
                continue
            name, key = str(path[1]) if len(path) == 3 else "", str(path[-1])
            decided = {"replicas": Replicas, "on_error": OnError}.get(key)
            if path[0] != "actors" or name not in actors or (decided is None and key in RESERVED):
                raise ConfigurationError(
                    Problem(f"--set {text}", "is no key of an actor here", "actors.NAME.KEY=VALUE")
                )
            if decided is None:
                actors[name].keys[key] = value
                continue
            try:
                decode_value(value, decided, path, spec.written)
            except MismatchError as mismatch:
                raise ConfigurationError(mismatched(mismatch, path, spec.written)) from None
            setattr(actors[name], key, value)
        spec = copy.copy(spec)
        spec.actors = actors
        return spec

    def _deploy(self, deployment: Deployment) -> DeploySpec:
        return load_deploy(self.deploy, [*self.sets, *deployment.sets()])


def _shown(events: Iterable[Any]) -> Iterable[bytes]:
    return (repr(event).encode() for event in events)
