"""Times in a video as a player shows them."""


def clock(seconds: float, decimals: int = 0) -> str:
    """Such as ``1:02:03``, ``2:03`` or ``0:03.5``."""
    scale = 10**decimals
    whole, part = divmod(round(seconds * scale), scale)
    hours, minutes = divmod(whole // 60, 60)
    text = f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
    return f"{text}.{part:0{decimals}}" if decimals else text
