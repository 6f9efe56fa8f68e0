#!/usr/bin/env bash
# Measurements on a GPU, in stages of at most 8 minutes, the most useful first; each stores its results at once.
#
#   benchmarks/gpu.sh needs          list the wheels to bring to a machine without a network, and how to fetch them
#   benchmarks/gpu.sh STAGE ...      run stages of ALL below: parity, model, ...
#   benchmarks/gpu.sh all            run every stage, also after one has failed
#   SMALL=1 benchmarks/gpu.sh all    rehearse on a CPU, in minutes
#
# Needs Python 3.11 to 3.13 and torch from 2.8; uses lit_video from this folder, no network, W&B or development tools.
# Results go to $OUT (default benchmarks/results/gpu): STAGE.json or STAGE_*.json, STAGE.log, and the runs of tables in
# tables.tar.gz, from which `tables` goes on (looked for in .gpu, $OUT and benchmarks/results/gpu).
# LIT_VIDEO_COMMIT: commit of these files, where git does not know it. LIMIT: seconds of a stage. BATCH: clips of model
# and compile (16). A lent machine may return no more than 8 files: run up to two stages per call. The exit status is 0
# if every stage was completed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
KEPT=benchmarks/results/gpu CARRIED=.gpu RUNS=${RUNS:-runs/gpu} SITE=${SITE:-$PWD/runs/gpu_site}
SMALL=${SMALL:-} PYTHON=${PYTHON:-python3} LIMIT=${LIMIT:-480}
OUT=${OUT:-$([ "$SMALL" ] && echo runs/gpu_rehearsal || echo $KEPT)}
DEVICE=${DEVICE:-$([ "$SMALL" ] && echo cpu || echo cuda)}
ALL=(parity model mixing compile long tables)
if [ "$SMALL" ]; then
    SIZE=(--size Ti --image-size 32 --frames 2 --batch 1 --repeats 1) MODELS=(--models "X-ViT,T+S,SlowFast R50")
    COMPILED=(--models X-ViT)
    MIXED=(--repeats 1 --side 4) LONG=(--size Ti --image-size 32 --repeats 2 --frames 2,8)
    TABLES=(ablation_tw) SEEDS=(0)
    ROWS=(--row tw1 --trainer.accelerator=cpu --trainer.precision=32-true --trainer.max_epochs=1 "--data.pairs=[2,1,1]"
        --data.num_workers=0 --data.image_size=32 --data.num_frames=4 --data.batch_size=8
        --data.lesson=null --data.fresh=0 --model.image_weights=null)
else
    # enough clips for the GPU, not the host that starts its kernels, to be the slower part
    SIZE=(--size B --image-size 224 --frames 8 --batch "${BATCH:-16}" --repeats 20) MODELS=()
    COMPILED=(--models "spatial-only,X-ViT,T+S") ROWS=()
    MIXED=(--dtype bf16 --batch 32) LONG=(--dtype bf16 --batch 4)
    TABLES=(ablation_tw timesformer_schemes ablation_ratio) SEEDS=(0 1 2)
fi

parity() { measure parity parity; }

model() {
    measure model_bf16 model "${SIZE[@]}" --dtype bf16 ${MODELS[@]+"${MODELS[@]}"}
    measure model_fp32 model "${SIZE[@]}" --dtype fp32 --models "X-ViT,T+S"
}

compile() { measure compile model "${SIZE[@]}" --dtype bf16 --compile "${COMPILED[@]}"; }
mixing() { measure mixing mixing "${MIXED[@]}"; }
long() { measure long long "${LONG[@]}"; }

tables() {  # row by row; finished runs are skipped, interrupted ones go on
    earlier
    for seed in "${SEEDS[@]}"; do
        for table in "${TABLES[@]}"; do
            try $PYTHON -m lit_video fit --config experiments/$table.yaml --config experiments/scale/gpu.yaml \
                --seeds "$seed" --runs "$RUNS" --trainer.logger=false ${ROWS[@]+"${ROWS[@]}"}
            pack
        done
    done
}

earlier() {  # unpack runs of earlier calls that this machine lacks
    mkdir -p "$RUNS"
    for folder in "$CARRIED" "$KEPT" "$OUT"; do
        [ ! -f "$folder/tables.tar.gz" ] || tar -xzf "$folder/tables.tar.gz" -C "$RUNS" --skip-old-files || failed=1
    done
}

pack() {  # store finished runs without weights
    local files
    files=$(
        cd "$RUNS" && find . -name run.json -exec grep -q '"result"' {} \; -print |
            while read -r path; do
                for file in "$path" "${path%/run.json}"/{curves.csv,predictions.npz}; do
                    [ ! -f "$file" ] || echo "$file"
                done
            done
    )
    # shellcheck disable=SC2086  # names of tables, rows and files have no spaces
    [ -z "$files" ] || { tar -czf "$OUT/.tables.part" -C "$RUNS" $files && mv "$OUT/.tables.part" "$OUT/tables.tar.gz"; }
}

