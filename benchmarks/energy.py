"""The processor's own energy counters (RAPL), where the kernel lets one read them. Reads /sys and nothing else."""

from __future__ import annotations

from pathlib import Path

POWERCAP = Path("/sys/class/powercap")


class Energy:
    """What the processor packages have used since this was made.

    Args:
        root: where the kernel has the counters.
    """

    def __init__(self, root: Path = POWERCAP) -> None:
        self.packages = packages(root)
        self.last = [microjoules(each) for each in self.packages]

    def joules(self) -> float | None:
        """Since the last call, or since this was made; None: no counter can be read."""
        if not self.packages:
            return None
        now = [microjoules(each) for each in self.packages]
        used = 0
        for package, before, after in zip(self.packages, self.last, now):
            used += after - before
            if after < before:  # the counter has begun anew
                used += int((package / "max_energy_range_uj").read_text())
        self.last = now
        return used / 1e6


def packages(root: Path = POWERCAP) -> list[Path]:
    """Folders of the packages whose counters can be read; parts of a package (core, dram) are not among them."""
    found = []
    for folder in sorted(root.glob("intel-rapl:*")):
        if folder.name.count(":") != 1:
            continue
        try:
            microjoules(folder)
        except OSError:
            continue
        found.append(folder)
    return found


def microjoules(package: Path) -> int:
    return int((package / "energy_uj").read_text())
