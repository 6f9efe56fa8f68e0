"""A clip made and decoded, printed as JSON: run by :mod:`lit_video.diagnosis.decoders` in a process of its own."""

import json
import tempfile
from pathlib import Path

if __name__ == "__main__":
    import av
    import numpy as np

    from lit_video.video.decoding import decoder

    found = {"av": av.__version__, "ffmpeg": av.ffmpeg_version_info, "pyav": "", "torchcodec": ""}
    with tempfile.TemporaryDirectory() as folder:
        clip = Path(folder) / "clip.mp4"
        with av.open(str(clip), "w") as container:
            stream = container.add_stream("libx264", rate=8)
            stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
            for value in [0] * 4 + [255] * 4:
                image = np.full((32, 32, 3), value, np.uint8)
                container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
            container.mux(stream.encode())
        for name in ("pyav", "torchcodec"):
            try:
                dark, bright = decoder(name)(clip, [1, 6]).mean((1, 2, 3))
                found[name] = "" if dark < 10 and bright > 245 else "decodes other pixels than were written"
            except Exception as error:
                found[name] = str(error).splitlines()[0][:200] or type(error).__name__
    print(json.dumps(found))
