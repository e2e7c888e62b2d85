"""The C code of groups, panes and sessions over random rows under AddressSanitizer and UBSan, against rows kept one by
one. Each has one owner at a time, so there is nothing for ThreadSanitizer."""

from __future__ import annotations

from tests.native.built import run_random, sources

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
CORE = sources(*CELLS, *PANES, *SESSIONS)


def test_a_group_has_the_keys_of_its_rows_whatever_is_renumbered_and_dropped() -> None:
    run_random("groups_random", sources(*GROUPS), 500)


def test_a_group_does_so_without_vector_instructions() -> None:
    run_random("groups_random", sources(*GROUPS), 500, level=0)


def test_windows_of_panes_say_what_their_rows_do_also_from_panes_that_were_put_back() -> None:
    run_random("panes_random", CORE, 100)


def test_keys_that_were_chosen_to_share_a_place_in_a_table_lie_apart() -> None:
    run_random("flood", sources(*GROUPS, "pairs", "lookup_build"), 5000)


def test_lists_of_values_hold_what_plain_arrays_do_as_they_grow_join_and_lose_their_doubles() -> None:
    run_random("lists_random", CORE, 25)


def test_cells_of_single_rows_say_what_each_row_does() -> None:
    run_random("cells_single_random", CORE, 200)


def test_sessions_say_what_their_rows_do_also_those_that_were_put_back() -> None:
    run_random("sessions_random", CORE, 200)
