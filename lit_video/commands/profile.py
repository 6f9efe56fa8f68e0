"""The ``profile`` command: what an attention scheme of one's own sees, costs, and breaks."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.commands.arguments import add_output, writing
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.utils.files import write_atomically, write_bytes
from lit_video.utils.text import did_you_mean

if TYPE_CHECKING:
    from lit_video.attention import Scheme
    from lit_video.inference.scheme_sight import Sight


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("my_scheme.py", "divided -o profile")
    text = "FILE.py, FILE.py:CLASS or MODULE.CLASS of your own, or the name of a built-in scheme"
    parser.add_argument("scheme", metavar="SCHEME", help=text)
    add_output(parser, "DIR", otherwise="profile/NAME")


def run(arguments: Namespace) -> int:
    """Check an attention scheme, and show what it sees and costs.

    Draws which tokens see which, and after how many layers; measures parameters, multiply-adds, memory and time beside
    the built-in schemes. Exits with 1 where the scheme breaks its contract.
    """
    from lit_video.inference.scheme_contract import check_contract
    from lit_video.inference.scheme_cost import HEADER, HEADS, WIDTH, cells, costs
    from lit_video.inference.scheme_sight import in_words
    from lit_video.utils.environment import commit
    from lit_video.utils.text import text_table

    name, kind = _scheme(arguments.scheme)
    contract = check_contract(kind)
    for one in contract.findings:
        print(f"FAULT {one.check}: {one.fault}" if one.fault else f"ok    {one.check}", flush=True)
    print(f"grids, frames x rows x columns: {contract.grids}")
    if contract.faults or not contract.sight:
        return 1
    words = in_words(contract.sight)
    print("", *(f"{key}: {text}" for key, text in words.items()), sep="\n", flush=True)
    schemes = {name: kind} | {key: other for key, other in built_in().items() if key != name}
    found = costs({key: partial(each, WIDTH, HEADS) for key, each in schemes.items()})
    print("", text_table("One layer, a clip of 16 x 64 x 64 pixels, on this CPU", HEADER, cells(found)), sep="\n")
    folder: Path = arguments.output or Path("profile") / name
    with writing("--output", folder):
        folder.mkdir(parents=True, exist_ok=True)
        content = {"scheme": name, "commit": commit(), "words": words, "costs": [asdict(one) for one in found]}
        write_atomically(folder / "profile.json", json.dumps(content, indent=1))
        write_bytes(folder / "sight.png", _picture(name, contract.sight, words))
    print(f"wrote {folder / 'sight.png'} and {folder / 'profile.json'}")
    return 0


def built_in() -> dict[str, Callable[..., Scheme]]:
    """The schemes of the papers, by name, made as ``(width, heads)``."""
    from lit_video.attention import Factorised, FactorisedHeads, LocalWindow, Mixing, MixingPlan
    from lit_video.network.timesformer import SCHEMES

    others: dict[str, Callable[..., Scheme]] = {"window": LocalWindow, "mixing": partial(Mixing, plan=MixingPlan())}
    return {**SCHEMES, **others, "factorised": Factorised, "factorised_heads": FactorisedHeads}


def _scheme(text: str) -> tuple[str, Callable[..., Scheme]]:
    """A scheme and its name, which is a name of a folder too."""
    from lit_video.attention.own import import_scheme, own_scheme

    if text in (known := built_in()):
        return text, known[text]
    if not {".", "/"} & set(text):
        raise UserError(f"{text}: no built-in scheme{did_you_mean(text, known)}; give FILE.py, or {', '.join(known)}")
    try:
        name = import_scheme(text)
    except ValueError as error:
        raise UserError(str(error)) from error
    return name.rpartition(".")[2], own_scheme(name)


def _picture(name: str, seen: Sight, words: dict[str, str]) -> bytes:
    """The scheme's sight beside that of four others."""
    from lit_video.inference.scheme_contract import DEPTH, GRID, HEADS, WIDTH
    from lit_video.inference.scheme_picture import sight_picture
    from lit_video.inference.scheme_sight import sight

    sights = {name: seen}
    for key in ("space", "mixing", "factorised_heads", "joint"):
        make = partial(built_in()[key], WIDTH, HEADS)
        sights.setdefault(key, sight(lambda layer: make(), GRID, DEPTH))  # noqa: B023  # called at once
    return sight_picture(name, sights, words)
