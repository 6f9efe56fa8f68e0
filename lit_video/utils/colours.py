"""Colours of figures and of the report page."""

SERIES = tuple(f"s{i}" for i in range(8))
NAMES = ("ground", "ink", "quiet", "rule", *SERIES)
LIGHT_HEX = "#ffffff #1b1f24 #59626d #d5dae0 #1d5fc4 #c2410c #13795b #8b3fc7 #946200 #be185d #0e7490 #525b66"
DARK_HEX = "#14181d #e7eaee #a5afba #39424c #7fb2ff #ff9b6a #5fd0a5 #c79bff #e0b94f #ff8ab8 #56c9de #b5bec9"
LIGHT, DARK = (dict(zip(NAMES, each.split(), strict=True)) for each in (LIGHT_HEX, DARK_HEX))
