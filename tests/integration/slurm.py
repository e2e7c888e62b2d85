"""A SLURM of the test's own on this machine: munged, slurmctld and two slurmd, with all their files in one folder."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

CONFIGURATION = """\
ClusterName=test
FirstJobId={first}
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
SlurmctldPort={ports[0]}
SlurmdSpoolDir={folder}/spool.%n
StateSaveLocation={folder}/ctl
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=pmi2
ReturnToService=2
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
JobRequeue=1
KillWait=5
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=4 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=4 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
TmpFS={folder}
"""
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch")
PATIENCE_S = 60.0


def missing() -> str:
    """Why there can be no SLURM here; "" if there can."""
    path = os.environ.get("PATH", "") + ":/usr/sbin"
    lacking = [name for name in PROGRAMS if shutil.which(name, path=path) is None]
    if lacking:
        return f"not installed: {', '.join(lacking)} (apt-get install slurm-wlm munge)"
    return "" if os.geteuid() == 0 else "slurmd has to be started by root"


@dataclass
class Slurm:
    """A cluster of two nodes that runs."""

    environment: dict[str, str]

    def run(self, *words: str, cwd: Path | None = None) -> str:
        """A command of SLURM; what it said on stdout."""
        done = subprocess.run(
            words, cwd=cwd, env=self.environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def state(self, job: str) -> str:
        """As `scontrol` names it."""
        return self._shown(job, "JobState")

    def restarts(self, job: str) -> int:
        """How often it went back into the queue."""
        return int(self._shown(job, "Restarts"))

    def _shown(self, job: str, name: str) -> str:
        said = self.run("scontrol", "--oneliner", "show", "job", job)
        return said.partition(f"{name}=")[2].partition(" ")[0]

    def wait(self, job: str, *states: str, patience_s: float = PATIENCE_S) -> str:
        """Waits until a job is in one of these states."""
        end = monotonic() + patience_s
        while (state := self.state(job)) not in states:
            assert monotonic() < end, f"job {job} is {state}"
            sleep(0.1)
        return state


@contextmanager
def cluster(folder: Path) -> Iterator[Slurm]:
    """Starts one, and ends it with all that runs in it."""
    (folder / "ctl").mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    file = folder / "slurm.conf"
    first = (
        secrets.randbelow(60_000_000) + 1000
    )  # mpich names its shared memory by the job: none is like an earlier one's
    configuration = CONFIGURATION.format(
        host=socket.gethostname(), folder=folder, ports=_free_ports(3), first=first
    )
    file.write_text(configuration)
    path = os.environ.get("PATH", "") + ":/usr/sbin"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "PMI"))}
    environment = {**clean, "SLURM_CONF": str(file), "PATH": path}
    names = {"socket": "sock", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    munge = [f"--{option}={folder}/munge.{name}" for option, name in names.items()]
    commands = [
        ["munged", "--force", "--foreground", *munge],
        ["slurmctld", "-D", "-f", str(file)],
        *(["slurmd", "-D", "-f", str(file), "-N", node] for node in ("n1", "n2")),
    ]
    started: list[subprocess.Popen[bytes]] = []
    slurm = Slurm(environment)
    try:
        for words in commands:
            with (folder / f"{words[0]}{len(started)}.said").open("wb") as said:
                started.append(
                    subprocess.Popen(
                        words, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said
                    )
                )
            if words[0] == "munged":
                _wait_for(folder / "munge.sock")
        end = monotonic() + PATIENCE_S
        while _idle(slurm) < 2:
            assert monotonic() < end, "the nodes do not come up"
            sleep(0.1)
        yield slurm
    finally:
        _cancel(slurm)
        for process in reversed(started):
            process.terminate()
        for process in reversed(started):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _cancel(slurm: Slurm) -> None:
    """Ends all jobs, and waits until nothing of them runs."""
    words = ["scancel", "--full", "--signal=KILL", "--user=root"]
    with suppress(subprocess.SubprocessError, AssertionError):
        end = monotonic() + PATIENCE_S / 4
        while slurm.run("squeue", "--noheader") and monotonic() < end:
            subprocess.run(words, env=slurm.environment, capture_output=True, timeout=30, check=False)
            subprocess.run(
                ["scancel", "--user=root"],
                env=slurm.environment,
                capture_output=True,
                timeout=30,
                check=False,
            )
            sleep(0.2)


def _idle(slurm: Slurm) -> int:
    done = subprocess.run(
        ["sinfo", "--noheader", "--Node", "--format=%T"],
        env=slurm.environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return done.stdout.split().count("idle")


def _wait_for(path: Path) -> None:
    end = monotonic() + PATIENCE_S
    while not path.exists():
        assert monotonic() < end, f"{path} does not appear"
        sleep(0.05)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports
