"""What the site of ``make docs`` has beside this folder: README.md as its first page, REPRODUCE.md, linked files."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
PAGES = {"README.md": "index.md", "REPRODUCE.md": "REPRODUCE.md"}
LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[#)])")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the repository's root, and a page for every file or folder that some page links to."""
    for path, place in PAGES.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    pages = [ROOT / path for path in PAGES] + [*ROOT.glob("docs/*.md"), *ROOT.glob("notebooks/*.ipynb")]
    for path in sorted({path for page in pages for path in linked(page)} - {ROOT / path for path in PAGES}):
        if path.parent != ROOT / "docs":
            files.append(File.generated(config, place_of(path), content=shown(path)))
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


def linked(page: Path) -> Iterator[Path]:
    """The files and folders of the repository that a page links to."""
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        path = Path(os.path.normpath(page.parent / link))
        if path.exists():
            yield path


def place_of(path: Path) -> str:
    """The page of a file or a folder in the site, or the file itself in ``docs``."""
    name = path.relative_to(ROOT).as_posix()
    if path.parent == ROOT / "docs":
        return path.name
    return PAGES.get(name, f"files/{name}.md")


def source_of(place: str) -> Path:
    """The file or folder of a page of the site, the other way round."""
    if place.startswith("files/"):
        return ROOT / place.removeprefix("files/").removesuffix(".md")
    names = {page: name for name, page in PAGES.items()}
    return ROOT / names.get(place, f"docs/{place}")


def shown(path: Path) -> str:
    """A file as a page: code and notebooks to read, the names of what a folder holds."""
    title = f"# {path.relative_to(ROOT).as_posix()}\n\n"
    if path.is_dir():
        return title + "\n".join(
            f"- `{entry.relative_to(path)}`" for entry in sorted(path.rglob("*")) if entry.is_file()
        )
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        return title + "\n\n".join(_cell(cell) for cell in json.loads(text)["cells"])
    return f"{title}````{path.suffix[1:]}\n{text}\n````\n"


def _cell(cell: dict) -> str:
    source = "".join(cell["source"])
    return source if cell["cell_type"] == "markdown" else f"````python\n{source}\n````"
