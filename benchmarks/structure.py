"""Measure the code of this checkout, another one or an installed package, and draw the layers of this package.

python benchmarks/structure.py                            lines, files, dependencies and measures of this checkout
python benchmarks/structure.py CHECKOUT                   of another checkout of lit_video
python benchmarks/structure.py lit_video/weights ...      measures of folders of code, side by side
python benchmarks/structure.py timm lightning             measures of installed packages, beside this one
python benchmarks/structure.py --picture                  the layers of the contract, as in docs/architecture.md

A package is read, and neither imported nor run.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

LONG_FUNCTION = 15  # lines of a function that is long enough for a blank line
MOST_POSITIONAL = 3  # parameters that may be passed by position
MANY_VALUES = 7  # positional values of a call that is hard to read
LABEL_WIDTH = 52  # characters for the name of a measure

Function = ast.FunctionDef | ast.AsyncFunctionDef
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# nodes that say how a name is used, or name a parameter: writing them out is no more to understand
UNCOUNTED = (ast.expr_context, ast.keyword)


def size(folder: Path, *endings: str) -> str:
    """Return the number of lines and files, as text."""
    paths = [path for path in folder.rglob("*") if path.suffix in endings]
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)
    return f"{lines:,} lines in {len(paths):,} files"


def settings(checkout: Path) -> dict[str, Any]:
    """Return the content of pyproject.toml."""
    return tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))


def counts(checkout: Path) -> dict[str, str]:
    """Return all counts by name."""
    results = [path for path in (checkout / "benchmarks/results").rglob("*") if path.is_file()]
    return {
        "package": size(checkout / "lit_video", ".py"),
        "tests": size(checkout / "tests", ".py"),
        "benchmarks": size(checkout / "benchmarks", ".py", ".sh"),
        "packages": str(len(list((checkout / "lit_video").glob("*/__init__.py")))),
        "results": f"{len(results):,} files, {sum(path.stat().st_size for path in results) / 1e6:.1f} MB",
        "run-time dependencies": str(len(settings(checkout)["project"]["dependencies"])),
    }


@dataclass(frozen=True)
class Module:
    """One file of code: its lines and its syntax tree."""

    text: str

    @cached_property
    def lines(self) -> list[str]:
        """Lines of the file."""
        return self.text.splitlines()

    @cached_property
    def tree(self) -> ast.Module:
        """Syntax tree of the file."""
        return ast.parse(self.text)

    def functions(self) -> Iterator[Function]:
        """Yield all functions and methods, inner ones included."""
        for node in ast.walk(self.tree):
            if isinstance(node, Function):
                yield node

    @property
    def import_lines(self) -> int:
        """Number of lines of imports, wherever they stand."""
        imports = [node for node in ast.walk(self.tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        return sum(line_count(node) for node in imports)

    def code_lines(self, function: Function) -> int:
        """Return the number of a function's lines, signature included, without docstring, comments and blank lines."""
        numbers = range(function.lineno, function.lineno + line_count(function))
        if ast.get_docstring(function) is not None:
            docstring = function.body[0]
            numbers = [n for n in numbers if not docstring.lineno <= n < docstring.lineno + line_count(docstring)]
        lines = [self.lines[number - 1].strip() for number in numbers]
        return sum(not line.startswith("#") for line in lines if line)

    def has_blank_line(self, function: Function) -> bool:
        """Return whether a blank line separates two statements of a function; those inside texts do not count."""
        inside_text: set[int] = set()
        for node in ast.walk(function):
            if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno is not None:
                inside_text.update(range(node.lineno, node.end_lineno + 1))

        first_statement = function.body[0].lineno
        last_line = function.end_lineno or first_statement
        numbers = range(first_statement, last_line + 1)
        return any(not self.lines[number - 1].strip() and number not in inside_text for number in numbers)


