"""The finder selects the best working compiler, and says why it rejected the others.

The compilers here are shell scripts that answer as a hipcc, a clang++ or a zig would.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from workbench.errors import CompilerNotFound
from workbench.toolchain import search, zig
from workbench.toolchain.search import find_compiler

HIPCC_7 = "HIP version: 7.0.51831-a3e329ad8\nAMD clang version 20.0.0git (somewhere)\nTarget: x86_64\n"
HIPCC_5 = "HIP version: 5.7.31921-1949b1621\nAMD clang version 17.0.0\n"
CLANG_22 = "clang version 22.1.8\nTarget: x86_64-pc-linux-gnu\n"
TARGETS = "  Registered Targets:\n    amdgcn  - AMD GCN GPUs\n    x86-64  - 64-bit X86\n"
COMPILES = 'while [ $# -gt 0 ]; do [ "$1" = -o ] && echo code > "$2"; shift; done'


@pytest.fixture(autouse=True)
def _nothing_else(bare_path: Path, system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides the compilers of this machine."""
    monkeypatch.setitem(sys.modules, "ziglang", None)
    monkeypatch.setattr(sys, "prefix", str(system / "environment"))


def fake(path: Path, version: str, compile_: str = COMPILES, targets: str = TARGETS) -> Path:
    """A program that answers a compiler's queries and runs `compile_` for everything else."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"""#!/bin/sh
