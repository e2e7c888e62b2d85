"""Machine models from lstopo's XML and from what the operating system says."""

from __future__ import annotations

from pathlib import Path

import pytest

from actorstream.errors import ConfigurationError
from actorstream.placement.rlas.lstopo import load_lstopo
from actorstream.placement.rlas.machine_shape import shape_of
from actorstream.topology.machine import Core, Machine, NumaNode


def node(number: int, cpus: int, first: int) -> str:
    mask = ((1 << cpus) - 1) << first
    cores = "".join(
        f'<object type="Core" cpuset="0x{1 << cpu:08x}"><object type="PU" cpuset="0x{1 << cpu:08x}"/></object>'
        for cpu in range(first, first + cpus)
    )
    return f'<object type="NUMANode" os_index="{number}" cpuset="0x{mask:08x}"/>{cores}'


def written(folder: Path, *nodes: str, distances: str = "") -> Path:
    file = folder / "big.xml"
    objects = "".join(nodes)
    file.write_text(
        f'<?xml version="1.0"?><topology version="2.0"><object type="Machine">{objects}</object>{distances}</topology>'
    )
    return file


def test_nodes_cores_and_distances_are_read(tmp_path: Path) -> None:
    distances = (
        '<distances2 type="NUMANode" nbobjs="2" name="NUMALatency"><indexes length="4">0 3 </indexes>'
        '<u64values length="12">10 21 21 10 </u64values></distances2>'
    )
    model = load_lstopo(written(tmp_path, node(0, 4, 0), node(3, 4, 4), distances=distances))
    assert [(each.cores, each.cpus, each.node) for each in model.sockets] == [
        (4, [0, 1, 2, 3], 0),
        (4, [4, 5, 6, 7], 3),
    ]
    assert model.latency_ns == [[90.0, 189.0], [189.0, 90.0]]
    assert model.name == "big (latencies and bandwidths assumed)"


def test_without_distances_all_other_nodes_are_twice_as_far(tmp_path: Path) -> None:
    model = load_lstopo(written(tmp_path, node(0, 1, 0), node(1, 1, 1)))
    assert model.latency_ns == [[90.0, 180.0], [180.0, 90.0]]


def memory(number: int, mask: int, kind: str) -> str:
    return f'<object type="NUMANode" os_index="{number}" cpuset="0x{mask:08x}" subtype="{kind}"/>'


@pytest.mark.parametrize(
    "more",
    [
        (memory(2, 0b0011, "HBM"), memory(3, 0b1100, "HBM")),
        (memory(2, 0, "GPUMemory"),),
        (memory(2, 0b1111, "CXL-DRAM"), memory(3, 0b1111, "NVM")),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_memory_that_has_no_cores_of_its_own_is_no_socket(
    tmp_path: Path, more: tuple[str, ...], first: bool
) -> None:
    cores = (node(0, 2, 0), node(1, 2, 2))
    model = load_lstopo(written(tmp_path, *((*more, *cores) if first else (*cores, *more))))
    assert [(each.cpus, each.node) for each in model.sockets] == [([0, 1], 0), ([2, 3], 1)]


def test_asymmetric_distances_are_an_error(tmp_path: Path) -> None:
    distances = (
        '<distances2 type="NUMANode" nbobjs="2" name="NUMALatency"><indexes>0 1</indexes>'
        "<u64values>10 21 22 10</u64values></distances2>"
    )
    with pytest.raises(ConfigurationError, match=r"big\.xml.*a symmetric matrix"):
        load_lstopo(written(tmp_path, node(0, 1, 0), node(1, 1, 1), distances=distances))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<topology>", "is no XML"),
        ("<topology/>", "has no cores"),
        ("<!ENTITY a 'b'>", "is no file of lstopo"),
        ('<topology><object type="Core" cpuset="zz"/></topology>', "has a number that is none"),
    ],
)
def test_other_files_are_errors(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.xml").write_text(text)
    with pytest.raises(ConfigurationError, match=message):
        load_lstopo(tmp_path / "x.xml")


def test_only_cores_that_the_process_may_use_count() -> None:
    nodes = tuple(
        NumaNode(number, distances=row)
        for number, row in enumerate(((10, 16, 22), (16, 10, 16), (22, 16, 10)))
    )
    machine = Machine((Core(0, 0), Core(1, 0), Core(9, 2)), nodes)
    model = shape_of(machine, "here", host="a")
    assert [(each.cpus, each.node, each.host) for each in model.sockets] == [([0, 1], 0, "a"), ([9], 2, "a")]
