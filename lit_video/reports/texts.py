"""Sentences and headings of the pages, from ``texts.yaml``."""

from pathlib import Path

from lit_video.utils.yaml_files import read_yaml

TEXTS = read_yaml(Path(__file__).with_name("texts.yaml"))
