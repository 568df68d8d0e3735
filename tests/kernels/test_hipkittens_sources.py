"""Every source of the page's table has the page's result: built as its Python module, run, compared. The
sources are HipKittens', and none is stored here: HIPKITTENS_TEST_SOURCES names a folder with checkouts
of its branches, without which these tests are skipped. Tests of their constructs do not need them:
`test_host_pass.py`, `test_source_compatibility.py`, `test_art.py`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import compatibility
import hipkittens_sources
import needs
import pytest
import torch
from hipkittens_sources import Source

import workbench as wb
from workbench.toolchain import find_compiler

FOLDER = "HIPKITTENS_TEST_SOURCES"
HOW = (
    f"{FOLDER} names no folder with HipKittens' branches; each of main, cdna3, fp6 (fp6_experimental): "
    "git clone -b BRANCH https://github.com/HazyResearch/HipKittens FOLDER/{main,cdna3,fp6}"
)


def checkouts() -> dict[str, Path]:
    """Folders by branch, as far as they exist."""
    folder = os.environ.get(FOLDER)
    branches = [branch for branch in compatibility.BRANCHES if branch != "june"]  # in the table of runs
    folders = {branch: Path(folder or "") / branch for branch in branches}
    return {branch: path for branch, path in folders.items() if folder and path.is_dir()}


SOURCES = compatibility.listed(checkouts())


@pytest.mark.skipif(not SOURCES, reason=HOW)
def test_every_source_is_on_the_page() -> None:
    assert {(source.branch, source.name) for source in SOURCES} <= set(compatibility.stated_results())


@pytest.mark.parametrize("headers", ["ours", "own"])
@pytest.mark.parametrize(
    "source",
    SOURCES or [pytest.param(None, marks=pytest.mark.skip(reason=HOW))],
    ids=lambda source: f"{source.branch}-{source.name}" if source else "none",
)
def test_result(source: Source, headers: str) -> None:
    """Each source in a separate process, so that an error is not reported for another."""
    version = find_compiler(source.arch).version
    if not re.search(r"clang (?:version )?22", version):
        pytest.skip(f"the page's table is of clang 22, and this is {version}")
    expected = compatibility.stated_results()[source.branch, source.name][headers == "own"]
    compiler = os.environ.get("HIPKITTENS_COMPILER", "zig")
    result = compatibility.attempt(source, compiler, headers == "own")
    assert result["result"] == expected, result["text"]


PROGRAM = """
#include "kittens.cuh"
#include "pyutils/pyutils.cuh"
using namespace kittens;
struct globals {{
    gl<bf16, -1, -1, -1, -1> in, out;
    dim3 grid() {{ return dim3(1); }}
    dim3 block() {{ return dim3(64); }}
    size_t dynamic_shared_memory() {{ return 0; }}
}};
__global__ void micro_tk(const globals g) {{
    rt_bf<32, 32> tile;
    load(tile, g.in, {{0, 0, 0, 0}});
    {body}
    store(g.out, tile, {{0, 0, 0, 0}});
}}
void dispatch(globals g) {{ micro_tk<<<g.grid(), g.block()>>>(g); }}
PYBIND11_MODULE(tk_kernel, m) {{
    py::bind_function<dispatch>(m, "dispatch", &globals::in, &globals::out);
}}
"""


def source_of(folder: Path, body: str) -> Source:
    """A source built like HipKittens' and checked like `timing/`: `out` equals `in`."""
    path = folder / "kernels" / "timing" / "kernel.cpp"
    path.parent.mkdir(parents=True)
    path.write_text(PROGRAM.format(body=body))
    return Source("main", folder, path, "gfx950", ())


@needs.python_headers
@pytest.mark.parametrize(
    ("body", "result", "text"),
    [
        ("", "right", "out: 0.0e+00"),
        ("mul(tile, tile, bf16(2.0f));", "wrong", "the sanitizer: nothing"),
        ("no_such_name(tile);", "no", "no_such_name"),
    ],
    ids=["right", "wrong", "no"],
)
def test_of_one_of_ours(tmp_path: Path, body: str, result: str, text: str) -> None:
    """Both halves are compiled: this error is only in the host's."""
    outcome = hipkittens_sources.attempt(source_of(tmp_path, body), own_headers=False)
    assert outcome["result"] == result, outcome
    assert text in str(outcome["text"])


