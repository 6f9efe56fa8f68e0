"""docs/scaling.md as text, from stored measurements and assumptions. Imports no torch."""

import textwrap
from dataclasses import replace
from typing import Any

from check import quiet
from inputs import GB, Assumptions, Inputs
from predictions import COUNTS, HOUR, MEMORIES, Prediction, demand, room, strong, weak
from text import CHECK, DATA, HEAD, MEMORY, MODEL, PICTURE, SCALING, STRATEGY

from lit_video.costs.memory import SHARE
from lit_video.costs.scaling import WORD, step_bytes
from lit_video.utils.text_tables import markdown_lines

V100 = 125e12  # FLOP/s of float16 products, NVIDIA V100 data sheet
BUSY = """**The machine was busy with other work: this measurement is rough and confirms nothing.** In a quiet moment:
`python benchmarks/scaling measure processes`, then `write`."""
NETWORKS = (400.0, 50.0, 12.5, 3.125)  # GB/s of a node: 8 cards of 400 Gbit/s, one of 400, one of 100, one of 25


def page(inputs: Inputs, a: Assumptions, pictures: str) -> str:
    """The document; ``pictures`` begins the names of its pictures' files."""
    said = _words(inputs, a)
    blocks = [HEAD, _summary(inputs, a), MODEL, _models(inputs, a), SCALING]
    blocks += [_scaling(inputs, a, name) for name in inputs.models]
    blocks += [PICTURE.format(file=f"{pictures}_gpus.svg", what="epoch time and efficiency against GPUs"), STRATEGY]
    blocks += [_networks(inputs, a), MEMORY, _memory(inputs), DATA, _data(inputs, a)]
    blocks += [PICTURE.format(file=f"{pictures}_data.svg", what="what data and memory must give"), _check(inputs)]
    paragraphs = "\n\n".join(block.format(**said).strip() for block in blocks).split("\n\n")
    return "\n\n".join(map(_wrapped, paragraphs)) + "\n"


def _wrapped(paragraph: str) -> str:
    """Prose in lines of 120 characters; headings, tables and pictures as they are."""
    if paragraph.startswith(("#", "|", "![")):
        return paragraph
    return textwrap.fill(paragraph, 120, break_long_words=False, break_on_hyphens=False)


def _words(inputs: Inputs, a: Assumptions) -> dict[str, Any]:
    """What the text of the document names."""
    basis = f"measured on {inputs.device['device']}" if inputs.device else "an estimate: no GPU has been measured yet"
    cpu, paper = inputs.clips, inputs.counts["paper"]
    reached = 6 * paper["macs"] * a.videos * paper["epochs"] / (HOUR * paper["v100_hours"])
    return {
        "a": a,
        "kind": _kind(inputs),
        "basis": basis,
        "share": SHARE,
        "tflops": a.gpu.peak / 1e12,
        "network_gbit": 8 * a.network,
        "counted": inputs.counts["commit"],
        "paper_hours": paper["v100_hours"],
        "paper_epochs": paper["epochs"],
        "paper_tflops": reached / 1e12,
        "paper_share": reached / V100,
        "freed": _freed(inputs),
        "clips_from": f"{cpu['device']}, {cpu['clips']} clips each, commit {cpu['commit']}",
        "price": f"; a GPU-hour costs {a.price:g} here" if a.price else "; `--price` multiplies them",
        "largest": room(80) / (4 * WORD + 2) / 1e9,
    }


def _freed(inputs: Inputs) -> int:
    """The most clips that FSDP over 8 makes room for, of all models and memories of the table."""
    return max(
        each.clips(each.fsdp(8), room(memory)) - each.clips(each.ddp(), room(memory))
        for each in inputs.footprints.values()
        for memory in MEMORIES
    )


