"""Boots a virtual machine with four memory nodes and runs `numa_inside` in it: placement on nodes, tried for real.

    python -m tests.campaigns.numa_guest --kernel vmlinuz --busybox busybox [--log FILE]

Needs qemu-system-x86_64, a Linux kernel that needs no modules to unpack an initial file system (Debian's
linux-image-cloud-amd64), and a static busybox. The guest gets the files that `numa_inside` used here, nothing else, and has no
disk and no network. Without hardware support it takes some minutes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NODES = 4
DISTANCES = ((10, 16, 22, 22), (16, 10, 22, 22), (22, 22, 10, 16), (22, 22, 16, 10))
NODE_MEMORY = "768M"
INIT = """#!/busybox sh
/busybox mount -t proc proc /proc
/busybox mount -t sysfs sys /sys
/busybox mount -t devtmpfs dev /dev
/busybox mkdir -p /dev/shm /tmp
/busybox mount -t tmpfs tmp /tmp
/busybox ip link set lo up
export HOME=/tmp XDG_CACHE_HOME=/tmp PYTHONDONTWRITEBYTECODE=1 PATH=/
cd {root}
{python} -m tests.campaigns.numa_inside
echo STATUS $?
/busybox poweroff -f
"""


def files_needed() -> list[Path]:
    """The files that `numa_inside` uses on this machine, and all that Python may still import."""
    command = [sys.executable, "-m", "tests.campaigns.numa_inside", "--files"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    used = [Path(line[5:]) for line in done.stdout.splitlines() if line.startswith("FILE ")]
    for each in [file for file in used if ".so." in file.name]:
        used += each.parent.glob(f"{each.name.partition('.so')[0]}.so*")  # the names that it is linked under
    library = Path(sysconfig.get_path("stdlib"))
    used += [
        each
        for each in library.rglob("*")
        if each.suffix in (".py", ".so")
        and not {"test", "site-packages", "idlelib", "tkinter"} & set(each.parts)
    ]
    for folder in ("actorstream", "tests/campaigns"):
        used += [each for each in (ROOT / folder).rglob("*") if each.suffix in (".py", ".so")]
    used += [Path(sys.executable), Path(sys.executable).resolve(), *Path(sys.prefix).glob("*.cfg")]
    used += [each for each in Path(sysconfig.get_path("purelib")).glob("*") if each.suffix == ".pth"]
    used += Path(sysconfig.get_path("purelib")).glob("*.dist-info/*")
    used += ROOT.glob("*.egg-info/*")
    return used


class InitialFiles:
    """An initial file system for a kernel, in the format newc of cpio."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._names: set[str] = set()

    def add(self, name: str, data: bytes = b"", mode: int = 0o100755) -> None:
        """A file, and the folders above it; once each."""
        name = name.lstrip("/")
        folder = str(Path(name).parent)
        if folder != "." and folder not in self._names:
            self.add(folder, mode=0o040755)
        if name in self._names:
            return
        self._names.add(name)
        path = name.encode() + b"\0"
        numbers = [len(self._names), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0]
        head = b"070701" + "".join(f"{each:08x}" for each in numbers).encode() + path
        self._parts += [head, bytes(-len(head) % 4), data, bytes(-len(data) % 4)]

    def add_host(self, file: Path) -> None:
        """A file of this machine under its own name; of a link what it leads to as well."""
        link = file.parent.resolve() / file.name
        while link.is_symlink():
            target = link.parent / link.readlink()
            link_to = target.parent.resolve() / target.name
            self.add(str(link), str(link_to).encode(), 0o120777)
            link = link_to
        if link.is_file():
            self.add(str(link), link.read_bytes())

    def bytes(self) -> bytes:
        self.add("TRAILER!!!", mode=0)
        return b"".join(self._parts)


def initial_files(busybox: Path, files: Iterable[Path]) -> bytes:
    made = InitialFiles()
    for folder in ("proc", "sys", "dev", "tmp"):
        made.add(folder, mode=0o040755)
    made.add("busybox", busybox.read_bytes())
    made.add("init", INIT.format(root=ROOT, python=sys.executable).encode())
    for link in ("/lib", "/lib64", "/usr/lib64"):
        if Path(link).is_symlink():
            made.add(link, str(Path(link).readlink()).encode(), 0o120777)
    made.add_host(Path("/lib64/ld-linux-x86-64.so.2"))
    for file in files:
        made.add_host(file)
    return made.bytes()


def command(kernel: Path, initrd: Path) -> list[str]:
    words = ["qemu-system-x86_64", "-nographic", "-no-reboot", "-cpu", "max", "-smp", str(NODES)]
    words += ["-machine", "q35", "-m", f"{NODES * int(NODE_MEMORY[:-1])}M", "-nic", "none"]
    for node in range(NODES):
        words += ["-object", f"memory-backend-ram,id=memory{node},size={NODE_MEMORY}"]
        words += ["-numa", f"node,nodeid={node},cpus={node},memdev=memory{node}"]
    for a, row in enumerate(DISTANCES):
        words += [
            word
            for b, value in enumerate(row)
            if a < b
            for word in ("-numa", f"dist,src={a},dst={b},val={value}")
        ]
    return [
        *words,
        "-kernel",
        str(kernel),
        "-initrd",
        str(initrd),
        "-append",
        "console=ttyS0 quiet no_timer_check panic=-1",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", type=Path, required=True)
    parser.add_argument("--busybox", type=Path, required=True)
    parser.add_argument("--log", type=Path, help="writes what was seen into this file")
    parser.add_argument("--timeout", type=float, default=1200.0, help="seconds")
    given = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        initrd = Path(folder) / "initrd"
        initrd.write_bytes(initial_files(given.busybox, files_needed()))
        print(f"{initrd.stat().st_size / 2**20:.0f} MiB of files", flush=True)
        run = command(given.kernel, initrd)
        done = subprocess.run(
            run,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=given.timeout,
            stdin=subprocess.DEVNULL,
        )
    lines = done.stdout.splitlines()
    told = [line.partition("SEEN ")[2] for line in lines]
    seen = [json.loads(each) for each in told if each]
    text = [
        f"# {time.monotonic() - begun:.0f} s; four nodes of one core, distances {DISTANCES[0]}",
        *map(json.dumps, seen),
    ]
    right = (
        bool(seen)
        and all(each["right"] for each in seen)
        and any(line.startswith("STATUS 0") for line in lines)
    )
    text.append("all right" if right else "\n".join(["WRONG; the end of the console:", *lines[-40:]]))
    print("\n".join(text))
    if given.log is not None:
        given.log.write_text("$ python -m tests.campaigns.numa_guest\n" + "\n".join(text) + "\n")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
