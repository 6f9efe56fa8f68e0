"""A benchmark of models as a table."""

from typing import Any

from lit_video.utils.text_tables import text_table


def render(result: dict[str, Any]) -> str:
    """The result as a table."""
    header = ["model", "frames", "forward s", "clips/s", "GMAC/s", "of matmul", "train s", "clips/s", "memory"]
    header += ["against", "forward x", "train x", "logits diff."]
    body = [_cells(row) for row in result["rows"]]
    title = (
        f"ViT-{result['size']}/16, {result['image_size']} px, batch {result['batch']}, {result['dtype']}, "
        f"{result['device']}, medians of {result['repeats']}"
    )
    legend = (
        "x: throughput over that of the model under 'against', median of the rounds; memory: peak of a training step"
    )
    fit = [f"{key} {value:.4f}" for key, value in result.get("fit", {}).items()]
    lines = f"\nsquared correlation with the frames, 1 for a line: {', '.join(fit)}" if fit else ""
    return text_table(title, header, body) + "\n" + legend + lines


def _cells(row: dict[str, Any]) -> list[str]:
    def optional(key: str, form: str, scale: float = 1.0) -> str:
        return "" if row.get(key) is None else format(row[key] / scale, form)

    return [
        row["model"],
        str(row["frames"]),
        f"{row['forward_seconds']:.3f}",
        f"{row['forward_clips_per_second']:.3g}",
        f"{row['macs_per_second'] / 1e9:.4g}",
        f"{100 * row['share_of_matmul']:.0f} %",
        f"{row['train_seconds']:.3f}",
        f"{row['train_clips_per_second']:.3g}",
        optional("train_memory", ".2f", 2**30) + (" GiB" if row["train_memory"] is not None else ""),
        row.get("against", ""),
        optional("forward_throughput_ratio", ".2f"),
        optional("train_throughput_ratio", ".2f"),
        optional("logits_difference", ".0e"),
    ]
