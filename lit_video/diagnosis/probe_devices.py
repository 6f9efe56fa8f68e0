"""What PyTorch finds, printed as JSON: run by :mod:`lit_video.diagnosis.devices` in a process of its own."""

import json
from typing import Any

if __name__ == "__main__":
    import torch

    gpus: list[dict[str, Any]] = []
    for i in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        gpu: dict[str, Any] = {"name": torch.cuda.get_device_name(i), "error": ""}
        try:
            gpu["free"], gpu["total"] = (n / 2**30 for n in torch.cuda.mem_get_info(i))
            ones = torch.ones(64, 64, device=f"cuda:{i}")
            gpu["error"] = "" if (ones @ ones).sum().item() == 64**3 else "a product of matrices is wrong"
        except RuntimeError as error:
            gpu["error"] = str(error).splitlines()[0][:150]
        gpus.append(gpu)
    print(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda, "hip": torch.version.hip, "gpus": gpus}))
