"""Measure a frozen backbone with and without stored features: clips through it, CPU seconds and seconds.

``python benchmarks/frozen.py -o frozen.json`` makes clips of noise and trains an attentive probe on a small X-ViT.
``--epochs-without 2`` trains fewer epochs without features, where every epoch passes through the backbone.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from lightning import Trainer

from lit_video.datamodules import VideoCSV
from lit_video.datamodules.drawing import encode
from lit_video.modules import XViT
from lit_video.modules.optimization import Optimization
from lit_video.network.vit import ViTSize
from lit_video.utils.environment import commit, device_name
from lit_video.utils.files import write_atomically
from lit_video.video.augmentation import Augmentation

CLIPS = {"num_frames": 8, "image_size": 64}
MODEL = CLIPS | {"size": ViTSize(192, 6, 3), "patch_size": 16}
QUIET = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)


def make_videos(folder: Path, count: int) -> None:
    """Write videos of noise and their table; a fifth of them validates."""
    rng, lines = np.random.default_rng(0), ["path,label,split"]
    for i in range(count):
        encode(folder / f"{i}.mp4", rng.integers(0, 255, (24, 90, 120, 3), np.uint8), 25)
        lines.append(f"{i}.mp4,{'ab'[i % 2]},{'val' if i % 5 == 4 else 'train'}")
    (folder / "labels.csv").write_text("\n".join(lines))


def measure(root: Path, weights: Path, features: Path | None, epochs: int) -> dict[str, float]:
    """Train and test a probe; return the number of clips through the backbone, and the seconds."""
    torch.manual_seed(0)
    probe = {"freeze": "backbone", "probe": "attentive", "optimization": Optimization("adamw", lr=1e-3)}
    model = XViT(2, **MODEL, weights=str(weights), **probe)  # type: ignore[arg-type]
    passes: list[int] = []
    model.network.embed.register_forward_hook(lambda _, clips, out: passes.append(len(clips[0])))
    data = VideoCSV(
        root=str(root), train="labels.csv", split_column="split", train_values=["train"], val_values=["val"],
        num_workers=0, views="whole", test_crops=1, keep_gb=1.0, features=features and str(features), **CLIPS,
        augmentation=Augmentation(crop="whole", flip=0.5, policy="none", random_erasing=0.0),
    )  # fmt: skip
    begun = time.process_time(), time.perf_counter()
    trainer = Trainer(max_epochs=epochs, **QUIET)
    trainer.fit(model, data)
    trainer.test(model, data, verbose=False)
    spent = {"cpu_seconds": time.process_time() - begun[0], "seconds": time.perf_counter() - begun[1]}
    counts = {"epochs": epochs, "clips_through_the_backbone": sum(passes)}
    return counts | {name: round(value, 1) for name, value in spent.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", "-o", type=Path, required=True)
    parser.add_argument("--videos", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--epochs-without", type=int, help="epochs without features (default: as many)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_videos(root, given.videos)
        torch.save(XViT(2, **MODEL).network.state_dict(), root / "start.pth")  # type: ignore[arg-type]
        kept = root / "features"
        found = {
            "clips": measure(root, root / "start.pth", None, given.epochs_without or given.epochs),
            "features, first run": measure(root, root / "start.pth", kept, given.epochs),
            "features, next run": measure(root, root / "start.pth", kept, given.epochs),
        }
    facts = {"commit": commit(), "device": device_name("cpu"), "videos": given.videos}
    write_atomically(given.output, json.dumps(facts | {"results": found}, indent=1) + "\n")
    print(json.dumps(found, indent=1))
