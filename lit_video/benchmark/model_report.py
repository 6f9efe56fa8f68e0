"""A benchmark of models as a table."""

from typing import Any

from lit_video.utils.text_tables import text_table

GIGA = 1e9
GIB = 2**30
HEADER = ["model", "frames", "GMACs", "forward s", "clips/s", "of peak", "train s", "clips/s", "of peak"]
HEADER += ["memory", "against", "forward x", "train x", "logits diff."]


def render(result: dict[str, Any]) -> str:
    """The result as a table, and under it what is to be known of single models."""
    rows = [row for row in result["rows"] if "left_out" not in row]
    lines = [text_table(title(result), HEADER, [cells(row) for row in rows])]
    lines.append(
        "of peak: share of the rate of large matrix products in the same rounds, "
        f"{result['matmul_flops'] / 1e12:.3g} TFLOP/s; x: throughput over that\nof the model under 'against', median "
        "of the rounds; memory: peak of a training step"
    )
    lines += [f"{row['model']}: {row['note']}" for row in rows if "note" in row]
    lines += [f"{row['model']}: left out: {row['left_out']}" for row in result["rows"] if "left_out" in row]
    if fit := [f"{key} {value:.4f}" for key, value in result.get("fit", {}).items()]:
        lines.append(f"squared correlation with the frames, 1 for a line: {', '.join(fit)}")
    return "\n".join(lines)


def title(result: dict[str, Any]) -> str:
    """Size, precision, device, and how often was measured."""
    return (
        f"ViT-{result['size']}/16, {result['image_size']} px, batch {result['batch']}, {result['dtype']}, "
        f"{result['device']}, medians of {result['rounds']}"
    )


def cells(row: dict[str, Any]) -> list[str]:
    """One model, with what it lacks as empty cells."""

    def optional(key: str, form: str, scale: float = 1.0) -> str:
        return "" if row.get(key) is None else format(row[key] / scale, form)

    def share(key: str) -> str:
        return f"{100 * row[key]:.0f} %"

    return [
        row["model"],
        str(row["frames"]),
        f"{row['macs'] / GIGA:.3g}",
        f"{row['forward_seconds']:.3f}",
        f"{row['forward_clips_per_second']:.3g}",
        share("share_of_matmul"),
        f"{row['train_seconds']:.3f}",
        f"{row['train_clips_per_second']:.3g}",
        share("train_share_of_matmul"),
        optional("train_memory", ".2f", GIB) + (" GiB" if row["train_memory"] is not None else ""),
        row.get("against", ""),
        optional("forward_throughput_ratio", ".2f"),
        optional("train_throughput_ratio", ".2f"),
        optional("logits_difference", ".0e"),
    ]
