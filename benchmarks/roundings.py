"""Compare written pages: two CPUs round differently, so last digits may differ; all else must be equal."""

import re
from decimal import Decimal

# a number by itself, in group 1: no part of a name, a date, a version, a setting (lr=0.1) or of code in backquotes
LONE_NUMBER = re.compile(r"`[^`\n]+`|(?<![\w.:=/])([-+]?\d+(?:\.\d+)?)(?!\w|[.-]\d)")


def roundings_apart(text: str, other: str) -> list[tuple[str, str]] | None:
    """Return the numbers in which two texts differ by a rounding; ``None`` if anything else differs.

    Two CPUs may add in another order, so the last bit of a mean differs, and with it the last printed digit. Numbers
    with decimals may be one unit of that digit apart. Words, whole numbers (they count things) and code in backquotes
    must be equal. Where numbers differ, lines and the columns of a table may have other widths.
    """
    if _words(text) != _words(other):
        return None

    pairs = []
    for number, twin in zip(_numbers(text), _numbers(other), strict=True):
        if number == twin:
            continue
        exact, exact_twin = Decimal(number), Decimal(twin)
        digits = min(_last_digit(exact), _last_digit(exact_twin))
        if digits == 0 or abs(exact - exact_twin) > Decimal(1).scaleb(digits):
            return None
        pairs.append((number, twin))
    return pairs if pairs or text == other else None


def _numbers(text: str) -> list[str]:
    return [match[1] for match in LONE_NUMBER.finditer(text) if match[1]]


def _words(text: str) -> str:
    """Return the words of a text with a sign for each number; the rules of a printed table are one character long."""
    words = LONE_NUMBER.sub(lambda match: "#" if match[1] else match[0], text)
    return " ".join(re.sub(r"([─━═])\1+", r"\1", words).split())


def _last_digit(number: Decimal) -> int:
    """Return the exponent of a number's last digit: -1 for 12.5, 0 for 12."""
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)  # a string for infinity only
    return exponent