def modules_of(folder: Path) -> list[Module]:
    """Read the files of code below a folder."""
    return [Module(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.py"))]


def measures(modules: Iterable[Module]) -> dict[str, str]:
    """Measure how code is written; every number is of one kind of place that a reader stops at."""
    modules = list(modules)
    nodes = [node for module in modules for node in ast.walk(module.tree)]
    functions = [node for node in nodes if isinstance(node, Function)]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    written = [line for module in modules for line in module.lines if line.strip()]
    lines = sum(len(module.lines) for module in modules)

    long = airless = code = imported = 0
    for module in modules:
        imported += module.import_lines
        for function in module.functions():
            code += module.code_lines(function)
            if line_count(function) >= LONG_FUNCTION:
                long += 1
                airless += not module.has_blank_line(function)

    def per_thousand(count: int) -> str:
        return f"{1000 * count / max(lines, 1):.1f}"

    positional = sum(positional_parameters(function) > MOST_POSITIONAL for function in functions)
    long_calls = sum(len(call.args) >= MANY_VALUES for call in calls)
    mapped = sum(isinstance(call.func, ast.Name) and call.func.id in ("map", "filter") for call in calls)
    return {
        "lines": f"{lines:,}",
        "files": f"{len(modules):,}",
        "lines of imports": f"{100 * imported / max(lines, 1):.1f} %",
        "lines of code a function": f"{code / max(len(functions), 1):.1f}",
        "private functions with one caller, per 1,000 lines": per_thousand(sum(map(private_with_one_caller, modules))),
        f"functions of {LONG_FUNCTION}+ lines": f"{long:,}",
        "... without a blank line": f"{100 * airless / max(long, 1):.0f} %",
        "tuples assigned to tuples, per 1,000 lines": per_thousand(sum(map(assigns_tuples, nodes))),
        "comprehensions, per 1,000 lines": per_thousand(sum(isinstance(node, COMPREHENSIONS) for node in nodes)),
        "conditional expressions, per 1,000 lines": per_thousand(sum(isinstance(node, ast.IfExp) for node in nodes)),
        "map and filter, per 1,000 lines": per_thousand(mapped),
        "characters a line": f"{sum(map(len, written)) / max(len(written), 1):.1f}",
        f"functions with {MOST_POSITIONAL + 1}+ positional parameters": f"{positional:,} of {len(functions):,}",
        f"calls with {MANY_VALUES}+ positional values": f"{long_calls:,}",
        "public names defined twice or more": f"{len(names_defined_again(modules)):,}",
        "nodes": f"{sum(node_count(module.tree) for module in modules):,}",
    }


def line_count(statement: ast.stmt) -> int:
    """Return the number of lines of a statement; those of decorators are not counted."""
    return (statement.end_lineno or statement.lineno) - statement.lineno + 1


def private_with_one_caller(module: Module) -> int:
    """Return how many private functions of a module are called in one place of it, and named in no other.

    A function that is passed on needs its name. Methods do not count: names alone do not tell those of one class from
    those of another.
    """
    nodes = [*ast.walk(module.tree)]
    named = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    private = {node.name for node in module.tree.body if isinstance(node, Function) and node.name.startswith("_")}
    return sum(named[name] == 1 for name in private & called)


def assigns_tuples(node: ast.AST) -> bool:
    """Return whether a statement assigns a tuple of values to a tuple of names: ``a, b = x, y``."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Tuple):
        return False
    return any(isinstance(target, ast.Tuple) for target in node.targets)


def positional_parameters(function: Function) -> int:
    """Return how many parameters may be passed by position, without ``self`` or ``cls``."""
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def names_defined_again(modules: Iterable[Module]) -> list[str]:
    """Return the public names that two modules or more define at their top level, sorted."""
    definitions = Counter(name for module in modules for name in public_names(module.tree))
    return sorted(name for name, count in definitions.items() if count > 1)


def public_names(tree: ast.Module) -> set[str]:
    """Return the public functions, classes and values that a module defines at its top level."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, Function | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            stored = (inner for target in targets for inner in ast.walk(target))
            names.update(inner.id for inner in stored if isinstance(inner, ast.Name))
    return {name for name in names if not name.startswith("_")}


def node_count(tree: ast.Module) -> int:
    """Count the nodes of a syntax tree, as a measure of how much there is to understand.

    Contexts, keywords and annotations do not count, nor does a name that is assigned once and used once: naming a
    value on a line of its own, or a parameter in a call, is no more to understand.
    """
    count = 0
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        count += not isinstance(node, UNCOUNTED)
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns"):
                continue
            children = value if isinstance(value, list) else [value]
            waiting.extend(child for child in children if isinstance(child, ast.AST))

    # an assignment, the name that it stores and the name that is read
    return count - 3 * sum(names_used_once(node) for node in ast.walk(tree) if isinstance(node, Function))


def names_used_once(function: Function) -> int:
    """Return how many local names are assigned once, on a line of their own, and read once."""
    assigned: Counter[str] = Counter()
    uses: dict[str, Counter[type]] = defaultdict(Counter)
    for node in _own_nodes(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            assigned[node.targets[0].id] += 1
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            uses[node.id][type(node.ctx)] += 1
    return sum(uses[name] == {ast.Store: 1, ast.Load: 1} for name in assigned)


def _own_nodes(function: Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of its inner functions."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function):
            waiting.extend(ast.iter_child_nodes(node))


def installed(name: str) -> Path:
    """Return the folder of an installed package; end the program if there is none."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{name}: neither a folder nor an installed package")
    return Path(spec.submodule_search_locations[0])


def beside(folders: Mapping[str, Path]) -> Iterator[str]:
    """Yield the lines of a table: a measure a row, a folder of code a column."""
    columns = {name: measures(modules_of(folder)) for name, folder in folders.items()}
    cells = [text for name, values in columns.items() for text in (name, *values.values())]
    width = max(len(text) for text in cells) + 2

    yield " " * LABEL_WIDTH + "".join(f"{name:>{width}}" for name in columns)
    for measure in next(iter(columns.values())):
        yield f"{measure:{LABEL_WIDTH}}" + "".join(f"{values[measure]:>{width}}" for values in columns.values())


def nodes_by_package(package: Path) -> Iterator[str]:
    """Yield the nodes of each package below a package, most first."""
    nodes = {
        folder.name: sum(node_count(module.tree) for module in modules_of(folder))
        for folder in package.iterdir()
        if (folder / "__init__.py").is_file()
    }
    for name, count in sorted(nodes.items(), key=lambda item: -item[1]):
        yield f"  {name:20} {count:>8,}"


def drawn(checkout: Path) -> Iterator[str]:
    """Yield the lines of the picture, highest layer first: each package and its docstring's first line."""
    contracts = settings(checkout)["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    rule = "─" * 15
    for i, layer in enumerate(layers):
        yield f"├{rule}┤" if i else f"┌{rule}┐"
        for name in map(str.strip, layer.split("|")):
            path = checkout / "lit_video" / name
            file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            yield f"│ {name:13} │  {docstring.splitlines()[0]}"
    yield f"└{rule}┘"


def report(arguments: list[str]) -> Iterator[str]:
    """Yield the lines that the arguments ask for, see the module's docstring."""
    here = Path(__file__).parents[1]
    if arguments == ["--picture"]:
        yield from drawn(here)
        return

    is_checkout = len(arguments) == 1 and (Path(arguments[0]) / "pyproject.toml").is_file()
    if arguments and not is_checkout:
        folders = {name: Path(name) if Path(name).is_dir() else installed(name) for name in arguments}
        if not any(Path(name).is_dir() for name in arguments):
            folders = {"lit_video": here / "lit_video"} | folders
        yield from beside(folders)
        return

    checkout = Path(arguments[0]) if arguments else here
    for what, count in counts(checkout).items():
        yield f"{what:22} {count}"
    yield ""
    yield from beside({"lit_video": checkout / "lit_video"})
    yield ""
    yield "nodes by package"
    yield from nodes_by_package(checkout / "lit_video")


if __name__ == "__main__":
    for line in report(sys.argv[1:]):
        print(line)
