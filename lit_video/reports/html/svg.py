"""Inline SVG: elements, scales, axes. Colours are CSS variables of the page, so that one drawing suits light and dark.

Lengths are in units of the drawing's ``viewBox``, which the page shows as CSS pixels where there is room.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

SERIES = 8  # colours of the page, --s0 ... --s7
# marks of the series: corners around their middle, the first one a circle
SHAPES: tuple[tuple[tuple[float, float], ...], ...] = (
    (),
    ((-0.95, -0.95), (0.95, -0.95), (0.95, 0.95), (-0.95, 0.95)),
    ((0, -1.35), (1.35, 0), (0, 1.35), (-1.35, 0)),
    ((0, -1.2), (1.2, 1), (-1.2, 1)),
    ((0, 1.2), (1.2, -1), (-1.2, -1)),
    ((-1.3, 0), (-0.4, -0.5), (0, -1.4), (0.4, -0.5), (1.3, 0), (0.4, 0.5), (0, 1.4), (-0.4, 0.5)),
)
CHARACTER = 7.0  # mean width of a character at the page's chart font of 12 pixels, rather too wide than too narrow


def element(name: str, *children: Markup | str, **attributes: object) -> Markup:
    """An element; underscores in attribute names stand for dashes, a trailing one for nothing (``class_``)."""
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    opening = Markup("").join(Markup(' {}="{}"').format(key, _plain(value)) for key, value in given.items())
    inside = Markup("").join(escape(child) for child in children)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), opening, inside)


def _plain(value: object) -> object:
    """A number with no more digits than can be seen."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def drawing(width: float, height: float, label: str, *children: Markup, class_: str = "chart") -> Markup:
    """A whole drawing; ``label`` is what a screen reader says."""
    size = {"viewBox": f"0 0 {width:.0f} {height:.0f}", "width": round(width), "height": round(height)}
    return element("svg", *children, class_=class_, role="img", aria_label=label, **size)


@dataclass(frozen=True)
class Scale:
    """Numbers to places along an axis.

    Args:
        low, high: ends of the numbers; above 0 for a logarithmic scale.
        start, end: their places.
        log: whether equal factors are equally far apart.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Place of a number."""
        low, high, value = (
            (math.log(x) for x in (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        )
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round numbers inside the scale: about six of them, or 1, 2, 5 of each decade where it is logarithmic."""
        return _log_ticks(self.low, self.high) if self.log else _linear_ticks(self.low, self.high)


def _linear_ticks(low: float, high: float) -> list[float]:
    rough = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 3), (1, 2, 5), tuple(range(1, 10))):
        found = [f * 10.0**d for d in decades for f in factors if low * 0.999 <= f * 10.0**d <= high * 1.001]
        if len(found) >= 3:
            return found
    return _linear_ticks(low, high)


def around(values: Iterable[float], start: float, end: float, log: bool = False, share: float = 0.06) -> Scale:
    """A scale with all values in it and a margin beside them."""
    each = list(values)
    low, high = min(each), max(each)
    if log:
        margin = max((high / low) ** share, 1.15)
        return Scale(low / margin, high * margin, start, end, log=True)
    margin = (high - low) * share or max(abs(high) * 0.05, 0.5)
    return Scale(low - margin, high + margin, start, end)


def number(value: float) -> str:
    """A number of an axis: ``0.05``, ``20``, ``3000``, ``2e+06``."""
    return f"{value:.4g}".replace("e+0", "e")


def axes(x: Scale, y: Scale, x_label: str, y_label: str) -> Markup:
    """Grid, ticks and labels of both axes; ``y`` runs upwards (its start is below)."""
    parts = []
    for tick in x.ticks():
        at = x(tick)
        parts.append(element("line", class_="grid", x1=at, x2=at, y1=y.start, y2=y.end))
        parts.append(text(at, y.start + 16, number(tick), anchor="middle"))
    for tick in y.ticks():
        at = y(tick)
        parts.append(element("line", class_="grid", x1=x.start, x2=x.end, y1=at, y2=at))
        parts.append(text(x.start - 6, at + 4, number(tick), anchor="end"))
    parts.append(element("path", class_="axis", d=f"M{x.start:.1f} {y.end:.1f}V{y.start:.1f}H{x.end:.1f}"))
    parts.append(text((x.start + x.end) / 2, y.start + 34, x_label, anchor="middle", class_="name"))
    middle = (y.start + y.end) / 2
    turned = f"rotate(-90 {x.start - 42:.1f} {middle:.1f})"
    parts.append(text(x.start - 42, middle, y_label, anchor="middle", class_="name", transform=turned))
    return Markup("").join(parts)


def text(x: float, y: float, words: str, anchor: str = "start", **attributes: object) -> Markup:
    """Words at a place."""
    return element("text", words, x=x, y=y, text_anchor=None if anchor == "start" else anchor, **attributes)


def line(points: Sequence[tuple[float, float]], class_: str) -> Markup:
    """A line through places."""
    way = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return element("path", class_=f"line {class_}", d=f"M{way}")


def marker(x: float, y: float, series: int, title: str = "", r: float = 4.5) -> Markup:
    """A point of a series, by shape and colour, with a tooltip."""
    tip = [element("title", title)] if title else []
    class_ = f"mark s{series % SERIES}"
    shape = SHAPES[series % len(SHAPES)]
    if not shape:
        return element("circle", *tip, class_=class_, cx=x, cy=y, r=r)
    corners = " ".join(f"{x + r * dx:.1f},{y + r * dy:.1f}" for dx, dy in shape)
    return element("polygon", *tip, class_=class_, points=corners)


def legend(names: Mapping[int, str]) -> Markup:
    """Names of series by number beside their marks, as a list above a drawing that folds where the page is narrow."""
    items = [element("li", _key(i), name) for i, name in names.items()]
    return element("ul", *items, class_="legend")


def _key(series: int) -> Markup:
    """A series' mark; the name beside it says all that a screen reader needs."""
    return element(
        "svg", marker(8.0, 8.0, series), class_="key", viewBox="0 0 16 16", width=16, height=16, aria_hidden="true"
    )
