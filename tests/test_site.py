"""The site of ``make docs``: every link of every page leads to a file of the site, and nothing is fetched."""

import json
import os
import re
import subprocess
import sys
from urllib.parse import unquote

import pytest

from tests.conftest import ROOT

pytest.importorskip("mkdocs", reason="needs mkdocs (make docs)")
pytest.importorskip("material", reason="needs mkdocs-material (make docs)")
pytest.importorskip("mkdocstrings", reason="needs mkdocstrings (make docs)")


def test_links_lead_to_files_and_nothing_is_fetched(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = [page for page in tmp_path.rglob("*.html") if page.name != "404.html"]
    assert len(pages) > 40
    missing, fetched = [], []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        links = re.findall(r'(?:href|src)="([^"#?]+)', text)
        local = [link for link in links if not link.startswith(("https://", "data:", "${"))]  # the last in scripts
        missing += [(page.name, link) for link in local if not (page.parent / unquote(link)).exists()]
        fetched += re.findall(r'<(?:script|img|link)[^>]*(?:src|href)="https?://[^"]+', text)
        fetched += re.findall(r"@import[^;]*https?://[^;]+|url\(.?https?://[^)]+", text)
    for style in tmp_path.rglob("*.css"):
        fetched += re.findall(r"(?:@import|url\()[^;)]*https?://[^;)]+", style.read_text(encoding="utf-8"))
    assert (missing, fetched) == ([], [])
    assert ":class:" not in (tmp_path / "api" / "attention.html").read_text(encoding="utf-8")
    xvit = (tmp_path / "api" / "modules.html").read_text(encoding="utf-8")
    assert "t_w" in xvit and 'id="lit_video.modules.XViT"' in xvit
    index = json.loads((tmp_path / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert any(page["location"].startswith("api/attention.html") for page in index["docs"])
    assert (tmp_path / "results.html").exists()
