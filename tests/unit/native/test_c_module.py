"""C files of the user's become modules: compiled once, again when what they are made of changes, and errors say what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from actorstream import CompileError, compile_c
from actorstream.native import c_module
from actorstream.native.cpus import processor

DOUBLES = """
#include "factor.h"
/* cdef */
void doubles(int64_t rows, int64_t *values);
/* end */
static int64_t twice(int64_t value) { return FACTOR * value; }
/* cdef */
int64_t factor(void);
/* end */
void doubles(int64_t rows, int64_t *values)
{
    for (int64_t i = 0; i < rows; i++)
        values[i] = twice(values[i]);
}
int64_t factor(void) { return FACTOR; }
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(c_module, "_loaded", {})
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "kernel.c").write_text(DOUBLES)
    (folder / "factor.h").write_text("#include <stdint.h>\n#define FACTOR 2\n")
    return folder / "kernel.c"


def modules(source: Path) -> list[Path]:
    return sorted((source.parents[1] / "cache" / "actorstream" / "app").glob("_kernel_*"))


def test_a_file_is_compiled_once_and_its_functions_work_on_arrays_in_place(source: Path) -> None:
    module = compile_c(source)
    values = np.arange(5)
    module.lib.doubles(5, module.ffi.from_buffer("int64_t[]", values))
    assert values.tolist() == [0, 2, 4, 6, 8]
    (made,) = modules(source)
    written = made.stat().st_mtime_ns
    assert compile_c(str(source)) is module
    assert [path.stat().st_mtime_ns for path in modules(source)] == [written]


def test_hosts_with_equal_processors_share_a_module_and_another_processor_has_its_own(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_c(source)
    (made,) = modules(source)
    own = os.uname()
    monkeypatch.setattr(
        os, "uname", lambda: os.uname_result((own.sysname, "other", "6.0", "#1", own.machine))
    )
    monkeypatch.setattr(c_module, "_loaded", {})
    compile_c(source)
    assert modules(source) == [made]
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "cpuinfo").write_text(
        "model name\t: Other\nflags\t\t: sse2\n\nmodel name\t: Third\n"
    )
    monkeypatch.setattr(c_module, "processor", partial(processor, str(tmp_path)))
    compile_c(source)
    assert len(modules(source)) == 2 and made in modules(source)


def test_a_change_of_an_included_file_or_of_the_options_makes_another_module(source: Path) -> None:
    assert compile_c(source).lib.factor() == 2
    source.with_name("factor.h").write_text("#include <stdint.h>\n#define FACTOR 3\n")
    assert compile_c(source).lib.factor() == 3
    assert compile_c(source, options=["-O0"]).lib.factor() == 3
    assert len(modules(source)) == 3


def test_processes_that_start_together_compile_once(source: Path) -> None:
    code = f"from actorstream import compile_c; print(compile_c({str(source)!r}).lib.factor())"
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    assert [process.communicate()[0] for process in started] == ["2\n"] * 3
    assert len(modules(source)) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "/* cdef */\nint f(void);\n/* end */\nint f(void) { return }",
            "cannot be compiled.*install a C compiler",
        ),
        ("int f(void) { return 1; }", "declares nothing; put declarations between"),
        ("/* cdef */ int f(unknown x); /* end */", "between /\\* cdef \\*/ and /\\* end \\*/ cannot be read"),
    ],
)
def test_a_file_that_cannot_become_a_module_says_why(source: Path, text: str, message: str) -> None:
    source.write_text(text)
    with pytest.raises(CompileError, match=message):
        compile_c(source)
    assert modules(source) == []


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"nowhere\.c: cannot be read \(No such file"):
        compile_c(tmp_path / "nowhere.c")


def test_what_lies_in_the_cache_and_is_no_module_is_named(source: Path) -> None:
    code = f"from actorstream import compile_c; compile_c({str(source)!r})"
    subprocess.run([sys.executable, "-c", code], check=True)
    (made,) = modules(source)
    made.write_text("nothing")
    with pytest.raises(CompileError, match=r"cannot be loaded .*; remove it and start again"):
        compile_c(source)


def test_a_cache_that_cannot_be_written_says_how_to_choose_another(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    with pytest.raises(CompileError, match="set XDG_CACHE_HOME"):
        compile_c(source)
