#!/usr/bin/env bash
# Everything that waits for a GPU, in one call; results, with device, versions and commit, in $OUT.
#
#   OUT=benchmarks/results/gpu benchmarks/gpu.sh
#   DEVICE=cpu SMALL=1 OUT=/tmp/gpu benchmarks/gpu.sh      # a rehearsal without a GPU, in minutes
set -euo pipefail
cd "$(dirname "$0")/.."
OUT=${OUT:-benchmarks/results/gpu}
DEVICE=${DEVICE:-cuda}
PYTHON=${PYTHON:-python}
mkdir -p "$OUT"
if [ "${SMALL:-}" ]; then
    SIZES=(--size S --image-size 64 --repeats 1 --batch 1) ROWS=(--row divided) SEEDS=0
    TRAINER=(--trainer.max_epochs=1) RATES=(--batch 1 --repeats 2)
    LARGE=(--trainer.accelerator=cpu --trainer.precision=32-true --trainer.max_epochs=1 "--data.pairs=[8,1,2]")
else
    SIZES=(--size B --image-size 224 --repeats 10 --batch 8) ROWS=() SEEDS=0,1,2
    TRAINER=(--trainer.accelerator=gpu --trainer.precision=bf16-mixed --trainer.logger=false)
    RATES=(--batch 16 --repeats 21) LARGE=(--trainer.logger=false)  # a lent machine has neither a network nor W&B
fi
[ "$DEVICE" = cuda ] && nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv | tee "$OUT/device.csv"

$PYTHON benchmarks/parity.py --device "$DEVICE" --json "$OUT/parity.json"
for precision in 32-true bf16-mixed; do  # no step of any family waits for the device
    $PYTHON -m benchmarks.steps --device "$DEVICE" --trainer.precision=$precision ${SMALL:+--row xvit} 2>&1 \
        | tee "$OUT/steps_$precision.txt" || true  # the file says which row waits, and where; the rest goes on
done
for dtype in fp32 bf16; do
    $PYTHON -m lit_video benchmark model --device "$DEVICE" --dtype $dtype "${SIZES[@]}" --json \
        --plot "$OUT/model_$dtype.png" > "$OUT/model_$dtype.json"
    $PYTHON -m lit_video benchmark model --device "$DEVICE" --dtype $dtype "${SIZES[@]}" --scaling --json \
        > "$OUT/scaling_$dtype.json"
done
# what docs/scaling.md plans with
$PYTHON benchmarks/scaling measure device --device "$DEVICE" ${SMALL:+--small} -o "$OUT/training.json"
$PYTHON -m lit_video benchmark table --config experiments/xvit_throughput.yaml --config experiments/scale/ssv2.yaml \
    --device "$DEVICE" "${RATES[@]}" --runs "$OUT/runs" | tee "$OUT/xvit_throughput.txt"
$PYTHON -m lit_video fit --config experiments/timesformer_schemes.yaml --runs "$OUT/runs" --seeds $SEEDS \
    ${ROWS[@]+"${ROWS[@]}"} "${TRAINER[@]}"
for table in ablation_tw ablation_ratio timesformer_schemes; do  # the scale where differences mean something
    [ "${SMALL:-}" ] && [ $table != timesformer_schemes ] && continue
    $PYTHON -m lit_video fit --config experiments/$table.yaml --config experiments/scale/gpu.yaml --runs "$OUT/runs" \
        --seeds $SEEDS ${ROWS[@]+"${ROWS[@]}"} ${LARGE[@]+"${LARGE[@]}"}
    $PYTHON -m lit_video benchmark table --config experiments/$table.yaml --config experiments/scale/gpu.yaml \
        --device "$DEVICE" "${RATES[@]}" --runs "$OUT/runs" | tee "$OUT/${table}_throughput.txt"
done
if [ -d "${AVLETTERS:=../shared/data/avletters}" ]; then  # real video
    SHORT=(); [ "${SMALL:-}" ] && ROWS=(--row xvit1) SHORT=(--trainer.max_epochs=1 --trainer.check_val_every_n_epoch=1)
    $PYTHON -m lit_video fit --config experiments/avletters.yaml --data.root "$AVLETTERS" --runs "$OUT/runs" \
        --seeds $SEEDS ${ROWS[@]+"${ROWS[@]}"} ${SHORT[@]+"${SHORT[@]}"} --trainer.logger=false
fi
# drawn where Vega is installed, later
if $PYTHON -c "import altair, vl_convert"; then $PYTHON -m lit_video report "$OUT/runs" -o "$OUT/report.html"; fi
