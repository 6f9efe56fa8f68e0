"""Colours of figures and of the report page."""

SERIES = tuple(f"s{i}" for i in range(8))
LIGHT = {"ground": "#ffffff", "ink": "#1b1f24", "quiet": "#59626d", "rule": "#d5dae0"} | dict(
    zip(
        SERIES,
        ("#1d5fc4", "#c2410c", "#13795b", "#8b3fc7", "#946200", "#be185d", "#0e7490", "#525b66"),
        strict=True,
    )
)
DARK = {"ground": "#14181d", "ink": "#e7eaee", "quiet": "#a5afba", "rule": "#39424c"} | dict(
    zip(
        SERIES,
        ("#7fb2ff", "#ff9b6a", "#5fd0a5", "#c79bff", "#e0b94f", "#ff8ab8", "#56c9de", "#b5bec9"),
        strict=True,
    )
)
