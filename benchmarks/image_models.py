"""Train the image models that come with the package, from which the tables on the temporal skills start.

``python -m benchmarks.image_models`` writes those that are missing to ``lit_video/training/stills``. They come with the
package because a training ends with other weights on another machine, and all rows of a table start from equal ones.
"""

import shutil
import sys
from pathlib import Path

from lit_video.experiment.request import build_request
from lit_video.experiment.spec import Spec
from lit_video.training import stills
from lit_video.utils.yaml_files import EXPERIMENTS

TABLES = ("ablation_tw", "timesformer_schemes", "vivit_models")


def main() -> int:
    """Train the image models."""
    for name in TABLES:
        request = build_request([EXPERIMENTS / f"{name}.yaml"])
        built = Spec(request.runs[0]).build()
        stills.start_from_stills(built.model, built.datamodule)
        file = Path(built.model.image_weights or "")
        if file.parent != stills.SHIPPED:
            shutil.copy(file, stills.SHIPPED)
        print(f"{name} starts from {file.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
