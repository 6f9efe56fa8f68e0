"""Training clips/s and peak memory of the planned models on one device: what the plan's estimate gives way to."""

from typing import Any

import torch
from models import planned

from lit_video.benchmark.model_timing import Bench
from lit_video.benchmark.models import BenchmarkModel
from lit_video.errors import UserError

# clips per GPU of the papers on eight, half of them for TimeSformer-L: they fit 80 GB. Beside them a batch of 1, which
# says what a step takes at least
BATCHES = {"X-ViT-B": 16, "TimeSformer-L": 4, "ViViT-L": 8}


def measure(name: str, small: bool) -> dict[str, Any]:
    """Steps in bfloat16; ``small`` rehearses with the first model alone, at a batch of 1, once."""
    device, rows = torch.device(name), []
    for plan in planned()[: 1 if small else None]:
        for batch in (1,) if small else (1, BATCHES[plan.name]):
            bench = Bench(device, torch.bfloat16, batch, repeats=1 if small else 10)
            network = plan.model.build().network.to_empty(device=name)
            for parameter in network.parameters():
                torch.nn.init.normal_(parameter, std=0.02)
            result = bench.run([BenchmarkModel(plan.name, network, plan.model.frames)], plan.model.image_size)
            [row] = result["rows"]
            if "left_out" in row:
                raise UserError(f"{plan.name}, batch {batch}: {row['left_out']}")
            rows.append({"batch": batch} | row)
            del network
    return {"gpu": name == "cuda", "dtype": "bfloat16", "rows": rows}
