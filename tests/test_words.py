"""Test that comments and docstrings begin as CONTRIBUTING.md says, with no pronoun and no dangling preposition."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT

FOLDERS = ("benchmarks", "docs/scripts", "lit_video", "tests")
FIRST = re.compile(r"(of|as|which|whose|that|what|none|else|it|they|these|those|the same|all of|this one)\b", re.I)


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and text of every line of a comment or docstring."""
    source = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#: ")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            text = node.body[0]
            for line, words in enumerate(source.splitlines()[text.lineno - 1 : text.end_lineno], text.lineno):
                yield line, words.strip().lstrip('"')


def test_no_line_of_prose_begins_with_a_pronoun_or_a_loose_end():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {words}"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, words in prose(path)
        if FIRST.match(words)
    ]
    assert not found, "\n".join(found)
