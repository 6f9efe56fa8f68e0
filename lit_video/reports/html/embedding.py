"""A chart's box on the page, in which the page's script draws it when it comes near the screen."""

from functools import cache

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from lit_video.reports.charts.style import Chart, spec


def embedded(chart: Chart, height: int) -> Markup:
    """The chart as JSON, in a box of about its height in pixels."""
    box = '<div class="chart" style="min-height: {}px"><script type="application/json">{}</script></div>'
    return Markup(box).format(height, htmlsafe_json_dumps(spec(chart)))


@cache
def vega() -> Markup:
    """Vega, Vega-Lite and Vega-Embed as one script that defines ``vegaEmbed`` only."""
    import vl_convert

    return Markup("(() => {{{}}})();").format(Markup(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")))