case "$*" in
--version|"clang --version") cat <<'END'
{version}END
;;
version) echo 0.17.1 ;;
--print-targets) cat <<'END'
{targets}END
;;
-print-prog-name=lld) echo lld ;;
*)
{compile_}
;;
esac
"""
    )
    path.chmod(0o755)
    return path


def lld(folder: Path) -> None:
    fake(folder / "lld", "LLD 22\n")


def test_without_a_compiler_the_error_names_a_package() -> None:
    with pytest.raises(CompilerNotFound, match="pip install ziglang") as caught:
        find_compiler()
    assert "wheel is not installed" in str(caught.value)


def test_hipcc_of_rocm_path_comes_first(
    bare_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = fake(tmp_path / "rocm" / "bin" / "hipcc", HIPCC_7)
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    fake(bare_path / "hipcc", HIPCC_7)
    fake(bare_path / "clang++", CLANG_22)
    lld(bare_path)
    compiler = find_compiler()
    assert (compiler.kind, compiler.path, compiler.passed_over) == ("hipcc", mine, ())
    assert compiler.version == "ROCm 7.0.51831 (clang 20.0.0)"
    assert "ROCM_PATH" in compiler.reason


def test_hipcc_on_path_comes_before_opt_rocm_and_clang(bare_path: Path, system: Path) -> None:
    standard = fake(system / "opt" / "rocm" / "bin" / "hipcc", HIPCC_7)
    fake(bare_path / "clang++", CLANG_22)
    lld(bare_path)
    assert find_compiler().path == standard
    fake(bare_path / "hipcc", HIPCC_7)
    search.forget()
    assert find_compiler().path == bare_path / "hipcc"


def test_a_hipcc_older_than_6_is_passed_over(bare_path: Path) -> None:
    old = fake(bare_path / "hipcc", HIPCC_5)
    fake(bare_path / "clang++", CLANG_22)
    lld(bare_path)
    compiler = find_compiler()
    assert compiler.kind == "clang"
    assert compiler.passed_over == ((str(old), "is of ROCm 5.7.31921; expected ROCm 6 or later"),)


def test_rocm_path_without_hipcc_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    with pytest.raises(CompilerNotFound, match="ROCM_PATH names this folder"):
        find_compiler()


def test_the_newest_clang_wins(bare_path: Path) -> None:
    lld(bare_path)
    for release in (19, 21, 9):
        fake(bare_path / f"clang++-{release}", f"clang version {release}.1.0\n")
    fake(bare_path / "clang++", "clang version 20.1.0\n")
    assert find_compiler().version == "clang 21.1.0"


def test_the_environments_clang_comes_before_path(
    bare_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lld(bare_path)
    fake(bare_path / "clang++-23", "clang version 23.1.0\n")
    mine = fake(tmp_path / "conda" / "bin" / "clang++", CLANG_22)
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path / "conda"))
    assert find_compiler().path == mine


def test_a_symlink_to_a_tried_compiler_is_skipped(bare_path: Path) -> None:
    fake(bare_path / "clang++-9", "clang version 9.0.1\n")
    (bare_path / "clang++").symlink_to(bare_path / "clang++-9")
    with pytest.raises(CompilerNotFound) as caught:
        find_compiler()
    assert str(caught.value).count("is clang 9.0.1") == 1


@pytest.mark.parametrize(
    ("version", "targets", "why"),
    [
        ("gcc version 12\n", TARGETS, "is not clang: gcc version 12"),
        ("clang version 14.0.6\n", TARGETS, "is clang 14.0.6; expected 17 or later"),
        (CLANG_22, "  Registered Targets:\n    x86-64 - 64-bit X86\n", "without the AMDGPU target"),
    ],
)
def test_a_clang_that_cannot_is_passed_over(bare_path: Path, version: str, targets: str, why: str) -> None:
    lld(bare_path)
    fake(bare_path / "clang++", version, targets=targets)
    with pytest.raises(CompilerNotFound, match=why):
        find_compiler()


def test_a_clang_without_lld_is_passed_over(bare_path: Path) -> None:
    fake(bare_path / "clang++", CLANG_22)
    with pytest.raises(CompilerNotFound, match=r"has no lld beside it or on PATH \(`apt install lld-22`"):
        find_compiler()


def test_an_lld_of_another_name_gets_a_wrapper(bare_path: Path) -> None:
    fake(bare_path / "clang++", CLANG_22)
    linker = fake(bare_path / "ld.lld-22", "LLD 22\n")
    compiler = find_compiler()
    wrapper = Path(compiler.folders[0]) / "lld"
    assert str(linker) in wrapper.read_text()
    assert "shift 2" in wrapper.read_text()


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        ("kill -SEGV $$", "died of SIGSEGV when it compiled a small kernel for gfx950"),
        ('echo "error: unknown target CPU gfx950" >&2; exit 1', "does not know the target gfx950"),
        (
            'echo "x.h:1: error: no headers" >&2; exit 1',
            "does not compile a small kernel for gfx950: .*no headers",
        ),
        ("exit 0", "made no code object"),
        ("sleep 60", "did not compile a small kernel for gfx950 within 1 s"),
    ],
)
def test_a_clang_that_fails_is_passed_over(
    bare_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: str, why: str
) -> None:
    monkeypatch.setenv("HIPKITTENS_COMPILE_TIMEOUT", "1")
    lld(bare_path)
    fake(bare_path / "clang++", CLANG_22, behaviour)
    with pytest.raises(CompilerNotFound, match=why):
        find_compiler()


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("#!/bin/sh\nsleep 60\n", "gave no answer to `--version` within 1 s"),
        ("#!/bin/sh\nkill -ABRT $$\n", "died of SIGABRT at `--version`"),
        ("#!/bin/sh\necho broken >&2; exit 3\n", "failed at `--version`: broken"),
        ("#!/no/such/interpreter\n", "cannot be started"),
    ],
)
def test_a_hipcc_that_does_not_respond_is_skipped(
    bare_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    monkeypatch.setenv("HIPKITTENS_COMPILE_TIMEOUT", "1")
    hipcc = bare_path / "hipcc"
    hipcc.write_text(script)
    hipcc.chmod(0o755)
    with pytest.raises(CompilerNotFound, match=why):
        find_compiler()


def test_another_compiler_serves_a_target_that_the_first_does_not_know(bare_path: Path) -> None:
    only_old = f'case "$*" in *gfx950*) echo "error: unknown target CPU" >&2; exit 1;; esac\n{COMPILES}'
    hipcc = fake(bare_path / "hipcc", "HIP version: 6.2.41133\nAMD clang version 18.0.0\n", only_old)
    fake(bare_path / "clang++", CLANG_22)
    lld(bare_path)
    assert find_compiler().kind == "hipcc"
    assert find_compiler("gfx942").kind == "hipcc"
    other = find_compiler("gfx950")
    assert other.kind == "clang"
    assert other.passed_over == ((str(hipcc), "does not know the target gfx950"),)


def test_the_environment_variable_decides(bare_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(bare_path / "hipcc", HIPCC_7)
    lld(bare_path)
    mine = fake(bare_path / "my-clang++", CLANG_22)
    monkeypatch.setenv("HIPKITTENS_COMPILER", str(mine))
    compiler = find_compiler()
    assert (compiler.kind, compiler.path) == ("clang", mine)
    monkeypatch.setenv("HIPKITTENS_COMPILER", "no-such-compiler")
    with pytest.raises(CompilerNotFound, match="HIPKITTENS_COMPILER=no-such-compiler: no such program"):
        find_compiler()
    fake(bare_path / "bad", "gcc version 12\n")
    monkeypatch.setenv("HIPKITTENS_COMPILER", "bad")
    with pytest.raises(CompilerNotFound, match="HIPKITTENS_COMPILER=bad is not a compiler"):
        find_compiler()


def test_zig_without_clang_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "site-packages" / "ziglang"
    fake(wheel / "zig", "no clang any more\n")
    (wheel / "__init__.py").touch()
    monkeypatch.delitem(sys.modules, "ziglang")
    monkeypatch.syspath_prepend(wheel.parent)
    with pytest.raises(CompilerNotFound, match=f"carries no clang; {zig.WHEEL} does"):
        find_compiler()


def test_found_once_in_a_process(bare_path: Path) -> None:
    hipcc = fake(bare_path / "hipcc", HIPCC_7)
    compiler = find_compiler()
    hipcc.unlink()
    assert find_compiler() is compiler


def test_a_changed_compiler_is_asked_again(bare_path: Path) -> None:
    fake(bare_path / "hipcc", HIPCC_7)
    first = find_compiler()
    fake(bare_path / "hipcc", HIPCC_7.replace("7.0.51831", "7.1.52000"))
    search.forget()
    second = find_compiler()
    assert second.version == "ROCm 7.1.52000 (clang 20.0.0)"
    assert second.identity != first.identity


@pytest.mark.skipif(shutil.which("sh") is None, reason="no shell")
def test_the_tools_folder_is_made_again_where_it_was_cleared(bare_path: Path) -> None:
    fake(bare_path / "clang++", CLANG_22)
    fake(bare_path / "ld.lld", "LLD 22\n")
    wrapper = Path(find_compiler().folders[0]) / "lld"
    wrapper.unlink()
    search.forget()
    find_compiler()
    assert wrapper.exists()
