"""Parameters and multiply-adds of the papers' models and of a table's rows; nothing is trained."""

from collections.abc import Iterator

from lit_video.experiment.request import Request, Run
from lit_video.network.multiply_adds import Published, count_params_and_macs


def count_published(model: Published) -> tuple[int, int]:
    """Count parameters and multiply-adds per view of our version of a paper's model, built on the meta device."""
    import torch  # here, because importing it takes seconds

    from lit_video import modules

    with torch.device("meta"):
        built = getattr(modules, model.family)(model.classes, **model.settings)
    return count_params_and_macs(built.network, model.settings["num_frames"], model.settings["image_size"])


def table_costs(request: Request) -> Iterator[tuple[Published, tuple[int, int]]]:
    """Yield the cost of each row, as published (empty unless the data are the paper's) and as counted here."""
    # here, because importing torch takes seconds
    from lit_video.experiment.spec import Specs
    from lit_video.utils.classes import outputs

    table = request.table
    source = f"{table.title} ({table.source}), ours at scale {table.scale}"
    specs = Specs()
    for row in request.rows:
        built = specs.of(Run(request, row, request.seeds[0])).build("meta")
        data = built.datamodule
        clip = {"num_frames": data.num_frames, "image_size": data.test_image_size}
        printed = row.published if table.on_papers_data else {}
        clips, crops = map(int, printed.get("views", f"{data.test_clips}x{data.test_crops}").split("x"))
        model = Published(
            source,
            row.label,
            built.model.scheme_name,
            classes=outputs(data.num_classes),
            views=clips * crops,
            settings=clip,
            params=printed.get("params"),
            cost=printed.get("cost"),
            note=printed.get("note", ""),
        )
        yield model, count_params_and_macs(built.model, data.num_frames, data.test_image_size)