def _summary(inputs: Inputs, a: Assumptions) -> str:
    """The most GPUs at 90 % efficiency with the paper's batch, and what they cost."""
    header = ["model, the paper's batch", f"GPUs at 90 % efficiency, {_kind(inputs)}", "epoch", "whole training"]
    header += ["GPU-h", "cores per GPU", "clips that fit 24 / 80 GB"]
    body = []
    for name, footprint in inputs.footprints.items():
        predicted = [each for gpus in COUNTS if (each := strong(inputs, a, name, gpus))]
        most = max((each for each in predicted if each.efficiency >= 0.9), key=lambda each: each.gpus)
        row = inputs.counts["models"][name]
        fits = [footprint.clips(footprint.ddp(), room(memory)) for memory in (24, 80)]
        cells = [f"{name}, {row['global_batch']}", str(most.gpus), f"{60 * most.epoch:.2g} min"]
        cells += [f"{most.epoch * row['epochs']:.2g} h", f"{most.gpu_hours:.3g}"]
        cores = list(demand(inputs, a, name).cores.values())
        body.append([*cells, f"{min(cores):.1f} to {max(cores):.1f}", f"{fits[0]} / {fits[1]}"])
    return markdown_lines(header, body)


def _kind(inputs: Inputs) -> str:
    return "measured" if inputs.device else "estimate"


def _models(inputs: Inputs, a: Assumptions) -> str:
    kind = _kind(inputs)
    header = ["model", "clip", "parameters", "GMACs", "batch", "epochs", "MB/step DDP, 8", "MB/step FSDP, 8"]
    header += ["GB/clip", f"clips/s of one GPU, {kind}", f"least ms/step, {kind}"]
    body = []
    for name, row in inputs.counts["models"].items():
        sent = [f"{step_bytes(each, row['parameters'], 8) / 1e6:.0f}" for each in ("ddp", "fsdp")]
        cells = [name, f"{row['frames']} x {row['image_size']}²", f"{row['parameters'] / 1e6:.1f} M"]
        cells += [f"{row['macs'] / 1e9:.0f}", str(row["global_batch"]), str(row["epochs"]), *sent]
        model = inputs.models[name]
        cells += [f"{row['clip_bytes'] / GB:.2f}", f"{1 / model.clip_seconds:.3g}", f"{1e3 * model.least_seconds:.1f}"]
        body.append(cells)
    return markdown_lines(header, body)


def _scaling(inputs: Inputs, a: Assumptions, name: str) -> str:
    kind = "from a measured step" if inputs.device else "estimate"
    row = inputs.counts["models"][name]
    header = ["GPUs", "clips x passes", "clips/s", "epoch, h", "GPU-h, training", "efficiency"]
    header += ["weak: batch", "epoch, h", "GPU-h, training", "efficiency"]
    if a.price:
        header.insert(5, "price, training")
    body = []
    for gpus in COUNTS:
        fixed, grown = strong(inputs, a, name, gpus), weak(inputs, a, name, gpus)
        left = [f"{fixed.clips} x {fixed.passes}", f"{fixed.rate:.4g}", *_cells(fixed)] if fixed else ["-"] * 5
        if a.price:
            left.insert(4, f"{a.price * fixed.gpu_hours:.0f}" if fixed else "-")
        right = [f"{grown.clips * gpus:,}", *_cells(grown)] if grown else ["-"] * 4
        body.append([f"{gpus:,}", *left, *right])
    title = f"**{name}, global batch {row['global_batch']}, {row['epochs']} epochs ({kind})**"
    return f"{title}\n\n{markdown_lines(header, body)}"


def _cells(prediction: Prediction) -> list[str]:
    return [f"{prediction.epoch:.3g}", f"{prediction.gpu_hours:.3g}", f"{100 * prediction.efficiency:.0f} %"]