measure() {  # NAME SCRIPT FLAGS...; the result is stored after every round
    local name=$1 script=$2
    shift 2
    try $PYTHON -m benchmarks.$script --device "$DEVICE" -o "$OUT/$name.json" "$@"
}

try() {  # run a command within the stage's time; go on if it fails
    local left=$((began + LIMIT - SECONDS)) status
    echo "+ $*"
    if [ $left -lt 5 ]; then
        echo "not begun: the stage's $LIMIT s are over; the same call goes on"
        failed=1
        return
    fi
    timeout --foreground --kill-after=40 $left "$@"
    status=$?
    [ $status -eq 0 ] || failed=1
    [ $status -ne 124 ] || echo "stopped after the stage's $LIMIT s; what was measured is kept"
    return 0
}

run_stage() {  # exit status 0 if the stage was completed
    local stage=$1
    (
        failed=0 began=$SECONDS
        $stage
        exit $failed
    ) 2>&1 | tee "$OUT/$stage.log"
    local status=${PIPESTATUS[0]}
    echo "$stage: $([ "$status" -eq 0 ] && echo done || echo "FAILED or unfinished, see above")" | tee -a "$OUT/$stage.log"
    return "$status"
}

pinned() { for name in "$@"; do grep -i "^$name==" constraints.txt || echo "$name"; done | xargs; }

needs() {
    cat <<END
# Beside torch, torchvision, lightning, timm, einops, transformers, torchmetrics, scikit-learn, matplotlib, rich, msgpack,
# filelock and safetensors: these wheels, for Python 3.12 (about 37 MB, most of it av), in $CARRIED,
# which git ignores, and from which gpu.sh installs. Beside it goes this folder, without .git.
mkdir -p $CARRIED/wheels
python3 -m pip download --no-deps --only-binary=:all: --python-version 3.12 --implementation cp \\
    --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \\
    -d $CARRIED/wheels $(pinned av jsonargparse docstring_parser typeshed_client parameterized termcolor)
python3 -m pip wheel --no-deps -w $CARRIED/wheels $(pinned pytorchvideo fvcore iopath yacs)
# there, with $CARRIED carried; OUT is the folder that comes back
LIT_VIDEO_COMMIT=$(git describe --always --abbrev=12 --dirty=+changes 2>/dev/null || echo COMMIT) benchmarks/gpu.sh ${ALL[0]} ${ALL[1]}
# what came back: shown, or carried to the next machine, where tables goes on with it
cp OUT/*.json $KEPT/ && python -m benchmarks.performance
mkdir -p runs/gpu && tar -xzf OUT/tables.tar.gz -C runs/gpu && python -m lit_video pack runs/gpu -o benchmarks/results
cp OUT/tables.tar.gz $CARRIED/
END
}

wheels() {  # install the wheels if a package is missing
    export PYTHONPATH=$PWD:$SITE${PYTHONPATH:+:$PYTHONPATH}
    local needed="import av, jsonargparse, docstring_parser, typeshed_client, termcolor, pytorchvideo"
    $PYTHON -W ignore -c "$needed" 2>/dev/null && return
    if ls $CARRIED/wheels/*.whl >/dev/null 2>&1; then
        $PYTHON -m pip install --quiet --no-index --no-deps --no-compile --upgrade --target "$SITE" $CARRIED/wheels/*.whl
    fi
    $PYTHON -W ignore -c "$needed" || { echo "see benchmarks/gpu.sh needs" && exit 1; }
}

main() {  # bash reads a function whole, so the file may change while it runs
    [ $# -gt 0 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit 2; }
    [ "$1" != needs ] || { needs && exit; }
    [ "$1" != all ] || set -- "${ALL[@]}"
    for stage in "$@"; do
        [[ " ${ALL[*]} " == *" $stage "* ]] || { echo "no stage $stage; stages: ${ALL[*]}, all, needs" >&2 && exit 2; }
    done
    mkdir -p "$OUT" || exit
    [ -z "${LIT_VIDEO_COMMIT:-}" ] || export GIT_DIR=/dev/null
    wheels
    [ "$DEVICE" = cpu ] || nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader || exit
    git rev-parse HEAD >/dev/null 2>&1 || [ "${LIT_VIDEO_COMMIT:-}" ] ||
        echo "no git here, and no LIT_VIDEO_COMMIT: results say commit unknown"
    local stage failures=()
    for stage in "$@"; do run_stage "$stage" || failures+=("$stage"); done
    [ ${#failures[@]} -eq 0 ] || { echo "failed or unfinished: ${failures[*]}" && exit 1; }
    echo "done: $*; results in $OUT"
}

main "$@"
exit 0
