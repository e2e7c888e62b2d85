"""Energy counters as the kernel has them: summed over packages, begun anew when they are full, absent where unreadable."""

from __future__ import annotations

from pathlib import Path

from benchmarks.energy import Energy, packages


def counter(root: Path, name: str, value: int, most: int = 1_000_000) -> None:
    folder = root / name
    folder.mkdir(exist_ok=True)
    (folder / "energy_uj").write_text(f"{value}\n")
    (folder / "max_energy_range_uj").write_text(f"{most}\n")


def test_packages_are_summed_and_their_parts_are_not(tmp_path: Path) -> None:
    for name in ("intel-rapl:0", "intel-rapl:1", "intel-rapl:0:0"):
        counter(tmp_path, name, 100)
    energy = Energy(tmp_path)
    for name in ("intel-rapl:0", "intel-rapl:1", "intel-rapl:0:0"):
        counter(tmp_path, name, 250_100)
    assert energy.joules() == 0.5
    assert energy.joules() == 0.0


def test_a_counter_that_has_begun_anew_goes_on_counting(tmp_path: Path) -> None:
    counter(tmp_path, "intel-rapl:0", 900_000)
    energy = Energy(tmp_path)
    counter(tmp_path, "intel-rapl:0", 100_000)
    assert energy.joules() == 0.2


def test_without_readable_counters_there_is_no_figure(tmp_path: Path) -> None:
    (tmp_path / "intel-rapl:0").mkdir()
    assert packages(tmp_path) == []
    assert Energy(tmp_path).joules() is None
