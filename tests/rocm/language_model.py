"""llama.cpp's text of a small model, on the device and on the CPU; runs inside the root, by its Python."""

from __future__ import annotations

import subprocess

import gguf
import numpy as np

FILE = "/tmp/small.gguf"
LAYERS, WIDTH, HEADS, INNER, CONTEXT = 2, 128, 4, 256, 256
LETTERS = [bytes([byte]).decode("latin-1") for byte in range(ord(" "), ord("~") + 1)]
WORDS = 32
"""Tokens asked for."""


def write_model() -> None:
    """A model of Llama's form with random weights in 8-bit blocks, whose tokens are letters."""
    generator = np.random.default_rng(0)
    tokens = ["<unk>", "<s>", "</s>", *(letter.replace(" ", "\u2581") for letter in LETTERS)]
    kinds = gguf.TokenType
    writer = gguf.GGUFWriter(FILE, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([kinds.UNKNOWN, kinds.CONTROL, kinds.CONTROL, *[kinds.NORMAL] * len(LETTERS)])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)

    def matrix(name: str, rows: int, columns: int) -> None:
        weights = (generator.standard_normal((rows, columns)) * columns**-0.5).astype(np.float32)
        kind = gguf.GGMLQuantizationType.Q8_0
        writer.add_tensor(f"{name}.weight", gguf.quants.quantize(weights, kind), raw_dtype=kind)

    def scales(name: str) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))

    matrix("token_embd", len(tokens), WIDTH)
    matrix("output", len(tokens), WIDTH)
    scales("output_norm")
    for layer in range(LAYERS):
        for name in ("q", "k", "v", "output"):
            matrix(f"blk.{layer}.attn_{name}", WIDTH, WIDTH)
        matrix(f"blk.{layer}.ffn_gate", INNER, WIDTH)
        matrix(f"blk.{layer}.ffn_up", INNER, WIDTH)
        matrix(f"blk.{layer}.ffn_down", WIDTH, INNER)
        scales(f"blk.{layer}.attn_norm")
        scales(f"blk.{layer}.ffn_norm")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def answer(device: str) -> str:
    """The text that the model continues a prompt with, by its most probable tokens."""
    words = ["llama-completion", "-m", FILE, "-p", "An emulated", "-n", str(WORDS), "--temp", "0", "-no-cnv"]
    words += ["--device", device, "-ngl", "99", "--no-warmup", "--ignore-eos", "-c", str(CONTEXT)]
    result = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if result.returncode:
        raise SystemExit(f"llama-completion on {device}: exit status {result.returncode}")
    return result.stdout.strip()


write_model()
expected, seen = answer("none"), answer("ROCm0")
print(
    f"the CPU:    {expected!r}\nthe device: {seen!r}\n{'equal' if seen == expected else 'DIFFERENT'}",
    flush=True,
)
