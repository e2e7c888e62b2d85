"""What tests look for in the modules of the package, each of which is parsed once. Trees are not kept: they are millions of
objects, which the collector would look at again and again."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[2] / "actorstream"


class Module(NamedTuple):
    is_silent: bool
    """It has something in it and does not say what it is for."""
    imports: list[ast.Import | ast.ImportFrom]
    """All imports, also within functions."""
    classes: list[str]
    """Names of the classes at its top."""
    methods: list[tuple[str, int]]
    """Each class, wherever it is, and how many methods it has."""


@functools.cache
def modules_of_the_package() -> dict[Path, Module]:
    return {path: _module(ast.parse(path.read_text())) for path in sorted(PACKAGE.rglob("*.py"))}


def _module(tree: ast.Module) -> Module:
    nodes = list(_statements(tree))
    return Module(
        bool(tree.body) and not ast.get_docstring(tree),
        [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)],
        [node.name for node in tree.body if isinstance(node, ast.ClassDef)],
        [(node.name, len(_methods(node))) for node in nodes if isinstance(node, ast.ClassDef)],
    )


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Every node that can be a statement; expressions have none in them."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.expr))


def _methods(node: ast.ClassDef) -> set[str]:
    return {each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
