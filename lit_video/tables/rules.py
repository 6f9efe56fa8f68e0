"""Rules that were fixed before the first run, thresholds and digests of files, and their later changes.

Source: ``claims/rules.yaml``, beside the tables.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.utils.yaml_files import read_yaml

NOT_YET = "not yet"  # stands for the hash of the commit that fixes the rules, until the next commit writes it
KEYS = {"commit", "thresholds", "tests", "seen", "announced", "changes", "digests"}
CHANGE_KEYS = {"date", "files", "what", "why", "from"}  # keys of a later change
DIGITS = 16  # hexadecimal digits of a digest


@dataclass(frozen=True)
class RuleChange:
    """A change after the rules were fixed: of files, or of the code if none is named."""

    date: str
    files: Mapping[str, str]  # new digest by file
    what: str
    why: str
    stage: str  # stage of the plan from which on it holds


@dataclass(frozen=True)
class Rules:
    """The rules of the runs, with their later changes."""

    commit: str  # hash of the commit that fixed them, or NOT_YET
    thresholds: Mapping[str, float]
    tests: str  # how claims are tested, in words
    seen: str  # results that were known when the rules were fixed
    announced: Sequence[str]  # changes that were announced before the first run
    changes: Sequence[RuleChange]  # later ones, oldest first
    digests: Mapping[str, str]  # digest by file, relative to the repository

    def expected(self, file: str) -> str:
        """Return the digest that a file should have, after its last listed change; empty for a file without a rule."""
        digest = self.digests.get(file, "")
        for change in self.changes:
            digest = change.files.get(file, digest)
        return digest

    def differing(self, root: Path) -> dict[str, str]:
        """Return the present digest of each file that is not as the rules or its last listed change say."""
        now = {file: digest_of(root / file) for file in self.digests}
        return {file: digest for file, digest in now.items() if digest != self.expected(file)}


def digest_of(path: Path) -> str:
    """Return a file's digest; empty if there is no file."""
    if not path.is_file():
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:DIGITS]


def read_rules(experiments: Path) -> Rules | None:
    """Read ``claims/rules.yaml`` beside the tables; ``None`` without the file.

    Raises:
        UserError: a key of the file or of a change is missing or unknown.
    """
    path = experiments / "claims" / "rules.yaml"
    if not path.is_file():
        return None
    content = read_yaml(path)
    _refuse_other_keys(f"{path}", content, KEYS)

    changes = []
    for number, change in enumerate(content["changes"], 1):
        _refuse_other_keys(f"{path}: change {number}", change, CHANGE_KEYS)
        changes.append(
            RuleChange(
                date=str(change["date"]),
                files={str(file): str(digest) for file, digest in change["files"].items()},
                what=str(change["what"]).strip(),
                why=str(change["why"]).strip(),
                stage=str(change["from"]),
            )
        )

    return Rules(
        commit=str(content["commit"]),
        thresholds=content["thresholds"],
        tests=str(content["tests"]).strip(),
        seen=str(content["seen"]).strip(),
        announced=content["announced"],
        changes=changes,
        digests={str(file): str(digest) for file, digest in content["digests"].items()},
    )


def _refuse_other_keys(where: str, content: Any, keys: set[str]) -> None:
    if not isinstance(content, dict) or content.keys() != keys:
        raise UserError(f"{where}: expected the keys {', '.join(sorted(keys))}, and no others")
