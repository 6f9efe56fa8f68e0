"""Slurm of two nodes on the loopback device, for tests; its processes end with the ``with`` block."""

import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel")
INSTALL = "apt-get install -y slurm-wlm munge"
SBIN = "/usr/sbin:/usr/local/sbin"

CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TaskProlog={folder}/prolog
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
JobRequeue=1
KillWait=10
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 RealMemory=4000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 RealMemory=4000
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""

# variables of every task: no name server knows the nodes, and a job inherits no address from the one that submits it
PROLOG = """\
#!/bin/sh
echo export MASTER_ADDR=127.0.0.1
echo export GLOO_SOCKET_IFNAME=lo
"""


def why_not():
    """Return why Slurm cannot run here; empty if it can."""
    path = f"{os.environ['PATH']}:{SBIN}"
    missing = [name for name in PROGRAMS if not shutil.which(name, path=path)]
    if missing:
        return f"{missing[0]} is not installed: {INSTALL}"
    return "" if os.geteuid() == 0 else "slurmd runs as root"


def free_ports(number):
    """Return ports of the loopback device that no process listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@contextmanager
def cluster(folder):
    """Start Slurm in a folder; yield the environment variables that its commands need."""
    path = f"{os.environ['PATH']}:{SBIN}"
    host = socket.gethostname().split(".")[0]
    conf = folder / "slurm.conf"
    conf.write_text(CONF.format(host=host, folder=folder, ports=free_ports(3)))
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o600)
    (folder / "prolog").write_text(PROLOG)
    (folder / "prolog").chmod(0o755)
    folder.chmod(0o755)  # munged refuses a socket that others cannot reach
    for name in ("state", "spool-n1", "spool-n2"):
        (folder / name).mkdir()
    environment = {"SLURM_CONF": str(conf), "PATH": path}
    munge = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    commands = [
        ["munged", "--foreground", "--force", *(f"--{key}={folder}/munge.{end}" for key, end in munge.items())],
        ["slurmctld", "-D", "-i"],
        ["slurmd", "-D", "-N", "n1"],
        ["slurmd", "-D", "-N", "n2"],
    ]
    daemons = []
    try:
        for command in commands:
            with (folder / f"{len(daemons)}-{command[0]}.out").open("wb") as out:
                daemons.append(subprocess.Popen(command, env=os.environ | environment, stdout=out, stderr=out))
            if command[0] == "munged":
                wait_for(lambda: (folder / "munge.socket").exists(), daemons, folder)
        wait_for(lambda: idle_nodes(environment) == 2, daemons, folder)
        yield environment
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            with suppress(subprocess.TimeoutExpired):
                daemon.wait(20)
        for daemon in daemons:
            daemon.kill()
            daemon.wait()
        for pid in started_by(conf):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def idle_nodes(environment):
    command = ["sinfo", "--noheader", "--Node", "--format=%t"]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    return done.stdout.split().count("idle")


def wait_for(condition, daemons, folder):
    """Wait for a condition while the daemons live."""
    deadline = time.monotonic() + 60
    while not condition():
        dead = [daemon.args for daemon in daemons if daemon.poll() is not None]
        if dead or time.monotonic() > deadline:
            logs = "\n".join(f"{path}:\n{path.read_text()[-1500:]}" for path in sorted(folder.glob("*.*[gt]")))
            raise AssertionError(f"Slurm did not start ({dead or 'no idle nodes'})\n{logs}")
        time.sleep(0.1)


def started_by(conf):
    """Return the process numbers of all that was started with this cluster's configuration."""
    mark = f"SLURM_CONF={conf}".encode()
    pids = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0") and int(entry.name) != os.getpid():
                pids.append(int(entry.name))
    return pids