def _networks(inputs: Inputs, a: Assumptions) -> str:
    kind = "" if inputs.device else ", estimate"
    header = [f"weak efficiency at 64 / 1,024 GPUs{kind}"] + [f"{each:g} GB/s per node" for each in NETWORKS]
    body = []
    for name in inputs.models:
        for strategy in ("ddp", "fsdp"):
            cells = []
            for network in NETWORKS:
                own = replace(a, network=network)
                both = [weak(inputs, own, name, gpus, strategy) for gpus in (64, 1024)]
                cells.append(" / ".join(f"{100 * each.efficiency:.0f}" if each else "-" for each in both) + " %")
            body.append([f"{name}, {strategy.upper()}", *cells])
    return markdown_lines(header, body)


def _memory(inputs: Inputs) -> str:
    header = ["model", "states, GB: DDP", "FSDP over 8", "clips of a pass on:"]
    header += [f"{memory} GB" for memory in MEMORIES]
    body = []
    for name, footprint in inputs.footprints.items():
        states = {"DDP": footprint.ddp(), "FSDP over 8": footprint.fsdp(8)}
        kinds = [("DDP", False), ("FSDP over 8", False), ("DDP", True)]
        for i, (kind, checkpointing) in enumerate(kinds):
            fits = [footprint.clips(states[kind], room(memory), checkpointing) for memory in MEMORIES]
            known = [name, *(f"{each / GB:.2f}" for each in states.values())] if i == 0 else ["", "", ""]
            body.append([*known, kind + (", checkpointing" if checkpointing else ""), *map(str, fits)])
    return markdown_lines(header, body)


def _data(inputs: Inputs, a: Assumptions) -> str:
    kinds = [row["videos"] for row in inputs.clips["rows"]]
    header = ["model", "clips/s per GPU"] + [f"CPU ms/clip {kind}, measured" for kind in kinds]
    header += [f"cores per GPU {kind}" for kind in kinds] + [f"share of the GPU, {a.cores} cores: {kinds[0]}"]
    header += [kinds[1], "MB/s per GPU", "GB/s, 1,024 GPUs", f"GPUs fed by {a.storage:g} GB/s"]
    body = []
    for name in inputs.models:
        asked = demand(inputs, a, name)
        times = [f"{1e3 * row['cpu_seconds'][name]:.0f}" for row in inputs.clips["rows"]]
        cells = [name, f"{asked.rate:.3g}", *times, *(f"{asked.cores[kind]:.1f}" for kind in kinds)]
        cells += [f"{100 * asked.by_cores[kind]:.0f} %" for kind in kinds]
        cells += [f"{asked.bytes / 1e6:.0f}", f"{1024 * asked.bytes / GB:.0f}", f"{asked.by_storage:,.0f}"]
        body.append(cells)
    return markdown_lines(header, body)


def _check(inputs: Inputs) -> str:
    stored = inputs.processes
    rounds = quiet(stored)
    header = ["two processes", "time over that without communication: predicted", "measured"]
    header += ["efficiency: predicted", "measured"]
    body = []
    for each in rounds.checks():
        cells = [f"{each.predicted:.3f}", f"{each.measured:.3f}"]
        body.append([each.name, *cells, f"{100 / each.predicted:.0f} %", f"{100 / each.measured:.0f} %"])
    cluster = rounds.loopback()
    words = {
        "model": f"{stored['model']}, {stored['frames']} x {stored['image_size']}²",
        "rounds": len(stored["seconds"]["one"]),
        "quiet": len(rounds.rounds),
        "passes": stored["passes"],
        "parameters": stored["parameters"] / 1e6,
        "bandwidth": cluster.link / GB,
        "hop": 1e3 * cluster.link_hop,
        "contention": rounds.ratio("two apart", "one"),
        "load": f"{stored['load_before']:.1f} before and {stored['load_after']:.1f} after, on {stored['cores']} cores",
        "verdict": BUSY if stored["load_before"] > 1 else "",
        "where": f"{stored['device']}, torch {stored['versions']['torch']}, commit {stored['commit']}",
    }
    return CHECK.format(table=markdown_lines(header, body), **words)
