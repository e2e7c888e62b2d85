"""Files know each other's types in small circles only: whoever changes one of them need not know the whole house."""

from __future__ import annotations

import ast

from tests.unit.modules_of_the_package import PACKAGE, Module, modules_of_the_package

MOST = 4
"""Files that import from each other, types included."""
LARGER = {"actors": 11, "placement": 5}
"""Rooms with a circle of more files."""


def modules() -> dict[str, Module]:
    found = {}
    for file, module in modules_of_the_package().items():
        name = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = module
    return found


def imports(modules: dict[str, Module]) -> dict[str, set[str]]:
    """Of each module those that it imports anything from, also for its annotations or within a function."""
    found: dict[str, set[str]] = {}
    for name, module in modules.items():
        own = found[name] = set()
        for node in module.imports:
            if isinstance(node, ast.Import):
                own |= {each.name for each in node.names}
            elif node.module is not None:
                whole = {f"{node.module}.{each.name}" for each in node.names}
                own |= whole & modules.keys() or {node.module}
        own &= modules.keys() - {name}
    return found


def reached(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Of each module all that it imports, through others too."""
    found = {}
    for start in graph:
        seen: set[str] = set()
        left = [start]
        while left:
            new = graph[left.pop()] - seen
            seen |= new
            left += new
        found[start] = seen
    return found


def circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    while leaves := {name for name, own in graph.items() if not own}:
        graph = {name: own - leaves for name, own in graph.items() if name not in leaves}
    behind = reached(graph)
    return {
        frozenset(other for other in seen if name in behind[other])
        for name, seen in behind.items()
        if name in seen
    }


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    assert circles(graph) == {frozenset({"b", "c"})}


def test_no_circle_has_more_files_than_a_reader_can_hold() -> None:
    large = {
        tuple(sorted(circle))
        for circle in circles(imports(modules()))
        if len(circle) > LARGER.get(min(circle).split(".")[1], MOST)
    }
    assert large == set()
