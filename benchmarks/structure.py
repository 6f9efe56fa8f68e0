"""Counts that say how plain the package's structure is, of this checkout or another; and the picture of its layers.

python benchmarks/structure.py [CHECKOUT | --picture]
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

Graph = dict[str, set[str]]  # module -> modules of the package that it imports, inside functions too


def modules(package: Path) -> dict[str, Path]:
    """Files of the package by dotted name without the package's own; ``__init__`` files by their folder's."""
    names = {path: ".".join(path.relative_to(package).with_suffix("").parts) for path in package.rglob("*.py")}
    return {name.removesuffix(".__init__"): path for path, name in names.items()}


def imported(path: Path, package: str, known: dict[str, Path]) -> Iterator[str]:
    """Modules of the package that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == package:
            base = (node.module or "").partition(".")[2]
            for alias in node.names:
                full = f"{base}.{alias.name}".strip(".")
                yield full if full in known else base or "__init__"


def circles(graph: Graph) -> list[list[str]]:
    """Sets of files that import each other, directly or round about (strongly connected components)."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        todo = list(graph[start])
        while todo:
            if (name := todo.pop()) not in seen:
                seen.add(name)
                todo += graph[name]
        return seen

    reach = {name: reached(name) for name in graph}
    found = {frozenset(b for b in reach[a] if a in reach[b]) for a in graph if a in reach[a]}
    return [sorted(each) for each in found]


def layers(checkout: Path) -> list[list[str]]:
    """Top-level names by line of the contract of layers, the highest first; empty without a contract."""
    settings = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"].get("importlinter", {}).get("contracts", [])
    lines = next((contract["layers"] for contract in contracts if contract["type"] == "layers"), [])
    return [[name.strip() for name in line.split("|")] for line in lines]


def picture(checkout: Path) -> str:
    """The layers as a drawing in text, each name with the first line of its docstring."""
    files = {name: path for name, path in modules(checkout / "lit_video").items() if "." not in name}
    lines = layers(checkout)
    rule = f"├{'─' * 15}┤"
    drawn = []
    for names in lines:
        for name in names:
            said = (ast.get_docstring(ast.parse(files[name].read_text(encoding="utf-8"))) or "").splitlines()[0]
            drawn.append(f"│ {name:13} │  {said}")
        drawn.append(rule)
    return "\n".join([rule.replace("├", "┌").replace("┤", "┐"), *drawn[:-1], rule.replace("├", "└").replace("┤", "┘")])


def lines(folder: Path, *endings: str) -> int:
    """Lines of the files with these endings."""
    return sum(len(p.read_text(encoding="utf-8").splitlines()) for p in folder.rglob("*") if p.suffix in endings)


def counts(checkout: Path) -> dict[str, int | str]:
    """All counts by what they are of."""
    package = checkout / "lit_video"
    known = modules(package)
    graph = {name: {m for m in imported(path, package.name, known) if m != name} for name, path in known.items()}
    arrows = {(a.split(".")[0], b.split(".")[0]) for a, each in graph.items() for b in each}
    arrows = {(a, b) for a, b in arrows if a != b}
    rank = {name: number for number, names in enumerate(layers(checkout)) for name in names}
    up = sorted(f"{a} -> {b}" for a, b in arrows if rank and rank.get(b, 99) <= rank.get(a, -1))
    return {
        "modules at the package's root": len(list(package.glob("*.py"))),
        "files and folders at the package's root": len({name.split(".")[0] for name in known}),
        "arrows between them": len(arrows),
        "arrows that run up, or level": f"{len(up)} {', '.join(up)}".strip() if rank else "no layers are defined",
        "circles of files": len(circles(graph)),
        "files in the largest circle": max(map(len, circles(graph)), default=0),
        "modules": len(known),
        "lines of lit_video": lines(package, ".py", ".html", ".js", ".css", ".yaml"),
        "lines of tests": lines(checkout / "tests", ".py"),
    }


if __name__ == "__main__":
    place = Path(__file__).parents[1]
    if sys.argv[1:] == ["--picture"]:
        sys.exit(print(picture(place)))
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else place
    for what, count in counts(place).items():
        print(f"{what:40} {count}")
