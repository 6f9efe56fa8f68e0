"""The packages: experiments/ becomes lit_video/experiments where it is installed. All else is in pyproject.toml."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["lit_video*"]), "lit_video.experiments"],
    package_dir={"lit_video.experiments": "experiments"},
)
