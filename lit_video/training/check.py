"""First step of a run: build data set, model and trainer settings on the meta device, and refuse wrong settings."""

from lightning.pytorch.callbacks import BatchSizeFinder, LearningRateFinder

from lit_video.datamodules.checks import refuse_choice, refuse_copies
from lit_video.engine.checkpoints import refuse_unknown_values, refuse_wrong_mode
from lit_video.engine.global_batch import check_scaling
from lit_video.errors import UserError
from lit_video.experiment.cli import Built, user_errors
from lit_video.experiment.request import Run
from lit_video.experiment.spec import Spec
from lit_video.runs.chosen_checkpoint import LAST
from lit_video.runs.folder import has_result
from lit_video.settings.nested import as_list


def checked(spec: Spec) -> Built:
    """Build data set and model of a run on the meta device; check starting weights, data and trainer."""
    run = spec.run
    built = spec.build("meta")
    with user_errors(run.origin):
        is_begun = has_result(run.folder) or (run.folder / LAST).exists()
        if not is_begun:  # a finished run, or one that goes on, no longer reads starting weights
            built.model.check_image_weights()
            run.refuse_unfinished_start(built.model.weights)
        built.datamodule.check()

        callbacks = as_list(built.objects.trainer.callbacks)
        for callback in callbacks:
            if isinstance(callback, LearningRateFinder | BatchSizeFinder):
                reason = "the run would record another setting than it uses, and search again when it resumes"
                advice = "search in Python (docs/recipes.md), then set model.optimization.lr or data.batch_size"
                raise UserError(f"trainer.callbacks: {type(callback).__name__}: {reason}; {advice}")
        refuse_wrong_mode(callbacks)
        refuse_unknown_values(callbacks, built.model)

        refuse_copies(built.datamodule)
        check_scaling(built.config.trainer, built.config.global_batch, built.datamodule.batch_size)
    return built


def refuse_tested(run: Run, built: Built) -> None:
    """Refuse callbacks that would choose a checkpoint by test videos.

    This needs the videos, so it comes after they are prepared.
    """
    with user_errors(run.origin):
        refuse_choice(built.datamodule, as_list(built.objects.trainer.callbacks))
