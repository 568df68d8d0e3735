"""The conda environment has the dependencies of pyproject.toml, and JupyterLab."""

from __future__ import annotations

import csv
import re
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
# Packages of PyPI that have another name in conda-forge.
CONDA_NAMES = {"torch": "pytorch", "msgpack": "msgpack-python"}


def dependencies() -> list[str]:
    """What the package needs, alone and to be used in JupyterLab."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["lab"]]


def requirement_name(text: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", text)
    assert match, text
    return match[0].lower()


def test_environment_names_every_dependency() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    named = set()
    for entry in environment["dependencies"]:
        entries = entry["pip"] if isinstance(entry, dict) else [entry]
        named |= {requirement_name(e) for e in entries if not e.startswith("-")}
    for dependency in dependencies():
        name = requirement_name(dependency)
        assert CONDA_NAMES.get(name, name) in named, f"environment.yml lacks {name}"


def test_environment_versions_agree() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    entries = environment["dependencies"]
    listed = [e for entry in entries for e in (entry["pip"] if isinstance(entry, dict) else [entry])]
    for dependency in [*dependencies(), f"python{project['requires-python']}"]:
        name = requirement_name(dependency)
        requirement = dependency.replace(name, CONDA_NAMES.get(name, name), 1)
        assert requirement in listed, f"environment.yml has another version than {dependency}"


def test_conda_forge_had_every_package() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    with (ROOT / "tests/data/conda_forge.csv").open() as file:
        had = {row["name"]: row["version"] for row in csv.DictReader(file)}
    requirements = [Requirement(entry) for entry in environment["dependencies"] if isinstance(entry, str)]
    assert [requirement.name for requirement in requirements if requirement.name not in had] == []
    assert [
        str(requirement)
        for requirement in requirements
        if not requirement.specifier.contains(had[requirement.name])
    ] == []
    # Packages that pip installs there were not on conda-forge.
    (by_pip,) = (entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    asked = [Requirement(entry) for entry in by_pip if not entry.startswith("-")]
    assert [
        str(requirement)
        for requirement in asked
        if requirement.name in had and requirement.specifier.contains(had[requirement.name])
    ] == []


def test_environment_has_a_compiler() -> None:
    dependencies = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    named = {requirement_name(d) for d in dependencies if isinstance(d, str)}
    assert {"clangxx", "lld", "llvm-tools"} <= named


def test_constraint_pins_torch_once() -> None:
    lines = [x for x in (ROOT / "constraints.txt").read_text().splitlines() if x and not x.startswith("#")]
    assert len(lines) == 1
    assert lines[0].startswith("torch==2.")