def test_compile_errors_of_the_host_part_are_reported(tmp_path: Path) -> None:
    source = source_of(tmp_path, "")
    of_device = source.path.read_text().replace("<<<g.grid()", "<<<g.no_such_member()")
    source.path.write_text(of_device)
    assert hipkittens_sources.attempt(source, own_headers=False)["result"] == "no"


@pytest.mark.parametrize("causal", [False, True])
def test_contribution_of_some_keys_to_the_gradient_of_the_queries(causal: bool) -> None:
    """The parts add up to PyTorch's result."""
    torch.manual_seed(3)
    q, k, v, grad = (torch.randn(1, 24, heads, 8, dtype=torch.double) for heads in (4, 2, 2, 4))
    q.requires_grad_()
    of = [x.transpose(1, 2) for x in (q, k, v)]
    out = torch.nn.functional.scaled_dot_product_attention(*of, is_causal=causal, enable_gqa=True)
    out.transpose(1, 2).backward(grad)
    parts = [
        hipkittens_sources._query_gradient(q.detach(), k, v, grad, keys, causal)
        for keys in (slice(0, 10), slice(10, 24))
    ]
    torch.testing.assert_close(parts[0] + parts[1], q.grad)


def test_module_is_called_by_the_names_that_it_binds() -> None:
    class Module(wb.HostModule):
        def __init__(self) -> None:
            self.called: list[tuple[str, tuple[object, ...]]] = []

        def __getattr__(self, name: str) -> object:
            return lambda *given: self.called.append((name, given))

    text = """
        py::bind_function<prepare<64>>(m, "prepare", &prep<64>::Og, // the output
            &prep<64>::delta);
        py::bind_function<shuffle>(m, "shuffle", &other::dq_in, &other::dq_out);
    """
    module = Module()
    hipkittens_sources.call_function(module, text, {"dq_out": 2, "dq_in": 1})
    hipkittens_sources.call_function(module, text, {"delta": 4, "Og": 3, "n": 5})
    assert module.called == [("shuffle", (1, 2)), ("prepare", (3, 4))]
    with pytest.raises(ValueError, match="binds no function of x"):
        hipkittens_sources.call_function(module, text, {"x": 1})


def test_a_sample_of_the_page_is_drawn_by_a_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same seed draws the same sample, another seed another one; a deviation ends with code 1."""
    sources = [Source("main", tmp_path, tmp_path / f"{n}.cpp", "gfx950", ()) for n in range(30)]
    stated = {("main", source.name): ("right", "no") for source in sources}
    drawn: list[tuple[str, bool]] = []

    def attempt(source: Source, compiler: str, own: bool) -> dict[str, str]:
        drawn.append((source.name, own))
        return {"result": "no" if own else "right", "text": ""}

    monkeypatch.setattr(compatibility, "listed", lambda checkouts: sources)
    monkeypatch.setattr(compatibility, "stated_results", lambda: stated)
    monkeypatch.setattr(compatibility, "attempt", attempt)
    samples = []
    for seed in ("7", "7", "8"):
        drawn.clear()
        with pytest.raises(SystemExit) as ended:
            compatibility.main(["recheck", "--main", str(tmp_path), "--sample", "12", "--seed", seed])
        assert ended.value.code == 0
        samples.append(list(drawn))
    assert samples[0] == samples[1] != samples[2]
    assert len(set(samples[0])) == 12
    stated["main", samples[0][0][0]] = ("wrong", "wrong")
    with pytest.raises(SystemExit) as ended:
        compatibility.main(["recheck", "--main", str(tmp_path), "--sample", "12", "--seed", "7"])
    assert ended.value.code == 1
    assert "and the page says wrong" in capsys.readouterr().out
