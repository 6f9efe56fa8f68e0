"""Keeps oneDNN from a part of the processor that some virtual machines announce and do not have."""

import os
from pathlib import Path

LIMIT = "ONEDNN_MAX_CPU_ISA"


def avoid_amx(cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """On a virtual machine with AMX have oneDNN use AVX-512, unless ``ONEDNN_MAX_CPU_ISA`` is set.

    Some of them announce AMX without a layout of its tiles (CPUID leaf 1DH is all zero), and the first product in
    bfloat16, which Muon takes, ends the process with SIGILL (github.com/uxlfoundation/oneDNN, issue 5689). Python
    cannot ask for that leaf. To be deleted with the first PyTorch whose oneDNN looks at it (pull request 5801).
    """
    try:
        with cpuinfo.open(encoding="utf-8") as lines:
            flags = next((line.split() for line in lines if line.startswith("flags")), [])  # processors are alike
    except OSError:  # no Linux
        return
    if "amx_tile" in flags and "hypervisor" in flags:
        os.environ.setdefault(LIMIT, "AVX512_CORE_FP16")  # all that AVX-512 has
