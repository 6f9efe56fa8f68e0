"""The models that are planned for, from the files that define them: papers' costs, Kinetics-400's recipes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lit_video.costs.published import Published, published
from lit_video.utils.yaml_files import read_yaml

ROOT = Path(__file__).resolve().parents[2]
SCALE = ROOT / "experiments" / "scale" / "k400.yaml"
LABELS = {"X-ViT-B": "X-ViT 8 frames", "TimeSformer-L": "TimeSformer-L 96 x 224", "ViViT-L": "ViViT-L/16x2"}
ROW_STRIDES = {"TimeSformer-L": 4}  # of the row in experiments/timesformer_k400.yaml, over the recipe's


@dataclass(frozen=True)
class Planned:
    """A model, and its paper's training on Kinetics-400.

    Args:
        name: in the plan.
        model: how it is built and counted.
        epochs: of the paper.
        global_batch: clips of an optimizer step, over all devices.
        data: settings of the data set: sampling, augmentation.
    """

    name: str
    model: Published
    epochs: int
    global_batch: int
    data: dict[str, Any]

    def shape(self, batch: int) -> tuple[int, ...]:
        """Of a batch."""
        return batch, 3, self.model.frames, self.model.image_size, self.model.image_size


def planned() -> list[Planned]:
    """The three models."""
    scale = read_yaml(SCALE)
    models = {model.label: model for model in published()}
    plans = []
    for name, label in LABELS.items():
        recipe = scale["recipes"][models[label].family.lower()]["paper"]
        data = {key.removeprefix("data."): value for key, value in recipe.items() if key.startswith("data.")}
        if name in ROW_STRIDES:
            data["sampling"]["init_args"]["stride"] = ROW_STRIDES[name]
        batch = recipe["data.batch_size"] * scale["trainer"]["devices"]
        plans.append(Planned(name, models[label], recipe["trainer.max_epochs"], batch, data))
    return plans
