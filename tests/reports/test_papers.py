"""Results are grouped by paper: verdicts of its claims, its tables in its order, follow-ups folded under theirs."""

import re
from html.parser import HTMLParser

import pytest

from lit_video.__main__ import main
from lit_video.reports.verdicts import OTHERS, by_paper
from lit_video.tables.claims import read_claims
from lit_video.tables.reading import read_table, table_at
from tests.conftest import ROOT
from tests.fake_runs import EXPERIMENTS, write_table_runs


class Page(HTMLParser):
    """Names of links, closed folds around each anchor, and classes of the claims' verdicts."""

    def __init__(self):
        super().__init__()
        self.links, self.folds, self.pills, self.open, self.inside = [], {}, [], [], ""

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "details":
            self.open.append("" if "open" in given else given.get("class", "plain"))
        if "id" in given and tag in {"h2", "h3"}:
            self.folds[given["id"]] = [fold for fold in self.open if fold]
        if tag == "a":
            self.links.append("")
        if tag == "article":
            self.pills.append(given["class"].split()[-1])
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = ""
        if tag == "details":
            self.open.pop()

    def handle_data(self, data):
        if self.inside == "a":
            self.links[-1] += data.strip()


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers")
    runs = folder / "runs"
    small = {"seeds": 1, "classes": 2, "videos": 20, "throughput": False}
    for name in ("vivit_models", "vivit_backbones", "ablation_tw", "ablation_ta"):
        write_table_runs(runs, name, "embedded", **small)
    write_table_runs(runs, "ablation_tw", "embedded_even", **small)
    write_table_runs(runs, "avletters", "cpu", rows=["divided", "joint"], **small)
    command = ["report", str(runs), "-o", str(folder / "page.html"), "--experiments", str(EXPERIMENTS)]
    assert main(command) == 0
    return (folder / "page.html").read_text()


def test_the_page_has_each_papers_verdicts_and_then_its_tables_in_its_order(html):
    page = Page()
    page.feed(html)
    anchors = [each for each in page.folds if each not in {"reading"}]
    assert anchors == [
        *("X-ViT-arXiv-2106-05968", "ablation_tw-embedded", "ablation_tw-embedded_even", "ablation_ta-embedded"),
        *("ViViT-arXiv-2103-15691", "vivit_models-embedded", "vivit_backbones-embedded"),
        *("Other-tables", "avletters-cpu"),
    ]
    claims = [place.start() for place in re.finditer("What the paper claims", html)]
    places = [html.index(f'id="{anchor}"') for anchor in anchors]
    assert places[0] < claims[0] < places[1] and places[4] < claims[1] < places[5]
    assert page.pills and set(page.pills) <= {"supported", "contradicted", "undecided", "untested", "not-run"}


def test_follow_ups_are_folded_under_their_table(html):
    page = Page()
    page.feed(html)
    assert page.folds["ablation_tw-embedded_even"] == ["follow-up"]
    assert all(not folds for anchor, folds in page.folds.items() if anchor != "ablation_tw-embedded_even")
    assert "Follow-up at scale <b>embedded_even</b>: the ends of a window of 2 lack the odd distances" in html


def test_no_two_links_have_one_name(html):
    page = Page()
    page.feed(html)
    assert len(page.links) > 10 and len(page.links) == len(set(page.links))


def test_pictures_of_many_tables_are_text_until_they_are_opened(html):
    folds = re.findall(r'<details class="more[^>]*>.*?</details>', html, re.DOTALL)
    assert all("<noscript>" in fold for fold in folds)
    assert '<div class="picture"' not in re.sub(r"<noscript>.*?</noscript>", "", html, flags=re.DOTALL)


def test_tables_are_sorted_by_the_papers_numbers_and_scales_by_who_decides():
    names = ("xvit_throughput", "ablation_size", "xvit_ssv2", "ablation_ta", "timesformer_tokens", "skills")
    tables = [read_table([EXPERIMENTS / f"{name}.yaml"]) for name in names]
    tables += [table_at(EXPERIMENTS / "xvit_ssv2.yaml", scale) for scale in ("avletters", "ssv2")]
    papers = by_paper([(table, table.scale) for table in reversed(tables)], read_claims(EXPERIMENTS))
    assert [name.partition(",")[0] for name in papers] == ["X-ViT", "TimeSformer", OTHERS]
    claims, ours = papers["X-ViT, arXiv:2106.05968"]
    assert {claim.source for claim in claims} == {"X-ViT, arXiv:2106.05968"}
    order = ["ablation_ta", "ablation_size", "xvit_ssv2", "xvit_throughput"]
    assert [scales[0][0].name for scales in ours] == order
    assert [scale for _, scale in ours[2]] == ["ssv2", "embedded", "avletters"]


def test_the_markdown_page_has_the_same_order():
    text = (ROOT / "REPRODUCE.md").read_text()
    heads = re.findall(r"^## (.*)", text, re.MULTILINE)
    assert heads[:4] == [*dict.fromkeys(claim.source for claim in read_claims(EXPERIMENTS)), OTHERS]
    folded = re.findall(r"<summary>(\w+) at scale (\w+).*?\n\n### (\w+) \((\w+)\)", text)
    assert folded and all(one[:2] == one[2:] for one in folded)
    links = re.findall(r"\[([^]]+)\]\(#", text)
    assert len(links) == len(set(links))
