"""The parser's nested messages, put into one line."""

import re

from lit_video.settings.effects import DATA, MODEL, data_names, model_names
from lit_video.settings.nested import short_key
from lit_video.utils.text import did_you_mean

# beginnings of those lines in jsonargparse's messages that do not describe the mistake
_NESTING = ("Does not validate", "Subtypes:", "Errors:", "Problem with given", "Given value", "Expected a path")
_KNOWN = "(fit --help all lists them, fit --model.help XViT lists those of a class)"


def explain(text: str) -> tuple[str, str]:
    """Return the key and the reason from a jsonargparse message, which reports all types that were tried.

    The key is dotted (``model.window``). For a constructor's error the key is the group (``model``), and the reason
    begins with the argument's name.
    """
    keys = re.findall(r'Parser key "(.*?)"', text)
    if option := re.search(r"(?:Option '|unrecognized arguments: --)([\w.]+)", text):
        key = ".".join([*keys, option[1]])
        names = [*map("model.{}".format, model_names(*MODEL)), *map("data.{}".format, data_names(*DATA))]
        return key, f"no such setting{did_you_mean(short_key(key), names)} {_KNOWN}"
    reasons, of_ours = [], []
    innermost = text.rpartition("Parser key ")[2].splitlines()[1 if keys else 0 :]
    for line in dict.fromkeys(line.strip(" -") for line in innermost):
        if line and not line.startswith(_NESTING) and "NoneType" not in line:
            reasons.append(line)
            if not line.startswith("Expected"):
                of_ours.append(line)
    reason = "; ".join(of_ours or reasons or text.splitlines())
    reason = reason.replace("Expected a dot import path string:", "no such class:")
    reason = re.sub(r"<class '([\w.]+)'>|typing\.Literal", r"\1", reason)
    if not of_ours and "Got value" not in reason and (given := re.search(r"Given value: (.*)", text)):
        reason += f", got {given[1]}"
    for kind, group in (("VideoClassifier", "model"), ("VideoDataModule", "data")):
        if not keys and kind in text:
            keys = [group]
    return ".".join(keys), reason
