"""Test benchmarks/gpu.sh on a CPU: its stages, the files that they keep, and the reported failures."""

import json
import os
import subprocess
import sys
import tarfile

import pytest

from tests.conftest import ROOT

STUB = """#!/bin/bash
case "$*" in
    *" fit "*) echo "$@" >> "$CALLS"; run="$RUNS/t/gpu/${TABLE_ROW:-a}/seed0"
        mkdir -p "$run/checkpoints" "$RUNS/t/gpu/begun/seed0"; echo '{"state": {}}' > "$RUNS/t/gpu/begun/seed0/run.json"
        touch "$run"/{curves.csv,predictions.npz,checkpoints/last.ckpt} && echo '{"result": {}}' > "$run/run.json"
        exit 1 ;;
esac
"""


def stages(*arguments, timeout=120, **variables):
    command = ["bash", str(ROOT / "benchmarks" / "gpu.sh"), *arguments]
    environment = os.environ | {"PYTHON": sys.executable, "SMALL": "1"} | {k: str(v) for k, v in variables.items()}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=timeout)


def kept(out):
    with tarfile.open(out / "tables.tar.gz") as archive:
        return {name.removeprefix("./") for name in archive.getnames()}


def test_a_stage_that_fails_says_so_and_the_others_run(tmp_path):
    done = stages("parity", "model", OUT=tmp_path / "out", LIMIT=0, RUNS=tmp_path / "runs")
    assert done.returncode == 1
    assert done.stdout.count("not begun: the stage's 0 s are over") == 3  # one command of parity, two of model
    for stage in ("parity", "model"):
        assert f"{stage}: FAILED or unfinished" in (tmp_path / "out" / f"{stage}.log").read_text()
    assert done.stdout.endswith("failed or unfinished: parity model\n")


def test_rows_of_tables_are_kept_without_weights_and_brought_to_a_new_machine(tmp_path):
    stub, out, calls = tmp_path / "python", tmp_path / "out", tmp_path / "calls"
    stub.write_text(STUB)
    stub.chmod(0o755)
    first = stages("tables", OUT=out, RUNS=tmp_path / "first", PYTHON=stub, CALLS=calls)
    assert first.returncode == 1 and "failed or unfinished: tables" in first.stdout
    files = {f"t/gpu/a/seed0/{name}" for name in ("run.json", "curves.csv", "predictions.npz")}
    assert kept(out) == files
    stages("tables", OUT=out, RUNS=tmp_path / "second", PYTHON=stub, CALLS=calls, TABLE_ROW="b")
    assert (tmp_path / "second" / "t/gpu/a/seed0/run.json").exists()
    assert kept(out) == files | {name.replace("/a/", "/b/") for name in files}
    assert "--config experiments/scale/gpu.yaml --seeds 0" in calls.read_text()


@pytest.mark.slow
def test_a_stage_is_told_the_commit_whatever_git_says(tmp_path):
    stub = tmp_path / "python"
    stub.write_text(f"""#!/bin/bash
[ "$1" = -m ] && exec {sys.executable} -c 'from lit_video.utils.environment import commit; print("ran at", commit())'
exit 0
""")
    stub.chmod(0o755)
    done = stages("mixing", OUT=tmp_path / "out", PYTHON=stub, LIT_VIDEO_COMMIT="0123abcd")
    assert "ran at 0123abcd" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_the_rehearsal_on_a_cpu(tmp_path):
    """Run all stages; ``model`` needs PyTorchVideo's CNNs."""
    done = stages("all", OUT=tmp_path / "out", RUNS=tmp_path / "runs", LIMIT=1500, timeout=2400)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    results = {path.stem: json.loads(path.read_text()) for path in (tmp_path / "out").glob("*.json")}
    names = "parity model_bf16 model_fp32 mixing compile long"
    assert results.keys() == set(names.split())
    for name, result in results.items():
        assert {"device", "versions", "commit", "command", "rows"} <= result.keys(), name
        assert result["rows"], name
    assert all(row["within"] for row in results["parity"]["rows"])
    assert [row["name"] for row in results["model_bf16"]["rows"]] == ["X-ViT", "T+S", "HF T+S", "SlowFast R50"]
    assert "ablation_tw/gpu/tw1/seed0/run.json" in kept(tmp_path / "out")
