"""Run the notebooks with their outputs into build/notebooks, for the site; one that ran since its last change stays."""

import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
PLACE = ROOT / "build" / "notebooks"


def main() -> None:
    """Run them one after another, each in a folder below ``build``."""
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    PLACE.mkdir(parents=True, exist_ok=True)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        done = PLACE / path.name
        if done.exists() and done.stat().st_mtime > path.stat().st_mtime:
            continue
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, timeout=1200, resources={"metadata": {"path": PLACE}}).execute()
        nbformat.write(notebook, done)
        print(f"ran {path.name}", flush=True)


if __name__ == "__main__":
    main()
