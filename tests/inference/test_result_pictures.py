"""Test that pictures of a test and of a table show the numbers that they are given."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from lit_video.inference.result_pictures import confusion_figure, heat_map, points_figure
from lit_video.tables.rendering import GroupAccuracies
from lit_video.tables.summary import row_summary
from lit_video.tables.table import Row
from lit_video.utils.figures import content_of
from tests.fake_runs import fake_run

COUNTS = np.array([[5, 1, 0], [0, 0, 0], [2, 0, 2]])


def svg(figure):
    return content_of(figure, "svg", bbox_inches="tight").decode()


def opacity(figure):
    """Return the opacity of every cell."""
    (image,) = figure.axes[0].images
    return image.get_array()[..., 3]


def check_text_on_a_phone(figure):
    """Check that no text is below nine pixels where the picture is 358 pixels wide, and that no title is cut off."""
    scale = 358 / figure.bbox.width
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip():
            assert text.get_fontsize() * figure.dpi / 72 * scale >= 9, text
    for axes in figure.axes:
        box = axes.title.get_window_extent()
        assert box.x0 >= 0 and box.x1 <= figure.bbox.x1


def test_a_confusion_matrix_holds_the_counts_and_the_shares_of_each_class():
    figure = confusion_figure(COUNTS, ["x", "y$_1$ <&>", "z"], "title")
    np.testing.assert_allclose(opacity(figure), [[5 / 6, 1 / 6, 0], [0, 0, 0], [0.5, 0, 0.5]])
    places = {tuple(text.get_position()): text.get_text() for text in figure.axes[0].texts}
    assert places == {(0, 0): "5", (1, 0): "1", (0, 2): "2", (2, 2): "2"}
    drawn = svg(figure)
    assert drawn.count(">y$_1$ &lt;&amp;&gt;</text>") == 2, "shown literally, not as a formula"
    assert drawn == svg(confusion_figure(COUNTS, ["x", "y$_1$ <&>", "z"], "title"))


def summary_of(**facts):
    """Return the summary of a row that was run, with these facts of its result."""
    return row_summary(Row("second", "2nd", {}, {}), [fake_run({}, **facts)])


def test_a_heat_map_holds_rows_with_their_reach_and_blanks_where_nothing_was_measured():
    row = summary_of(reach=7, sees_order=False, sees_near=False)
    drawn = svg(figure := heat_map(GroupAccuracies("skill", ["drift", "zoom"], [(row, [85.4, None])]), "title"))
    assert all(f">{text}</text>" in drawn for text in ("drift", "zoom", "85", "2nd | 7 (blind)", "title"))
    np.testing.assert_allclose(opacity(figure), [[0.854, 0]])


def test_a_heat_map_of_directions_is_white_at_the_floor_and_ends_with_the_bounds():
    row = summary_of(reach=7, sees_order=True, sees_near=False, sum_ceilings={"zoom": 87.5})
    figure = heat_map(GroupAccuracies("direction", ["drift", "zoom"], [(row, [45.0, 100.0])]))
    np.testing.assert_allclose(opacity(figure), [[0, 1], [0, 0.75]])
    assert ">bound of any sum over frames</text>" in svg(figure)


@pytest.mark.parametrize("classes", [5, 31])
def test_no_class_is_cut_off_below_the_points(classes):
    names = [f"class {number} of a name that is rather long" for number in range(classes)]
    figure = points_figure(np.eye(classes, 2), names, [False] * classes, title="title")
    figure.set_dpi(150)  # that of the files
    FigureCanvasAgg(figure).draw()
    (legend,) = figure.legends
    assert [text.get_text().split()[1] for text in legend.get_texts()] == [*map(str, range(classes))]
    box = legend.get_window_extent()
    assert box.y1 <= figure.axes[0].get_window_extent().y0 and box.y0 >= 0 and 0 <= box.x0 < box.x1 <= figure.bbox.x1
    check_text_on_a_phone(figure)
