"""The ``cost`` command: parameters and multiply-adds of every scheme, beside the papers' figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lit_video.commands.arguments import parse_request
from lit_video.commands.parser import Parser
from lit_video.costs.published import Published, agrees, published, value
from lit_video.utils.text_tables import text_table

CONVENTION = """\
GMACs are 10^9 multiply-adds of matrix products, attention included, and convolutions. The papers' "FLOPs" are
multiply-adds too. A figure with = is met to its last printed digit."""
HEADER = ["model", "clip", "params", "paper", "diff.", "GMACs", "views", "total", "paper", "diff.", "note"]


def cost(argv: list[str]) -> int:
    """Print the costs of the papers' models, or of the rows of one table; draw them with ``--plot``."""
    parser = Parser("cost")
    parser.add_argument(
        "--config", "-c", action="append", type=Path, help="a table's rows instead (overlays may follow)"
    )
    parser.add_argument("--json", action="store_true", help="print as JSON")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw cost against frames and resolution (.png, .pdf, .svg)"
    )
    known, flags = parser.parse_known_args(argv)
    if flags and not known.config:
        parser.error(f"{flags[0]}: no such flag of cost without --config")
    if known.plot:
        from lit_video.utils.figures import check_picture

        check_picture(known.plot)
    rows = list(_table_costs(known.config, flags) if known.config else _published_costs(published()))
    print(json.dumps(rows, indent=2) if known.json else render(rows))
    if known.plot:
        from lit_video.costs.curves import draw

        draw(known.plot)
    return 0


def _published_costs(models: Sequence[Published]) -> Iterator[dict[str, Any]]:
    for model in models:
        clip = {"frames": model.frames, "image_size": model.image_size, "classes": model.classes, "views": model.views}
        printed = {"params": model.params, "cost": model.cost}
        yield _compared(model.source, model.label, clip, model.count(), printed, model.note)


def _table_costs(configs: list[Path], flags: list[str]) -> Iterator[dict[str, Any]]:
    """Rows of a table at its scale; the figures that the paper prints are for the paper's scale."""
    from lit_video.costs.count import count
    from lit_video.training.run import build_row
    from lit_video.video.batch import outputs

    request = parse_request([arg for path in configs for arg in ("--config", str(path))] + flags)
    source = f"{request.table.title} ({request.table.source}), ours at scale {request.table.scale}"
    for row in request.rows:
        built = build_row(request, row, request.seeds[0])
        data = built.datamodule
        clip = {"frames": data.frames, "image_size": data.image_size, "classes": outputs(data.num_classes)}
        clip["views"] = data.test_clips * data.test_crops
        counted = count(built.model, data.frames, data.image_size)
        yield _compared(source, row.label, clip, counted, row.published, "")


def _compared(
    source: str,
    label: str,
    clip: dict[str, int],
    counted: tuple[int, int],
    printed: Mapping[str, str | None],
    note: str,
) -> dict[str, Any]:
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
        body = [_cells(row, notes) for row in rows if row["source"] == source]
        parts.append(text_table(source, HEADER, body))
    footnotes = [f"[{i}] {note}" for i, note in enumerate(notes, 1)]
    return "\n\n".join(filter(None, [*parts, "\n".join(footnotes), CONVENTION]))


def _cells(row: dict[str, Any], notes: list[str]) -> list[str]:
    return [
        row["model"],
        f"{row['frames']} x {row['image_size']}",
        f"{row['params'] / 1e6:.4g}M",
        row["paper_params"] or "",
        _difference(row["params"], row["paper_params"]),
        f"{row['macs_per_view'] / 1e9:.4g}",
        str(row["views"]),
        f"{row['macs'] / 1e9:.5g}G",
        row["paper_macs"] or "",
        _difference(row["macs"], row["paper_macs"]),
        f"[{notes.index(row['note']) + 1}]" if row["note"] else "",
    ]


def _difference(ours: float, printed: str | None) -> str:
    if printed is None:
        return ""
    return "=" if agrees(ours, printed) else f"{100 * (ours / value(printed) - 1):+.1f} %"
