"""Colours of figures and of the report page."""

SERIES = ("s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7")
_NAMES = ("ground", "ink", "quiet", "rule", *SERIES)
LIGHT_HEX = "#ffffff #1b1f24 #59626d #d5dae0 #1d5fc4 #c2410c #13795b #8b3fc7 #946200 #be185d #0e7490 #525b66"
DARK_HEX = "#14181d #e7eaee #a5afba #39424c #7fb2ff #ff9b6a #5fd0a5 #c79bff #e0b94f #ff8ab8 #56c9de #b5bec9"
LIGHT = dict(zip(_NAMES, LIGHT_HEX.split(), strict=True))
DARK = dict(zip(_NAMES, DARK_HEX.split(), strict=True))
