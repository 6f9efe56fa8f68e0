"""Other packages' models that are timed beside ours: transformers', PyTorchVideo's, torchvision's. Fetches nothing."""

from collections.abc import Callable, Mapping
from typing import Any

from einops import rearrange
from torch import Tensor, nn

from lit_video.benchmark.models import CLASSES, BenchmarkModel, Clip
from lit_video.network.convnets import convnet
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import ViTSize
from lit_video.weights.hugging_face import export_hf_timesformer, export_hf_vivit

EAGER = "eager attention: transformers has no other for it"


class _Peer(nn.Module):
    """transformers' model as clips to logits; its own layout is ``(b, t, 3, height, width)``."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, clip: Tensor) -> Tensor:
        """Logits."""
        return self.model(rearrange(clip, "b c t h w -> b t c h w")).logits


def same_weights(size: ViTSize, clip: Clip) -> dict[str, Callable[[VideoTransformer], BenchmarkModel]]:
    """Builders of transformers' models from ours, weights copied, by name.

    Each raises ``ImportError`` where transformers is not installed.
    """
    shared: dict[str, Any] = {
        "image_size": clip.image_size,
        "hidden_size": size.width,
        "num_hidden_layers": size.depth,
        "num_attention_heads": size.heads,
        "intermediate_size": round(size.width * size.mlp_ratio),
        "num_labels": CLASSES,
    }

    def hf_timesformer(name: str, attention: str) -> Callable[[VideoTransformer], BenchmarkModel]:
        def make(network: VideoTransformer) -> BenchmarkModel:
            import transformers as hf

            config = hf.TimesformerConfig(patch_size=16, num_frames=clip.frames, attention_type=attention, **shared)
            model = hf.TimesformerForVideoClassification(config)
            model.load_state_dict(export_hf_timesformer(network))
            return BenchmarkModel(name, _Peer(model), clip.frames, note=EAGER)

        return make

    def hf_vivit(network: VideoTransformer) -> BenchmarkModel:
        import transformers as hf

        sdpa: dict[str, Any] = {"attn_implementation": "sdpa"}
        config = hf.VivitConfig(num_frames=2 * clip.frames, tubelet_size=[2, 16, 16], **sdpa, **shared)
        model = hf.VivitForVideoClassification(config)
        model.load_state_dict(export_hf_vivit(network))
        return BenchmarkModel("HF ViViT-1", _Peer(model), 2 * clip.frames)

    return {
        "HF S": hf_timesformer("HF S", "space_only"),
        "HF ST": hf_timesformer("HF ST", "joint_space_time"),
        "HF T+S": hf_timesformer("HF T+S", "divided_space_time"),
        "HF ViViT-1": hf_vivit,
    }


def _mvit_b(image_size: int) -> nn.Module:
    from pytorchvideo.models.hub import mvit_base_16x4

    return mvit_base_16x4(spatial_size=image_size, head_num_classes=CLASSES)


def _slowfast(image_size: int) -> nn.Module:
    return convnet("slowfast", CLASSES)


def _mvit_v2(image_size: int) -> nn.Module:
    from torchvision.models.video import mvit_v2_s

    if image_size != 224:
        raise ValueError("torchvision builds it for 224 pixels only")
    return mvit_v2_s(num_classes=CLASSES)


def _swin3d(image_size: int) -> nn.Module:
    from torchvision.models.video import swin3d_b

    return swin3d_b(num_classes=CLASSES)


# models of other kinds, of their own size, with the frames of their published evaluation; they have no twin of ours.
# Each raises ImportError where its package is missing, ValueError for clips that it does not take.
PUBLISHED: Mapping[str, tuple[int, Callable[[int], nn.Module]]] = {
    "MViT-B 16x4": (16, _mvit_b),
    "SlowFast R50": (32, _slowfast),
    "MViT-v2-S": (16, _mvit_v2),
    "Swin3D-B": (32, _swin3d),
}


def published(name: str, image_size: int) -> BenchmarkModel:
    """One of :data:`PUBLISHED`, with random weights."""
    frames, build = PUBLISHED[name]
    return BenchmarkModel(name, build(image_size), frames)
