"""What the README tells people to type exists."""

import re
import shlex
from pathlib import Path

import pytest
import torch

from lit_video.__main__ import main
from lit_video.training.cli import CheckCLI
from lit_video.training.request import parse_request

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = sorted(set(re.findall(r"python -m lit_video (fit [^`\n]+)", README)))


@pytest.mark.parametrize("command", COMMANDS)
def test_fit_commands_build_every_row(command, tiny, letters):
    request = parse_request(shlex.split(command.replace("DIR", str(letters)), comments=True)[1:])
    for row in request.rows:
        assert CheckCLI(request.row_args(row, 0)).model is not None


def test_commands_were_found():
    assert len(COMMANDS) >= 2


@pytest.fixture
def example(monkeypatch):
    """The README's example of a scheme, run where its comments say."""
    from lit_video.network.timesformer import SCHEMES

    monkeypatch.syspath_prepend(str(ROOT / "tests" / "attention"))
    from tests.attention import scheme_cases

    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    monkeypatch.setattr(scheme_cases, "CASES", dict(scheme_cases.CASES))
    names = vars(scheme_cases) | {"SCHEMES": SCHEMES, "even_frames_apart": lambda i, j, grid: (i.t - j.t) % 2 == 0}
    exec(code, names)
    yield names["CASES"]["even_frames"]
    SCHEMES.pop("even_frames")


def test_the_example_of_a_scheme_equals_its_index_sets(example):
    from tests.attention.scheme_cases import HEADS, close
    from tests.attention.test_scheme_oracles import by_loops

    for grid in example.grids:
        layer, x = example.layer(), example.tokens(grid)
        with torch.no_grad():
            close(layer(x, grid), by_loops(example, layer, x, grid, HEADS))


def test_the_example_of_a_scheme_trains_from_the_command_line(example, tiny, tmp_path):
    flags = [*tiny, "--data.image_size=32", "--model.attention=even_frames", "--trainer.fast_dev_run=true"]
    table = "experiments/timesformer_positions.yaml"
    assert main(["fit", "--config", table, "--row", "space_time", "--runs", str(tmp_path), *flags]) == 0


def test_the_example_of_a_scheme_is_short():
    assert len(re.search(r"```python\n(.*?)```", README, re.DOTALL)[1].splitlines()) <= 32


@pytest.mark.parametrize("target", sorted(set(re.findall(r"make (\w[\w-]*)", README)) - {"the"}))
def test_make_targets_exist(target):
    assert re.search(rf"^{target}:.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_table_is_what_the_command_prints(tiny, capsys):
    command = "table --config experiments/ablation_tw.yaml --runs benchmarks/results --format markdown"
    assert main(command.split()) == 0
    assert capsys.readouterr().out.strip() in README


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^):]+)\)", README))))
def test_links_lead_somewhere(link):
    assert (ROOT / link).exists()
