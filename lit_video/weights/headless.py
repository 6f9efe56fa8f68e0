"""Video models stored without their classifier, as features alone."""

from collections.abc import Mapping

from torch import Tensor

# transformers' names of the model inside the classifier, by a name that only this one has
_BARE = {"embeddings.time_embeddings": "timesformer.", "embeddings.patch_embeddings.projection.weight": "vivit."}
_STEM = "patch_embed.proj.weight"  # timm's and the authors'


def with_classifier(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights, with a classifier of one class, all zeros, where they have none: no loader then misses it."""
    tensors = _classifying(state_dict)
    weight, bias, width = _classifier(tensors)
    if not weight or weight in tensors:
        return tensors
    shape = (width, 1) if weight.endswith("kernel") else (1, width)
    like = next(iter(tensors.values()))
    return tensors | {weight: like.new_zeros(shape), bias: like.new_zeros(1)}


def _classifying(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """``TimesformerModel`` and ``VivitModel`` under their names in the classifying model."""
    prefix = next((prefix for name, prefix in _BARE.items() if name in state_dict), "")
    if prefix == "vivit." and state_dict["embeddings.patch_embeddings.projection.weight"].ndim != 5:
        prefix = ""  # of pictures
    return {f"{prefix}{key}": value for key, value in state_dict.items() if not key.startswith("pooler.") or not prefix}


def _classifier(tensors: Mapping[str, Tensor]) -> tuple[str, str, int]:
    """Names of the classifier's weight and bias, and the width that it reads; empty names of other sources."""
    if any("/encoderblock_" in key for key in tensors):
        return "output_projection/kernel", "output_projection/bias", tensors["embedding/bias"].shape[0]
    if (hidden := tensors.get("consensus.mlp_head.1.bias")) is not None:
        return "consensus.mlp_head.4.weight", "consensus.mlp_head.4.bias", hidden.shape[0]
    for key, value in tensors.items():
        if key.endswith(f"base_model.{_STEM}"):
            return "new_fc.weight", "new_fc.bias", value.shape[0]
        if key.endswith(_STEM):
            prefix = key.removesuffix(_STEM)
            return f"{prefix}head.weight", f"{prefix}head.bias", value.shape[0]
        if key.endswith("embeddings.patch_embeddings.projection.weight"):
            return "classifier.weight", "classifier.bias", value.shape[0]
    return "", "", 0
