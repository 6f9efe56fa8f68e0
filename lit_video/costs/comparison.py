"""Costs of models beside the figures that papers print, as a text table."""

from collections.abc import Mapping, Sequence
from typing import Any

from lit_video.costs.published import agrees, value
from lit_video.utils.image_size import in_words
from lit_video.utils.text_tables import text_table

CONVENTION = """\
GMACs are 10^9 multiply-adds of matrix products, attention included, and convolutions. The papers' "FLOPs" are
multiply-adds too. A figure with = is met to its last printed digit."""
HEADER = ["model", "clip", "params", "paper", "diff.", "GMACs", "views", "total", "paper", "diff.", "note"]


def compare(
    source: str,
    label: str,
    clip: Mapping[str, Any],
    counted: tuple[int, int],
    printed: Mapping[str, str | None],
    note: str,
) -> dict[str, Any]:
    """A model's row: what is counted, parameters and multiply-adds of a view, beside what the paper prints."""
    params, macs = counted[0], counted[1] * clip["views"]
    paper_params, paper_macs = printed.get("params"), printed.get("cost")
    return {
        "source": source,
        "model": label,
        **clip,
        "params": params,
        "macs_per_view": counted[1],
        "macs": macs,
        "paper_params": paper_params,
        "paper_macs": paper_macs,
        "params_agree": agrees(params, paper_params) if paper_params else None,
        "macs_agree": agrees(macs, paper_macs) if paper_macs else None,
        "note": note,
    }


def render(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as tables, one per source, with the notes below."""
    notes = list(dict.fromkeys(row["note"] for row in rows if row["note"]))
    parts = []
    for source in dict.fromkeys(row["source"] for row in rows):
        of_source = [row for row in rows if row["source"] == source]
        body = [[*cells(row), f"[{notes.index(row['note']) + 1}]" if row["note"] else ""] for row in of_source]
        parts.append(text_table(source, HEADER, body))
    footnotes = [f"[{i}] {note}" for i, note in enumerate(notes, 1)]
    return "\n\n".join(filter(None, [*parts, "\n".join(footnotes), CONVENTION]))


def cells(row: Mapping[str, Any]) -> list[str]:
    """A row of :func:`compare` under ``HEADER``, without the last column, its note."""
    return [
        row["model"],
        f"{row['frames']} x {side if isinstance(side := row['image_size'], int) else in_words(side)}",
        f"{row['params'] / 1e6:.4g}M",
        row["paper_params"] or "",
        _difference(row["params"], row["paper_params"]),
        f"{row['macs_per_view'] / 1e9:.4g}",
        str(row["views"]),
        f"{row['macs'] / 1e9:.5g}G",
        row["paper_macs"] or "",
        _difference(row["macs"], row["paper_macs"]),
    ]


def _difference(ours: float, printed: str | None) -> str:
    if printed is None:
        return ""
    return "=" if agrees(ours, printed) else f"{100 * (ours / value(printed) - 1):+.1f} %"
