"""Nested messages of the parser (jsonargparse) as one line."""

import re
from collections.abc import Collection, Mapping

from lit_video.errors import UserError
from lit_video.settings.effects import DATA, MODEL, data_names, model_names
from lit_video.settings.nested import ARGUMENTS, CLASS, short_key
from lit_video.utils.text import did_you_mean

# beginnings of lines in jsonargparse's messages that say nothing about the mistake itself
_NESTING = ("Does not validate", "Subtypes:", "Errors:", "Problem with given", "Given value", "Expected a path")
_SETTINGS = {"model": model_names(*MODEL), "data": data_names(*DATA)}  # settings of all classes of this package
_KNOWN = "(fit --help all lists them, fit --model.help XViT lists those of a class)"


def explain(text: str, arguments: Mapping[str, Collection[str]]) -> tuple[str, str]:
    """Return the key and the reason from a jsonargparse message, which reports all types that were tried.

    ``arguments`` are those of the model families, by name, to say whose a setting is that another family lacks.

    The key is dotted (``model.window``). For a constructor's error the key is the group (``model``), and the reason
    begins with the argument's name.
    """
    keys = re.findall(r'Parser key "(.*?)"', text)
    unknown = re.search(r"(?:Option '|unrecognized arguments: --)([\w.]+)", text)
    if unknown:
        key = ".".join([*keys, unknown[1]])
        setting = short_key(key)
        owners = [name for name, own in arguments.items() if setting.removeprefix("model.") in own]
        refused = re.search(r"class_path '(?:[\w.]*\.)?(\w+)'", text)
        if owners and refused and setting.startswith("model."):
            return key, f"a setting of {' and '.join(owners)}; this model is {refused[1]}: set model, or leave it out"
        return key, _no_such(setting)

    innermost = text.rpartition("Parser key ")[2].splitlines()[1 if keys else 0 :]
    lines = dict.fromkeys(line.strip(" -") for line in innermost)
    reasons = [line for line in lines if line and not line.startswith(_NESTING) and "NoneType" not in line]
    of_ours = [reason for reason in reasons if not reason.startswith("Expected")]  # from checks of this package
    reason = "; ".join(of_ours or reasons or text.splitlines())
    reason = reason.replace("Expected a dot import path string:", "no such class:")
    reason = re.sub(r"<class '([\w.]+)'>|typing\.Literal", r"\1", reason)

    value = re.search(r"Given value: (.*)", text)
    if value and not of_ours and "Got value" not in reason:
        reason += f", got {value[1]}"

    for kind, group in (("VideoClassifier", "model"), ("VideoDataModule", "data")):
        if not keys and kind in text:
            keys = [group]
    return ".".join(keys), reason


def refuse_unknown_setting(key: str) -> None:
    """Refuse a key of ``data`` or ``model`` that no class of this package has; torch is not needed."""
    group, _, name = key.removesuffix("+").partition(".")
    beginnings = {each.partition(".")[0] for each in _SETTINGS.get(group, ())}
    if beginnings and name and name.partition(".")[0] not in {*beginnings, CLASS, ARGUMENTS, "dict_kwargs", "help"}:
        raise UserError(f"{key}: {_no_such(key)}")


def _no_such(setting: str) -> str:
    """Say that there is no setting of this name, and which one is meant."""
    names = [f"{group}.{name}" for group, known in _SETTINGS.items() for name in known]
    return f"no such setting{did_you_mean(setting, [name for name in names if name != setting])} {_KNOWN}"
