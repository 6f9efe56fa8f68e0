"""The prose of docs/scaling.md; figures are filled in by page.py."""

HEAD = """
# Past one machine

What X-ViT-B, TimeSformer-L and ViViT-L need on 1 to 1,024 GPUs: time, GPU-hours, memory, data. Written by
`python benchmarks/scaling write` from [stored counts and measurements](../benchmarks/results/scaling); no number below
is typed in. `python benchmarks/scaling write -o PLAN.md --gpu A100 --network 12.5 --price 2` does it for another
cluster (`--help` lists every assumption).

**The time that a GPU takes is {basis}.** Tables that rest on it say
"{kind}". `benchmarks/gpu.sh` measures it on one
GPU (`training.json`); `write` then takes that instead. Counted and measured: parameters, multiply-adds, bytes,
operators, CPU times, and the last section.
"""

MODEL = """
## What is assumed

| | value | where from |
| --- | --- | --- |
| GPU | {a.gpu.name}: {tflops:g} TFLOP/s bfloat16, {a.gpu.memory:g} GB | {a.gpu.source} |
| share of that reached in training | {a.utilisation:g} | assumed; Megatron-LM reached 0.44 to 0.52 on A100 \
with far larger products (arXiv:2104.04473, Table 1) |
| step at least | {a.operator:g} µs x its operators | assumed: eager PyTorch starts them one by one; \
`torch.compile` and CUDA graphs start fewer |
| links in a node of {a.node} | {a.link:g} GB/s per GPU, each direction | NVLink 4: \
900 GB/s both ways (H100, H200 data sheets) |
| network | {a.network:g} GB/s per node = {network_gbit:,.0f} Gbit/s | DGX H200: 8 cards of 400 Gbit/s |
| share of both that a collective reaches | {a.reached:g} | assumed |
| latency of a ring's step | 3.4 µs in a node, 14 µs between | NCCL, `src/graph/tuning.cc` (Hopper, ring, "Simple") |
| communication hidden | behind {a.overlap:g} of the backward pass (DDP), of the step (FSDP) | assumed |
| epoch | {a.videos:,} videos, one clip each | Kinetics-400, about (the papers' 240k) |

A clip's step is 3 x its multiply-adds x 2 FLOP (forward, and twice that backward). Per step and GPU, DDP sends
`2 (n-1)/n` x 4 bytes per parameter (ring all-reduce of float32 gradients, Patarasuk and Yuan 2009,
doi:10.1016/j.jpdc.2008.09.002), in buckets of 25 MiB; FSDP2 `3 (n-1)/n` (parameters gathered for forward and backward,
gradients scattered: ZeRO, arXiv:1910.02054; FSDP, arXiv:2304.11277), a collective of `n-1` steps of latency per block.
Accumulated passes communicate nothing under DDP (`no_sync`); under FSDP each gathers again. The formulas are functions
in [lit_video/costs/scaling.py](../lit_video/costs/scaling.py). Epochs are training alone: no validation, no start, no
checkpoints, no stragglers, no waiting for data (below): real efficiencies are lower. Counts: commit {counted}.

How far a share of the peak can be from {a.utilisation:g}: TimeSformer on 8 x 224 took its authors {paper_hours:g}
V100-hours for {paper_epochs:g} epochs (arXiv:2102.05095, Table 2), which is {paper_tflops:.1f} TFLOP/s or
{paper_share:.3f} of that GPU's 125 in float16; they do not say what it waited for.
Times and GPU-hours below go with 1 / share (`--utilisation`).
"""

SCALING = """
## Time, cost, efficiency

DDP. Left, strong scaling: the paper's global batch, which divides to "clips x passes" per GPU (passes accumulate what
does not fit) and ends where a GPU would get no clip. Right, weak scaling: the clips per GPU of the paper's batch on
eight; the batch grows with the GPUs, and whether accuracy stays is not predicted. GPU-hours are of the paper's epochs
on Kinetics-400{price}. Efficiency: clips/s per GPU over those of one GPU.
"""

PICTURE = "![{what}]({file})"

STRATEGY = """
## DDP or FSDP, and the network

None of the three needs sharding to fit (next section), and FSDP sends half as much again, in small pieces: flat
FSDP over many nodes pays `n-1` latencies per block and collective. Where states do not fit, shard within a node and
replicate between nodes (hybrid sharding, arXiv:2304.11277, section 3.2.2).
"""

MEMORY = """
## Memory: where DDP ends and FSDP begins

Per parameter DDP holds 16 bytes (float32 weight, gradient, its bucket, SGD's momentum) and bfloat16 copies as
autocast keeps them; FSDP 12 / n, two gathered blocks and the same copies. What clips add is the peak of a step
as `python -m lit_video cost --memory` predicts it, from shapes alone; beside measured peaks it stands in
[performance.md](performance.md#long-clips). The table fills {share:.0%} of the memory. Checkpointing is
`--model.activation_checkpointing block`, for about a third more time. An entry of 0 does not fit.

On these models activations decide, not states: FSDP over 8 makes room for {freed} more clips at most. DDP ends where
states leave no room: at 80 GB beyond {largest:.1f} billion parameters with nothing left for activations, more than ten
times ViViT-L.
"""

DATA = """
## What the data path must give

Cores: CPU time of a training clip (decode, cut, augment by the paper's recipe) x the GPU's clips/s ({kind}); CPU
times are medians on {clips_from}. `h264-gop250` is made like Kinetics at 340 x 256
(key frames 250 frames apart; real files are often larger), `h264-gop12` like what `data prepare` writes.
"Share of the GPU" is what the {a.cores} cores of a node (DGX H200: 2 x 56) let its {a.node} GPUs do: below
100 % the CPU is the limit, and the times above are too short. Bytes are whole files, read once per clip; where
{a.storage:g} GB/s (assumed) feed fewer GPUs than there are, storage is the limit.
"""

CHECK = """
## Checked here: one and two processes

{model} ({parameters:.1f} M parameters), one thread per process, gloo over loopback, {rounds} rounds in which the kinds
of steps take turns; medians over the {quiet} rounds that took the least time, ratios within a round. All-reduces of
these rounds give {bandwidth:.2f} GB/s and {hop:.2f} ms per step; with these the functions above predict the steps.
Nothing overlaps: the cores that compute also communicate. "Two, accumulated" reduces once in {passes} passes.

{table}

Two processes that do not communicate at all take {contention:.2f} times as long as one alone: caches, memory, and
whatever else ran. GPUs share none of these, so the plan leaves it out. Load of the machine: {load} (the two processes
are up to 2 of the latter); {where}. {verdict}
"""
