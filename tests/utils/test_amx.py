"""Virtual machines that announce AMX."""

import os
import subprocess
import sys

import pytest

from lit_video.utils.amx import LIMIT, avoid_amx


@pytest.mark.parametrize(
    ("flags", "given", "expected"),
    [
        ("fpu avx512f amx_tile hypervisor", None, "AVX512_CORE_FP16"),
        ("fpu avx512f amx_tile hypervisor", "AVX512_CORE_AMX", "AVX512_CORE_AMX"),
        ("fpu avx512f amx_tile", None, None),
        ("fpu avx2 hypervisor", None, None),
        (None, None, None),
    ],
)
def test_amx_is_avoided_on_virtual_machines(flags, given, expected, tmp_path, monkeypatch):
    monkeypatch.setenv(LIMIT, given or "")
    if given is None:
        monkeypatch.delenv(LIMIT)
    if flags:
        (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\n\nprocessor\t: 1\n")
    avoid_amx(tmp_path / "cpuinfo")
    assert os.environ.get(LIMIT) == expected


def test_this_machine_multiplies_in_bfloat16():
    code = "import lit_video, torch; a = torch.ones(48, 48, dtype=torch.bfloat16); print((a @ a).sum().item())"
    environment = {key: value for key, value in os.environ.items() if key != LIMIT}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{48.0**3}\n"), done.stderr
