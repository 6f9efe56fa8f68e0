"""Add to the site of ``make docs``: README.md as its first page, REPRODUCE.md, linked files.

The page of results and the outputs of notebooks are those of ``build``, by ``make docs`` and ``make pictures``; without
them there is a line in their place. The API's pages are made of docstrings by mkdocstrings.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = {"README.md": "index.md", "REPRODUCE.md": "REPRODUCE.md"}
API = {
    "lit_video": "lit_video",
    "attention": "lit_video.attention",
    "modules": "lit_video.modules",
    "datamodules": "lit_video.datamodules",
}
RESULTS = ROOT / "build" / "results.html"
NO_RESULTS = "<!doctype html><title>results</title><p>Not made yet: lit_video report benchmarks/results"
NO_OUTPUTS = "*Without its outputs and pictures here: `make pictures` and `make docs` show them.*\n\n"
ROLE = re.compile(r":(?:class|func|meth|data|attr|mod|exc):<code>(~?)([\w.]+)</code>")
LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[#)])")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages of README.md and REPRODUCE.md, of notebooks, and of every file or folder that some page links to."""
    for path, place in PAGES.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    for name, module in API.items():
        files.append(File.generated(config, f"api/{name}.md", content=api(module)))
    content = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else NO_RESULTS
    files.append(File.generated(config, "results.html", content=content))

    notebooks = [*ROOT.glob("notebooks/*.ipynb")]
    pages = [*(ROOT / path for path in PAGES), *ROOT.glob("docs/**/*.md"), *notebooks]
    for file in sorted({*notebooks, *(file for page in pages for file in linked(page))}):
        place = place_of(file)
        if place.startswith("files/"):  # not yet a page of the site
            files.append(File.generated(config, place, content=shown(file)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links to the places of the site."""
    path = source_of(page.file.src_uri)
    if path.suffix not in {".md", ".ipynb"}:
        return markdown

    def moved(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(path.parent / link[1]))
        here = PurePosixPath(page.file.src_uri).parent
        return os.path.relpath(place_of(target), here) if target.exists() else link[1]

    return LINK.sub(moved, markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Show the names that docstrings refer to as code, short where they begin with a tilde."""

    def name(role: re.Match[str]) -> str:
        return f"<code>{role[2].rpartition('.')[2] if role[1] else role[2]}</code>"

    return ROLE.sub(name, html)


def linked(page: Path) -> Iterator[Path]:
    """Return the files and folders of the repository that a page links to."""
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        path = Path(os.path.normpath(page.parent / link))
        if path.exists():
            yield path


def place_of(path: Path) -> str:
    """Return a file's or folder's page in the site, or the file itself in ``docs``."""
    name = path.relative_to(ROOT).as_posix()
    if path.is_relative_to(ROOT / "docs") and not path.is_dir():
        return path.relative_to(ROOT / "docs").as_posix()
    return PAGES.get(name, f"files/{name}.md")


def source_of(place: str) -> Path:
    """Return the file or folder of a page of the site."""
    if place.startswith("files/"):
        return ROOT / place.removeprefix("files/").removesuffix(".md")
    names = {page: name for name, page in PAGES.items()}
    return ROOT / names.get(place, f"docs/{place}")


def shown(path: Path) -> str:
    """Render a file as a page: code and notebooks to read, a folder as a list of names."""
    title = f"# {path.relative_to(ROOT).as_posix()}\n\n"
    if path.is_dir():
        return title + "\n".join(
            f"- `{entry.relative_to(path)}`" for entry in sorted(path.rglob("*")) if entry.is_file()
        )
    if path.suffix == ".xz":
        return f"{title}A packed file of {path.stat().st_size / 1e3:.0f} kB."
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        done = ROOT / "build" / "notebooks" / path.name
        text = done.read_text(encoding="utf-8") if done.exists() else text
        first, *others = [_cell(cell) for cell in json.loads(text)["cells"]]  # the first cell has the title
        heading, _, opening = first.partition("\n")
        return "\n\n".join([heading, "" if done.exists() else NO_OUTPUTS, opening, *others])
    return f"{title}````{path.suffix[1:]}\n{text}\n````\n"


def _cell(cell: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    outputs = [_output(output) for output in _joined(cell.get("outputs", []))]
    return "\n\n".join([f"````python\n{source}\n````", *filter(None, outputs)])


def _joined(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join printed texts that follow each other, as the notebook shows them."""
    joined: list[dict[str, Any]] = []
    for output in outputs:
        last = joined[-1] if joined else {}
        if "text" in output and last.get("name") == output["name"]:
            joined[-1] = last | {"text": [*last["text"], *output["text"]]}
        else:
            joined.append(output)
    return joined


def _output(output: dict[str, Any]) -> str:
    """Return an output as the notebook shows it: Markdown, a picture, HTML or text; progress is left out."""
    data = output.get("data", {})
    if "text/markdown" in data:
        return "".join(data["text/markdown"])
    if "text/html" in data:
        return f'<div class="output">{"".join(data["text/html"])}</div>'
    for kind in ("image/png", "image/jpeg", "image/gif"):
        if kind in data:
            return f'<img alt="output of the cell above" src="data:{kind};base64,{"".join(data[kind]).strip()}">'
    text = "".join(data.get("text/plain", output.get("text", "") if output.get("name") == "stdout" else ""))
    return f"````text\n{text.rstrip()}\n````" if text.strip() else ""


def api(module: str) -> str:
    """Write a page of the public names of a package."""
    return f"# {module}\n\n" + "\n\n".join(f"::: {module}.{name}" for name in public(module)) + "\n"


def public(module: str) -> list[str]:
    """Return a package's public names from its stub or its source: ``__all__``, else its imports."""
    source = ROOT / module.replace(".", "/") / "__init__.pyi"
    if not source.exists():
        source = source.with_suffix(".py")
    text = source.read_text(encoding="utf-8")
    names = re.search(r"__all__ = \[(.*?)\]", text, re.DOTALL)
    found = re.findall(r'"(\w+)"', names[1]) if names else re.findall(r"import \w+ as (\w+)", text)
    return [name for name in found if name not in {"datamodules", "modules"}]
