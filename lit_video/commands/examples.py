"""Two examples of every command, for its ``--help``; ``TABLE`` is ``experiments/ablation_tw``. Imports no torch."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "fit": (
        "--config experiments/ablation_tw.yaml --seeds 0,1,2 --jobs 2",
        "--config experiments/ablation_tw.yaml --config experiments/scale/ssv2.yaml --data.root DIR --row tw1",
    ),
    "finetune": ("videos", "videos --weights xvit-b-k600 --minutes 60"),
    "compare": ("videos --schemes xvit,divided,joint", "videos --schemes space,xvit --seeds 5 --minutes 5"),
    "sweep": (
        "experiments/ablation_*.yaml --seeds 0,1,2 --jobs 2",
        "experiments/xvit_ssv2.yaml --config experiments/scale/ssv2.yaml --launcher slurm --gpus-per-run 8",
    ),
    "table": (
        "--config experiments/ablation_tw.yaml --pairs",
        "--config experiments/skills.yaml --runs benchmarks/results --plot skills.png",
    ),
    "report": ("runs", "runs own/videos/runs -o report.html"),
    "pack": ("runs -o results", "runs/ablation_tw -o benchmarks/results"),
    "validate": ("--ckpt RUN", "--ckpt ablation_tw/tw1 --order reversed"),
    "test": ("--ckpt RUN --order shuffled", "--weights hub:timesformer-k400 --data.root DIR"),
    "predict": ("--ckpt RUN videos -o names.csv --top 1", "--ckpt RUN long.mp4 --every 0.5 --plot timeline.png"),
    "attention": ("video.mp4 --ckpt RUN -o maps.gif", "--ckpt RUN -o attention"),
    "embed": ("--ckpt RUN", "--ckpt RUN videos -o features.png --csv features.csv"),
    "cost": ("--plot cost.svg", "--config experiments/ablation_tw.yaml --json"),
    "export": ("--to onnx --ckpt RUN -o DIR", "--to hf-timesformer --ckpt RUN -o DIR"),
    "weights": ("", "--format markdown"),
    "weights fetch": ("timesformer-k400", "xvit-b-k600 xvit-b-ssv2"),
    "benchmark table": (
        "--config experiments/ablation_tw.yaml",
        "--config experiments/xvit_throughput.yaml --batch 16",
    ),
    "reproduce": ("", "--check"),
    "dashboard": ("--dry-run", "--entity TEAM experiments/ablation_tw.yaml own/videos/videos_compare.yaml"),
    "data": ("check ROOT --dataset ssv2", "prepare SRC DST"),
    "data check": ("ROOT --dataset ssv2", "ROOT --dataset folder --decode -o manifest.sqlite"),
    "data stats": ("ROOT --dataset folder", "ROOT --dataset ssv2 --json"),
    "data prepare": ("SRC DST --preset fast", "SRC DST --short-side 128 --crf 18"),
    "doctor": ("", "--runs DIR"),
}


def examples(command: str) -> str:
    """The end of a command's help."""
    lines = [f"  python -m lit_video {command} {arguments}".rstrip() for arguments in EXAMPLES.get(command, ())]
    return "\n".join(["examples:", *lines]) if lines else ""
