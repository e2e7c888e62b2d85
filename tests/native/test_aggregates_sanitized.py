"""The C code of groups, panes and sessions over random rows under AddressSanitizer and UBSan, against rows kept one by
one. Each has one owner at a time, so there is nothing for ThreadSanitizer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.native.sanitized import objects, run, sources

GROUPS = ("groups", "groups_change", "texts", "order", "zeroed", "operand", "seed")
EXACT = ("exact", "exact_places", "total")
CELLS = (
    *GROUPS,
    *EXACT,
    "cells",
    "cells_merge",
    "cells_single",
    "cells_user",
    "lists",
    "pairs",
    "quantile",
    "sums",
)
PANES = ("panes", "panes_change", "panes_count", "panes_fire", "panes_state")
SESSIONS = ("sessions", "sessions_fire", "sessions_state")


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return objects(tmp_path_factory.mktemp("core"), sources(*CELLS, *PANES, *SESSIONS))


def test_a_group_has_the_keys_of_its_rows_whatever_is_renumbered_and_dropped(
    core: list[Path], tmp_path: Path
) -> None:
    run(tmp_path, "groups_random", core, 500)


def test_a_group_does_so_without_vector_instructions(tmp_path: Path) -> None:
    run(tmp_path, "groups_random", sources(*GROUPS), 500, "-DAS_PORTABLE")


def test_keys_that_were_chosen_to_share_a_place_in_a_table_lie_apart(tmp_path: Path) -> None:
    run(tmp_path, "flood", sources(*GROUPS, "pairs", "lookup_build"), 5000)


def test_lists_of_values_hold_what_plain_arrays_do_as_they_grow_join_and_lose_their_doubles(
    core: list[Path], tmp_path: Path
) -> None:
    run(tmp_path, "lists_random", core, 25)


def test_windows_of_panes_say_what_their_rows_do_also_from_panes_that_were_put_back(
    core: list[Path], tmp_path: Path
) -> None:
    run(tmp_path, "panes_random", core, 200)


def test_cells_of_single_rows_say_what_each_row_does(core: list[Path], tmp_path: Path) -> None:
    run(tmp_path, "cells_single_random", core, 200)


def test_sessions_say_what_their_rows_do_also_those_that_were_put_back(
    core: list[Path], tmp_path: Path
) -> None:
    run(tmp_path, "sessions_random", core, 200)
