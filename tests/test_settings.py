"""Environment variables are read at each use."""

from __future__ import annotations

import os

import pytest

from workbench import settings

NAME = "HIPKITTENS_TEST_VALUE_OF"


def test_a_variable_is_read_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)
    assert settings.value_of(NAME) is None
    for value in ("", "1", "é/\udcff"):
        os.environ[NAME] = value
        assert settings.value_of(NAME) == value
        assert settings.values_of((NAME, NAME + "_OTHER")) == (value, None)
    del os.environ[NAME]
    assert settings.value_of(NAME) is None
    assert settings.values_of((NAME, NAME + "_OTHER")) == (None, None)


def test_a_mapping_in_place_of_the_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {NAME: "2"})
    assert settings.value_of(NAME) == "2"
    assert settings.value_of(NAME + "_OTHER") is None
    assert settings.values_of((NAME + "_OTHER", NAME)) == (None, "2")
