"""Templates compile, verify and are clean on both targets, at their size and at awkward ones."""

from __future__ import annotations

import json
import math
import shlex
from typing import Any

import nbformat
import pytest
import torch
from IPython.utils.capture import capture_output

import workbench as wb
from workbench.__main__ import main
from workbench.errors import UsageError
from workbench.lab.templates import SETUP, notebook, read, template, templates

ARCHS = ("gfx950", "gfx942")
BF16 = torch.bfloat16


@pytest.mark.parametrize("name", templates())
def test_fits_the_page(name: str) -> None:
    entry = template(name)
    lines = [*entry.kernel.splitlines(), *entry.check.splitlines()]
    # A window of 1440 pixels with both sidebars has room for 88.
    assert max(map(len, lines)) <= 88
    assert len(entry.kernel.splitlines()) <= 80
    assert entry.kernel.startswith(f"%%hipkittens {name}\n"), "named as the template is"
    assert entry.about.endswith(".")


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", templates())
def test_verify_works_at_the_first_click(shell: Any, name: str, arch: str) -> None:
    """The kernel's cell with the options that the button adds, in a notebook where nothing has run."""
    line, _, source = template(name).kernel.partition("\n")
    options = [
        # Quoted as the front end does.
        f"--{option} {shlex.quote(text.translate({ord(c): c * 2 for c in '{}$'}))}"
        for option, text in template(name).reference.items()
    ]
    hidden = {variable: shell.user_ns.pop(variable, None) for variable in ("torch", "wb", name)}
    try:
        with capture_output() as out:
            magic = " ".join([line.partition(" ")[2], f"--arch {arch} --sanitize", *options])
            shell.run_cell_magic("hipkittens", magic, source)
        page = "".join(output.data.get("text/plain", "") for output in out.outputs)
    finally:
        shell.user_ns.update({variable: value for variable, value in hidden.items() if value is not None})
    assert "nothing found" in page
    assert "seed 0: passed" in page


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", templates())
def test_its_cells_run_in_order(shell: Any, name: str, arch: str) -> None:
    for cell in notebook(name)["cells"]:
        source = cell["source"].replace(f"%%hipkittens {name}", f"%%hipkittens {name} --arch {arch}")
        if cell["cell_type"] == "code":
            with capture_output():
                ran = shell.run_cell(source)
            ran.raise_error()
    assert isinstance(ran.result, wb.VerifyResult)
    assert ran.result.passed, ran.result
    assert arch in ran.result.device


def verified(module: wb.Module, name: str, inputs: dict[str, Any], grid: Any, output: str = "out") -> None:
    """A template's kernel on other inputs, against the template's reference; and no finding."""
    kernel = next(iter(module.kernels.values()))
    reference = eval(template(name).reference["reference"], {"torch": torch})
    result = wb.verify(kernel[grid, 256], reference, inputs=inputs, outputs=[output])
    assert result.passed, result
    assert not wb.sanitize(kernel[grid, 256], **inputs).findings


def compiled(name: str, arch: str, old: str = "", new: str = "") -> wb.Module:
    return wb.compile(template(name).kernel.partition("\n")[2].replace(old, new), arch=arch)


@pytest.mark.parametrize("arch", ARCHS)
def test_elementwise_of_any_size(arch: str) -> None:
    module = compiled("elementwise", arch)
    for n in (1, 255, 5000):
        verified(module, "elementwise", {"x": torch.randn(n), "out": torch.empty(n), "n": n}, 2)


@pytest.mark.parametrize("arch", ARCHS)
def test_rowwise_of_any_size(arch: str) -> None:
    module = compiled("rowwise", arch)
    for rows, cols in ((1, 1), (3, 777), (5, 513), (9, 512)):
        x = torch.randn(rows, cols, dtype=BF16)
        verified(module, "rowwise", {"x": x, "out": torch.empty_like(x)}, math.ceil(rows / 4))


@pytest.mark.parametrize("arch", ARCHS)
def test_rowwise_of_masked_numbers(arch: str) -> None:
    x = torch.randn(4, 1100, dtype=BF16)
    x[0, :600] = x[1, 300:] = -torch.inf
    verified(compiled("rowwise", arch), "rowwise", {"x": x, "out": torch.empty_like(x)}, 1)


@pytest.mark.parametrize("arch", ARCHS)
def test_gemm_of_any_size(arch: str) -> None:
    module = compiled("gemm", arch)
    for m, n, k in ((1, 1, 8), (129, 201, 72)):
        a, b = torch.randn(m, k, dtype=BF16), torch.randn(n, k, dtype=BF16)
        inputs = {"a": a, "b": b, "c": torch.empty(m, n, dtype=BF16)}
        verified(module, "gemm", inputs, (math.ceil(n / 128), math.ceil(m / 128)), "c")
    odd = torch.randn(4, 13, dtype=BF16)
    with pytest.raises(wb.KernelFault, match=r"cols\(\) % 8 == 0"):
        module["gemm"][1, 256](a=odd, b=odd, c=torch.empty(4, 4, dtype=BF16))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dim", [64, 128])
def test_attention_of_any_length(dim: int, arch: str) -> None:
    module = compiled("attention", arch, "D = 128;", f"D = {dim};")
    for queries, keys, causal in ((1, 1, 1), (130, 130, 0), (257, 100, 1), (40, 170, 1), (40, 170, 0)):
        q = torch.randn(1, 1, queries, dim, dtype=BF16)
        k, v = (torch.randn(1, 1, keys, dim, dtype=BF16) for _ in range(2))
        inputs = {"q": q, "k": k, "v": v, "out": torch.empty_like(q), "causal": causal}
        verified(module, "attention", inputs, math.ceil(queries / 128))


def test_new_writes_a_notebook(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(templates())
    assert main(["new", "attention"]) == 0
    assert capsys.readouterr().out == "wrote attention.ipynb\n"
    document = nbformat.read(tmp_path / "attention.ipynb", as_version=4)
    nbformat.validate(document)
    kernel = document.cells[2]
    assert document.cells[1].source == SETUP
    assert kernel.source == template("attention").kernel
    assert kernel.metadata.hipkittens.reference.outputs == "out"
    assert json.loads((tmp_path / "attention.ipynb").read_text()) == notebook("attention")


def test_new_says_what_is_wrong(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "atention"]) == 2
    assert "expected one of elementwise, rowwise, gemm, attention" in capsys.readouterr().err
    (tmp_path / "gemm.ipynb").write_text("mine")
    assert main(["new", "gemm"]) == 2
    assert "gemm.ipynb cannot be written: File exists" in capsys.readouterr().err
    assert (tmp_path / "gemm.ipynb").read_text() == "mine"
    (tmp_path / "01_odd.md").write_text("# Odd\n")
    with pytest.raises(UsageError, match="expected a title"):
        read(tmp_path / "01_odd.md")
