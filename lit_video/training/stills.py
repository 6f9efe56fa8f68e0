"""Image models pretrained on synthetic stills instead of ImageNet."""

import re
from pathlib import Path
from typing import Any

import torch
from einops.layers.torch import Rearrange
from filelock import FileLock
from lightning import Trainer
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from safetensors.torch import save
from timm.models.vision_transformer import VisionTransformer
from torch import nn

from lit_video.datamodules import VideoDataModule
from lit_video.datamodules.stills import STILL_TASKS, STILLS_VERSION, Stills
from lit_video.engine.progress import Progress
from lit_video.errors import UserError
from lit_video.modules import VideoClassifier
from lit_video.modules.optimization import Optimization
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import ViTSize
from lit_video.training.run_end import keep_handlers
from lit_video.utils.files import write_bytes
from lit_video.weights.image_vit import STILLS_PREFIX
from lit_video.weights.reading import weights_digest

SHIPPED = Path(__file__).with_name("stills")  # image models that come with the package
SIDE = 32
_OPTIMIZATION = Optimization("muon", lr=4e-3, weight_decay=0.05, warmup=0.1, warmup_start=0.01)
POSITION_STD = 0.2  # timm's 0.02 is too small to learn positions in so few steps


def start_from_stills(model: VideoClassifier, data: VideoDataModule, run_dir: Path | None = None) -> dict[str, str]:
    """Replace ``stills:N`` in a model's ``image_weights`` by the file of an image ViT; train it if the file is missing.

    The ViT has the size and patches of the model and the parameter names of timm. It is trained on N pictures.
    All rows and seeds share the file: it comes with the package for the tables on the temporal skills, and is in the
    data set's ``shared_folder`` for other sizes.

    Returns:
        The digest of the file by its name, because rows are compared only if they start from equal weights; empty for
        a model that starts from something else.
    """
    weights = model.image_weights or ""
    if not weights.startswith("stills:"):
        return {}
    if not re.fullmatch(r"stills:[1-9]\d{2,6}", weights):
        raise UserError(f"model.image_weights: {weights}: expected stills:N, N pictures from 100, such as stills:24576")

    assert isinstance(model.network, VideoTransformer)
    assert model.size is not None
    size = model.size
    patch_size = model.network.embed.patches.patch_size
    stills = Stills(int(weights.removeprefix("stills:")), SIDE)

    shape = f"w{size.embed_dim}-l{size.depth}-h{size.num_heads}-m{size.mlp_ratio:g}-p{patch_size}"
    name = f"{STILLS_PREFIX}v{STILLS_VERSION}-{stills.count}x{SIDE}-{shape}"
    path = SHIPPED / f"{name}.safetensors"
    if not path.is_file():
        path = data.shared_folder / path.name
        _train_once(path, size, patch_size, stills, run_dir)
    model.image_weights = str(path)
    return {name: weights_digest(path)}


def _train_once(path: Path, size: ViTSize, patch_size: int, stills: Stills, run_dir: Path | None) -> None:
    """Train an image ViT into a file that does not exist."""
    folder = path.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):  # another row may be training the file
            if not path.exists():
                image_model = train_on_stills(size, patch_size, stills, run_dir=run_dir)
                write_bytes(path, save(image_model.state_dict()))
    except OSError as error:
        raise UserError(f"model.image_weights: cannot write {path} ({error.strerror}); set data.root") from None


def train_on_stills(
    size: ViTSize, patch_size: int, stills: Stills, *, run_dir: Path | None = None
) -> VisionTransformer:
    """Train timm's ViT to classify stills; the result depends on the arguments alone."""
    with torch.random.fork_rng():
        torch.manual_seed(STILLS_VERSION)
        shape: Any = dict(
            embed_dim=size.embed_dim, depth=size.depth, num_heads=size.num_heads, mlp_ratio=size.mlp_ratio
        )
        vit = VisionTransformer(stills.side, patch_size, num_classes=sum(STILL_TASKS.values()), **shape).apply(_init)
        assert vit.pos_embed is not None
        nn.init.trunc_normal_(vit.pos_embed, std=POSITION_STD)

        image_model = nn.Sequential(Rearrange("b c 1 height width -> b c height width"), vit)
        classifier = VideoClassifier(image_model, _OPTIMIZATION, num_classes=STILL_TASKS)
        trainer = Trainer(
            accelerator="auto",
            devices=1,
            plugins=[LightningEnvironment()],  # one process, even if torchrun or Slurm started the run
            max_epochs=1,
            gradient_clip_val=1.0,
            logger=False,
            callbacks=[Progress(f"image model of {stills.count} stills", run_dir, "image model")],
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=False,
        )
        keep_handlers(trainer)
        trainer.fit(classifier, stills)
    return vit.cpu()


def _init(module: nn.Module) -> None:
    """Initialise a linear layer with Xavier-uniform weights and zero biases; timm's 0.02 is too small at this width."""
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
