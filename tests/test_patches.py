"""Replaced attributes are restored in reverse, unless other code replaced them as well."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import warnings
from types import ModuleType, SimpleNamespace

import pytest

from workbench.errors import PatchConflict
from workbench.patches import Patches


class Base:
    @classmethod
    def kind(cls) -> str:
        return cls.__name__

    @staticmethod
    def sign() -> int:
        return 1


class Derived(Base):
    pass


@pytest.fixture(autouse=True)
def _no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_descriptors_come_back_as_they_were():
    before = dict(vars(Base))
    with Patches() as patches:
        patches.replace(Base, "kind", classmethod(lambda cls: "patched"))
        patches.replace(Base, "sign", staticmethod(lambda: -1))
        assert (Base.kind(), Derived.kind(), Base().sign()) == ("patched", "patched", -1)
    assert dict(vars(Base)) == before
    assert (Derived.kind(), Base().sign()) == ("Derived", 1)


def test_inherited_attribute_is_inherited_again():
    with Patches() as patches:
        patches.replace(Derived, "sign", staticmethod(lambda: -1))
        assert (Derived.sign(), Base.sign()) == (-1, 1)
    assert "sign" not in vars(Derived)
    assert Derived.sign() == 1


def test_reverse_order_also_where_the_block_raises():
    module = ModuleType("library")
    module.call = "library's"
    seen = []
    with contextlib.suppress(KeyError), Patches() as patches:
        patches.replace(module, "call", "first")
        patches.callback(lambda: seen.append(module.call))
        patches.replace(module, "call", "second")
        raise KeyError
    assert seen == ["first"]
    assert module.call == "library's"


def test_attribute_that_is_not_there():
    module = ModuleType("library")
    with Patches() as patches:
        with pytest.raises(AttributeError, match="library has no attribute 'absent'"):
            patches.replace(module, "absent", 1)
        patches.replace(module, "absent", 1, create=True)
        assert module.absent == 1
    assert not hasattr(module, "absent")


def test_a_value_from_other_code_stays_and_is_named():
    module = ModuleType("library")
    module.call, module.other = "library's", "library's"
    patches = Patches()
    patches.replace(module, "call", "ours")
    patches.replace(module, "other", "ours")
    module.call = "theirs"
    with pytest.warns(PatchConflict, match=r"library\.call was replaced by other code") as record:
        patches.close()
    assert (module.call, module.other) == ("theirs", "library's")
    assert len(record) == 1


def test_attribute_that_other_code_deleted_stays_away_and_is_named():
    settings = SimpleNamespace(listener=None)
    patches = Patches()
    patches.replace(settings, "listener", print)
    del settings.listener
    with pytest.warns(PatchConflict, match=r"SimpleNamespace\.listener"):
        patches.close()
    assert not hasattr(settings, "listener")


def test_other_code_that_cleans_up_after_itself_is_no_conflict():
    module = ModuleType("library")
    module.call = "library's"
    with Patches() as patches:
        patches.replace(module, "call", "ours")
        with Patches() as theirs:
            theirs.replace(module, "call", "theirs")
        assert module.call == "ours"
    assert module.call == "library's"


def test_a_patch_that_stays_is_silent_at_exit():
    program = """
import contextlib, string, sys
from workbench.patches import Patches

@contextlib.contextmanager
def finder():
    sys.meta_path.insert(0, None)
    try:
        yield
    finally:
        print("undone")
        sys.meta_path.remove(None)

@contextlib.contextmanager
def door():
    with Patches() as patches:
        patches.enter_context(finder())
        patches.replace(string, "digits", "0")
        string.digits = "1"
        yield

left_open = door()
left_open.__enter__()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
