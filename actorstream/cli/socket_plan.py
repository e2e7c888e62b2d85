"""`actorstream plan --machine`: which replicas RLAS puts on which socket of a machine, and the rates that it predicts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from actorstream.placement.rlas import MachineModel, PlanOptions, Profile, SocketPlan
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.graph import Graph


def show_socket_plan(
    graph: Graph,
    deploy: DeploySpec,
    topology: Path,
    machine: Path,
    *,
    profile: Path | None,
    options: PlanOptions,
    as_written: bool,
    json_: bool,
    mermaid: bool,
    svg: Path | None,
) -> int:
    """Plans and prints. `as_written`: operators with a written number of replicas keep it."""
    from actorstream.cli.output_file import write_output
    from actorstream.drawing.sockets import picture_of_sockets, sockets_text
    from actorstream.drawing.svg import svg as drawn
    from actorstream.drawing.text import mermaid as flowchart
    from actorstream.errors import ConfigurationError
    from actorstream.placement.rlas import dataflow_of, fastest_plan, planned_rows
    from actorstream.plan.fuse import fusible
    from actorstream.plan.rlas_plan import program_problems

    if problems := program_problems(graph):
        raise ConfigurationError(problems)
    model = read_machine_model(machine)
    costs = read_profile(graph, topology, profile)
    direct = fusible if deploy.pipelining else None
    scale = not as_written
    # Calls save hand-overs, and keep an operator at as many replicas as its source or sink has.
    chained = dataflow_of(graph, direct=direct, scale=scale)
    apart = dataflow_of(graph, direct=direct, scale=scale, apart=True)
    dataflow, made = fastest_plan(
        [chained] if apart == chained else [chained, apart],
        model,
        costs,
        msgspec.structs.replace(options, rows=planned_rows(deploy.batch_size)),
    )
    if json_:
        print(json.dumps(as_json(made), indent=2))
    elif mermaid:
        sys.stdout.write(flowchart(picture_of_sockets(made, dataflow)))
    elif svg is None:
        sys.stdout.write(sockets_text(made))
        fixed = [each.name for each in dataflow.operators if not each.scalable]
        if fixed:
            print(
                f"\nreplicas as written: {', '.join(fixed)}"
                + ("; without --as-written operators grow" if as_written else "")
            )
    if svg is not None:
        write_output(svg, drawn(picture_of_sockets(made, dataflow)), "--svg")
        print(f"wrote {svg}", file=sys.stderr)
    return 0


def plan_options(strategy: str, ingress: float, compression: int, steps: int, divide: bool) -> PlanOptions:
    """The options of a search from those of the command line. ConfigurationError: a number is out of range."""
    from actorstream.errors import ConfigurationError, Problem
    from actorstream.placement.rlas import PlanOptions

    wrong = [
        Problem(name, f"is {value}", allowed)
        for name, value, allowed, right in (
            ("--ingress", ingress, "a number from 0 to 1e15", 0 <= ingress <= 1e15),
            ("--compression", compression, "at least 1", compression >= 1),
            ("--steps", steps, "1 to 1000000000", 1 <= steps <= 10**9),
        )
        if not right
    ]
    if wrong:
        raise ConfigurationError(wrong)
    return PlanOptions(
        strategy=strategy, ingress=ingress, compression=compression, steps=steps, divide=divide
    )


def as_json(plan: SocketPlan) -> dict[str, object]:
    """The plan as plain values, fingerprints as hexadecimal digits."""
    found: dict[str, object] = {"fingerprint": f"{plan.fingerprint:016x}", **msgspec.to_builtins(plan)}
    for name in ("topology", "machine_fingerprint", "profile_fingerprint"):
        found[name] = f"{found[name]:016x}"
    return found


def read_machine_model(path: Path) -> MachineModel:
    """The model in a TOML file, or in lstopo's XML."""
    from actorstream.placement.rlas import load_machine_model
    from actorstream.placement.rlas.lstopo import load_lstopo

    return load_lstopo(path) if path.suffix == ".xml" else load_machine_model(path)


def read_profile(graph: Graph, topology: Path, profile: Path | None) -> Profile:
    """The profile that was named, or `profile.toml` beside the topology."""
    from actorstream.errors import ConfigurationError, Problem
    from actorstream.placement.rlas import load_profile

    file = profile or topology.parent / "profile.toml"
    if profile is None and not file.exists():
        hint = f"actorstream profile {topology} --out {file} measures one"
        raise ConfigurationError(
            Problem(
                "--profile",
                f"is not given, and {str(file)!r} is not there",
                "a profile of this topology",
                hint,
            )
        )
    return load_profile(file, graph.profile_fingerprint)
