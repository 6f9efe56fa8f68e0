"""Test that no class told apart by a side is mirrored in training, in any language or sign, and that others are."""

import pytest

from lit_video.own_videos.choices import mirroring

SIDED = """\
turn_L turn_R|LCL LCR|cw ccw|clockwise anticlockwise|east west|North-East North-West|← →|+90 -90|90 270|
pan-left pan-right|left right|links rechts|gauche droite|izquierda derecha|sinistra destra|
esquerda direita|vänster höger|venstre højre|vasen oikea|lewo prawo|vlevo vpravo|balra jobbra|
stânga dreapta|sol sağ|αριστερά δεξιά|налево направо|ліворуч праворуч|左 右|左转 右转|왼쪽 오른쪽|ซ้าย ขวา|trái phải|
kiri kanan|يسار يمين|שמאל ימין|बाएं दाएं|kushoto kulia|A B C|a b|b d|0 1 2|6 9 2|class1 class2|
port starboard|arrive leave|enter exit|open close|push pull|in out|forward backward|inner outer|
hook slice|forehand backhand|leftturn rightturn|L R none|swipeL swipeR|walk_1 walk_2|sit a|sit b|
drawS drawZ|go come|< >|nearside offside|ad7 ad8|driver passenger|stage_l stage_r"""


def classes_of(text):
    return text.split()


@pytest.mark.parametrize("text", [text for text in SIDED.split("|") if len(classes_of(text)) > 1])
def test_classes_that_may_have_a_side_are_not_mirrored(text):
    decision = mirroring(classes_of(text))
    assert not decision.is_on
    assert decision.reason.startswith("none, because ") and decision.reason.endswith("--mirror")
    assert mirroring(classes_of(text), True).is_on


@pytest.mark.parametrize(
    "pair", [("swing one arm", "swing other arm"), ("lift hand", "lift leg"), ("walk up", "walk down")]
)
def test_classes_that_differ_in_one_word_are_not_mirrored(pair):
    assert not mirroring(pair).is_on


@pytest.mark.parametrize(
    "classes",
    [
        ("walk", "sit"),
        ("walking", "running", "jogging", "boxing", "clapping"),
        ("fall", "standup", "lying"),
        ("blinking", "upright"),
        ("Drinking Water", "eat"),
        ("pushups", "situps", "squats"),
        ("happy", "sad", "neutral"),
    ],
)
def test_classes_of_known_words_without_a_side_are_mirrored_unless_the_user_says_no(classes):
    decision = mirroring(classes)
    assert decision.is_on and "--no-mirror" in decision.reason
    assert not mirroring(classes, False).is_on
