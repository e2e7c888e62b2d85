"""Machine models from lstopo's XML (`lstopo-no-graphics --of xml`, hwloc 2): nodes, cores and distances. Reads a file."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from actorstream.errors import ConfigurationError, Problem
from actorstream.placement.rlas.machine_model import MachineModel
from actorstream.placement.rlas.machine_shape import shaped

MOST_BYTES = 64 << 20


def load_lstopo(path: str | Path) -> MachineModel:
    """The model of the machine that an XML file of lstopo shows. ConfigurationError: it cannot be read, or shows no cores."""
    file = str(path)
    try:
        return _machine(_root(path, file), Path(path).stem, file)
    except ValueError as error:  # of int and float: numbers as lstopo does not write them
        raise ConfigurationError(
            Problem("--machine", f"has a number that is none: {error}", "the XML of lstopo", "", file)
        ) from error


def _root(path: str | Path, file: str) -> ElementTree.Element:
    try:
        text = Path(path).read_bytes()
        if len(text) > MOST_BYTES or b"<!ENTITY" in text:
            raise ConfigurationError(Problem("--machine", "is no file of lstopo", "its XML", "", file))
        return ElementTree.fromstring(text)
    except OSError as error:
        raise ConfigurationError(
            Problem("--machine", f"cannot be read: {error.strerror}", "", "", file)
        ) from error
    except ElementTree.ParseError as error:
        hint = "lstopo-no-graphics --of xml writes one"
        raise ConfigurationError(Problem("--machine", f"is no XML: {error}", "", hint, file)) from error


def _machine(root: ElementTree.Element, name: str, file: str) -> MachineModel:
    cores = [each for each in root.iter("object") if each.get("type") == "Core"]
    units = cores or [each for each in root.iter("object") if each.get("type") == "PU"]
    masks = [_first_cpu(each.get("cpuset", "")) for each in units]
    if not any(each is not None for each in masks):
        raise ConfigurationError(Problem("--machine", "has no cores", "objects of type Core or PU", "", file))
    usable = sorted(cpu for cpu in masks if cpu is not None)
    nodes = [each for each in root.iter("object") if each.get("type") == "NUMANode"]
    owned = _cpus_of(nodes, usable)
    numbers = [int(node.get("os_index", number)) for number, node in enumerate(nodes) if owned[number]]
    cpus = [each for each in owned if each]
    if not cpus:
        cpus, numbers = [usable], [0]
    return shaped(name, cpus, _distances(root, numbers), numbers, file=file)


def _cpus_of(nodes: list[ElementTree.Element], usable: list[int]) -> list[list[int]]:
    """The CPUs of each node. A CPU belongs to one of the nodes near it: to that with the fewest CPUs, of equals to ordinary
    memory, else to the first. So fast memory beside ordinary memory has none, and neither has a node of a whole package."""
    masks = [_mask(node.get("cpuset", "")) for node in nodes]
    is_special = [node.get("subtype", "DRAM") not in ("", "DRAM") for node in nodes]
    owned: list[list[int]] = [[] for _ in nodes]
    free = set(usable)
    for number in sorted(
        range(len(nodes)), key=lambda each: (masks[each].bit_count(), is_special[each], each)
    ):
        owned[number] = sorted(cpu for cpu in free if masks[number] >> cpu & 1)
        free.difference_update(owned[number])
    return owned


def _mask(text: str) -> int:
    """ "0xffffffff,0x0000000f" as a number: words of 32 bits, the highest first."""
    found = 0
    for word in text.split(","):
        found = found << 32 | (int(word, 16) if word.strip() else 0)
    return found


def _first_cpu(text: str) -> int | None:
    mask = _mask(text) if text else 0
    return (mask & -mask).bit_length() - 1 if mask else None


def _distances(root: ElementTree.Element, nodes: list[int]) -> list[list[float]]:
    """The matrix of `distances2`, where there is one; else 10 on the diagonal and 20 elsewhere."""
    for each in root.iter("distances2"):
        if each.get("type") != "NUMANode" or "Bandwidth" in each.get("name", ""):
            continue
        indexes = [int(word) for part in each.iter("indexes") for word in (part.text or "").split()]
        values = [float(word) for part in each.iter("u64values") for word in (part.text or "").split()]
        size = len(indexes)
        if len(values) == size * size and set(nodes) <= set(indexes):
            at = [indexes.index(node) for node in nodes]
            return [[values[i * size + j] for j in at] for i in at]
    return [[10.0 if i == j else 20.0 for j in range(len(nodes))] for i in range(len(nodes))]
