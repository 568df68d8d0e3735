"""The training script: resumed runs have the same bits, the packaged text, wrong options."""

from __future__ import annotations

import runpy
from pathlib import Path

import needs
import pytest
import torch

from workbench.__main__ import main as workbench
from workbench.errors import MissingFile, UsageError
from workbench.training import train
from workbench.training.data import Text
from workbench.training.memory import LiveBytes
from workbench.training.models import MASK, MODELS, model_named

pytestmark = needs.transformers


def run(out: Path, *more: str) -> dict[str, object]:
    assert workbench(["train", "--out", str(out), "--kernels", "pytorch", "--save-every", "2", *more]) == 0
    state: dict[str, object] = torch.load(out / "checkpoint.pt", weights_only=True)
    return state


def same(a: object, b: object) -> bool:
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and torch.equal(a, b)
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    return a == b


@pytest.mark.parametrize("model", ["llama-tiny", "bert-tiny"])
def test_resume_has_the_same_bits(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped after two of four steps, as if the power had failed, and resumed."""
    whole = run(tmp_path / "whole", "--model", model, "--steps", "4")
    step = train.Training.step

    def stops(self: train.Training) -> float:
        if len(self.losses) == 3:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(train.Training, "step", stops)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "parts", "--model", model, "--steps", "4")
    monkeypatch.undo()
    parts = run(tmp_path / "parts", "--model", model, "--steps", "4", "--resume")
    assert same(whole, parts)
    page = (tmp_path / "parts" / "report.html").read_text()
    assert model in page
    assert "MiB" in page


def test_on_the_kernels(tmp_path: Path) -> None:
    """Three steps on our kernels: near PyTorch's, the same bits after a resume."""
    state = run(tmp_path / "theirs", "--steps", "3")
    losses = [float(x) for x in state["losses"]]  # type: ignore[attr-defined]
    whole = run(tmp_path / "whole", "--steps", "3", "--kernels", "hipkittens")
    assert whole["losses"] == pytest.approx(losses, abs=0.03)
    run(tmp_path / "parts", "--steps", "3", "--kernels", "hipkittens")
    state = torch.load(tmp_path / "parts" / "checkpoint.pt", weights_only=True)
    assert same(state, whole)


def test_a_model_learns() -> None:
    training = train.Training(train.parser().parse_args(["--kernels", "pytorch-fp32", "--steps", "20"]))
    for _ in range(20):
        training.step()
    assert sum(training.losses[-3:]) / 3 < training.losses[0] - 1.5


def test_masters_keep_small_steps() -> None:
    """A step of 2^-12 of a weight is lost in bf16, and accumulates in float32."""
    layer = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(layer.weight)
    masters = train.Masters(layer)
    layer.bfloat16()
    for _ in range(64):
        masters.wide[0].add_(2**-12)
        masters.give_weights()
    assert layer.weight.item() == 1 + 2**-6


@pytest.mark.parametrize("masked", [True, False])
def test_batches(masked: bool) -> None:
    text = Text.read(None, 64, 8, masked)
    inputs, labels = text.at(3, seed=1)
    again = text.at(3, seed=1)
    assert torch.equal(inputs, again[0])
    assert torch.equal(labels, again[1])
    assert not torch.equal(inputs, text.at(4, seed=1)[0])
    if not masked:
        assert torch.equal(inputs, labels)
        return
    hidden = inputs == MASK
    assert torch.equal(hidden, labels != -100)
    assert hidden.any(1).all()
    assert 0.03 < hidden.float().mean() < 0.4
    assert (labels[hidden] < 256).all()


def test_published_sizes() -> None:
    """Parameters of Llama 3.2 1B and of BERT base, as published: 1.24 and 0.11 billion."""
    counts = {}
    for name in ("llama-1b", "bert-base"):
        with torch.device("meta"):
            counts[name] = sum(p.numel() for p in MODELS[name].make().parameters())
    assert counts["llama-1b"] == 1_235_814_400
    assert 109e6 < counts["bert-base"] < 111e6


def test_live_bytes() -> None:
    held = torch.zeros(1000)
    with LiveBytes([held]) as live:
        a = held + 1
        b = a.view(10, 100) * 2
        del a
        c = b.sum()
    assert live.peak == 3 * 4000
    assert live.now == 2 * 4000 + 4
    del b, c


def test_wrong_options(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the model is 'llama-2b'; expected one of llama-tiny"):
        model_named("llama-2b")
    with pytest.raises(UsageError, match="llama-1b needs an AMD GPU"):
        train.main(["--model", "llama-1b"])
    with pytest.raises(MissingFile, match=r"nothing\.txt"):
        train.main(["--text", str(tmp_path / "nothing.txt")])
    short = tmp_path / "short.txt"
    short.write_text("too short")
    with pytest.raises(UsageError, match="has 9 bytes; expected 660"):
        train.main(["--text", str(short)])
    with pytest.raises(UsageError, match="--resume without --out"):
        train.main(["--resume", "--kernels", "pytorch"])
    with pytest.raises(MissingFile, match=r"checkpoint\.pt"):
        train.main(["--resume", "--kernels", "pytorch", "--out", str(tmp_path)])


def test_a_gpu_of_another_maker_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.version, "hip", None)
    options = train.parser().parse_args(["--model", "llama-tiny"])
    assert train.Training(options).device == "cpu"
    monkeypatch.setattr(torch.version, "hip", "7.1")
    # PyTorch on this machine has no GPU, and raises when weights are moved there.
    with pytest.raises((AssertionError, RuntimeError)):
        train.Training(options)


def test_a_copy_is_the_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "mine.py"
    assert workbench(["train", "--copy", str(copy)]) == 0
    assert len(copy.read_text().splitlines()) <= 200
    assert "Training" in runpy.run_path(str(copy))


def test_the_written_text_depends_on_the_context() -> None:
    """The padding after a short text has no effect."""
    training = train.Training(train.parser().parse_args(["--kernels", "pytorch-fp32", "--steps", "1"]))
    tokens = training.continued(list(b"A kernel"), 4)
    ids = torch.tensor([tokens])
    expected = training.model.eval()(input_ids=ids).logits[0, 7:11, :256].argmax(-1)
    assert tokens[:8] == list(b"A kernel")
    assert expected.tolist() == tokens[8:]
    assert len(training.continued([120] * 100, 1)) == 101
