"""A clip made and decoded, printed as JSON: run by :mod:`lit_video.diagnosis.decoders` in a process of its own."""

import json
import tempfile
from pathlib import Path

if __name__ == "__main__":
    import av
    import numpy as np

    from lit_video.datamodules.moving_shapes_rendering import encode
    from lit_video.video.decoding import decoder

    found = {"av": av.__version__, "ffmpeg": av.ffmpeg_version_info, "pyav": "", "torchcodec": ""}
    with tempfile.TemporaryDirectory() as folder:
        clip, frames = Path(folder) / "clip.mp4", np.zeros((8, 32, 32, 3), np.uint8)
        frames[4:] = 255
        encode(clip, frames, 8)
        for name in ("pyav", "torchcodec"):
            try:
                means = decoder(name)(clip, [1, 6]).mean((1, 2, 3))
                found[name] = "" if means[0] < 5 and means[1] > 250 else "decodes other pixels than were written"
            except Exception as error:
                found[name] = str(error).splitlines()[0][:200] or type(error).__name__
    print(json.dumps(found))
