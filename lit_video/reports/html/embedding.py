"""A chart's place on the page, which the page's script fills when it comes near the screen."""

from __future__ import annotations

from functools import cache

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from lit_video.tables.charts.style import Chart, spec


def embedded(chart: Chart, height: int) -> Markup:
    """The chart as JSON, in a box about as high as it will be."""
    box = '<div class="chart" style="min-height: {}px"><script type="application/json">{}</script></div>'
    return Markup(box).format(height, htmlsafe_json_dumps(spec(chart)))


@cache
def vega() -> Markup:
    """Vega, Vega-Lite and what embeds them as a script of one file, whose names stay its own."""
    import vl_convert

    return Markup("(() => {{{}}})();").format(Markup(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")))
