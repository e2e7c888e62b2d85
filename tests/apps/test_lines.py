"""The lines of code that docs/dgs.md and the READMEs of the DGS apps state, counted as in appendix A of the paper."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from pathlib import Path

import pytest

from tests.apps.dependency import APPS

NAMES = ("value_barrier", "page_view_join", "rule_fraud", "keyed_counters", "outlier_detection", "smart_home")
PAGE = APPS.parent / "docs" / "dgs.md"
PARALLEL = {"depends", "fork", "join", "_sees"}
ROW = re.compile(r"^\| `program\.py`.* \| (\d+) \| (\d+) \| (\d+|–) \|$", re.MULTILINE)


def code_lines(text: str) -> set[int]:
    """Numbers of the lines that have code: no comments, documentation or imports."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in {*skipped, tokenize.ENDMARKER}:
            found |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        documents = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if documents or isinstance(node, ast.Import | ast.ImportFrom):
            found -= set(range(node.lineno, node.end_lineno + 1))  # type: ignore[operator]
    return found


def counted(paths: list[Path]) -> tuple[int, int, int]:
    """Lines of the sequential program, of what makes it parallel, and of `update_batch`."""
    counts: Counter[str] = Counter()
    for path in paths:
        text = path.read_text()
        rest = code_lines(text)
        for node in ast.walk(ast.parse(text)):
            what = ""
            if isinstance(node, ast.FunctionDef):
                what = "parallel" if node.name in PARALLEL else "batch" if node.name == "update_batch" else ""
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                target = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
                what = (
                    "parallel"
                    if target in {"tags", "self.tags", "states", "forks", "additive", "Part"}
                    else ""
                )
            if what:
                own = rest & set(range(node.lineno, node.end_lineno + 1))  # type: ignore[operator,attr-defined]
                counts[what] += len(own)
                rest -= own
        counts["sequential"] += len(rest)
    return counts["sequential"], counts["parallel"], counts["batch"]


@pytest.mark.parametrize("name", NAMES)
def test_the_readme_states_the_lines_of_code(name: str) -> None:
    paths = [APPS / name / "program.py"]
    paths += [path for path in [APPS / name / "model.py"] if path.exists()]
    stated = ROW.search((APPS / name / "README.md").read_text())
    assert stated is not None
    assert tuple(0 if each == "–" else int(each) for each in stated.groups()) == counted(paths)
    (row,) = (line for line in PAGE.read_text().splitlines() if line.startswith(f"| [{name}]("))
    assert row.endswith(f"| {' | '.join(stated.groups())} |")
