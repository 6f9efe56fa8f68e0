"""Cost against resolution and against frames, for all schemes (TimeSformer, Fig. 3)."""

from pathlib import Path

import torch

from lit_video.costs.count import count
from lit_video.modules import Perceiver, TimeSformer, VideoClassifier, ViViT, XViT
from lit_video.utils.figures import plt, save
from lit_video.utils.progress import with_progress

SIZES = (224, 320, 448, 576)  # even numbers of patches, which L+G needs
FRAMES = (8, 32, 64, 96)


def schemes() -> dict[str, VideoClassifier]:
    """Every scheme at ViT-B/16, with tubelets of one frame, on the meta device."""
    with torch.device("meta"):
        return {
            "space (S)": TimeSformer(400, attention="space"),
            "joint (ST; ViViT 1)": TimeSformer(400, attention="joint"),
            "divided (T+S)": TimeSformer(400, attention="divided"),
            "local-global (L+G)": TimeSformer(400, attention="local_global"),
            "axial (T+W+H)": TimeSformer(400, attention="axial"),
            "X-ViT mixing": XViT(400),
            "exact local window": XViT(400, exact=True),
            "ViViT 2": ViViT(400, frames=8, tubelet=1, variant=2),
            "ViViT 3": ViViT(400, frames=8, tubelet=1, variant=3),
            "ViViT 4": ViViT(400, frames=8, tubelet=1, variant=4),
            "Perceiver, 256 latents": Perceiver(400),
        }


def draw(path: Path) -> None:
    """Write the figure."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
    of_schemes = schemes()
    for i, (name, model) in enumerate(with_progress(of_schemes.items(), len(of_schemes), "counting schemes")):
        style = {"label": name, "color": f"C{i % 10}", "marker": "osD^v<>PX*h"[i], "linestyle": "-" if i < 5 else "--"}
        axes[0].plot(SIZES, [count(model.network, 8, size)[1] / 1e12 for size in SIZES], **style)
        axes[1].plot(FRAMES, [count(model.network, frames, 224)[1] / 1e12 for frames in FRAMES], **style)
    axes[0].set(xlabel="image size (pixels), 8 frames", ylabel="multiply-adds per view ($10^{12}$)", xticks=SIZES)
    axes[1].set(xlabel="frames of 224 pixels", xticks=FRAMES)
    for axis in axes:
        axis.set_yscale("log")
        axis.grid(alpha=0.3, which="both")
    figure.suptitle("Cost of the attention schemes, ViT-B/16 (compare TimeSformer, Fig. 3)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    save(figure, path)
