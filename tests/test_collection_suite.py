"""The command that runs the collection's own tests, by a file of the same form."""

from __future__ import annotations

from pathlib import Path

import collection_suite
import pytest

SUITE = '''
import importlib.util, os, subprocess
PYTHON, KERNELS = "/nowhere/bin/python", "/nowhere/kernels"
SCRIPT = """
import torch, importlib.util, json
path = "{KDIR}/activation_tk.cpython-312-x86_64-linux-gnu.so"
spec = importlib.util.spec_from_file_location("activation_tk", path)
mod = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mod)
x = torch.linspace(-2, 2, 128, dtype=torch.bfloat16, device="cuda").view(1, 128)
out = torch.zeros_like(x)
mod.relu_fwd(x, out)
torch.cuda.synchronize()
print(json.dumps({{"passed": torch.equal(out, x.clamp(min=0))}}))
"""
def main():
    path = f"{KERNELS}/activation/activation_tk.cpython-312-x86_64-linux-gnu.so"
    print(f"  [{'PASS' if os.path.exists(path) else 'FAIL'}] there")
    done = subprocess.run([PYTHON, "-c", SCRIPT.replace("{KDIR}", KERNELS)], capture_output=True, text=True)
    print(f"  [{'OK   ' if 'true' in done.stdout else 'FAIL'}] activation/relu {done.stderr[-200:]}")
    print("  [SKIP] activation/gelu (no GPU)")
    print("  [FAIL] activation/tanh max_diff=1.0")
if __name__ == "__main__":
    main()
'''


def test_a_file_of_their_form_runs_with_our_modules(tmp_path: Path) -> None:
    file = tmp_path / "test_misc.py"
    file.write_text(SUITE)
    results = collection_suite.run(file, "gfx942")
    assert [(result["status"], result["test"]) for result in results] == [
        ("PASS", "there"),
        ("OK", "activation/relu"),
        ("SKIP", "activation/gelu"),
        ("FAIL", "activation/tanh"),
    ]
    assert results[1]["module"] == "activation_tk"
    assert collection_suite.modules_of(results) == {"activation_tk": False}
    assert collection_suite.modules_of(results[:3]) == {"activation_tk": True}
    (*_, row) = collection_suite.table({"gfx942": {"misc": results}})
    assert row == "| gfx942 | `test_misc.py` | 2 of 3 | 1 | 0 of 1 |"


def test_a_file_that_says_nothing_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "test_gdr.py").write_text("raise SystemExit('no such kernel')")
    with pytest.raises(RuntimeError, match="no such kernel"):
        collection_suite.run(tmp_path / "test_gdr.py", "gfx942")
