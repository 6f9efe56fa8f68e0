"""Run the notebooks with their outputs into build/notebooks, for the site; one that ran since its last change stays."""

import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
DONE = ROOT / "build" / "notebooks"


def main() -> None:
    """Run them one after another, each in a folder below ``build``."""
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    DONE.mkdir(parents=True, exist_ok=True)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        done = DONE / path.name
        if done.exists() and done.stat().st_mtime > path.stat().st_mtime:
            continue
        notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
        NotebookClient(notebook, timeout=1200, resources={"metadata": {"path": DONE}}).execute()
        nbformat.write(notebook, done)  # type: ignore[no-untyped-call]
        print(f"ran {path.name}", flush=True)


if __name__ == "__main__":
    main()
