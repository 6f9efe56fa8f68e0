"""Nested parser messages in one line. Imports no torch."""

import re

_NOISE = re.compile(
    r"Does not validate against|Subtypes:|Errors:|Problem with given class_path|Given value type:"
    r"|Expected a <class 'NoneType'>|Expected a path but|Expected a dot import path"
)


def explain(text: str) -> tuple[str, str]:
    """Key and reason of a jsonargparse message, which nests all types it has tried.

    Returns:
        The dotted key (``model.window``), empty where the message has none, and the reason.
    """
    keys: list[str] = []
    reasons: list[str] = []
    given = ""
    for line in (line.strip().removeprefix("- ") for line in text.splitlines()):
        if match := re.match(r'Parser key "([\w.]+)":', line):
            keys.append(match[1])
        elif match := re.match(r"Option '(.+)' is not accepted", line):
            return ".".join([*keys, match[1]]), "no such setting"
        elif line.startswith("Given value:"):
            given = given or line.removeprefix("Given value:").strip()
        elif line and not _NOISE.match(line):
            reasons.append(line)
    plain = [reason for reason in reasons if not reason.startswith("Expected a")]
    reason = next(iter(plain or reasons), "wrong value")
    if reason.startswith("Expected a") and "Got value" not in reason:
        reason += f". Got value: {given}"
    reason = re.sub(r"Expected a (?:typing\.)?(?:<class '([\w.]+)'>)?", r"expected \1", reason)
    if not keys:
        owners = {"VideoClassifier": "model", "VideoDataModule": "data", "Trainer": "trainer"}
        keys = [key for name, key in owners.items() if name in text][:1]
        # messages of our constructors begin with the argument: model + "ratio is 1.5"
        if keys and (match := re.match(r"[a-z_]+\b", reason)):
            return f"{keys[0]}.{match[0]}", reason[match.end() :].strip()
    return ".".join(keys), reason.replace(". Got value:", ", got")
