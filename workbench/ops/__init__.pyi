"""Operators as functions. Made by `python -m workbench.ops.stub` from the specs in `kernels/`."""

# ruff: noqa
# fmt: off
import collections.abc
from typing import NamedTuple

import torch

import workbench.operators.precompile

def precompile(model: collections.abc.Callable[..., object], *inputs: object, backward: bool = False, archs: collections.abc.Sequence[str] | None = None, workers: int | None = None, **named: object) -> list[workbench.operators.precompile.Instance]:
    """Compiles every kernel that `model(*inputs, **named)` calls, side by side, without running one.

    The model runs on tensors of "meta", which have shapes and no values. Later calls, of later processes too,
    find the kernels in the cache. `wb.kernels.compile` compiles operators by name.

    Args:
        model: a module, or a function of tensors.
        inputs, named: its arguments; of tensors only shape, dtype and strides count.
        backward: whether to compile what the gradient of all results calls, too.
        archs: targets; that of the default device where None.
        workers: compilers at once; one for each processor where None.

    Returns:
        What was compiled, by operator, shape and target, with the seconds that each took.

    Raises:
        ShapeError, ArgumentError: the model calls an operator as it must not be called.
        CompileError: a kernel does not compile; the others have been compiled.
        NotImplementedError: the model looks at values, which tensors of "meta" do not have.
    """

def sdpa(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: torch.Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> torch.Tensor:
    """`torch.nn.functional.scaled_dot_product_attention` by the kernel `flash_attention`.

    softmax(scale query keyᵀ + mask) value, sums in float; tensors are read as they are, without a copy.

    Args:
        query: [batch, heads, queries, dim] of bf16 or fp16, with any dimensions in front in place of batch.
        key: [batch, heads_kv, keys, dim].
        value: [batch, heads_kv, keys, dim_v].
        attn_mask: None; the kernel has no mask but the causal one.
        dropout_p: 0; the kernel drops nothing.
        is_causal: whether query i sees keys 0 to i only, as in PyTorch: the first query stands at the first
            key. Queries and keys are then as many.
        scale: what products are multiplied by; 1 / sqrt(dim) where None.
        enable_gqa: whether heads of keys serve several heads of queries; without it they are as many.

    Returns:
        [batch, heads, queries, dim_v], in the dtype of query.

    Gradients:
        by the kernel `flash_attention_backward`.

    Raises:
        UsageError: a mask or dropout, which the kernel does not have; is_causal with fewer or more keys than
            queries; fewer heads of keys without enable_gqa.
        ShapeError: tensors that do not fit together, or sizes that `flash_attention` does not take.
    """

class ActMulAndMxQuantResult(NamedTuple):
    out: torch.Tensor
    scales: torch.Tensor

def act_mul_and_mx_quant(x: torch.Tensor, activation: str = 'silu', format: str = 'e2m1', rounding: str = 'even') -> ActMulAndMxQuantResult:
    """activation(gate) * up of rows [gate, up], to fp4, fp6 or fp8 with a power of two for each 32
    columns. `rounding` and results as of `mx_quant`.

    Args:
        x: [..., 2*cols] of bf16, fp16 or fp32: rows of a gate and what it multiplies.
        activation: of the first half of a row; one of silu, gelu, gelu_tanh, relu.
        format: of the numbers; of fp8 the target's own: e4m3fn, e5m2 (gfx950), e4m3fnuz, e5m2fnuz
            (gfx942); one of e2m1, e2m3, e3m2, e4m3fn, e4m3fnuz, e5m2, e5m2fnuz.
        rounding: of powers of two that scales are; one of even, down, up.

    Returns:
        out: [..., cols/2] or [..., 3*cols/4] of uint8, or [..., cols] of e4m3fn, e4m3fnuz, e5m2 or
            e5m2fnuz: numbers of `format`: fp4 two in a byte, fp6 four in three.
        scales: [..., cols/32] of uint8: bytes s of powers 2^(s - 127) of each 32 columns.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 32768; length of a row.
        block: one of 32; columns that share a scale.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/quantization/act_mul_and_mx_quant.py for gfx950 and gfx942;
            `wb.kernels['quantization/act_mul_and_mx_quant']`,
            `torch.ops.hipkittens.quantization_act_mul_and_mx_quant`.
    """

class ActMulAndQuantResult(NamedTuple):
    out: torch.Tensor
    scales: torch.Tensor

def act_mul_and_quant(x: torch.Tensor, activation: str = 'silu', format: str = 'int8', block: int = 128) -> ActMulAndQuantResult:
    """activation(gate) * up of rows [gate, up], to int8 or fp8 with a scale for each `block` columns.

    Args:
        x: [..., 2*cols] of bf16, fp16 or fp32: rows of a gate and what it multiplies.
        activation: of the first half of a row; one of silu, gelu, gelu_tanh, relu.
        format: of the numbers; of fp8 the target's own: e4m3fn, e5m2 (gfx950), e4m3fnuz, e5m2fnuz
            (gfx942); one of int8, e4m3fn, e4m3fnuz, e5m2, e5m2fnuz.
        block: columns that share a scale; one of 128, 64, 32.

    Returns:
        out: [..., cols] of int8, e4m3fn, e4m3fnuz, e5m2 or e5m2fnuz: numbers of `format`.
        scales: [..., ceil(cols/block)] of fp32: factors of blocks of columns.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 32768; length of a row.
        block: one of 128, 64, 32; columns that share a scale.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/quantization/act_mul_and_quant.py for gfx950 and gfx942;
            `wb.kernels['quantization/act_mul_and_quant']`,
            `torch.ops.hipkittens.quantization_act_mul_and_quant`.
    """

class BmmRopeKvCacheResult(NamedTuple):
    q_out: torch.Tensor
    k_pe: torch.Tensor

def bmm_rope_kv_cache(q_nope: torch.Tensor, w_k: torch.Tensor, q_pe: torch.Tensor, k_nope: torch.Tensor, k_rope: torch.Tensor, kv_cache: torch.Tensor, slots: torch.Tensor, positions: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, w_k_scale: torch.Tensor | None = None, k_scale: float = 1.0, interleaved: bool = True) -> BmmRopeKvCacheResult:
    """Latent attention before a decode step: [q_nope w_kᵀ, turned q_pe], and a cache's rows [k_nope,
    turned k_rope] / k_scale, in place; w_k of fp4 with powers of two, fp8 with a scale, or bf16.

    [q_nope w_kᵀ, turned q_pe], turned k_rope, and the cache with [k_nope, turned k_rope] / k_scale.

    Args:
        q_nope: [heads, batch, deep] of bf16: queries without positions.
        w_k: [heads, rank, deep/2] of uint8, or [heads, rank, deep] of fp8 or bf16: what queries are
            multiplied by: fp4 two in a byte, fp8 or bf16.
        q_pe: [batch, heads, dim] of bf16: the part of queries that is turned.
        k_nope: [tokens, key_heads, rank] of bf16: latent vectors.
        k_rope: [tokens, key_heads, dim] of bf16: the part of keys that is turned.
        kv_cache: [places, key_heads, rank+dim] of bf16 or fp8: rows [k_nope, turned k_rope] over
            `k_scale`, written in place.
        slots: [tokens] of int64: the place of each token in the cache; below 0 none.
        positions: [tokens] of int64: row of `cos` and `sin` for each token.
        cos: [angles, dim/2] of fp32 or bf16: cosines of angles by position.
        sin: [angles, dim/2] of fp32 or bf16: sines of angles by position.
        w_k_scale: [heads, rank, deep/32] of uint8, or [1] of fp32: bytes s of powers 2^(s - 127) of
            fp4, or a factor of fp8; None for bf16.
        k_scale: factor for keys in the cache.
        interleaved: whether pairs are neighbours (GPT-J), or halves apart (NeoX).

    Returns:
        q_out: [batch, heads, rank+dim] of bf16: [q_nope w_kᵀ, turned q_pe].
        k_pe: [tokens, key_heads, dim] of bf16: turned k_rope.

    Sizes:
        batch: 1 to 65536; tokens with queries.
        tokens: 1 to 65536; tokens with keys: those, and perhaps others behind them.
        heads: 1 to 256; heads of queries.
        key_heads: 1 to 64; heads of keys.
        deep: 128 to 4096 in steps of 128; columns of q_nope.
        rank: 8 to 4096 in steps of 8; columns of the latent vectors.
        dim: 16 to 512 in steps of 16; columns that are turned.
        places: 1 to 1048576; rows of the cache, and of cos and sin as they are drawn.

    Gradients:
        none: kv_cache is written in place.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `slots` (below places), `positions` (below angles); it
            names the element.

    Source:
        kernels/feed_forward/bmm_rope_kv_cache.py for gfx950 and gfx942;
            `wb.kernels['feed_forward/bmm_rope_kv_cache']`,
            `torch.ops.hipkittens.feed_forward_bmm_rope_kv_cache`.
    """

def causal_conv1d(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, activation: str = 'none') -> torch.Tensor:
    """Each channel convolved with weights of its own over the columns before, perhaps with a bias and
    silu; the short convolution of state-space and delta-rule layers.

    activation(bias + the sum over j of weight[d, j] x[b, d, t - K + 1 + j]), of x B x D x L, weight D x
    K.

    Args:
        x: [batch, channels, length] of bf16, fp16 or fp32: what is computed on.
        weight: [channels, width] of bf16, fp16 or fp32: a factor for each column.
        bias: [channels] of bf16, fp16 or fp32: added to each column; nothing where None.
        activation: of the sums; one of none, silu.

    Returns:
        out: [batch, channels, length] of bf16, fp16 or fp32: the result.

    Sizes:
        batch: 1 to 65536.
        channels: 1 to 65536.
        length: 1 to 1048576; columns of a channel, tokens.
        width: 2 to 9; weights of a channel.

    Gradients:
        of x, weight, bias: by the kernel `causal_conv1d_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/activations/causal_conv1d.py for gfx950 and gfx942;
            `wb.kernels['activations/causal_conv1d']`, `torch.ops.hipkittens.activations_causal_conv1d`.
    """

class CausalConv1DBackwardResult(NamedTuple):
    dx: torch.Tensor
    dweight: torch.Tensor
    dbias: torch.Tensor

def causal_conv1d_backward(dout: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, activation: str = 'none') -> CausalConv1DBackwardResult:
    """The gradients of the causal convolution's x, weight and bias; sums in float, bit-equal from run to
    run.

    The gradients of x (B, D, L), weight (D, K) and bias (D) from that of the result; that of no bias is
    empty.

    Args:
        dout: [batch, channels, length] of bf16, fp16 or fp32: gradient of `out`.
        x: [batch, channels, length] of bf16, fp16 or fp32: what is computed on.
        weight: [channels, width] of bf16, fp16 or fp32: a factor for each column.
        bias: [channels] of bf16, fp16 or fp32: added to each column; nothing where None.
        activation: of the sums; one of none, silu.

    Returns:
        dx: [batch, channels, length] of bf16, fp16 or fp32: gradient of `x`.
        dweight: [channels, width] of bf16, fp16 or fp32: gradient of `weight`.
        dbias: [channels] or [none] of bf16, fp16 or fp32: gradient of `bias`.

    Sizes:
        batch: 1 to 65536.
        channels: 1 to 65536.
        length: 1 to 1048576; columns of a channel, tokens.
        width: 2 to 9; weights of a channel.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/activations/causal_conv1d_backward.py for gfx950 and gfx942;
            `wb.kernels['activations/causal_conv1d_backward']`,
            `torch.ops.hipkittens.activations_causal_conv1d_backward`.
    """

class CausalConv1DSplitResult(NamedTuple):
    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor

def causal_conv1d_split(x: torch.Tensor, weight: torch.Tensor, starts: torch.Tensor, key_dim: int, bias: torch.Tensor | None = None, activation: str = 'silu') -> CausalConv1DSplitResult:
    """Channels x tokens of sequences behind one another, convolved with weights of each channel, perhaps
    with a bias and silu, and split into q, k and v of tokens x channels.

    q, k (tokens, key_dim) and v of x (D, tokens); sequences begin at `starts`, the last being the end.

    Args:
        x: [2*keys+values, tokens] of bf16, fp16 or fp32: what is computed on.
        weight: [2*keys+values, width] of bf16, fp16 or fp32: a factor for each column.
        starts: [sequences+1] of int32: where sequences behind one another begin, and where the last
            ends.
        key_dim: channels of q, and of k.
        bias: [2*keys+values] of bf16, fp16 or fp32: added to each column; nothing where None.
        activation: of the sums; one of none, silu.

    Returns:
        q: [tokens, keys] of bf16, fp16 or fp32: the first `key_dim` channels.
        k: [tokens, keys] of bf16, fp16 or fp32: the next `key_dim` channels.
        v: [tokens, values] of bf16, fp16 or fp32: the other channels.

    Sizes:
        tokens: 1 to 524288; tokens of all sequences.
        sequences: 1 to 65536; sequences.
        keys: 1 to 65536; channels of q, and of k.
        values: 1 to 65536; channels of v.
        width: 2 to 9; weights of a channel.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `starts` (below tokens+1); it names the element.

    Source:
        kernels/gated_delta/causal_conv1d_split.py for gfx950 and gfx942;
            `wb.kernels['gated_delta/causal_conv1d_split']`,
            `torch.ops.hipkittens.gated_delta_causal_conv1d_split`.
    """

class CausalConv1DUpdateResult(NamedTuple):
    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor

def causal_conv1d_update(x: torch.Tensor, weight: torch.Tensor, conv_state: torch.Tensor, key_dim: int, bias: torch.Tensor | None = None, indices: torch.Tensor | None = None, activation: str = 'silu') -> CausalConv1DUpdateResult:
    """Channels convolved with weights of their own behind the columns that a pool of states keeps, perhaps
    with a bias and silu, split into q, k and v; the states move on in place.

    q, k (B, key_dim, S) and v of x (B, D, S) behind the columns of conv_state, and what that becomes.

    Args:
        x: [batch, 2*keys+values, tokens] of bf16, fp16 or fp32: what is computed on.
        weight: [2*keys+values, width] of bf16, fp16 or fp32: a factor for each column.
        conv_state: [lines, 2*keys+values, width-1] of bf16, fp16 or fp32: the last columns of
            sequences, a pool of them, written in place.
        key_dim: channels of q, and of k.
        bias: [2*keys+values] of bf16, fp16 or fp32: added to each column; nothing where None.
        indices: [batch] of int64: the state of each sequence, below 0 none; where None, state i is
            sequence i's.
        activation: of the sums; one of none, silu.

    Returns:
        q: [batch, keys, tokens] of bf16, fp16 or fp32: the first `key_dim` channels.
        k: [batch, keys, tokens] of bf16, fp16 or fp32: the next `key_dim` channels.
        v: [batch, values, tokens] of bf16, fp16 or fp32: the other channels.

    Sizes:
        batch: 1 to 65535; sequences.
        tokens: 1 to 65536; new tokens of each.
        keys: 1 to 65536; channels of q, and of k.
        values: 1 to 65536; channels of v.
        lines: 1 to 1048576; states in the pool.
        width: 2 to 9; weights of a channel.

    Gradients:
        none: conv_state is written in place.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `indices` (below lines); it names the element.

    Source:
        kernels/gated_delta/causal_conv1d_update.py for gfx950 and gfx942;
            `wb.kernels['gated_delta/causal_conv1d_update']`,
            `torch.ops.hipkittens.gated_delta_causal_conv1d_update`.
    """

class ChunkGatedDeltaRuleResult(NamedTuple):
    o: torch.Tensor
    last_state: torch.Tensor

def chunk_gated_delta_rule(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor, initial_state: torch.Tensor | None = None, cu_seqlens: torch.Tensor | None = None, scale: float | None = None, use_qk_l2norm: bool = False, chunk: int = 64) -> ChunkGatedDeltaRuleResult:
    """h *= exp(g); u = beta (v - hᵀ k); h += k uᵀ; o = scale hᵀ q, a chunk of tokens at a time; states in
    and out.

    What the rule gives token after token, whatever the chunks.

    Args:
        q: [batch, tokens, heads, keys] of bf16, fp16 or fp32: queries.
        k: [batch, tokens, heads, keys] of bf16, fp16 or fp32: keys.
        v: [batch, tokens, heads*groups, values] of bf16, fp16 or fp32: values.
        g: [batch, tokens, heads*groups] of fp32: logarithms of decays.
        beta: [batch, tokens, heads*groups] of fp32: how much of an error is corrected.
        initial_state: [sequences, heads*groups, keys, values] of fp32: states before the first token;
            zeros where None.
        cu_seqlens: [sequences+1] of int32: where sequences behind one another begin, and where the last
            ends (batch is 1); where None, each batch is a sequence.
        scale: what products of queries and keys are multiplied by; 1 / sqrt(dim) where None.
        use_qk_l2norm: whether q and k are divided by their lengths first.
        chunk: tokens of a chunk; one of 16, 32, 64.

    Returns:
        o: [batch, tokens, heads*groups, values] of bf16, fp16 or fp32: the result.
        last_state: [sequences, heads*groups, keys, values] of fp32: states after the last token.

    Sizes:
        batch: 1 to 65535; batches.
        tokens: 1 to 1048576; tokens of a batch.
        heads: 1 to 1024; heads of q and k.
        groups: 1 to 64; heads of v for each of q and k.
        keys: one of 64, 128, 256; rows of a state.
        values: 16 to 512 in steps of 16; columns of a state.
        sequences: 1 to 65535; sequences: as many as batches, or packed into one.
        chunk: one of 16, 32, 64; tokens of a chunk.

    Gradients:
        of q, k, v, g, beta, initial_state: by the kernels `gated_delta_chunk_prepare`,
            `gated_delta_chunk_states`, `gemm`, `gated_delta_chunk_cumsum`, `l2_norm`,
            `l2_norm_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `cu_seqlens` (below tokens+1); it names the element.

    Source:
        kernels/gated_delta/chunk.py for gfx950 and gfx942; `wb.kernels['gated_delta/chunk']`,
            `torch.ops.hipkittens.gated_delta_chunk`.
    """

class CrossEntropyResult(NamedTuple):
    loss: torch.Tensor
    lse: torch.Tensor

def cross_entropy(x: torch.Tensor, target: torch.Tensor, ignore_index: int = -100) -> CrossEntropyResult:
    """The loss of each row of logits, and the logarithm of the sum of exponentials; sums in float. Every
    row is read once, however long it is.

    log(sum(exp(x))) - x[target] over the last dimension, zero where the target is `ignore_index`; and
    the logarithm, which backward starts from. Both in float32 at least.

    Args:
        x: [..., cols] of bf16, fp16 or fp32: logits.
        target: [...] of int64: the column that is right, or `ignore_index` for a loss of zero.
        ignore_index: the target that stands for none.

    Returns:
        loss: [...] of fp32: of each row.
        lse: [...] of fp32: logarithms of the sums of exponentials, natural.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 1048576; length of a row.

    Gradients:
        of x: by the kernel `cross_entropy_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `target` (below cols); it names the element.

    Source:
        kernels/activations/cross_entropy.py for gfx950 and gfx942;
            `wb.kernels['activations/cross_entropy']`, `torch.ops.hipkittens.activations_cross_entropy`.
    """

def cross_entropy_backward(dloss: torch.Tensor, x: torch.Tensor, target: torch.Tensor, lse: torch.Tensor, ignore_index: int = -100) -> torch.Tensor:
    """The gradient of logits from that of each row's loss and the logarithm of its sum of exponentials.

    (exp(x - lse) - (1 where the column is the target)) * dloss, zero for ignored targets.

    Args:
        dloss: [...] of fp32: gradient of `loss`.
        x: [..., cols] of bf16, fp16 or fp32: logits.
        target: [...] of int64: the column that is right, or `ignore_index` for no gradient.
        lse: [...] of fp32: logarithms of the sums of exponentials, natural.
        ignore_index: the target that stands for none.

    Returns:
        dx: [..., cols] of bf16, fp16 or fp32: gradient of `x`.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 1048576; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `target` (below cols); it names the element.

    Source:
        kernels/activations/cross_entropy_backward.py for gfx950 and gfx942;
            `wb.kernels['activations/cross_entropy_backward']`,
            `torch.ops.hipkittens.activations_cross_entropy_backward`.
    """

class FlashAttentionResult(NamedTuple):
    out: torch.Tensor
    lse: torch.Tensor

def flash_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False, window: int = 0, scale: float | None = None, softcap: float = 0.0, sinks: torch.Tensor | None = None, *, layout: str = 'bnhd') -> FlashAttentionResult:
    """Attention: MHA, GQA or MQA, causal or not, sliding window, soft cap and sinks; sums in float.

    softmax(scores) v as (B, N_q, H, D_v), and the logarithms of the softmax's denominators, (B, H,
    N_q).

    Args:
        q: [batch, queries, heads, dim] of bf16 or fp16: queries.
        k: [batch, keys, heads_kv, dim] of bf16 or fp16: keys.
        v: [batch, keys, heads_kv, dim_v] of bf16 or fp16: values.
        causal: whether keys behind the query's place are hidden.
        window: keys this far away or more are hidden; 0 for none; 0 to 1048576.
        scale: what products of queries and keys are multiplied by; 1 / sqrt(dim) where None.
        softcap: c of logits c tanh(logits / c); 0 for none.
        sinks: [heads] of fp32, bf16 or fp16: a logit for each head that counts in the denominator only;
            none where None.
        layout: "bnhd" as above, or "bhnd": tokens and heads change places, as views, of
            q, k, v, out.

    Returns:
        out: [batch, queries, heads, dim_v] of bf16 or fp16: the result.
        lse: [batch, heads, queries] of fp32: logarithms of the sums of exponentials, natural.

    Sizes:
        batch: 1 to 65536; sequences.
        queries: 1 to 1048576; queries of a sequence, any number.
        keys: 1 to 1048576; keys of a sequence, any number.
        heads: 1 to 1024; heads of the queries.
        heads_kv: 1 to 1024; heads of keys and values; divides heads.
        dim: one of 64, 80, 96, 112, 128, 192, 256; head dimension of queries and keys.
        dim_v: one of 64, 80, 96, 112, 128, 256; head dimension of values: dim; 128 where that is 192.
        window: 0 to 1048576; keys this far away or more are hidden; 0 for none.
        dim and dim_v: 64 with 64, 80 with 80, 96 with 96, 112 with 112, 128 with 128, 192 with 128, 256
            with 256.

    Gradients:
        of q, k, v, sinks: by the kernel `flash_attention_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/attention/forward.py for gfx950 and gfx942; `wb.kernels['attention/forward']`,
            `torch.ops.hipkittens.attention_forward`.
    """

class FlashAttentionBackwardResult(NamedTuple):
    dq: torch.Tensor
    dk: torch.Tensor
    dv: torch.Tensor
    dsinks: torch.Tensor

def flash_attention_backward(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, lse: torch.Tensor, dout: torch.Tensor, dlse: torch.Tensor | None = None, causal: bool = False, window: int = 0, scale: float | None = None, softcap: float = 0.0, sinks: torch.Tensor | None = None, *, layout: str = 'bnhd') -> FlashAttentionBackwardResult:
    """Gradients of attention/forward for q, k, v and sinks, bit-equal from run to run; sums in float.

    Gradients dq, dk, dv and dsinks (empty without sinks) by autograd of `attention`, which computes out
    and lse anew.

    Args:
        q: [batch, queries, heads, dim] of bf16 or fp16: queries.
        k: [batch, keys, heads_kv, dim] of bf16 or fp16: keys.
        v: [batch, keys, heads_kv, dim_v] of bf16 or fp16: values.
        out: [batch, queries, heads, dim_v] of bf16 or fp16: the result.
        lse: [batch, heads, queries] of fp32: logarithms of the sums of exponentials, natural.
        dout: [batch, queries, heads, dim_v] of bf16 or fp16: gradient of `out`.
        dlse: [batch, heads, queries] of fp32: gradient of `lse`; zeros where None.
        causal: whether keys behind the query's place are hidden.
        window: keys this far away or more are hidden; 0 for none; 0 to 1048576.
        scale: what products of queries and keys are multiplied by; 1 / sqrt(dim) where None.
        softcap: c of logits c tanh(logits / c); 0 for none.
        sinks: [heads] of fp32, bf16 or fp16: a logit for each head that counts in the denominator only;
            none where None.
        layout: "bnhd" as above, or "bhnd": tokens and heads change places, as views, of
            q, k, v, out, dout, dq, dk, dv.

    Returns:
        dq: [batch, queries, heads, dim] of bf16 or fp16: gradient of `q`.
        dk: [batch, keys, heads_kv, dim] of bf16 or fp16: gradient of `k`.
        dv: [batch, keys, heads_kv, dim_v] of bf16 or fp16: gradient of `v`.
        dsinks: [heads] or [0] of fp32: gradient of `sinks`.

    Sizes:
        batch: 1 to 65536; sequences.
        queries: 1 to 1048576; queries of a sequence, any number.
        keys: 1 to 1048576; keys of a sequence, any number.
        heads: 1 to 1024; heads of the queries.
        heads_kv: 1 to 1024; heads of keys and values; divides heads.
        dim: one of 64, 80, 96, 112, 128, 192, 256; head dimension of queries and keys.
        dim_v: one of 64, 80, 96, 112, 128, 256; head dimension of values: dim; 128 where that is 192.
        window: 0 to 1048576; keys this far away or more are hidden; 0 for none.
        dim and dim_v: 64 with 64, 80 with 80, 96 with 96, 112 with 112, 128 with 128, 192 with 128, 256
            with 256.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/attention/backward.py for gfx950 and gfx942; `wb.kernels['attention/backward']`,
            `torch.ops.hipkittens.attention_backward`.
    """

class FlashAttentionVarlenResult(NamedTuple):
    out: torch.Tensor
    lse: torch.Tensor

def flash_attention_varlen(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, cu_seqlens_q: torch.Tensor, cu_seqlens_k: torch.Tensor, causal: bool = False, window: int = 0, scale: float | None = None, softcap: float = 0.0, sinks: torch.Tensor | None = None) -> FlashAttentionVarlenResult:
    """attention/forward of sequences of different lengths, packed one after the other (varlen).

    `attention` of each of several sequences packed one after the other.

    Args:
        q: [queries, heads, dim] of bf16 or fp16: queries.
        k: [keys, heads_kv, dim] of bf16 or fp16: keys.
        v: [keys, heads_kv, dim_v] of bf16 or fp16: values.
        cu_seqlens_q: [batch+1] of int32: where each sequence's queries begin, and where the last end.
        cu_seqlens_k: [batch+1] of int32: where each sequence's keys begin, and where the last end.
        causal: whether keys behind the query's place are hidden.
        window: keys this far away or more are hidden; 0 for none; 0 to 1048576.
        scale: what products of queries and keys are multiplied by; 1 / sqrt(dim) where None.
        softcap: c of logits c tanh(logits / c); 0 for none.
        sinks: [heads] of fp32, bf16 or fp16: a logit for each head that counts in the denominator only;
            none where None.

    Returns:
        out: [queries, heads, dim_v] of bf16 or fp16: the result.
        lse: [heads, queries] of fp32: logarithms of the sums of exponentials, natural.

    Sizes:
        batch: 1 to 65536; sequences.
        queries: 1 to 1048576; queries of all sequences.
        keys: 1 to 1048576; keys of all sequences.
        heads: 1 to 1024; heads of the queries.
        heads_kv: 1 to 1024; heads of keys and values; divides heads.
        dim: one of 64, 80, 96, 112, 128, 192, 256; head dimension of queries and keys.
        dim_v: one of 64, 80, 96, 112, 128, 256; head dimension of values: dim; 128 where that is 192.
        window: 0 to 1048576; keys this far away or more are hidden; 0 for none.
        dim and dim_v: 64 with 64, 80 with 80, 96 with 96, 112 with 112, 128 with 128, 192 with 128, 256
            with 256.

    Gradients:
        of q, k, v, sinks: by the kernel `flash_attention_varlen_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `cu_seqlens_q` (below queries+1), `cu_seqlens_k` (below
            keys+1); it names the element.

    Source:
        kernels/attention/forward_packed.py for gfx950 and gfx942;
            `wb.kernels['attention/forward_packed']`, `torch.ops.hipkittens.attention_forward_packed`.
    """

class FlashAttentionVarlenBackwardResult(NamedTuple):
    dq: torch.Tensor
    dk: torch.Tensor
    dv: torch.Tensor
    dsinks: torch.Tensor

def flash_attention_varlen_backward(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, cu_seqlens_q: torch.Tensor, cu_seqlens_k: torch.Tensor, out: torch.Tensor, lse: torch.Tensor, dout: torch.Tensor, dlse: torch.Tensor | None = None, causal: bool = False, window: int = 0, scale: float | None = None, softcap: float = 0.0, sinks: torch.Tensor | None = None) -> FlashAttentionVarlenBackwardResult:
    """Gradients of attention/forward_packed for q, k, v and sinks, bit-equal from run to run.

    `attention_backward` of `attention_packed`.

    Args:
        q: [queries, heads, dim] of bf16 or fp16: queries.
        k: [keys, heads_kv, dim] of bf16 or fp16: keys.
        v: [keys, heads_kv, dim_v] of bf16 or fp16: values.
        cu_seqlens_q: [batch+1] of int32: where each sequence's queries begin, and where the last end.
        cu_seqlens_k: [batch+1] of int32: where each sequence's keys begin, and where the last end.
        out: [queries, heads, dim_v] of bf16 or fp16: the result.
        lse: [heads, queries] of fp32: logarithms of the sums of exponentials, natural.
        dout: [queries, heads, dim_v] of bf16 or fp16: gradient of `out`.
        dlse: [heads, queries] of fp32: gradient of `lse`; zeros where None.
        causal: whether keys behind the query's place are hidden.
        window: keys this far away or more are hidden; 0 for none; 0 to 1048576.
        scale: what products of queries and keys are multiplied by; 1 / sqrt(dim) where None.
        softcap: c of logits c tanh(logits / c); 0 for none.
        sinks: [heads] of fp32, bf16 or fp16: a logit for each head that counts in the denominator only;
            none where None.

    Returns:
        dq: [queries, heads, dim] of bf16 or fp16: gradient of `q`.
        dk: [keys, heads_kv, dim] of bf16 or fp16: gradient of `k`.
        dv: [keys, heads_kv, dim_v] of bf16 or fp16: gradient of `v`.
        dsinks: [heads] or [0] of fp32: gradient of `sinks`.

    Sizes:
        batch: 1 to 65536; sequences.
        queries: 1 to 1048576; queries of all sequences.
        keys: 1 to 1048576; keys of all sequences.
        heads: 1 to 1024; heads of the queries.
        heads_kv: 1 to 1024; heads of keys and values; divides heads.
        dim: one of 64, 80, 96, 112, 128, 192, 256; head dimension of queries and keys.
        dim_v: one of 64, 80, 96, 112, 128, 256; head dimension of values: dim; 128 where that is 192.
        window: 0 to 1048576; keys this far away or more are hidden; 0 for none.
        dim and dim_v: 64 with 64, 80 with 80, 96 with 96, 112 with 112, 128 with 128, 192 with 128, 256
            with 256.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `cu_seqlens_q` (below queries+1), `cu_seqlens_k` (below
            keys+1); it names the element.

    Source:
        kernels/attention/backward_packed.py for gfx950 and gfx942;
            `wb.kernels['attention/backward_packed']`, `torch.ops.hipkittens.attention_backward_packed`.
    """

class FusedAddLayerNormResult(NamedTuple):
    out: torch.Tensor
    residual_out: torch.Tensor

def fused_add_layer_norm(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None, eps: float = 1e-05, p: float = 0.0, seed: int = 0) -> FusedAddLayerNormResult:
    """dropout(x) + residual, and every row of it less its mean, divided by its standard deviation, times a
    weight and plus a bias for each column.

    LayerNorm of dropout(x) + residual over the last dimension, and the sum itself.

    Args:
        x: [..., cols] of bf16, fp16 or fp32: what is computed on.
        residual: [..., cols] of bf16, fp16 or fp32: what x is added to.
        weight: [cols] of bf16, fp16 or fp32: a factor for each column; 1 where None.
        bias: [cols] of bf16, fp16 or fp32: added to each column; nothing where None.
        eps: added under the square root.
        p: probability of an element to be dropped.
        seed: of the dropout's Philox generator.

    Returns:
        out: [..., cols] of bf16, fp16 or fp32: the result.
        residual_out: [..., cols] of bf16, fp16 or fp32: the sum.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 32768; length of a row.

    Gradients:
        of x, residual, weight, bias: by the kernel `fused_add_layer_norm_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/normalization/fused_add_layernorm.py for gfx950 and gfx942;
            `wb.kernels['normalization/fused_add_layernorm']`,
            `torch.ops.hipkittens.normalization_fused_add_layernorm`.
    """

class FusedAddLayerNormBackwardResult(NamedTuple):
    dx: torch.Tensor
    dresidual: torch.Tensor
    dweight: torch.Tensor
    dbias: torch.Tensor

def fused_add_layer_norm_backward(dout: torch.Tensor, dresidual_out: torch.Tensor, residual_out: torch.Tensor, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None, eps: float = 1e-05, p: float = 0.0, seed: int = 0) -> FusedAddLayerNormBackwardResult:
    """The gradients of x, residual, weight and bias from those of LayerNorm's result and of the sum.

    Args:
        dout: [..., cols] of bf16, fp16 or fp32: gradient of `out`.
        dresidual_out: [..., cols] of bf16, fp16 or fp32: gradient of `residual_out`.
        residual_out: [..., cols] of bf16, fp16 or fp32: the sum.
        weight: [cols] of bf16, fp16 or fp32: a factor for each column; 1 where None.
        bias: [cols] of bf16, fp16 or fp32: added to each column; nothing where None.
        eps: added under the square root.
        p: probability of an element to be dropped.
        seed: of the dropout's Philox generator.

    Returns:
        dx: [..., cols] of bf16, fp16 or fp32: gradient of `x`.
        dresidual: [..., cols] of bf16, fp16 or fp32: gradient of `residual`.
        dweight: [cols] of bf16, fp16 or fp32: gradient of `weight`.
        dbias: [cols] of bf16, fp16 or fp32: gradient of `bias`.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 16384; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/normalization/fused_add_layernorm_backward.py for gfx950 and gfx942;
            `wb.kernels['normalization/fused_add_layernorm_backward']`,
            `torch.ops.hipkittens.normalization_fused_add_layernorm_backward`.
    """

class FusedAddRmsNormResult(NamedTuple):
    out: torch.Tensor
    residual_out: torch.Tensor

def fused_add_rms_norm(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float = 1e-05) -> FusedAddRmsNormResult:
    """x + residual, and every row of it divided by its root mean square, times a weight for each column.

    RMSNorm of x + residual over the last dimension, and the sum itself.

    Args:
        x: [..., cols] of bf16, fp16 or fp32: what is computed on.
        residual: [..., cols] of bf16, fp16 or fp32: what x is added to.
        weight: [cols] of bf16, fp16 or fp32: a factor for each column.
        eps: added under the square root.

    Returns:
        out: [..., cols] of bf16, fp16 or fp32: the result.
        residual_out: [..., cols] of bf16, fp16 or fp32: the sum.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 32768; length of a row.

    Gradients:
        of x, residual, weight: by the kernel `fused_add_rms_norm_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/normalization/fused_add_rmsnorm.py for gfx950 and gfx942;
            `wb.kernels['normalization/fused_add_rmsnorm']`,
            `torch.ops.hipkittens.normalization_fused_add_rmsnorm`.
    """

class FusedAddRmsNormBackwardResult(NamedTuple):
    dx: torch.Tensor
    dresidual: torch.Tensor
    dweight: torch.Tensor

def fused_add_rms_norm_backward(dout: torch.Tensor, dresidual_out: torch.Tensor, residual_out: torch.Tensor, weight: torch.Tensor, eps: float = 1e-05) -> FusedAddRmsNormBackwardResult:
    """The gradients of x, residual and weight from those of RMSNorm's result and of the sum.

    Args:
        dout: [..., cols] of bf16, fp16 or fp32: gradient of `out`.
        dresidual_out: [..., cols] of bf16, fp16 or fp32: gradient of `residual_out`.
        residual_out: [..., cols] of bf16, fp16 or fp32: the sum.
        weight: [cols] of bf16, fp16 or fp32: a factor for each column.
        eps: added under the square root.

    Returns:
        dx: [..., cols] of bf16, fp16 or fp32: gradient of `x`.
        dresidual: [..., cols] of bf16, fp16 or fp32: gradient of `residual`.
        dweight: [cols] of bf16, fp16 or fp32: gradient of `weight`.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 16384; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/normalization/fused_add_rmsnorm_backward.py for gfx950 and gfx942;
            `wb.kernels['normalization/fused_add_rmsnorm_backward']`,
            `torch.ops.hipkittens.normalization_fused_add_rmsnorm_backward`.
    """

class FusedAddRmsNormPadResult(NamedTuple):
    out: torch.Tensor
    residual_out: torch.Tensor

def fused_add_rms_norm_pad(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, out_cols: int, eps: float = 1e-05) -> FusedAddRmsNormPadResult:
    """RMSNorm of x + residual in rows of `out_cols` columns of which the last ones are zero, and the sum.

    Args:
        x: [..., cols] of bf16, fp16 or fp32: what is computed on.
        residual: [..., cols] of bf16, fp16 or fp32: what x is added to.
        weight: [cols] of bf16, fp16 or fp32: a factor for each column.
        out_cols: columns of the result, at least as many; 1 to 32768.
        eps: added under the square root.

    Returns:
        out: [..., out_cols] of bf16, fp16 or fp32: the result.
        residual_out: [..., cols] of bf16, fp16 or fp32: the sum.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 32768; length of a row.
        out_cols: 1 to 32768; columns of the result, at least as many.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/normalization/fused_add_rmsnorm_pad.py for gfx950 and gfx942;
            `wb.kernels['normalization/fused_add_rmsnorm_pad']`,
            `torch.ops.hipkittens.normalization_fused_add_rmsnorm_pad`.
    """

def fused_moe(a: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, sorted_token_ids: torch.Tensor, expert_ids: torch.Tensor, num_tokens_post_padded: torch.Tensor, top_k: int, weights: torch.Tensor | None = None) -> torch.Tensor:
    """weight (silu(A G) * (A U)) W2 for rows of tokens and their experts, by a list of ids in blocks of
    one expert each; row id of C is that of pair id. w1 is N x K of an expert, G's rows before U's; w2
    is K x N / 2. bf16; sums in float; between the layers bf16.

    Row id of the result is weights[id] (silu(x g) * (x u)) W2, x = a[id / top_k], by the id's expert.

    Args:
        a: [tokens, k] of bf16: left operand.
        w1: [experts, n, k] of bf16: of each expert the gate's rows, then the others'.
        w2: [experts, k, n/2] of bf16: of each expert.
        sorted_token_ids: [ids] of int32: token * top_k + which of its experts, in blocks of one expert;
            others are padding.
        expert_ids: [blocks] of int32: the expert of each block; below 0 its rows are zeros.
        num_tokens_post_padded: [1] of int32: how many ids of the list count.
        top_k: experts of a token; 1 to 64.
        weights: [tokens*top_k] of fp32: a factor for each token and each of its experts; 1 where None.

    Returns:
        c: [tokens*top_k, k] of bf16: the result.

    Sizes:
        tokens: 1 to 1048576; rows of A.
        top_k: 1 to 64; experts of a token.
        experts: 1 to 1024; matrices in B.
        n: 16 to 262144 in steps of 16; columns of a matrix of B.
        k: 32 to 262144 in steps of 32; columns of A, along which products are summed.
        block: 16 to 256 in steps of 16; ids that share an expert in the list.

    Gradients:
        of a, w1, w2, weights: by the kernels `moe_gemm_bf16`, `grouped_gemm_variable_k`,
            `gemm_epilogue_backward`, `moe_sum`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `expert_ids` (below experts), `num_tokens_post_padded`
            (below ids+1); it names the element.

    Source:
        kernels/moe_gemm/end_to_end.py for gfx950 and gfx942; `wb.kernels['moe_gemm/end_to_end']`,
            `torch.ops.hipkittens.moe_gemm_end_to_end`.
    """

class FusedQkvSplitQkRopeResult(NamedTuple):
    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor

def fused_qkv_split_qk_rope(qkv: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, heads: int, positions: torch.Tensor | None = None, interleaved: bool = False) -> FusedQkvSplitQkRopeResult:
    """A fused QKV taken apart, with rotary position embeddings of queries and keys on the way.

    Queries, keys and values of tokens x (queries + keys + values) x dim, the first two turned.

    Args:
        qkv: [tokens, queries+2*kv_heads, dim] or [batch, tokens, queries+2*kv_heads, dim] of bf16, fp16
            or fp32: heads of queries, then of keys, then of values.
        cos: [places, turned/2] of bf16, fp16 or fp32: cosines of angles by position.
        sin: [places, turned/2] of bf16, fp16 or fp32: sines of angles by position.
        heads: heads of queries, the axis `queries` of q; of keys there are `kv_heads`, and of values; 1
            to 4096.
        positions: [tokens] or [batch, tokens] of int64: row of `cos` and `sin` for each token; 0, 1, 2
            and so on where None.
        interleaved: whether pairs are neighbours (GPT-J), or half a head apart (NeoX).

    Returns:
        q: [tokens, queries, dim] or [batch, tokens, queries, dim] of bf16, fp16 or fp32: queries.
        k: [tokens, kv_heads, dim] or [batch, tokens, kv_heads, dim] of bf16, fp16 or fp32: keys.
        v: [tokens, kv_heads, dim] or [batch, tokens, kv_heads, dim] of bf16, fp16 or fp32: values.

    Sizes:
        batch: 1 to 1.
        heads: 1 to 4096; heads of a token, of a fused tensor all of them.
        tokens: 1 to 16777216; tokens of a batch.
        dim: 2 to 512; elements of a head.
        turned: 2 to 512 in steps of 2; elements of a head that are turned, the first so many.
        queries: 1 to 4096; heads of queries.

    Gradients:
        of qkv: by the kernel `fused_qkv_split_qk_rope_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `positions` (below places); it names the element.

    Source:
        kernels/rotary/fused_qkv_split_qk_rope.py for gfx950 and gfx942;
            `wb.kernels['rotary/fused_qkv_split_qk_rope']`,
            `torch.ops.hipkittens.rotary_fused_qkv_split_qk_rope`.
    """

def fused_qkv_split_qk_rope_backward(dq: torch.Tensor, dk: torch.Tensor, dv: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, positions: torch.Tensor | None = None, interleaved: bool = False) -> torch.Tensor:
    """The gradient of a fused QKV from those of queries, keys and values, which may be views.

    The gradient of qkv: dq and dk turned back, and dv, side by side.

    Args:
        dq: [tokens, queries, dim] or [batch, tokens, queries, dim] of bf16, fp16 or fp32: gradient of
            `q`.
        dk: [tokens, (heads-queries)/2, dim] or [batch, tokens, (heads-queries)/2, dim] of bf16, fp16 or
            fp32: gradient of `k`.
        dv: [tokens, (heads-queries)/2, dim] or [batch, tokens, (heads-queries)/2, dim] of bf16, fp16 or
            fp32: gradient of `v`.
        cos: [places, turned/2] of bf16, fp16 or fp32: cosines of angles by position.
        sin: [places, turned/2] of bf16, fp16 or fp32: sines of angles by position.
        positions: [tokens] or [batch, tokens] of int64: row of `cos` and `sin` for each token; 0, 1, 2
            and so on where None.
        interleaved: whether pairs are neighbours (GPT-J), or half a head apart (NeoX).

    Returns:
        dqkv: [tokens, heads, dim] or [batch, tokens, heads, dim] of bf16, fp16 or fp32: gradient of
            `qkv`.

    Sizes:
        batch: 1 to 1.
        heads: 1 to 4096; heads of a token, of a fused tensor all of them.
        tokens: 1 to 16777216; tokens of a batch.
        dim: 2 to 512; elements of a head.
        turned: 2 to 512 in steps of 2; elements of a head that are turned, the first so many.
        queries: 1 to 4096; heads of queries.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `positions` (below places); it names the element.

    Source:
        kernels/rotary/fused_qkv_split_qk_rope_backward.py for gfx950 and gfx942;
            `wb.kernels['rotary/fused_qkv_split_qk_rope_backward']`,
            `torch.ops.hipkittens.rotary_fused_qkv_split_qk_rope_backward`.
    """

class FusedRmsNormMxQuantResult(NamedTuple):
    out: torch.Tensor
    scales: torch.Tensor
    residual_out: torch.Tensor

def fused_rms_norm_mx_quant(x: torch.Tensor, weight: torch.Tensor, residual: torch.Tensor | None = None, eps: float = 1e-05, format: str = 'e2m1', rounding: str = 'even') -> FusedRmsNormMxQuantResult:
    """rms_norm(x + residual) * weight, in float, to fp4, fp6 or fp8 with a power of two for each 32
    columns. Results are the numbers, the bytes s of the scales 2^(s - 127), and x + residual where
    there is one; `rounding` as of `mx_quant`.

    Args:
        x: [..., cols] of bf16, fp16 or fp32: what is computed on.
        weight: [cols] of bf16, fp16 or fp32: a factor for each column.
        residual: [..., cols] of bf16, fp16 or fp32: added to x before it is normalized; nothing where
            None.
        eps: added under the square root.
        format: of the numbers; of fp8 the target's own: e4m3fn, e5m2 (gfx950), e4m3fnuz, e5m2fnuz
            (gfx942); one of e2m1, e2m3, e3m2, e4m3fn, e4m3fnuz, e5m2, e5m2fnuz.
        rounding: of powers of two that scales are; one of even, down, up.

    Returns:
        out: [..., cols/2] or [..., 3*cols/4] of uint8, or [..., cols] of e4m3fn, e4m3fnuz, e5m2 or
            e5m2fnuz: numbers of `format`: fp4 two in a byte, fp6 four in three.
        scales: [..., cols/32] of uint8: bytes s of powers 2^(s - 127) of each 32 columns.
        residual_out: [..., cols] or [0] of bf16, fp16 or fp32: the sum.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 32768; length of a row.
        block: one of 32; columns that share a scale.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/quantization/fused_rmsnorm_mx_quant.py for gfx950 and gfx942;
            `wb.kernels['quantization/fused_rmsnorm_mx_quant']`,
            `torch.ops.hipkittens.quantization_fused_rmsnorm_mx_quant`.
    """

class FusedRmsNormQuantResult(NamedTuple):
    out: torch.Tensor
    scales: torch.Tensor
    residual_out: torch.Tensor

def fused_rms_norm_quant(x: torch.Tensor, weight: torch.Tensor, residual: torch.Tensor | None = None, eps: float = 1e-05, format: str = 'int8', block: int = 128) -> FusedRmsNormQuantResult:
    """rms_norm(x + residual) * weight, in float, to int8 or fp8 with a scale for each `block` columns.
    Results are the numbers, the scales, and x + residual, empty where there is none.

    Args:
        x: [..., cols] of bf16, fp16 or fp32: what is computed on.
        weight: [cols] of bf16, fp16 or fp32: a factor for each column.
        residual: [..., cols] of bf16, fp16 or fp32: added to x before it is normalized; nothing where
            None.
        eps: added under the square root.
        format: of the numbers; of fp8 the target's own: e4m3fn, e5m2 (gfx950), e4m3fnuz, e5m2fnuz
            (gfx942); one of int8, e4m3fn, e4m3fnuz, e5m2, e5m2fnuz.
        block: columns that share a scale; one of 128, 64, 32.

    Returns:
        out: [..., cols] of int8, e4m3fn, e4m3fnuz, e5m2 or e5m2fnuz: numbers of `format`.
        scales: [..., ceil(cols/block)] of fp32: factors of blocks of columns.
        residual_out: [..., cols] or [0] of bf16, fp16 or fp32: the sum.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 32768; length of a row.
        block: one of 128, 64, 32; columns that share a scale.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/quantization/fused_rmsnorm_quant.py for gfx950 and gfx942;
            `wb.kernels['quantization/fused_rmsnorm_quant']`,
            `torch.ops.hipkittens.quantization_fused_rmsnorm_quant`.
    """

def gated_delta_block_reduce(x: torch.Tensor, operation: str = 'max') -> torch.Tensor:
    """The largest element or the sum of each 256 neighbours of a float32 vector.

    Of x (N) for each 256 elements, the last perhaps fewer; the operation is "max" or "sum".

    Args:
        x: [size] of fp32: what is computed on.
        operation: what is made of 256 elements; one of max, sum.

    Returns:
        out: [ceil(size/256)] of fp32: the result.

    Sizes:
        size: 1 to 1073741824; elements.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gated_delta/block_reduce.py for gfx950 and gfx942;
            `wb.kernels['gated_delta/block_reduce']`, `torch.ops.hipkittens.gated_delta_block_reduce`.
    """

def gated_delta_cast(x: torch.Tensor, to: str = 'bf16') -> torch.Tensor:
    """bf16, fp16 or fp32 in another of them, rounded to the nearest, ties to even.

    `to` is "bf16", "fp16" or "fp32".

    Args:
        x: [...] of bf16, fp16 or fp32: what is computed on.
        to: element type of the result; one of bf16, fp16, fp32.

    Returns:
        out: [...] of bf16, fp16 or fp32: the result.

    Sizes:
        size: 1 to 1073741824; elements.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gated_delta/cast.py for gfx950 and gfx942; `wb.kernels['gated_delta/cast']`,
            `torch.ops.hipkittens.gated_delta_cast`.
    """

def gated_delta_chunk_cumsum(x: torch.Tensor, cu_seqlens: torch.Tensor | None = None, chunk: int = 64, scale: float = 1.0, reverse: bool = False) -> torch.Tensor:
    """Of each chunk of x (B, T, ..) the sums over its tokens up to each, or from each on, times a number.

    scale times the sum of x (B, T, ..) over its chunk's tokens up to each, or from each on.

    Args:
        x: [batch, tokens, ...] of fp32: what is computed on.
        cu_seqlens: [sequences+1] of int32: where sequences behind one another begin, and where the last
            ends (batch is 1); where None, each batch is a sequence.
        chunk: tokens of a chunk; one of 16, 32, 64.
        scale: what sums are multiplied by.
        reverse: whether sums go from each token on.

    Returns:
        sums: [batch, tokens, ...] of fp32: sums within chunks.

    Sizes:
        batch: 1 to 65535; batches.
        tokens: 1 to 1048576; tokens of a batch.
        sequences: 1 to 65535; sequences: as many as batches, or packed into one.
        chunk: one of 16, 32, 64; tokens of a chunk.
        cols: 1 to 65536; numbers of a token.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `cu_seqlens` (below tokens+1); it names the element.

    Source:
        kernels/gated_delta/chunk_cumsum.py for gfx950 and gfx942;
            `wb.kernels['gated_delta/chunk_cumsum']`, `torch.ops.hipkittens.gated_delta_chunk_cumsum`.
    """

def gated_delta_chunk_indices(cu_seqlens: torch.Tensor, chunks: int, chunk: int = 64) -> torch.Tensor:
    """(sequence, chunk in it) of each chunk of sequences behind one another, (-1, -1) behind the last.

    (sequence, chunk in it) for each of so many chunks, (-1, -1) behind the last.

    Args:
        cu_seqlens: [sequences+1] of int32: where sequences behind one another begin, and where the last
            ends (batch is 1).
        chunks: chunks of all, or more; 1 to 16777216.
        chunk: tokens of a chunk; 1 to 65536.

    Returns:
        indices: [chunks, 2] of int32: sequence and chunk in it; -1 and -1 behind the last.

    Sizes:
        sequences: 1 to 65535; sequences.
        chunks: 1 to 16777216; chunks of all, or more.
        chunk: 1 to 65536; tokens of a chunk.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gated_delta/chunk_indices.py for gfx950 and gfx942;
            `wb.kernels['gated_delta/chunk_indices']`, `torch.ops.hipkittens.gated_delta_chunk_indices`.
    """

def gated_delta_chunk_inverse(a: torch.Tensor, cu_seqlens: torch.Tensor | None = None) -> torch.Tensor:
    """(1 + tril(A, -1))^-1 of each chunk: 16x16 blocks on the diagonal by substitution, the others by
    matrix products of floats. A row of A for each token; a chunk has as many tokens as a row columns.

    (1 + tril(a, -1))^-1 of each chunk of a (B, T, H, chunk), the chunk's length being that of a row.

    Args:
        a: [batch, tokens, heads, chunk] of fp32: a matrix of each chunk, of which what is below the
            diagonal counts.
        cu_seqlens: [sequences+1] of int32: where sequences behind one another begin, and where the last
            ends (batch is 1); where None, each batch is a sequence.

    Returns:
        inverse: [batch, tokens, heads, chunk] of fp32: of each chunk.

    Sizes:
        batch: 1 to 65535; batches.
        tokens: 1 to 1048576; tokens of a batch.
        heads: 1 to 1024; heads of q and k.
        sequences: 1 to 65535; sequences: as many as batches, or packed into one.
        chunk: one of 16, 32, 64; tokens of a chunk.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `cu_seqlens` (below tokens+1); it names the element.

    Source:
        kernels/gated_delta/chunk_inverse.py for gfx950 and gfx942;
            `wb.kernels['gated_delta/chunk_inverse']`, `torch.ops.hipkittens.gated_delta_chunk_inverse`.
    """

def gated_delta_chunk_outputs(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, h: torch.Tensor, g: torch.Tensor | None = None, cu_seqlens: torch.Tensor | None = None, scale: float | None = None, chunk: int = 64) -> torch.Tensor:
    """o = scale (exp(g) q h + tril(q_i k_j exp(g_i - g_j)) v) of each chunk; v are the corrections and h
    the states of `chunk_states`.

    o = scale (exp(g) q h + tril(q_i k_j exp(g_i - g_j)) v).

    Args:
        q: [batch, tokens, heads, keys] of bf16, fp16 or fp32: queries.
        k: [batch, tokens, heads, keys] of bf16, fp16 or fp32: keys.
        v: [batch, tokens, heads*groups, values] of bf16, fp16 or fp32: values.
        h: [batch, chunks, heads*groups, keys, values] of bf16, fp16 or fp32: the state before each
            chunk.
        g: [batch, tokens, heads*groups] of fp32: sums of logarithms of decays within chunks, as
            `gated_delta_chunk_cumsum` gives them; none where None.
        cu_seqlens: [sequences+1] of int32: where sequences behind one another begin, and where the last
            ends (batch is 1); where None, each batch is a sequence.
        scale: what products of queries and keys are multiplied by; 1 / sqrt(dim) where None.
        chunk: tokens of a chunk; one of 16, 32, 64.

    Returns:
        o: [batch, tokens, heads*groups, values] of bf16, fp16 or fp32: the result.

    Sizes:
        batch: 1 to 65535; batches.
        tokens: 1 to 1048576; tokens of a batch.
        heads: 1 to 1024; heads of q and k.
        groups: 1 to 64; heads of v for each of q and k.
        keys: one of 64, 128, 256; rows of a state.
        values: 16 to 512 in steps of 16; columns of a state.
        sequences: 1 to 65535; sequences: as many as batches, or packed into one.
        chunk: one of 16, 32, 64; tokens of a chunk.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `cu_seqlens` (below tokens+1); it names the element.

    Source:
        kernels/gated_delta/chunk_outputs.py for gfx950 and gfx942;
            `wb.kernels['gated_delta/chunk_outputs']`, `torch.ops.hipkittens.gated_delta_chunk_outputs`.
    """

class GatedDeltaChunkPrepareResult(NamedTuple):
    sums: torch.Tensor
    inverse: torch.Tensor
    w: torch.Tensor
    u: torch.Tensor

def gated_delta_chunk_prepare(k: torch.Tensor, v: torch.Tensor, beta: torch.Tensor, g: torch.Tensor, cu_seqlens: torch.Tensor | None = None, chunk: int = 64) -> GatedDeltaChunkPrepareResult:
    """Of each chunk the sums of decays, the inverse of 1 + tril(beta_i k_i k_j exp(sum_i - sum_j), -1), w
    and u: `chunk_summed_products`, `chunk_inverse` and `chunk_representation` in one call.

    Everything that does not go chunk by chunk: sums of g, the inverses of `products`, w and u.

    Args:
        k: [batch, tokens, heads, keys] of bf16, fp16 or fp32: keys.
        v: [batch, tokens, heads*groups, values] of bf16, fp16 or fp32: values.
        beta: [batch, tokens, heads*groups] of fp32: how much of an error is corrected.
        g: [batch, tokens, heads*groups] of fp32: logarithms of decays.
        cu_seqlens: [sequences+1] of int32: where sequences behind one another begin, and where the last
            ends (batch is 1); where None, each batch is a sequence.
        chunk: tokens of a chunk; one of 16, 32, 64.

    Returns:
        sums: [batch, tokens, heads*groups] of fp32: sums within chunks.
        inverse: [batch, tokens, heads*groups, chunk] of fp32: of each chunk.
        w: [batch, tokens, heads*groups, keys] of bf16, fp16 or fp32: k times beta and decays, by the
            inverse.
        u: [batch, tokens, heads*groups, values] of bf16, fp16 or fp32: v times beta, by the inverse.

    Sizes:
        batch: 1 to 65535; batches.
        tokens: 1 to 1048576; tokens of a batch.
        heads: 1 to 1024; heads of q and k.
        groups: 1 to 64; heads of v for each of q and k.
        keys: one of 64, 128, 256; rows of a state.
        values: 16 to 512 in steps of 16; columns of a state.
        sequences: 1 to 65535; sequences: as many as batches, or packed into one.
        chunk: one of 16, 32, 64; tokens of a chunk.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `cu_seqlens` (below tokens+1); it names the element.

    Source:
        kernels/gated_delta/chunk_prepare.py for gfx950 and gfx942;
            `wb.kernels['gated_delta/chunk_prepare']`, `torch.ops.hipkittens.gated_delta_chunk_prepare`.
    """

def gated_delta_chunk_products(k: torch.Tensor, beta: torch.Tensor, g: torch.Tensor | None = None, cu_seqlens: torch.Tensor | None = None, chunk: int = 64) -> torch.Tensor:
    """A = tril(beta_i k_i k_j exp(g_i - g_j), -1) of the tokens of each chunk, a row for each token; g are
    cumulative sums within chunks.

    tril(beta_i k_i k_j exp(g_i - g_j), -1) of each chunk.

    Args:
        k: [batch, tokens, heads, keys] of bf16, fp16 or fp32: keys.
        beta: [batch, tokens, heads*groups] of fp32: how much of an error is corrected.
        g: [batch, tokens, heads*groups] of fp32: sums of logarithms of decays within chunks, as
            `gated_delta_chunk_cumsum` gives them; none where None.
        cu_seqlens: [sequences+1] of int32: where sequences behind one another begin, and where the last
            ends (batch is 1); where None, each batch is a sequence.
        chunk: tokens of a chunk; one of 16, 32, 64.

    Returns:
        a: [batch, tokens, heads*groups, chunk] of fp32: products of keys within chunks, below the
            diagonal: token i by token j of its chunk.

    Sizes:
        batch: 1 to 65535; batches.
        tokens: 1 to 1048576; tokens of a batch.
        heads: 1 to 1024; heads of q and k.
        groups: 1 to 64; heads of v for each of q and k.
        keys: one of 64, 128, 256; rows of a state.
        sequences: 1 to 65535; sequences: as many as batches, or packed into one.
        chunk: one of 16, 32, 64; tokens of a chunk.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `cu_seqlens` (below tokens+1); it names the element.

    Source:
        kernels/gated_delta/chunk_products.py for gfx950 and gfx942;
            `wb.kernels['gated_delta/chunk_products']`,
            `torch.ops.hipkittens.gated_delta_chunk_products`.
    """

class GatedDeltaChunkRepresentationResult(NamedTuple):
    w: torch.Tensor
    u: torch.Tensor

def gated_delta_chunk_representation(k: torch.Tensor, v: torch.Tensor, beta: torch.Tensor, a: torch.Tensor, g: torch.Tensor | None = None, cu_seqlens: torch.Tensor | None = None) -> GatedDeltaChunkRepresentationResult:
    """w = A (beta exp(g) k) and u = A (beta v) of each chunk, A being what `chunk_inverse` makes.

    w = a (beta exp(g) k) (B, T, H_v, K) and u = a (beta v) (B, T, H_v, V) of each chunk.

    Args:
        k: [batch, tokens, heads, keys] of bf16, fp16 or fp32: keys.
        v: [batch, tokens, heads*groups, values] of bf16, fp16 or fp32: values.
        beta: [batch, tokens, heads*groups] of fp32: how much of an error is corrected.
        a: [batch, tokens, heads*groups, chunk] of fp32: products of keys within chunks, below the
            diagonal: token i by token j of its chunk.
        g: [batch, tokens, heads*groups] of fp32: sums of logarithms of decays within chunks, as
            `gated_delta_chunk_cumsum` gives them; none where None.
        cu_seqlens: [sequences+1] of int32: where sequences behind one another begin, and where the last
            ends (batch is 1); where None, each batch is a sequence.

    Returns:
        w: [batch, tokens, heads*groups, keys] of bf16, fp16 or fp32: k times beta and decays, by the
            inverse.
        u: [batch, tokens, heads*groups, values] of bf16, fp16 or fp32: v times beta, by the inverse.

    Sizes:
        batch: 1 to 65535; batches.
        tokens: 1 to 1048576; tokens of a batch.
        heads: 1 to 1024; heads of q and k.
        groups: 1 to 64; heads of v for each of q and k.
        keys: one of 64, 128, 256; rows of a state.
        values: 16 to 512 in steps of 16; columns of a state.
        sequences: 1 to 65535; sequences: as many as batches, or packed into one.
        chunk: one of 16, 32, 64; tokens of a chunk.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `cu_seqlens` (below tokens+1); it names the element.

    Source:
        kernels/gated_delta/chunk_representation.py for gfx950 and gfx942;
            `wb.kernels['gated_delta/chunk_representation']`,
            `torch.ops.hipkittens.gated_delta_chunk_representation`.
    """

class GatedDeltaChunkStatesResult(NamedTuple):
    h: torch.Tensor
    corrections: torch.Tensor
    last_state: torch.Tensor

def gated_delta_chunk_states(k: torch.Tensor, w: torch.Tensor, u: torch.Tensor, g: torch.Tensor | None = None, initial_state: torch.Tensor | None = None, cu_seqlens: torch.Tensor | None = None, chunk: int = 64) -> GatedDeltaChunkStatesResult:
    """For each chunk: keep h; n = u - w h; h = exp(g_last) h + (exp(g_last - g) k)ᵀ n. Of packed sequences
    h has as many chunks as there may be; those behind the last are zero.

    The state at each chunk's beginning, corrections u - w h, and states after each sequence.

    Args:
        k: [batch, tokens, heads, keys] of bf16, fp16 or fp32: keys.
        w: [batch, tokens, heads*groups, keys] of bf16, fp16 or fp32: k times beta and decays, by the
            inverse.
        u: [batch, tokens, heads*groups, values] of bf16, fp16 or fp32: v times beta, by the inverse.
        g: [batch, tokens, heads*groups] of fp32: sums of logarithms of decays within chunks, as
            `gated_delta_chunk_cumsum` gives them; none where None.
        initial_state: [sequences, heads*groups, keys, values] of fp32: states before the first token;
            zeros where None.
        cu_seqlens: [sequences+1] of int32: where sequences behind one another begin, and where the last
            ends (batch is 1); where None, each batch is a sequence.
        chunk: tokens of a chunk; one of 16, 32, 64.

    Returns:
        h: [batch, chunks, heads*groups, keys, values] of bf16, fp16 or fp32: the state before each
            chunk.
        corrections: [batch, tokens, heads*groups, values] of bf16, fp16 or fp32: u - w h.
        last_state: [sequences, heads*groups, keys, values] of fp32: states after the last token.

    Sizes:
        batch: 1 to 65535; batches.
        tokens: 1 to 1048576; tokens of a batch.
        heads: 1 to 1024; heads of q and k.
        groups: 1 to 64; heads of v for each of q and k.
        keys: one of 64, 128, 256; rows of a state.
        values: 16 to 512 in steps of 16; columns of a state.
        sequences: 1 to 65535; sequences: as many as batches, or packed into one.
        chunk: one of 16, 32, 64; tokens of a chunk.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `cu_seqlens` (below tokens+1); it names the element.

    Source:
        kernels/gated_delta/chunk_states.py for gfx950 and gfx942;
            `wb.kernels['gated_delta/chunk_states']`, `torch.ops.hipkittens.gated_delta_chunk_states`.
    """

class GatedDeltaChunkSummedProductsResult(NamedTuple):
    sums: torch.Tensor
    a: torch.Tensor

def gated_delta_chunk_summed_products(k: torch.Tensor, beta: torch.Tensor, g: torch.Tensor, cu_seqlens: torch.Tensor | None = None, chunk: int = 64, bounded: bool = False) -> GatedDeltaChunkSummedProductsResult:
    """Cumulative sums of g within chunks, and A = tril(beta_i k_i k_j exp(sum_i - sum_j), -1) of each;
    bounded: zero where the decay is above one.

    Cumulative sums of g within chunks, and `products` with them.

    Args:
        k: [batch, tokens, heads, keys] of bf16, fp16 or fp32: keys.
        beta: [batch, tokens, heads*groups] of fp32: how much of an error is corrected.
        g: [batch, tokens, heads*groups] of fp32: logarithms of decays.
        cu_seqlens: [sequences+1] of int32: where sequences behind one another begin, and where the last
            ends (batch is 1); where None, each batch is a sequence.
        chunk: tokens of a chunk; one of 16, 32, 64.
        bounded: whether products with decays above one are zero.

    Returns:
        sums: [batch, tokens, heads*groups] of fp32: sums within chunks.
        a: [batch, tokens, heads*groups, chunk] of fp32: products of keys within chunks, below the
            diagonal: token i by token j of its chunk.

    Sizes:
        batch: 1 to 65535; batches.
        tokens: 1 to 1048576; tokens of a batch.
        heads: 1 to 1024; heads of q and k.
        groups: 1 to 64; heads of v for each of q and k.
        keys: one of 64, 128, 256; rows of a state.
        sequences: 1 to 65535; sequences: as many as batches, or packed into one.
        chunk: one of 16, 32, 64; tokens of a chunk.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `cu_seqlens` (below tokens+1); it names the element.

    Source:
        kernels/gated_delta/chunk_summed_products.py for gfx950 and gfx942;
            `wb.kernels['gated_delta/chunk_summed_products']`,
            `torch.ops.hipkittens.gated_delta_chunk_summed_products`.
    """

def gated_delta_difference(x: torch.Tensor, y: torch.Tensor, squared: bool = False) -> torch.Tensor:
    """|x - y| or (x - y) squared of float32, by which results are held against references.

    Of one shape.

    Args:
        x: [...] of fp32: what is computed on.
        y: [...] of fp32: what is taken from x.
        squared: whether differences are squared.

    Returns:
        out: [...] of fp32: the result.

    Sizes:
        size: 1 to 1073741824; elements.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gated_delta/difference.py for gfx950 and gfx942; `wb.kernels['gated_delta/difference']`,
            `torch.ops.hipkittens.gated_delta_difference`.
    """

class GatedDeltaElementaryResult(NamedTuple):
    exp: torch.Tensor
    exp2: torch.Tensor
    log: torch.Tensor
    log2: torch.Tensor
    safe_exp: torch.Tensor
    softplus: torch.Tensor
    sigmoid: torch.Tensor
    silu: torch.Tensor

def gated_delta_elementary(x: torch.Tensor) -> GatedDeltaElementaryResult:
    """exp, exp2, log and log2 of |x| + 0.001, exp of what is not positive, softplus, sigmoid, silu.

    `NAMES` of x; logarithms of |x| + 0.001, and exp(x) or 0 where x is positive as safe_exp.

    Args:
        x: [...] of fp32: what is computed on.

    Returns:
        exp: [...] of fp32: exp(x).
        exp2: [...] of fp32: 2^x.
        log: [...] of fp32: log(|x| + 0.001).
        log2: [...] of fp32: log2(|x| + 0.001).
        safe_exp: [...] of fp32: exp(x), 0 where x is positive.
        softplus: [...] of fp32: softplus(x).
        sigmoid: [...] of fp32: sigmoid(x).
        silu: [...] of fp32: silu(x).

    Sizes:
        size: 1 to 268435456; elements of x.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gated_delta/elementary.py for gfx950 and gfx942; `wb.kernels['gated_delta/elementary']`,
            `torch.ops.hipkittens.gated_delta_elementary`.
    """

class GatedDeltaGatingResult(NamedTuple):
    g: torch.Tensor
    beta: torch.Tensor

def gated_delta_gating(a_log: torch.Tensor, a: torch.Tensor, b: torch.Tensor, dt_bias: torch.Tensor, softplus_beta: float = 1.0, softplus_threshold: float = 20.0) -> GatedDeltaGatingResult:
    """g = -exp(a_log) softplus(a + dt_bias) and beta = sigmoid(b) for each token and head.

    g = -exp(a_log) softplus(a + dt_bias) and beta = sigmoid(b); a, b (.., H), a_log and dt_bias (H).

    Args:
        a_log: [cols] of fp32: logarithm of each head's decay.
        a: [..., cols] of bf16, fp16 or fp32: what decays are made of.
        b: [..., cols] of bf16, fp16 or fp32: what beta is made of.
        dt_bias: [cols] of fp32: added to `a`.
        softplus_beta: of PyTorch's softplus.
        softplus_threshold: of PyTorch's softplus.

    Returns:
        g: [..., cols] of fp32: logarithms of decays.
        beta: [..., cols] of fp32: how much of an error is corrected.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 65536; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gated_delta/gating.py for gfx950 and gfx942; `wb.kernels['gated_delta/gating']`,
            `torch.ops.hipkittens.gated_delta_gating`.
    """

class GatedDeltaQkvzbaSplitResult(NamedTuple):
    mixed_qkv: torch.Tensor
    z: torch.Tensor
    b: torch.Tensor
    a: torch.Tensor

def gated_delta_qkvzba_split(mixed_qkvz: torch.Tensor, mixed_ba: torch.Tensor, heads: int, groups: int, key_dim: int) -> GatedDeltaQkvzbaSplitResult:
    """tokens x heads x [q, k, v, z] and [b, a] of a gated delta layer's projections as [all q, all k, all
    v], z, b and a; bf16 or fp16.

    Of tokens x heads x [q, k, groups x v, groups x z] and tokens x heads x [groups x b, groups x a].

    Args:
        mixed_qkvz: [batch, heads*(2*keys+2*groups*values)] of bf16 or fp16: [q, k, v, z] of each head
            of q.
        mixed_ba: [batch, 2*heads*groups] of bf16 or fp16: [b, a] of each head of q.
        heads: heads of q and k; 1 to 256.
        groups: heads of v for each of q and k; 1 to 64.
        key_dim: channels of q, and of k.

    Returns:
        mixed_qkv: [batch, heads*(2*keys+groups*values)] of bf16 or fp16: [all q, all k, all v].
        z: [batch, heads*groups, values] of bf16 or fp16: gates.
        b: [batch, heads*groups] of bf16 or fp16: of each head of v.
        a: [batch, heads*groups] of bf16 or fp16: of each head of v.

    Sizes:
        batch: 1 to 1048576; tokens.
        heads: 1 to 256; heads of q and k.
        groups: 1 to 64; heads of v for each of q and k.
        keys: 8 to 1024 in steps of 8; columns of a head of q and k.
        values: 8 to 1024 in steps of 8; columns of a head of v and z.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gated_delta/qkvzba_split.py for gfx950 and gfx942;
            `wb.kernels['gated_delta/qkvzba_split']`, `torch.ops.hipkittens.gated_delta_qkvzba_split`.
    """

def gated_mlp(x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, activation: str = 'silu') -> torch.Tensor:
    """((X Wgᵀ) * activation(X Wuᵀ)) W2 of bf16 or fp16, with w1 = [Wg; Wu]: both products of the first
    launch and the gate in one kernel; hidden columns are rounded to the element type in between.

    x (M, K), w1 = [Wg; Wu] (2 N, K), w2 (N, K).

    Args:
        x: [m, k] of bf16 or fp16: what is computed on.
        w1: [2*n, k] of bf16 or fp16: the gate's rows, then the others'.
        w2: [n, k] of bf16 or fp16: weights of the result.
        activation: function of the hidden columns, or of their gate; one of silu, relu, gelu,
            gelu_tanh.

    Returns:
        out: [m, k] of bf16 or fp16: the result.

    Sizes:
        m: 1 to 1048576; rows of X: tokens.
        n: 8 to 1048576 in steps of 8; hidden columns.
        k: 8 to 1048576 in steps of 8; columns of X and of the result.

    Gradients:
        of x, w1, w2: by the kernels `gemm`, `gemm_epilogue_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/feed_forward/gated.py for gfx950 and gfx942; `wb.kernels['feed_forward/gated']`,
            `torch.ops.hipkittens.feed_forward_gated`.
    """

def gelu(x: torch.Tensor) -> torch.Tensor:
    """gelu(x).

    Args:
        x: [..., cols] of bf16, fp16 or fp32: rows.

    Returns:
        out: [..., cols] of bf16, fp16 or fp32: the result.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 1048576; length of a row.

    Gradients:
        of x: by the kernel `gelu_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/activations/gelu.py for gfx950 and gfx942; `wb.kernels['activations/gelu']`,
            `torch.ops.hipkittens.activations_gelu`.
    """

def gelu_and_mul(x: torch.Tensor) -> torch.Tensor:
    """gelu(gate) * up, where a row of x is gate, then up.

    Args:
        x: [..., 2*cols] of bf16, fp16 or fp32: rows of a gate and what it multiplies.

    Returns:
        out: [..., cols] of bf16, fp16 or fp32: the result.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 1048576; length of a row.

    Gradients:
        of x: by the kernel `gelu_and_mul_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/activations/gelu_and_mul.py for gfx950 and gfx942;
            `wb.kernels['activations/gelu_and_mul']`, `torch.ops.hipkittens.activations_gelu_and_mul`.
    """

def gelu_and_mul_backward(dout: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The gradient of x from that of gelu(gate) * up.

    Args:
        dout: [..., cols] of bf16, fp16 or fp32: gradient of `out`.
        x: [..., 2*cols] of bf16, fp16 or fp32: what is computed on.

    Returns:
        dx: [..., 2*cols] of bf16, fp16 or fp32: gradient of `x`.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 1048576; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/activations/gelu_and_mul_backward.py for gfx950 and gfx942;
            `wb.kernels['activations/gelu_and_mul_backward']`,
            `torch.ops.hipkittens.activations_gelu_and_mul_backward`.
    """

def gelu_backward(dout: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The gradient of x from that of gelu(x).

    Args:
        dout: [..., cols] of bf16, fp16 or fp32: gradient of `out`.
        x: [..., cols] of bf16, fp16 or fp32: what is computed on.

    Returns:
        dx: [..., cols] of bf16, fp16 or fp32: gradient of `x`.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 1048576; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/activations/gelu_backward.py for gfx950 and gfx942;
            `wb.kernels['activations/gelu_backward']`, `torch.ops.hipkittens.activations_gelu_backward`.
    """

def gelu_tanh(x: torch.Tensor) -> torch.Tensor:
    """gelu_tanh(x).

    Args:
        x: [..., cols] of bf16, fp16 or fp32: rows.

    Returns:
        out: [..., cols] of bf16, fp16 or fp32: the result.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 1048576; length of a row.

    Gradients:
        of x: by the kernel `gelu_tanh_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/activations/gelu_tanh.py for gfx950 and gfx942; `wb.kernels['activations/gelu_tanh']`,
            `torch.ops.hipkittens.activations_gelu_tanh`.
    """

def gelu_tanh_and_mul(x: torch.Tensor) -> torch.Tensor:
    """gelu_tanh(gate) * up, where a row of x is gate, then up.

    Args:
        x: [..., 2*cols] of bf16, fp16 or fp32: rows of a gate and what it multiplies.

    Returns:
        out: [..., cols] of bf16, fp16 or fp32: the result.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 1048576; length of a row.

    Gradients:
        of x: by the kernel `gelu_tanh_and_mul_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/activations/gelu_tanh_and_mul.py for gfx950 and gfx942;
            `wb.kernels['activations/gelu_tanh_and_mul']`,
            `torch.ops.hipkittens.activations_gelu_tanh_and_mul`.
    """

def gelu_tanh_and_mul_backward(dout: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The gradient of x from that of gelu_tanh(gate) * up.

    Args:
        dout: [..., cols] of bf16, fp16 or fp32: gradient of `out`.
        x: [..., 2*cols] of bf16, fp16 or fp32: what is computed on.

    Returns:
        dx: [..., 2*cols] of bf16, fp16 or fp32: gradient of `x`.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 1048576; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/activations/gelu_tanh_and_mul_backward.py for gfx950 and gfx942;
            `wb.kernels['activations/gelu_tanh_and_mul_backward']`,
            `torch.ops.hipkittens.activations_gelu_tanh_and_mul_backward`.
    """

def gelu_tanh_backward(dout: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The gradient of x from that of gelu_tanh(x).

    Args:
        dout: [..., cols] of bf16, fp16 or fp32: gradient of `out`.
        x: [..., cols] of bf16, fp16 or fp32: what is computed on.

    Returns:
        dx: [..., cols] of bf16, fp16 or fp32: gradient of `x`.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 1048576; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/activations/gelu_tanh_backward.py for gfx950 and gfx942;
            `wb.kernels['activations/gelu_tanh_backward']`,
            `torch.ops.hipkittens.activations_gelu_tanh_backward`.
    """

def gemm(a: torch.Tensor, b: torch.Tensor, layout: str = 'nt', alpha: float = 1.0, bias: torch.Tensor | None = None, activation: str = 'none', gate: torch.Tensor | None = None, residual: torch.Tensor | None = None, beta: float = 1.0) -> torch.Tensor:
    """activation(alpha A B + bias) * gate + beta residual of bf16 or fp16 matrices, or of batches of them,
    stored either way; sums in float.

    activation(alpha A B + bias) * gate + beta residual, of a matrix or of each of a batch.

    Args:
        a: [..., m, k] or [..., k, m] of bf16 or fp16: left operand.
        b: [..., n, k] or [..., k, n] of bf16 or fp16: right operand.
        layout: whether A and B are stored as such (n) or transposed (t); one of nt, nn, tn.
        alpha: factor of the product.
        bias: [n] or [batch, 1, n] of bf16 or fp16: added to each column; nothing where None.
        activation: function of each element; one of none, relu, gelu, gelu_tanh, silu.
        gate: [..., m, n] of bf16 or fp16: what the result is multiplied by; nothing where None.
        residual: [..., m, n] of bf16 or fp16: times `beta` added to the result; nothing where None.
        beta: factor of `residual`.

    Returns:
        c: [..., m, n] of bf16 or fp16: the result.

    Sizes:
        batch: 1 to 65535; matrices of each operand.
        m: 1 to 1048576; rows of A and C.
        n: 1 to 1048576; columns of C.
        k: 1 to 1048576; columns of A, along which products are summed.

    Gradients:
        of a, b, bias, gate, residual: by the kernels `gemm`, `gemm_epilogue_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gemm/bf16.py for gfx950 and gfx942; `wb.kernels['gemm/bf16']`,
            `torch.ops.hipkittens.gemm_bf16`.
    """

def gemm_a16w8_block(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor | None = None, scale_b: torch.Tensor | None = None, bias: torch.Tensor | None = None, activation: str = 'none', gate: torch.Tensor | None = None, residual: torch.Tensor | None = None, beta: float = 1.0) -> torch.Tensor:
    """A Bᵀ of bf16 A by B of fp8 (e4m3; OCP on gfx950, fnuz on gfx942), int8, or bf16 that holds such
    numbers, with a float scale for each 128 x 128 of B or, stored K / 128 x N, for each 128 columns of
    a row. B becomes bf16 in registers, exactly; a block's products are summed in float and then scaled.

    A Bᵀ of numbers with scales as `dequantized` takes them, or of A one a row; finished as `gemm` does.

    Args:
        a: [..., m, k] of bf16: left operand.
        b: [..., n, k] of fp8, int8 or bf16: right operand.
        scale_a: None; this operator has none.
        scale_b: [..., ceil(n/128), ceil(k/128)] or [..., ceil(k/128), n] of fp32: factors of each 128 x
            128, or of each 128 columns of a row, stored by columns; not None.
        bias: None; this operator has none.
        activation: 'none'; this operator has none.
        gate: None; this operator has none.
        residual: None; this operator has none.
        beta: factor of `residual`.

    Returns:
        c: [..., m, n] of bf16: the result.

    Sizes:
        batch: 1 to 65535; matrices of each operand.
        m: 1 to 1048576; rows of A and C.
        n: 1 to 1048576; columns of C.
        k: 16 to 1048576 in steps of 16; columns of A; a row of B is whole 16 bytes.

    Gradients:
        of a, b, scale_a, scale_b, bias, gate, residual: by the kernels `gemm_a16w8_block`, `gemm`,
            `gemm_epilogue_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gemm/a16w8_block.py for gfx950 and gfx942; `wb.kernels['gemm/a16w8_block']`,
            `torch.ops.hipkittens.gemm_a16w8_block`.
    """

def gemm_a16wfp4(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor | None = None, scale_b: torch.Tensor | None = None, bias: torch.Tensor | None = None, activation: str = 'none', gate: torch.Tensor | None = None, residual: torch.Tensor | None = None, beta: float = 1.0) -> torch.Tensor:
    """A Bᵀ of bf16 A by B of fp4 (e2m1, two in a byte) with a power of two (e8m0, uint8) for each 32
    columns of a row; or of bf16 that holds such numbers, with floats for scales, stored K / 32 x N. B
    becomes bf16 in registers, exactly: A is not rounded to fp4. Sums in float.

    A Bᵀ of numbers with scales as `dequantized` takes them, or of A one a row; finished as `gemm` does.

    Args:
        a: [..., m, k] of bf16: left operand.
        b: [..., n, k/2] of uint8, or [..., n, k] of bf16: right operand.
        scale_a: None; this operator has none.
        scale_b: [..., n, ceil(k/32)] of uint8, or [..., ceil(k/32), n] of fp32: bytes s of powers 2^(s
            - 127), for each 32 columns of a row, or floats, stored by columns; not None.
        bias: None; this operator has none.
        activation: 'none'; this operator has none.
        gate: None; this operator has none.
        residual: None; this operator has none.
        beta: factor of `residual`.

    Returns:
        c: [..., m, n] of bf16: the result.

    Sizes:
        batch: 1 to 65535; matrices of each operand.
        m: 1 to 1048576; rows of A and C.
        n: 1 to 1048576; columns of C.
        k: 128 to 1048576 in steps of 128; columns of A, along which products are summed.

    Gradients:
        of a, b, scale_a, scale_b, bias, gate, residual: by the kernels `gemm_a16wfp4`, `gemm`,
            `gemm_epilogue_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gemm/a16wfp4.py for gfx950 and gfx942; `wb.kernels['gemm/a16wfp4']`,
            `torch.ops.hipkittens.gemm_a16wfp4`.
    """

def gemm_a8wfp4(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor | None = None, scale_b: torch.Tensor | None = None, bias: torch.Tensor | None = None, activation: str = 'none', gate: torch.Tensor | None = None, residual: torch.Tensor | None = None, beta: float = 1.0) -> torch.Tensor:
    """A Bᵀ of A of fp8 (e4m3; OCP on gfx950, fnuz on gfx942) or int8 with a float scale for each row, by B
    of fp4 (e2m1, two in a byte) with a power of two (e8m0, uint8) for each 32 columns of a row. fp8 by
    scaled matrix instructions on gfx950; else both become bf16 in registers, exactly. Sums in float.

    A Bᵀ of numbers with scales as `dequantized` takes them, or of A one a row; finished as `gemm` does.

    Args:
        a: [..., m, k] of fp8 or int8: left operand.
        b: [..., n, k/2] of uint8: right operand.
        scale_a: [..., m] of fp32: factors of rows; not None.
        scale_b: [..., n, ceil(k/32)] of uint8: bytes s of powers 2^(s - 127), for each 32 columns of a
            row; not None.
        bias: None; this operator has none.
        activation: 'none'; this operator has none.
        gate: None; this operator has none.
        residual: None; this operator has none.
        beta: factor of `residual`.

    Returns:
        c: [..., m, n] of bf16: the result.

    Sizes:
        batch: 1 to 65535; matrices of each operand.
        m: 1 to 1048576; rows of A and C.
        n: 1 to 1048576; columns of C.
        k: 128 to 1048576 in steps of 128; columns of A, along which products are summed.

    Gradients:
        of a, scale_a, bias, gate, residual: by the kernels `gemm_a8wfp4`, `gemm`,
            `gemm_epilogue_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gemm/a8wfp4.py for gfx950 and gfx942; `wb.kernels['gemm/a8wfp4']`,
            `torch.ops.hipkittens.gemm_a8wfp4`.
    """

def gemm_accumulate(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """c += A Bᵀ of bf16 or fp16 matrices, c of float or bf16, in place: parts of K are summed in float by
    work-groups of their own and added by atomic additions, of bf16 two at a time.

    c + A Bᵀ.

    Args:
        a: [..., m, k] of bf16 or fp16: left operand.
        b: [..., n, k] of bf16 or fp16: right operand.
        c: [..., m, n] of fp32 or bf16: what is added to, in place.

    Returns:
        c: [..., m, n] of fp32 or bf16: the argument, written in place.

    Sizes:
        m: 1 to 1048576; rows of A and C.
        n: 2 to 1048576 in steps of 2; columns of C, which are added in pairs.
        k: 8 to 1048576 in steps of 8; columns of A and B; a row is whole 16 bytes.

    Gradients:
        none: c is written in place.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gemm/bf16_accumulate.py for gfx950 and gfx942; `wb.kernels['gemm/bf16_accumulate']`,
            `torch.ops.hipkittens.gemm_bf16_accumulate`.
    """

def gemm_bf16_scaled(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor, bias: torch.Tensor | None = None, activation: str = 'none', gate: torch.Tensor | None = None, residual: torch.Tensor | None = None, beta: float = 1.0, layout: str = 'nt') -> torch.Tensor:
    """A B scaled by rows of A and columns of B: as gemm/int8 with A and B of bf16, such as whole numbers
    that were not made int8; sums in float, exact up to 2^24.

    A B with a scale for each row of A and column of B, stored and finished as `gemm` has it.

    Args:
        a: [..., m, k] or [..., k, m] of bf16: left operand.
        b: [..., n, k] or [..., k, n] of bf16: right operand.
        scale_a: [..., m] of fp32: factors of rows of A.
        scale_b: [..., n] of fp32: factors of columns of C.
        bias: [n] or [batch, 1, n] of bf16: added to each column; nothing where None.
        activation: function of each element; one of none, relu, gelu, gelu_tanh, silu.
        gate: [..., m, n] of bf16: what the result is multiplied by; nothing where None.
        residual: [..., m, n] of bf16: times `beta` added to the result; nothing where None.
        beta: factor of `residual`.
        layout: how A and B are stored: M x K (n) or K x M (t), K x N or N x K; one of nt, nn, tn.

    Returns:
        c: [..., m, n] of bf16: the result.

    Sizes:
        batch: 1 to 65535; matrices of each operand.
        m: 1 to 1048576; rows of A and C.
        n: 8 to 1048576 in steps of 8; columns of C, of which a row is whole 16 bytes.
        k: 128 to 131056 in steps of 16; along which products are summed.

    Gradients:
        of a, b, scale_a, scale_b, bias, gate, residual: by the kernels `gemm_bf16_scaled`, `gemm`,
            `gemm_epilogue_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gemm/bf16_scaled.py for gfx950 and gfx942; `wb.kernels['gemm/bf16_scaled']`,
            `torch.ops.hipkittens.gemm_bf16_scaled`.
    """

class GemmEpilogueBackwardResult(NamedTuple):
    dz: torch.Tensor
    dgate: torch.Tensor
    dbias: torch.Tensor
    c: torch.Tensor

def gemm_epilogue_backward(dc: torch.Tensor, z: torch.Tensor | None = None, gate: torch.Tensor | None = None, activation: str = 'none', wanted: str = 'z') -> GemmEpilogueBackwardResult:
    """The gradients of c = activation(z) * gate for z and the gate, dz's sums over rows (a bias's
    gradient) and c again; those that are wanted. z is sums and bias of a product; sums in float.

    Of c = activation(z) * gate: dz, dgate, dz summed over rows, c; empty where `wanted` lacks a name.

    Args:
        dc: [..., rows, cols] of bf16 or fp16: gradient of c.
        z: [..., rows, cols] of bf16 or fp16: sums of the product with their bias; where None, there is
            no activation, no gate's gradient and no c.
        gate: [..., rows, cols] of bf16 or fp16: a factor of each element; none where None.
        activation: function of z; one of none, relu, gelu, gelu_tanh, silu.
        wanted: which of z, gate, bias (their gradients) and c are made; the others have no element.

    Returns:
        dz: [..., rows, cols] or [none] of bf16 or fp16: gradient of the sums.
        dgate: [..., rows, cols] or [none] of bf16 or fp16: gradient of `gate`.
        dbias: [cols] or [batch, 1, cols] or [none] of bf16 or fp16: dz summed over rows.
        c: [..., rows, cols] or [none] of bf16 or fp16: the product, made again.

    Sizes:
        batch: 1 to 65535; matrices.
        rows: 1 to 1048576.
        cols: 1 to 1048576.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gemm/epilogue_backward.py for gfx950 and gfx942; `wb.kernels['gemm/epilogue_backward']`,
            `torch.ops.hipkittens.gemm_epilogue_backward`.
    """

def gemm_fp8(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor, bias: torch.Tensor | None = None, activation: str = 'none', gate: torch.Tensor | None = None, residual: torch.Tensor | None = None, beta: float = 1.0, layout: str = 'nt') -> torch.Tensor:
    """A B scaled by rows of A and columns of B: A is M x K or K x M and B is N x K or K x N of fp8 (e4m3;
    OCP on gfx950, fnuz on gfx942) with a float scale for each; activation(... + bias) * gate + beta
    residual of bf16; sums in float.

    A B with a scale for each row of A and column of B, stored and finished as `gemm` has it.

    Args:
        a: [..., m, k] or [..., k, m] of fp8: left operand.
        b: [..., n, k] or [..., k, n] of fp8: right operand.
        scale_a: [..., m] of fp32: factors of rows of A.
        scale_b: [..., n] of fp32: factors of columns of C.
        bias: [n] or [batch, 1, n] of bf16: added to each column; nothing where None.
        activation: function of each element; one of none, relu, gelu, gelu_tanh, silu.
        gate: [..., m, n] of bf16: what the result is multiplied by; nothing where None.
        residual: [..., m, n] of bf16: times `beta` added to the result; nothing where None.
        beta: factor of `residual`.
        layout: how A and B are stored: M x K (n) or K x M (t), K x N or N x K; one of nt, nn, tn.

    Returns:
        c: [..., m, n] of bf16: the result.

    Sizes:
        batch: 1 to 65535; matrices of each operand.
        m: 1 to 1048576; rows of A and C.
        n: 8 to 1048576 in steps of 8; columns of C, of which a row is whole 16 bytes.
        k: 128 to 1048576 in steps of 16; along which products are summed.

    Gradients:
        of a, b, scale_a, scale_b, bias, gate, residual: by the kernels `gemm_fp8`, `gemm`,
            `gemm_epilogue_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gemm/fp8.py for gfx950 and gfx942; `wb.kernels['gemm/fp8']`,
            `torch.ops.hipkittens.gemm_fp8`.
    """

def gemm_fp8_block(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor | None = None, scale_b: torch.Tensor | None = None, bias: torch.Tensor | None = None, activation: str = 'none', gate: torch.Tensor | None = None, residual: torch.Tensor | None = None, beta: float = 1.0) -> torch.Tensor:
    """A Bᵀ of fp8 (e4m3; OCP on gfx950, fnuz on gfx942), int8, or bf16 that holds such numbers, with a
    float scale for each 128 columns of a row of A, and of B for each 128 x 128 or, stored K / 128 x N,
    for each 128 columns of a row; activation(... + bias) * gate + beta residual of bf16; a block's sums
    in float, int8's exact.

    A Bᵀ of numbers with scales as `dequantized` takes them, or of A one a row; finished as `gemm` does.

    Args:
        a: [..., m, k] of fp8, int8 or bf16: left operand.
        b: [..., n, k] of fp8, int8 or bf16: right operand.
        scale_a: [..., m, ceil(k/128)] of fp32: factors of each 128 columns of a row; not None.
        scale_b: [..., ceil(n/128), ceil(k/128)] or [..., ceil(k/128), n] of fp32: factors of each 128 x
            128, or of each 128 columns of a row, stored by columns; not None.
        bias: [n] or [batch, 1, n] of bf16: added to each column; nothing where None.
        activation: function of each element; one of none, relu, gelu, gelu_tanh, silu.
        gate: [..., m, n] of bf16: what the result is multiplied by; nothing where None.
        residual: [..., m, n] of bf16: times `beta` added to the result; nothing where None.
        beta: factor of `residual`.

    Returns:
        c: [..., m, n] of bf16: the result.

    Sizes:
        batch: 1 to 65535; matrices of each operand.
        m: 1 to 1048576; rows of A and C.
        n: 1 to 1048576; columns of C.
        k: 16 to 1048576 in steps of 16; columns of A; a row is whole 16 bytes.

    Gradients:
        of a, b, scale_a, scale_b, bias, gate, residual: by the kernels `gemm_fp8_block`, `gemm`,
            `gemm_epilogue_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gemm/fp8_block.py for gfx950 and gfx942; `wb.kernels['gemm/fp8_block']`,
            `torch.ops.hipkittens.gemm_fp8_block`.
    """

def gemm_gated(a: torch.Tensor, b: torch.Tensor, activation: str = 'silu') -> torch.Tensor:
    """(A B0ᵀ) * activation(A B1ᵀ) of bf16 or fp16 matrices, or batches, where B's rows are those of B0 and
    then of B1; both products and the gate in one kernel, sums in float.

    (A B0ᵀ) * activation(A B1ᵀ), B0 and B1 being the first and the second half of b's rows.

    Args:
        a: [..., m, k] of bf16 or fp16: left operand.
        b: [..., 2*n, k] of bf16 or fp16: B0's rows, and then B1's, which are the gate.
        activation: function of the second product; one of relu, gelu, gelu_tanh, silu.

    Returns:
        c: [..., m, n] of bf16 or fp16: the result.

    Sizes:
        batch: 1 to 65535; matrices of each operand.
        m: 1 to 1048576; rows of A and C.
        n: 1 to 1048576; columns of C.
        k: 8 to 1048576 in steps of 8; columns of A and B; a row is whole 16 bytes.

    Gradients:
        of a, b: by the kernels `gemm`, `gemm_epilogue_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gemm/bf16_gated.py for gfx950 and gfx942; `wb.kernels['gemm/bf16_gated']`,
            `torch.ops.hipkittens.gemm_bf16_gated`.
    """

def gemm_int8(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor, bias: torch.Tensor | None = None, activation: str = 'none', gate: torch.Tensor | None = None, residual: torch.Tensor | None = None, beta: float = 1.0, layout: str = 'nt') -> torch.Tensor:
    """A B scaled by rows of A and columns of B: A is M x K or K x M and B is N x K or K x N of int8 with a
    float scale for each; activation(... + bias) * gate + beta residual of bf16; sums in int32, which K
    up to 131,071 does not overflow, of parts of K in float.

    A B with a scale for each row of A and column of B, stored and finished as `gemm` has it.

    Args:
        a: [..., m, k] or [..., k, m] of int8: left operand.
        b: [..., n, k] or [..., k, n] of int8: right operand.
        scale_a: [..., m] of fp32: factors of rows of A.
        scale_b: [..., n] of fp32: factors of columns of C.
        bias: [n] or [batch, 1, n] of bf16: added to each column; nothing where None.
        activation: function of each element; one of none, relu, gelu, gelu_tanh, silu.
        gate: [..., m, n] of bf16: what the result is multiplied by; nothing where None.
        residual: [..., m, n] of bf16: times `beta` added to the result; nothing where None.
        beta: factor of `residual`.
        layout: how A and B are stored: M x K (n) or K x M (t), K x N or N x K; one of nt, nn, tn.

    Returns:
        c: [..., m, n] of bf16: the result.

    Sizes:
        batch: 1 to 65535; matrices of each operand.
        m: 1 to 1048576; rows of A and C.
        n: 8 to 1048576 in steps of 8; columns of C, of which a row is whole 16 bytes.
        k: 128 to 131056 in steps of 16; along which products are summed.

    Gradients:
        of scale_a, scale_b, bias, gate, residual: by the kernels `gemm_int8`, `gemm`,
            `gemm_epilogue_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gemm/int8.py for gfx950 and gfx942; `wb.kernels['gemm/int8']`,
            `torch.ops.hipkittens.gemm_int8`.
    """

def gemm_mul_add(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor, c_a: torch.Tensor, c_b: torch.Tensor) -> torch.Tensor:
    """c_a * (A Bᵀ) + c_b, rounded once: A and B of fp8, int8, or bf16 that holds such numbers, with float
    scales as gemm/fp8_block takes them, or of fp4 (e2m1) with a power of two for each 32 columns; c_a
    and c_b of bf16, M x N or 1 x N, or of float, 1 x 1.

    c_a * (A Bᵀ) + c_b, A and B as `quantized_gemm` takes them; c_a and c_b are M x N, 1 x N or 1 x 1.

    Args:
        a: [m, k] of fp8, int8 or bf16, or [m, k/2] of uint8: left operand.
        b: [n, k] of fp8, int8 or bf16, or [n, k/2] of uint8: right operand.
        scale_a: [m, ceil(k/128)] of fp32, or [m, ceil(k/32)] of uint8: factors of each 128 columns of a
            row; of fp4 bytes s of powers 2^(s - 127), for each 32 columns of a row.
        scale_b: [ceil(n/128), ceil(k/128)] or [ceil(k/128), n] of fp32, or [n, ceil(k/32)] of uint8:
            factors of each 128 x 128, or of each 128 columns of a row, stored by columns; of fp4 bytes
            s of powers 2^(s - 127), for each 32 columns of a row.
        c_a: [m, n] or [1, n] of bf16, or [1, 1] of fp32: what the product is multiplied by.
        c_b: [m, n] or [1, n] of bf16, or [1, 1] of fp32: what is added.

    Returns:
        c: [m, n] of bf16: the result.

    Sizes:
        m: 1 to 1048576; rows of A and C.
        n: 1 to 1048576; columns of C.
        k: 16 to 1048576 in steps of 16; columns of A; a row is whole 16 bytes.

    Gradients:
        of a, b, scale_a, scale_b, c_a, c_b: by the kernels `gemm_mul_add`, `gemm`,
            `gemm_epilogue_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gemm/mul_add.py for gfx950 and gfx942; `wb.kernels['gemm/mul_add']`,
            `torch.ops.hipkittens.gemm_mul_add`.
    """

def gemm_mx(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor, format: str = 'e2m1', bias: torch.Tensor | None = None, activation: str = 'none', gate: torch.Tensor | None = None, residual: torch.Tensor | None = None, beta: float = 1.0) -> torch.Tensor:
    """A Bᵀ of numbers in a format of the OCP microscaling specification: fp8 (e4m3, e5m2; fnuz on gfx942),
    fp6 (e2m3, e3m2) or fp4 (e2m1) with a power of two for each 32 columns of a row; activation(... +
    bias) * gate + beta residual of bf16; sums in float. By scaled matrix instructions on gfx950, as
    bf16 on gfx942.

    A Bᵀ of numbers with a power of two for each 32 columns, finished as `gemm` does; in float64.

    Args:
        a: [..., m, k/2] or [..., m, 3*k/4] of uint8, or [..., m, k] of fp8 or e5m2: numbers of
            `format`: fp4 two in a byte, fp6 four in three.
        b: [..., n, k/2] or [..., n, 3*k/4] of uint8, or [..., n, k] of fp8 or e5m2: numbers of
            `format`: fp4 two in a byte, fp6 four in three.
        scale_a: [..., m, ceil(k/32)] of uint8: bytes s of powers 2^(s - 127), for each 32 columns of a
            row.
        scale_b: [..., n, ceil(k/32)] of uint8: bytes s of powers 2^(s - 127), for each 32 columns of a
            row.
        format: format of the numbers; one of e4m3, e5m2, e2m3, e3m2, e2m1.
        bias: [n] or [batch, 1, n] of bf16: added to each column; nothing where None.
        activation: function of each element; one of none, relu, gelu, gelu_tanh, silu.
        gate: [..., m, n] of bf16: what the result is multiplied by; nothing where None.
        residual: [..., m, n] of bf16: times `beta` added to the result; nothing where None.
        beta: factor of `residual`.

    Returns:
        c: [..., m, n] of bf16: the result.

    Sizes:
        batch: 1 to 65535; matrices of each operand.
        m: 1 to 1048576; rows of A and C.
        n: 1 to 1048576; columns of C.
        k: 128 to 1048576 in steps of 128; columns of A, along which products are summed.

    Gradients:
        of a, b, bias, gate, residual: by the kernels `gemm_mx`, `gemm`, `gemm_epilogue_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gemm/mx.py for gfx950 and gfx942; `wb.kernels['gemm/mx']`,
            `torch.ops.hipkittens.gemm_mx`.
    """

class GemmTwoProductsResult(NamedTuple):
    c: torch.Tensor
    c16: torch.Tensor

def gemm_two_products(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor, a16: torch.Tensor, b16: torch.Tensor) -> GemmTwoProductsResult:
    """c = A Bᵀ and c16 = A16 B16ᵀ in one launch: A and B as gemm/mul_add takes them, fp8, int8 or fp4 with
    scales of blocks; A16 and B16 of bf16, with as many rows and columns as A.

    A Bᵀ as `quantized_gemm` has it, and A16 B16ᵀ.

    Args:
        a: [m, k] of fp8, int8 or bf16, or [m, k/2] of uint8: left operand.
        b: [n, k] of fp8, int8 or bf16, or [n, k/2] of uint8: right operand.
        scale_a: [m, ceil(k/128)] of fp32, or [m, ceil(k/32)] of uint8: factors of each 128 columns of a
            row; of fp4 bytes s of powers 2^(s - 127), for each 32 columns of a row.
        scale_b: [ceil(n/128), ceil(k/128)] or [ceil(k/128), n] of fp32, or [n, ceil(k/32)] of uint8:
            factors of each 128 x 128, or of each 128 columns of a row, stored by columns; of fp4 bytes
            s of powers 2^(s - 127), for each 32 columns of a row.
        a16: [m, k] of bf16: left operand of the second product.
        b16: [n16, k] of bf16: right operand of the second product.

    Returns:
        c: [m, n] of bf16: the result.
        c16: [m, n16] of bf16: the second product.

    Sizes:
        m: 1 to 1048576; rows of A and C.
        n: 1 to 1048576; columns of C.
        k: 16 to 1048576 in steps of 16; columns of A; a row is whole 16 bytes.
        n16: 1 to 1048576; columns of C16.

    Gradients:
        of a, b, scale_a, scale_b, a16, b16: by the kernel `gemm`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gemm/two_products.py for gfx950 and gfx942; `wb.kernels['gemm/two_products']`,
            `torch.ops.hipkittens.gemm_two_products`.
    """

def grouped_gemm(a: torch.Tensor, b: torch.Tensor, offsets: torch.Tensor, layout: str = 'nt', activation: str = 'none', gate: torch.Tensor | None = None, residual: torch.Tensor | None = None, beta: float = 1.0, alpha: float = 1.0, bias: torch.Tensor | None = None, scale_a: torch.Tensor | None = None, scale_b: torch.Tensor | None = None) -> torch.Tensor:
    """activation(alpha A_g B_g + bias) * gate + beta residual for groups g of rows of A, each with its own
    matrix of B; offsets hold each group's first row, and M at the end. bf16, fp16, or fp8 (e4m3; OCP on
    gfx950, fnuz on gfx942) and int8 with a float scale for each row of A and column of B_g.

    Rows offsets[g] to offsets[g + 1] of a by matrix g of b, finished as `gemm` does.

    Args:
        a: [m, k] or [k, m] of bf16, fp16, fp8 or int8: left operand.
        b: [groups, n, k] or [groups, k, n] of bf16, fp16, fp8 or int8: matrices of groups.
        offsets: [groups+1] of int32: the first row of each group, and M.
        layout: whether B is N x K (t) or K x N (n); one of nt, nn.
        activation: function of each element; one of none, relu, gelu, gelu_tanh, silu.
        gate: [m, n] of bf16 or fp16: what the result is multiplied by; nothing where None.
        residual: [m, n] of bf16 or fp16: times `beta` added to the result; nothing where None.
        beta: factor of `residual`.
        alpha: factor of the product.
        bias: [n] or [groups, 1, n] of bf16 or fp16: added to each column; nothing where None.
        scale_a: [m] of fp32: factors of rows of A; none where None.
        scale_b: [groups, n] of fp32: factors of columns of C; none where None.

    Returns:
        c: [m, n] of bf16 or fp16: the result.

    Sizes:
        m: 1 to 1048576; rows of A and C, of all groups.
        n: 1 to 1048576; columns of C.
        k: 1 to 1048576; columns of A, along which products are summed.
        groups: 1 to 4096; groups of rows, and matrices in B.

    Gradients:
        of a, b, gate, residual, bias, scale_a, scale_b: by the kernels `grouped_gemm`,
            `grouped_gemm_variable_k`, `gemm_epilogue_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `offsets` (below m+1); it names the element.

    Source:
        kernels/gemm/grouped.py for gfx950 and gfx942; `wb.kernels['gemm/grouped']`,
            `torch.ops.hipkittens.gemm_grouped`.
    """

def grouped_gemm_variable_k(a: torch.Tensor, b: torch.Tensor, offsets: torch.Tensor, alpha: float = 1.0) -> torch.Tensor:
    """alpha A_gᵀ B_g for groups g of rows of A and B, a matrix each; offsets hold each group's first row,
    and K at the end. Zeros of an empty group. bf16 or fp16; sums in float. Of rows of gemm/grouped and
    the gradients of its rows it is the gradient of its matrices B.

    alpha A_gᵀ B_g, A_g and B_g being rows offsets[g] to offsets[g + 1] of a and b.

    Args:
        a: [k, m] of bf16 or fp16: left operand.
        b: [k, n] of bf16 or fp16: right operand.
        offsets: [groups+1] of int32: the first row of each group, and K.
        alpha: factor of the product.

    Returns:
        c: [groups, m, n] of bf16 or fp16: the result.

    Sizes:
        m: 8 to 1048576 in steps of 8; columns of A, rows of a matrix of C.
        n: 8 to 1048576 in steps of 8; columns of B and C.
        k: 1 to 1048576; rows of A and B, of all groups.
        groups: 1 to 4096; groups of rows, and matrices in C.

    Gradients:
        of a, b: by the kernel `grouped_gemm`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `offsets` (below k+1); it names the element.

    Source:
        kernels/gemm/grouped_variable_k.py for gfx950 and gfx942;
            `wb.kernels['gemm/grouped_variable_k']`, `torch.ops.hipkittens.gemm_grouped_variable_k`.
    """

class L2NormResult(NamedTuple):
    y: torch.Tensor
    rstd: torch.Tensor

def l2_norm(x: torch.Tensor, eps: float = 1e-06) -> L2NormResult:
    """Rows divided by their lengths, and one over these: y = x rstd, rstd = 1 / sqrt(sum(x²) + eps).

    x rstd and rstd = 1 / sqrt(sum(x^2) + eps) of each row, in float32 at least.

    Args:
        x: [..., cols] of bf16, fp16 or fp32: what is computed on.
        eps: added under the square root.

    Returns:
        y: [..., cols] of bf16, fp16 or fp32: the result.
        rstd: [...] of fp32: one over each row's length.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 32768; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gated_delta/l2_norm.py for gfx950 and gfx942; `wb.kernels['gated_delta/l2_norm']`,
            `torch.ops.hipkittens.gated_delta_l2_norm`.
    """

def l2_norm_backward(y: torch.Tensor, rstd: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    """The gradient of `l2_norm`'s argument from that of its result: dx = rstd (dy - y sum(dy y)).

    rstd (dy - y sum(dy y)) of each row, y and rstd being what `l2_norm` gives.

    Args:
        y: [..., cols] of bf16, fp16 or fp32: the result.
        rstd: [...] of fp32: one over each row's length.
        dy: [..., cols] of bf16, fp16 or fp32: gradient of `y`.

    Returns:
        dx: [..., cols] of bf16, fp16 or fp32: gradient of `x`.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 32768; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/gated_delta/l2_norm_backward.py for gfx950 and gfx942;
            `wb.kernels['gated_delta/l2_norm_backward']`,
            `torch.ops.hipkittens.gated_delta_l2_norm_backward`.
    """

def layer_norm(x: torch.Tensor, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None, eps: float = 1e-05) -> torch.Tensor:
    """Every row less its mean, divided by its standard deviation, times a weight and plus a bias for each
    column, both of which may be left out; sums in float.

    (x - mean(x)) / sqrt(var(x) + eps) * weight + bias over the last dimension.

    Args:
        x: [..., cols] of bf16, fp16 or fp32: what is computed on.
        weight: [cols] of bf16, fp16 or fp32: a factor for each column; 1 where None.
        bias: [cols] of bf16, fp16 or fp32: added to each column; nothing where None.
        eps: added under the square root.

    Returns:
        out: [..., cols] of bf16, fp16 or fp32: the result.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 32768; length of a row.

    Gradients:
        of x, weight, bias: by the kernel `layer_norm_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/normalization/layernorm.py for gfx950 and gfx942;
            `wb.kernels['normalization/layernorm']`, `torch.ops.hipkittens.normalization_layernorm`.
    """

class LayerNormBackwardResult(NamedTuple):
    dx: torch.Tensor
    dweight: torch.Tensor
    dbias: torch.Tensor

def layer_norm_backward(dout: torch.Tensor, x: torch.Tensor, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None, eps: float = 1e-05) -> LayerNormBackwardResult:
    """The gradients of x, weight and bias from that of LayerNorm's result; left out ones count as 1 and 0.

    Args:
        dout: [..., cols] of bf16, fp16 or fp32: gradient of `out`.
        x: [..., cols] of bf16, fp16 or fp32: what is computed on.
        weight: [cols] of bf16, fp16 or fp32: a factor for each column; 1 where None.
        bias: [cols] of bf16, fp16 or fp32: added to each column; nothing where None.
        eps: added under the square root.

    Returns:
        dx: [..., cols] of bf16, fp16 or fp32: gradient of `x`.
        dweight: [cols] of bf16, fp16 or fp32: gradient of `weight`.
        dbias: [cols] of bf16, fp16 or fp32: gradient of `bias`.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 16384; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/normalization/layernorm_backward.py for gfx950 and gfx942;
            `wb.kernels['normalization/layernorm_backward']`,
            `torch.ops.hipkittens.normalization_layernorm_backward`.
    """

class MlaDecodeRopeResult(NamedTuple):
    out: torch.Tensor
    lse: torch.Tensor

def mla_decode_rope(q: torch.Tensor, kv_cache: torch.Tensor, kv_indptr: torch.Tensor, kv_indices: torch.Tensor, cos_sin_cache: torch.Tensor | None = None, positions: torch.Tensor | None = None, scale: float | None = None, kv_scale: float = 1.0, softcap: float = 0.0, interleaved: bool = False, v_cache: torch.Tensor | None = None) -> MlaDecodeRopeResult:
    """Latent attention of one query a sequence over rows that a list names, its position turned on the
    way; split along keys and merged.

    Latent attention of one query a sequence, q (B, H, 512 + 64), over rows of a cache (rows, 576).

    Args:
        q: [queries, heads, 576] of bf16 or fp16: queries.
        kv_cache: [rows, 576] of bf16, fp16 or fp8: keys over `kv_scale`, whose first 512 columns are
            the values.
        kv_indptr: [queries+1] of int32: where each query's part of `kv_indices` begins, and where the
            last ends.
        kv_indices: [entries] of int32: rows of the cache; -1 for none.
        cos_sin_cache: [places, 64] of bf16, fp16 or fp32: 32 cosines and 32 sines for each position;
            where None, q is not turned.
        positions: [queries] of int64: of queries in their sequences; where None, q is not turned.
        scale: what products of queries and keys are multiplied by; 1 / sqrt(dim) where None.
        kv_scale: factor for the cache.
        softcap: c of logits c tanh(logits / c); 0 for none.
        interleaved: whether pairs are neighbours (GPT-J), or half a head apart (NeoX, Llama).
        v_cache: [rows, 512] of bf16, fp16 or fp8: values over `kv_scale`; where None, they are the
            first 512 columns of the keys.

    Returns:
        out: [queries, heads, 512] of bf16 or fp16: the result.
        lse: [queries, heads] of fp32: logarithms of the sums of exponentials, natural.

    Sizes:
        queries: 1 to 65535; queries.
        keys: 1 to 1048576; keys of a query's list, on average.
        rows: 1 to 16777216; rows of the cache.
        heads: 1 to 1024; heads of the queries.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `kv_indptr` (below entries+1), `kv_indices` (below
            rows), `positions` (below places); it names the element.

    Source:
        kernels/attention_paged/mla_decode_rope.py for gfx950 and gfx942;
            `wb.kernels['attention_paged/mla_decode_rope']`,
            `torch.ops.hipkittens.attention_paged_mla_decode_rope`.
    """

def mlp(x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, activation: str = 'none') -> torch.Tensor:
    """activation(X W1ᵀ) W2 of bf16 or fp16, in two launches; hidden columns are rounded to the element
    type in between.

    x (M, K), w1 (N, K), w2 (N, K).

    Args:
        x: [m, k] of bf16 or fp16: what is computed on.
        w1: [n, k] of bf16 or fp16: weights of the hidden columns.
        w2: [n, k] of bf16 or fp16: weights of the result.
        activation: function of the hidden columns, or of their gate; one of none, relu, gelu,
            gelu_tanh, silu.

    Returns:
        out: [m, k] of bf16 or fp16: the result.

    Sizes:
        m: 1 to 1048576; rows of X: tokens.
        n: 8 to 1048576 in steps of 8; hidden columns.
        k: 8 to 1048576 in steps of 8; columns of X and of the result.

    Gradients:
        of x, w1, w2: by the kernels `gemm`, `gemm_epilogue_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/feed_forward/ungated.py for gfx950 and gfx942; `wb.kernels['feed_forward/ungated']`,
            `torch.ops.hipkittens.feed_forward_ungated`.
    """

class MoeAlignBlockSizeResult(NamedTuple):
    sorted_token_ids: torch.Tensor
    expert_ids: torch.Tensor
    num_tokens_post_padded: torch.Tensor

def moe_align_block_size(topk_ids: torch.Tensor, experts: int, block: int, length: int) -> MoeAlignBlockSizeResult:
    """Ids sorted by expert in order, each expert's padded to whole blocks with the number of ids; the
    expert of each block, -1 behind the last; and how many ids and padding there are.

    Ids by expert, each expert's padded to whole blocks with the number of ids; the expert of each
    block.

    Args:
        topk_ids: [...] of int32: experts of tokens.
        experts: experts; 1 to 1024.
        block: ids of a block; 1 to 1024.
        length: length of the list; 1 to 8388608.

    Returns:
        sorted_token_ids: [length] of int32: token * top_k + which of its experts, in blocks of one
            expert; others are padding.
        expert_ids: [ceil(length/block)] of int32: the expert of each block; below 0 its rows are zeros.
        num_tokens_post_padded: [1] of int32: how many ids of the list count.

    Sizes:
        ids: 1 to 4194304; pairs of a token and one of its experts.
        experts: 1 to 1024; experts.
        block: 1 to 1024; ids of a block.
        length: 1 to 8388608; length of the list.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `topk_ids` (below experts); it names the element.

    Source:
        kernels/moe_routing/align_block_size.py for gfx950 and gfx942;
            `wb.kernels['moe_routing/align_block_size']`,
            `torch.ops.hipkittens.moe_routing_align_block_size`.
    """

class MoeBitmatrixSumsResult(NamedTuple):
    sums: torch.Tensor
    partials: torch.Tensor

def moe_bitmatrix_sums(bits: torch.Tensor) -> MoeBitmatrixSumsResult:
    """Set bits of each column of rows x words of 32 bits, and those of the rows before each tile of 128
    rows.

    Set bits of each column of rows x words of 32, and those of the rows before each tile of 128.

    Args:
        bits: [rows, words] of int32: a bit for each expert of each token.

    Returns:
        sums: [32*words] of int32: set bits of each column.
        partials: [ceil(rows/128), 32*words] of int32: set bits before each tile of 128 rows.

    Sizes:
        rows: 1 to 4194304; tokens.
        words: 1 to 32; words of 32 experts.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/moe_routing/bitmatrix_sums.py for gfx950 and gfx942;
            `wb.kernels['moe_routing/bitmatrix_sums']`,
            `torch.ops.hipkittens.moe_routing_bitmatrix_sums`.
    """

class MoeExpertDataResult(NamedTuple):
    token_start: torch.Tensor
    tile_start: torch.Tensor
    tile_info: torch.Tensor

def moe_expert_data(hist: torch.Tensor, tile_log2: int, length: int) -> MoeExpertDataResult:
    """First tokens and first tiles of experts, each with the sum of all behind; and for each tile its
    expert and its number among the expert's, expert | number << 16, -1 behind the last.

    First tokens and first tiles of experts, each with the sum behind; and of tiles expert | number <<
    16.

    Args:
        hist: [experts] of int32: tokens of each expert.
        tile_log2: binary logarithm of a tile's tokens; 0 to 30.
        length: length of the list of tiles; 1 to 1048576.

    Returns:
        token_start: [experts+1] of int32: first tokens of experts, and their number.
        tile_start: [experts+1] of int32: first tiles of experts, and their number.
        tile_info: [length] of int32: expert | number << 16 of each tile; -1 behind the last.

    Sizes:
        experts: 1 to 1024; experts.
        tile_log2: 0 to 30; binary logarithm of a tile's tokens.
        length: 1 to 1048576; length of the list of tiles.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/moe_routing/expert_data.py for gfx950 and gfx942;
            `wb.kernels['moe_routing/expert_data']`, `torch.ops.hipkittens.moe_routing_expert_data`.
    """

def moe_gemm_a4w4(a: torch.Tensor, b: torch.Tensor, powers_a: torch.Tensor, powers_b: torch.Tensor, offsets: torch.Tensor, gather: torch.Tensor | None = None, top_k: int = 1, scale_a: torch.Tensor | None = None, scale_b: torch.Tensor | None = None, swiglu: bool = False, alpha: float = 1.0) -> torch.Tensor:
    """scale_a scale_b[e] A B_e for entries of a ragged list of tokens, of e2m1 numbers with a power of two
    for each 32 along K; perhaps x sigmoid(alpha x) (y + 1) of neighbouring columns. B_e is K / 2 x N
    bytes. By the scaled matrix instructions on gfx950, as bf16 on gfx942; sums in float.

    scale_a scale_b[e] A B_e of e2m1 numbers, A tokens x K / 2 and B experts x K / 2 x N bytes; float64.

    Args:
        a: [tokens, k/2] of uint8: left operand.
        b: [experts, k/2, n] of uint8: a matrix of each expert.
        powers_a: [tokens, ceil(k/32)] of uint8: bytes s of powers 2^(s - 127), for each 32 along K of
            A.
        powers_b: [experts, ceil(k/32), n] of uint8: bytes s of powers 2^(s - 127), for each 32 along K
            of B.
        offsets: [experts+1] of int32: where experts' entries begin, and where the last end.
        gather: [entries] of int32: row of A, times `top_k`, of each entry; where None, entry i is row
            i.
        top_k: experts of a token; 1 to 64.
        scale_a: [1] of fp32: a factor of A; none where None.
        scale_b: [experts] of fp32: a factor of each expert's matrix; none where None.
        swiglu: whether neighbouring columns become one.
        alpha: of x sigmoid(alpha x) (y + 1).

    Returns:
        c: [entries, n] or [entries, n/2] of bf16: the result.

    Sizes:
        tokens: 1 to 1048576; rows of A.
        top_k: 1 to 64; experts of a token.
        experts: 1 to 1024; matrices in B.
        n: 16 to 262144 in steps of 16; columns of a matrix of B.
        k: 32 to 262144 in steps of 32; columns of A, along which products are summed.

    Gradients:
        of scale_a, scale_b: by the kernel `moe_gemm_a4w4`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `offsets` (below tokens*top_k+1), `gather` (below
            tokens*top_k); it names the element.

    Source:
        kernels/moe_gemm/a4w4.py for gfx950 and gfx942; `wb.kernels['moe_gemm/a4w4']`,
            `torch.ops.hipkittens.moe_gemm_a4w4`.
    """

def moe_gemm_a8w4(a: torch.Tensor, b: torch.Tensor, blocks_b: torch.Tensor, offsets: torch.Tensor, gather: torch.Tensor | None = None, top_k: int = 1, group_k: int = 128, zero: torch.Tensor | None = None, scale_a: torch.Tensor | None = None) -> torch.Tensor:
    """scale_a A ((B_e - zero) * factors) for entries of a ragged list of tokens: A of int8, B_e of
    integers from 0 to 15, two of neighbours along K in a byte, less a zero point (8 where there is
    none) and times a factor for each group_k of a column. Multiplied as int8 or, with zero points, as
    bf16: exactly.

    scale_a A ((B_e - zero) * factors): B of integers from 0 to 15, zero 8 where it is None.

    Args:
        a: [tokens, k] of int8: left operand.
        b: [experts, k/2, n] of uint8: a matrix of each expert.
        blocks_b: [experts, ceil(k/group_k), n] of fp32: factors of blocks of B.
        offsets: [experts+1] of int32: where experts' entries begin, and where the last end.
        gather: [entries] of int32: row of A, times `top_k`, of each entry; where None, entry i is row
            i.
        top_k: experts of a token; 1 to 64.
        group_k: numbers along K that share a factor; 32 to 1024 in steps of 32.
        zero: [experts, ceil(k/group_k), n] of fp32: what is taken from integers of B; 8 where None.
        scale_a: [1] of fp32: a factor of A; none where None.

    Returns:
        c: [entries, n] of bf16: the result.

    Sizes:
        tokens: 1 to 1048576; rows of A.
        top_k: 1 to 64; experts of a token.
        experts: 1 to 1024; matrices in B.
        n: 16 to 262144 in steps of 16; columns of a matrix of B.
        k: 32 to 262144 in steps of 32; columns of A, along which products are summed.
        group_k: 32 to 1024 in steps of 32; numbers along K that share a factor.

    Gradients:
        of blocks_b, zero, scale_a: by the kernels `moe_gemm_a8w4`, `grouped_gemm_variable_k`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `offsets` (below tokens*top_k+1), `gather` (below
            tokens*top_k); it names the element.

    Source:
        kernels/moe_gemm/a8w4.py for gfx950 and gfx942; `wb.kernels['moe_gemm/a8w4']`,
            `torch.ops.hipkittens.moe_gemm_a8w4`.
    """

def moe_gemm_a8w8(a: torch.Tensor, b: torch.Tensor, offsets: torch.Tensor, gather: torch.Tensor | None = None, top_k: int = 1, scale_a: torch.Tensor | None = None, scale_b: torch.Tensor | None = None, bias: torch.Tensor | None = None, swiglu: bool = False, alpha: float = 1.0) -> torch.Tensor:
    """scale_a scale_b[e] A B_e + bias[e] for entries of a ragged list of tokens, an expert's one behind
    the other; perhaps x sigmoid(alpha x) (y + 1) of neighbouring columns. int8, summed exactly, or fp8,
    summed in float; multiplied as they are. B_e is K x N.

    scale_a scale_b[e] A B_e + bias[e] of entries of a ragged list; then perhaps `swiglu` of columns.

    Args:
        a: [tokens, k] of int8 or fp8: left operand.
        b: [experts, k, n] of int8 or fp8: a matrix of each expert.
        offsets: [experts+1] of int32: where experts' entries begin, and where the last end.
        gather: [entries] of int32: row of A, times `top_k`, of each entry; where None, entry i is row
            i.
        top_k: experts of a token; 1 to 64.
        scale_a: [1] of fp32: a factor of A; none where None.
        scale_b: [experts] of fp32: a factor of each expert's matrix; none where None.
        bias: [experts, n] of fp32: added to rows of each expert; nothing where None.
        swiglu: whether neighbouring columns become one.
        alpha: of x sigmoid(alpha x) (y + 1).

    Returns:
        c: [entries, n] or [entries, n/2] of bf16: the result.

    Sizes:
        tokens: 1 to 1048576; rows of A.
        top_k: 1 to 64; experts of a token.
        experts: 1 to 1024; matrices in B.
        n: 16 to 262144 in steps of 16; columns of a matrix of B.
        k: 32 to 262144 in steps of 32; columns of A, along which products are summed.

    Gradients:
        of a, b, scale_a, scale_b, bias: by the kernels `moe_gemm_a8w8`, `grouped_gemm`,
            `grouped_gemm_variable_k`, `moe_sum`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `offsets` (below tokens*top_k+1), `gather` (below
            tokens*top_k); it names the element.

    Source:
        kernels/moe_gemm/a8w8.py for gfx950 and gfx942; `wb.kernels['moe_gemm/a8w8']`,
            `torch.ops.hipkittens.moe_gemm_a8w8`.
    """

def moe_gemm_a8w8_blockscale(a: torch.Tensor, b: torch.Tensor, blocks_a: torch.Tensor, blocks_b: torch.Tensor, offsets: torch.Tensor, gather: torch.Tensor | None = None, top_k: int = 1, group_k: int = 128, group_n: int = 128, bias: torch.Tensor | None = None) -> torch.Tensor:
    """A B_e + bias[e] for entries of a ragged list of tokens, where products of group_k numbers are
    multiplied by a factor of their row of A and one of their group_n columns of B_e. int8 or fp8,
    multiplied as they are; B_e is K x N; sums in float.

    A B_e + bias[e], with factors of blocks.

    Args:
        a: [tokens, k] of int8 or fp8: left operand.
        b: [experts, k, n] of int8 or fp8: a matrix of each expert.
        blocks_a: [tokens, ceil(k/group_k)] of fp32: factors of `group_k` columns of a row of A.
        blocks_b: [experts, ceil(k/group_k), ceil(n/group_n)] of fp32: factors of blocks of B.
        offsets: [experts+1] of int32: where experts' entries begin, and where the last end.
        gather: [entries] of int32: row of A, times `top_k`, of each entry; where None, entry i is row
            i.
        top_k: experts of a token; 1 to 64.
        group_k: numbers along K of a block; 32 to 1024 in steps of 32.
        group_n: columns of a block of B; 1 to 1024.
        bias: [experts, n] of fp32: added to rows of each expert; nothing where None.

    Returns:
        c: [entries, n] of bf16: the result.

    Sizes:
        tokens: 1 to 1048576; rows of A.
        top_k: 1 to 64; experts of a token.
        experts: 1 to 1024; matrices in B.
        n: 16 to 262144 in steps of 16; columns of a matrix of B.
        k: 32 to 262144 in steps of 32; columns of A, along which products are summed.
        group_k: 32 to 1024 in steps of 32; numbers along K of a block.
        group_n: 1 to 1024; columns of a block of B.

    Gradients:
        of a, b, blocks_a, blocks_b, bias: by the kernels `grouped_gemm`, `grouped_gemm_variable_k`,
            `moe_sum`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `offsets` (below tokens*top_k+1), `gather` (below
            tokens*top_k); it names the element.

    Source:
        kernels/moe_gemm/a8w8_blockscale.py for gfx950 and gfx942;
            `wb.kernels['moe_gemm/a8w8_blockscale']`, `torch.ops.hipkittens.moe_gemm_a8w8_blockscale`.
    """

def moe_gemm_bf16(a: torch.Tensor, b: torch.Tensor, sorted_token_ids: torch.Tensor, expert_ids: torch.Tensor, num_tokens_post_padded: torch.Tensor, top_k: int, weights: torch.Tensor | None = None, activation: str = 'none', layout: str = 'nn') -> torch.Tensor:
    """activation(weight A B_e) for rows of tokens and their experts, by a list of ids in blocks of one
    expert each; row id of C is that of pair id. B_e is K x N (nn) or N x K (nt). bf16; sums in float.

    Row id of the result is activation(weights[id] a[id / top_k] b[expert]), for each id of the list.

    Args:
        a: [tokens, k] of bf16: left operand.
        b: [experts, k, n] or [experts, n, k] of bf16: a matrix of each expert.
        sorted_token_ids: [ids] of int32: token * top_k + which of its experts, in blocks of one expert;
            others are padding.
        expert_ids: [blocks] of int32: the expert of each block; below 0 its rows are zeros.
        num_tokens_post_padded: [1] of int32: how many ids of the list count.
        top_k: experts of a token; 1 to 64.
        weights: [tokens*top_k] of fp32: a factor for each token and each of its experts; 1 where None.
        activation: function of sums; silu_and_mul of their halves; one of none, relu, gelu, gelu_tanh,
            silu, silu_and_mul.
        layout: whether B is K x N (n) or N x K (t); one of nn, nt.

    Returns:
        c: [tokens*top_k, n] or [tokens*top_k, n/2] of bf16: the result.

    Sizes:
        tokens: 1 to 1048576; rows of A.
        top_k: 1 to 64; experts of a token.
        experts: 1 to 1024; matrices in B.
        n: 16 to 262144 in steps of 16; columns of a matrix of B.
        k: 32 to 262144 in steps of 32; columns of A, along which products are summed.
        block: 16 to 256 in steps of 16; ids that share an expert in the list.

    Gradients:
        of a, b, weights: by the kernels `moe_gemm_bf16`, `grouped_gemm_variable_k`,
            `gemm_epilogue_backward`, `moe_sum`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `expert_ids` (below experts), `num_tokens_post_padded`
            (below ids+1); it names the element.

    Source:
        kernels/moe_gemm/bf16.py for gfx950 and gfx942; `wb.kernels['moe_gemm/bf16']`,
            `torch.ops.hipkittens.moe_gemm_bf16`.
    """

def moe_gemm_mxfp4(a: torch.Tensor, b: torch.Tensor, powers_a: torch.Tensor, powers_b: torch.Tensor, sorted_token_ids: torch.Tensor, expert_ids: torch.Tensor, num_tokens_post_padded: torch.Tensor, top_k: int, weights: torch.Tensor | None = None, activation: str = 'none', scale_a: torch.Tensor | None = None, scale_b: torch.Tensor | None = None) -> torch.Tensor:
    """activation(weight scale_a scale_b[e] A B_e) for rows of tokens and their experts, by a list of ids
    in blocks of one expert each, of e2m1 numbers with a power of two for each 32 along K. B_e is K / 2
    x N bytes. By the scaled matrix instructions on gfx950, as bf16 on gfx942; sums in float.

    `sorted_gemm` of e2m1 numbers, as `a4w4` takes them, times scale_a scale_b[e]; float64.

    Args:
        a: [tokens, k/2] of uint8: left operand.
        b: [experts, k/2, n] of uint8: a matrix of each expert.
        powers_a: [tokens, ceil(k/32)] of uint8: bytes s of powers 2^(s - 127), for each 32 along K of
            A.
        powers_b: [experts, ceil(k/32), n] of uint8: bytes s of powers 2^(s - 127), for each 32 along K
            of B.
        sorted_token_ids: [ids] of int32: token * top_k + which of its experts, in blocks of one expert;
            others are padding.
        expert_ids: [blocks] of int32: the expert of each block; below 0 its rows are zeros.
        num_tokens_post_padded: [1] of int32: how many ids of the list count.
        top_k: experts of a token; 1 to 64.
        weights: [tokens*top_k] of fp32: a factor for each token and each of its experts; 1 where None.
        activation: function of sums; silu_and_mul of their halves; one of none, relu, gelu, gelu_tanh,
            silu, silu_and_mul.
        scale_a: [1] of fp32: a factor of A; none where None.
        scale_b: [experts] of fp32: a factor of each expert's matrix; none where None.

    Returns:
        c: [tokens*top_k, n] or [tokens*top_k, n/2] of bf16: the result.

    Sizes:
        tokens: 1 to 1048576; rows of A.
        top_k: 1 to 64; experts of a token.
        experts: 1 to 1024; matrices in B.
        n: 16 to 262144 in steps of 16; columns of a matrix of B.
        k: 32 to 262144 in steps of 32; columns of A, along which products are summed.
        block: 16 to 256 in steps of 16; ids that share an expert in the list.

    Gradients:
        of weights, scale_a, scale_b: by the kernels `moe_gemm_mxfp4`, `gemm_epilogue_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `expert_ids` (below experts), `num_tokens_post_padded`
            (below ids+1); it names the element.

    Source:
        kernels/moe_gemm/mxfp4.py for gfx950 and gfx942; `wb.kernels['moe_gemm/mxfp4']`,
            `torch.ops.hipkittens.moe_gemm_mxfp4`.
    """

class MoeRoutingSigmoidTop1Result(NamedTuple):
    indices: torch.Tensor
    values: torch.Tensor

def moe_routing_sigmoid_top1(x: torch.Tensor, w: torch.Tensor, shared: int = 0) -> MoeRoutingSigmoidTop1Result:
    """The greatest sigmoid of each row of x w and its column, of those that are the same float the first:
    a token's expert and its weight. x is tokens x K, w is K x experts, of bf16; sums in float. Experts
    that all tokens share may follow, with a weight of 1.

    The greatest sigmoid of each row of x w and its column, of those that are the same float the first.

    Args:
        x: [m, k] of bf16: what is computed on.
        w: [k, n] of bf16: a column for each expert.
        shared: experts that all tokens share.

    Returns:
        indices: [m, shared+1] of int32: each token's expert.
        values: [m, shared+1] of bf16: its weight.

    Sizes:
        m: 1 to 1048576; tokens.
        n: 8 to 1024 in steps of 8; experts.
        k: 8 to 262144 in steps of 8; columns of x, along which products are summed.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/moe_misc/routing_sigmoid_top1.py for gfx950 and gfx942;
            `wb.kernels['moe_misc/routing_sigmoid_top1']`,
            `torch.ops.hipkittens.moe_misc_routing_sigmoid_top1`.
    """

def moe_static_fp8_quant(x: torch.Tensor, scale: torch.Tensor, format: str = 'e4m3fn') -> torch.Tensor:
    """x / scale as the nearest number of fp8 (e4m3, the target's own), saturating.

    x / scale as the nearest number of fp8, saturating; the division in float32.

    Args:
        x: [..., cols] of bf16: what is computed on.
        scale: [1] of fp32: what x is divided by.
        format: of the numbers: e4m3fn (gfx950), e4m3fnuz (gfx942); one of e4m3fn, e4m3fnuz.

    Returns:
        out: [..., cols] of fp8: the result.

    Sizes:
        rows: 1 to 1048576; rows.
        cols: 8 to 65536 in steps of 8; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/moe_misc/static_fp8_quant.py for gfx950 and gfx942;
            `wb.kernels['moe_misc/static_fp8_quant']`, `torch.ops.hipkittens.moe_misc_static_fp8_quant`.
    """

def moe_sum(rows: torch.Tensor, top_k: int, weights: torch.Tensor | None = None) -> torch.Tensor:
    """Sums of the rows of each token's experts, top_k rows one behind the other, perhaps times a weight
    each; bf16, sums in float.

    Sums of the rows of each token's experts, of which it has `top_k` in a row, perhaps weighted.

    Args:
        rows: [tokens*top_k, cols] of bf16: a row for each token and each of its experts.
        top_k: rows of a token; 1 to 64.
        weights: [tokens*top_k] or [tokens, top_k] of fp32: a factor for each token and each of its
            experts; 1 where None.

    Returns:
        out: [tokens, cols] of bf16: the result.

    Sizes:
        tokens: 1 to 65535; tokens.
        top_k: 1 to 64; rows of a token.
        cols: 1 to 262144; length of a row.

    Gradients:
        of rows, weights: by the kernel `moe_sum_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/moe_misc/sum.py for gfx950 and gfx942; `wb.kernels['moe_misc/sum']`,
            `torch.ops.hipkittens.moe_misc_sum`.
    """

class MoeSumBackwardResult(NamedTuple):
    drows: torch.Tensor
    dweights: torch.Tensor

def moe_sum_backward(dout: torch.Tensor, rows: torch.Tensor, top_k: int, weights: torch.Tensor | None = None) -> MoeSumBackwardResult:
    """The gradients of the rows of each token's experts and of their weights from that of their sums; sums
    in float, bit-equal from run to run.

    weights * dout of each row's token, and the sums of rows * dout; those of no weights are empty.

    Args:
        dout: [tokens, cols] of bf16: gradient of `out`.
        rows: [tokens*top_k, cols] of bf16: a row for each token and each of its experts.
        top_k: rows of a token; 1 to 64.
        weights: [tokens*top_k] or [tokens, top_k] of fp32: a factor for each token and each of its
            experts; 1 where None.

    Returns:
        drows: [tokens*top_k, cols] of bf16: gradient of `rows`.
        dweights: [tokens*top_k] or [tokens, top_k] or [none] of fp32: gradient of `weights`.

    Sizes:
        tokens: 1 to 65535; tokens.
        top_k: 1 to 64; rows of a token.
        cols: 1 to 262144; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/moe_misc/sum_backward.py for gfx950 and gfx942; `wb.kernels['moe_misc/sum_backward']`,
            `torch.ops.hipkittens.moe_misc_sum_backward`.
    """

class MoeTopkResult(NamedTuple):
    values: torch.Tensor
    indices: torch.Tensor
    bits: torch.Tensor

def moe_topk(x: torch.Tensor, k: int, score: str = 'none', shared: int = 0) -> MoeTopkResult:
    """The k greatest of each row in order, of equal ones those in front; their scores (themselves, their
    softmax over the k that are chosen, or the sigmoid of each) in the dtype of x, and their columns;
    and a bit for each chosen column, words of 32 by rows. Experts that all rows share may follow, with
    a score of 1.

    The k greatest of each row in order, of equal ones those in front; their columns; bits of the
    chosen.

    Args:
        x: [rows, experts] of bf16 or fp32: logits of experts.
        k: columns that are chosen; 1 to 32.
        score: what values become: themselves, their softmax over the k chosen, or the sigmoid of each;
            one of none, softmax, sigmoid.
        shared: experts that all rows share; 0 to 8.

    Returns:
        values: [rows, k+shared] of bf16 or fp32: scores of the chosen experts, in falling order of
            logits, and 1 for shared ones.
        indices: [rows, k+shared] of int32: the chosen experts.
        bits: [ceil(experts/32), rows] of int32: a bit for each expert of each token that is chosen.

    Sizes:
        rows: 1 to 4194304; tokens.
        experts: 1 to 1024; columns.
        k: 1 to 32; columns that are chosen.
        shared: 0 to 8; experts that all rows share.

    Gradients:
        of x: by the kernel `moe_topk_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/moe_routing/topk.py for gfx950 and gfx942; `wb.kernels['moe_routing/topk']`,
            `torch.ops.hipkittens.moe_routing_topk`.
    """

def moe_topk_backward(dvalues: torch.Tensor, x: torch.Tensor, values: torch.Tensor, indices: torch.Tensor, k: int, score: str = 'none', shared: int = 0) -> torch.Tensor:
    """The gradient of logits from that of the scores of the k experts chosen; zero for every other one.

    dvalues through the scores, in the columns that were chosen: y (dy - sum(y dy)) of a softmax y, y (1
    - y) dy of a sigmoid.

    Args:
        dvalues: [rows, k+shared] of bf16 or fp32: gradient of `values`.
        x: [rows, experts] of bf16 or fp32: logits of experts, of which only the shape counts.
        values: [rows, k+shared] of bf16 or fp32: scores of the chosen experts, as `moe_topk` gives
            them.
        indices: [rows, k+shared] of int32: the chosen experts.
        k: columns that are chosen; 1 to 32.
        score: what values become: themselves, their softmax over the k chosen, or the sigmoid of each;
            one of none, softmax, sigmoid.
        shared: experts that all rows share; 0 to 8.

    Returns:
        dx: [rows, experts] of bf16 or fp32: gradient of `x`.

    Sizes:
        rows: 1 to 4194304; tokens.
        experts: 1 to 1024; columns.
        k: 1 to 32; columns that are chosen.
        shared: 0 to 8; experts that all rows share.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/moe_routing/topk_backward.py for gfx950 and gfx942;
            `wb.kernels['moe_routing/topk_backward']`, `torch.ops.hipkittens.moe_routing_topk_backward`.
    """

def moe_upcast_mx(x: torch.Tensor, powers: torch.Tensor) -> torch.Tensor:
    """Numbers times the power of two of their block of 32 columns, as bf16: of fp4, two e2m1 in a byte, or
    of the target's own fp8.

    Numbers times 2^(powers - 127) of each 32 columns: two e2m1 in a byte, lowest bits first, or fp8.

    Args:
        x: [rows, cols/2] of uint8, or [rows, cols] of fp8: numbers: fp4 two in a byte, or fp8.
        powers: [rows, cols/32] of uint8: bytes s of powers 2^(s - 127), for each 32 columns.

    Returns:
        out: [rows, cols] of bf16: the result.

    Sizes:
        rows: 1 to 1048576; rows.
        cols: 32 to 65536 in steps of 32; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/moe_misc/upcast_mx.py for gfx950 and gfx942; `wb.kernels['moe_misc/upcast_mx']`,
            `torch.ops.hipkittens.moe_misc_upcast_mx`.
    """

def mul_add(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a x + b of bf16 or fp16, rounded once; a and b have an element for each of x, or one for all.

    a and b have x's shape, or one element.

    Args:
        x: [...] of bf16 or fp16: what is multiplied.
        a: [...] of bf16 or fp16: factors, as many as x has elements, or one.
        b: [...] of bf16 or fp16: added, as many as x has elements, or one.

    Returns:
        out: [...] of bf16 or fp16: the result.

    Sizes:
        size: 2 to 1073741824; elements of x.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/feed_forward/mul_add.py for gfx950 and gfx942; `wb.kernels['feed_forward/mul_add']`,
            `torch.ops.hipkittens.feed_forward_mul_add`.
    """

class MxQuantResult(NamedTuple):
    out: torch.Tensor
    scales: torch.Tensor

def mx_quant(x: torch.Tensor, format: str = 'e2m1', rounding: str = 'even') -> MxQuantResult:
    """x / 2^(s - 127) to fp4 (two in a byte), fp6 (four in three) or fp8, with bytes s for each 32
    columns. The power of two is that of the largest number of a block, by the format's largest:
    `rounding` takes its exponent as it is (down), that of it rounded to the format's mantissa (even,
    AITER's mxfp4), or the lowest with which nothing saturates (up, AITER's weights of MoE).

    Args:
        x: [..., cols] of bf16, fp16 or fp32: what is computed on.
        format: of the numbers; of fp8 the target's own: e4m3fn, e5m2 (gfx950), e4m3fnuz, e5m2fnuz
            (gfx942); one of e2m1, e2m3, e3m2, e4m3fn, e4m3fnuz, e5m2, e5m2fnuz.
        rounding: of powers of two that scales are; one of even, down, up.

    Returns:
        out: [..., cols/2] or [..., 3*cols/4] of uint8, or [..., cols] of e4m3fn, e4m3fnuz, e5m2 or
            e5m2fnuz: numbers of `format`: fp4 two in a byte, fp6 four in three.
        scales: [..., cols/32] of uint8: bytes s of powers 2^(s - 127) of each 32 columns.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 32768; length of a row.
        block: one of 32; columns that share a scale.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/quantization/mx_quant.py for gfx950 and gfx942; `wb.kernels['quantization/mx_quant']`,
            `torch.ops.hipkittens.quantization_mx_quant`.
    """

class PagedAttentionResult(NamedTuple):
    out: torch.Tensor
    lse: torch.Tensor

def paged_attention(q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor | None, block_table: torch.Tensor, seq_lens: torch.Tensor, scale: float | None = None, k_scale: float = 1.0, v_scale: float = 1.0, cu_seqlens_q: torch.Tensor | None = None, max_queries: int = 0, causal: bool = True, window: int = 0, softcap: float = 0.0, sinks: torch.Tensor | None = None) -> PagedAttentionResult:
    """A few queries a sequence over a paged cache, split along keys and merged; GQA, MLA, fp8 caches,
    speculative decoding and chunked prefill, sliding window, soft cap and sinks.

    `attention` of a few queries a sequence, q (tokens, H, D), over pages (pages, page, H_kv, D).

    Args:
        q: [queries, heads, dim] of bf16 or fp16: queries.
        k_cache: [blocks, page, heads_kv, dim] of bf16, fp16 or fp8: keys over `k_scale`, by pages.
        v_cache: [blocks, page, heads_kv, dim_v] of bf16, fp16 or fp8: values over `v_scale`.
        block_table: [batch, pages] of int32: the pages of each sequence in order.
        seq_lens: [batch] of int32: keys of each sequence.
        scale: what products of queries and keys are multiplied by; 1 / sqrt(dim) where None.
        k_scale: factor for keys in the cache.
        v_scale: factor for values in the cache.
        cu_seqlens_q: [batch+1] of int32: where each sequence's queries begin, and where the last end;
            where None, each has one.
        max_queries: queries that a sequence has at most; 0 for any number.
        causal: whether a query sees no key behind its own place; the last query stands at the last key.
        window: keys that a query sees, its own among them; 0 for all.
        softcap: c of logits c tanh(logits / c); 0 for none.
        sinks: [heads] of fp32, bf16 or fp16: a logit for each head that counts in the denominator only;
            none where None.

    Returns:
        out: [queries, heads, dim_v] of bf16 or fp16: the result.
        lse: [queries, heads] of fp32: logarithms of the sums of exponentials, natural.

    Sizes:
        batch: 1 to 65536; sequences.
        queries: 1 to 65535; queries of all sequences.
        longest: 1 to 65536; most queries of a sequence.
        pages: 1 to 65536; pages of the longest sequence.
        page: 16 to 65536 in steps of 16; rows of a page.
        heads: 1 to 1024; heads of the queries.
        heads_kv: 1 to 1024; heads of keys and values; divides heads.
        dim: one of 64, 128, 576; head dimension of queries and keys.
        dim_v: one of 64, 128, 512; head dimension of values.
        dim and dim_v: 64 with 64, 128 with 128, 576 with 512.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `seq_lens` (below pages*page+1), `block_table` (below
            blocks), `cu_seqlens_q` (below queries+1); it names the element.

    Source:
        kernels/attention/decode.py for gfx950 and gfx942; `wb.kernels['attention/decode']`,
            `torch.ops.hipkittens.attention_decode`.
    """

class PerBlockQuantResult(NamedTuple):
    out: torch.Tensor
    scales: torch.Tensor

def per_block_quant(x: torch.Tensor, format: str = 'int8', block: int = 128) -> PerBlockQuantResult:
    """x / scale to int8 or fp8, ties to even, with a scale for each `block` columns of a row. A scale is
    max(|x|, 1e-10) / the format's largest number; the last block of a row may be shorter.

    Args:
        x: [..., cols] of bf16, fp16 or fp32: what is computed on.
        format: of the numbers; of fp8 the target's own: e4m3fn, e5m2 (gfx950), e4m3fnuz, e5m2fnuz
            (gfx942); one of int8, e4m3fn, e4m3fnuz, e5m2, e5m2fnuz.
        block: columns that share a scale; one of 128, 64, 32.

    Returns:
        out: [..., cols] of int8, e4m3fn, e4m3fnuz, e5m2 or e5m2fnuz: numbers of `format`.
        scales: [..., ceil(cols/block)] of fp32: factors of blocks of columns.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 32768; length of a row.
        block: one of 128, 64, 32; columns that share a scale.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/quantization/per_block_quant.py for gfx950 and gfx942;
            `wb.kernels['quantization/per_block_quant']`,
            `torch.ops.hipkittens.quantization_per_block_quant`.
    """

class PerTokenQuantResult(NamedTuple):
    out: torch.Tensor
    scales: torch.Tensor

def per_token_quant(x: torch.Tensor, format: str = 'int8') -> PerTokenQuantResult:
    """x / scale to int8 or fp8, ties to even; a row's scale is max(|x|, 1e-10) / the format's largest.

    Args:
        x: [..., cols] of bf16, fp16 or fp32: what is computed on.
        format: of the numbers; of fp8 the target's own: e4m3fn, e5m2 (gfx950), e4m3fnuz, e5m2fnuz
            (gfx942); one of int8, e4m3fn, e4m3fnuz, e5m2, e5m2fnuz.

    Returns:
        out: [..., cols] of int8, e4m3fn, e4m3fnuz, e5m2 or e5m2fnuz: numbers of `format`.
        scales: [..., 1] of fp32: factors of rows.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 32768; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/quantization/per_token_quant.py for gfx950 and gfx942;
            `wb.kernels['quantization/per_token_quant']`,
            `torch.ops.hipkittens.quantization_per_token_quant`.
    """

class QkConcatResult(NamedTuple):
    q: torch.Tensor
    k: torch.Tensor

def qk_concat(q1: torch.Tensor, q2: torch.Tensor, k1: torch.Tensor, k2: torch.Tensor) -> QkConcatResult:
    """cat((q1, q2), -1) and cat((k1, k2), -1) in one launch, such as the parts of heads with and without
    rotary embedding; bf16 or fp16.

    Each (..., D1) and (..., D2).

    Args:
        q1: [q_rows, left] of bf16 or fp16: left columns of queries.
        q2: [q_rows, right] of bf16 or fp16: right columns of queries.
        k1: [k_rows, left] of bf16 or fp16: left columns of keys.
        k2: [k_rows, right] of bf16 or fp16: right columns of keys.

    Returns:
        q: [q_rows, left+right] of bf16 or fp16: q1 beside q2.
        k: [k_rows, left+right] of bf16 or fp16: k1 beside k2.

    Sizes:
        q_rows: 1 to 16777216; tokens times heads of queries.
        k_rows: 1 to 16777216; tokens times heads of keys.
        left: 8 to 1024 in steps of 8; columns of q1 and k1.
        right: 8 to 1024 in steps of 8; columns of q2 and k2.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/feed_forward/qk_concat.py for gfx950 and gfx942; `wb.kernels['feed_forward/qk_concat']`,
            `torch.ops.hipkittens.feed_forward_qk_concat`.
    """

class RecurrentGatedDeltaRuleResult(NamedTuple):
    o: torch.Tensor
    last_state: torch.Tensor

def recurrent_gated_delta_rule(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor | None = None, gk: torch.Tensor | None = None, gv: torch.Tensor | None = None, beta: torch.Tensor | None = None, initial_state: torch.Tensor | None = None, cu_seqlens: torch.Tensor | None = None, scale: float | None = None, use_qk_l2norm: bool = False) -> RecurrentGatedDeltaRuleResult:
    """h *= exp(g); u = beta (v - hᵀ k); h += k uᵀ; o = scale hᵀ q, token after token; states in and out.

    h *= exp(g); u = beta (v - hᵀ k); h += k uᵀ; o = scale hᵀ q (Yang et al., Gated Delta Networks,
    2024).

    Args:
        q: [batch, tokens, heads, keys] of bf16, fp16 or fp32: queries.
        k: [batch, tokens, heads, keys] of bf16, fp16 or fp32: keys.
        v: [batch, tokens, heads*groups, values] of bf16, fp16 or fp32: values.
        g: [batch, tokens, heads*groups] of fp32: logarithms of the state's decays; none where None.
        gk: [batch, tokens, heads*groups, keys] of fp32: logarithms of decays of a state's rows; none
            where None.
        gv: [batch, tokens, heads*groups, values] of fp32: logarithms of decays of a state's columns;
            none where None.
        beta: [batch, tokens, heads*groups] or [batch, tokens, heads*groups, values] of fp32: how much
            of an error is corrected; 1 where None.
        initial_state: [sequences, heads*groups, keys, values] of fp32: states before the first token;
            zeros where None.
        cu_seqlens: [sequences+1] of int32: where sequences behind one another begin, and where the last
            ends (batch is 1); where None, each batch is a sequence.
        scale: what products of queries and keys are multiplied by; 1 / sqrt(dim) where None.
        use_qk_l2norm: whether q and k are divided by their lengths first.

    Returns:
        o: [batch, tokens, heads*groups, values] of bf16, fp16 or fp32: the result.
        last_state: [sequences, heads*groups, keys, values] of fp32: states after the last token.

    Sizes:
        batch: 1 to 65535; batches.
        tokens: 1 to 1048576; tokens of a batch.
        heads: 1 to 1024; heads of q and k.
        groups: 1 to 64; heads of v for each of q and k.
        keys: one of 64, 128, 256; rows of a state.
        values: 16 to 512 in steps of 16; columns of a state.
        sequences: 1 to 65535; sequences: as many as batches, or packed into one.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `cu_seqlens` (below tokens+1); it names the element.

    Source:
        kernels/gated_delta/recurrent.py for gfx950 and gfx942; `wb.kernels['gated_delta/recurrent']`,
            `torch.ops.hipkittens.gated_delta_recurrent`.
    """

def relu(x: torch.Tensor) -> torch.Tensor:
    """relu(x).

    Args:
        x: [..., cols] of bf16, fp16 or fp32: rows.

    Returns:
        out: [..., cols] of bf16, fp16 or fp32: the result.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 1048576; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/activations/relu.py for gfx950 and gfx942; `wb.kernels['activations/relu']`,
            `torch.ops.hipkittens.activations_relu`.
    """

class ReshapeAndCacheResult(NamedTuple):
    key_cache: torch.Tensor
    value_cache: torch.Tensor

def reshape_and_cache(k: torch.Tensor, v: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor, slots: torch.Tensor, k_scale: float = 1.0, v_scale: float = 1.0) -> ReshapeAndCacheResult:
    """Rows of k and v, divided by k_scale and v_scale, into the slots of their tokens of a paged cache
    (blocks, heads, block, dim), in place; a slot below 0 is no place. bf16 or fp16, the cache likewise
    or fp8 (e4m3, rounded to nearest, saturating).

    What the caches (blocks, heads, block, dim) become.

    Args:
        k: [tokens, heads, 1, dim] of bf16 or fp16: keys.
        v: [tokens, heads, 1, dim] of bf16 or fp16: values.
        key_cache: [blocks, heads, block, dim] of bf16, fp16 or fp8: keys over `k_scale`, written in
            place.
        value_cache: [blocks, heads, block, dim] of bf16, fp16 or fp8: values over `v_scale`, written in
            place.
        slots: [tokens] of int32 or int64: the place of each token in the cache; below 0 none; of int64
            a call makes a copy.
        k_scale: factor for keys in the cache.
        v_scale: factor for values in the cache.

    Returns:
        key_cache: [blocks, heads, block, dim] of bf16, fp16 or fp8: the argument, written in place.
        value_cache: [blocks, heads, block, dim] of bf16, fp16 or fp8: the argument, written in place.

    Sizes:
        tokens: 1 to 1048576; new tokens.
        heads: 1 to 256; heads of keys and values.
        dim: 8 to 1024 in steps of 8; columns of a head.
        blocks: 1 to 1048576; blocks of the cache.
        block: 1 to 1024; tokens of a block.

    Gradients:
        none: key_cache, value_cache are written in place.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `slots` (below blocks*block); it names the element.

    Source:
        kernels/feed_forward/kv_cache.py for gfx950 and gfx942; `wb.kernels['feed_forward/kv_cache']`,
            `torch.ops.hipkittens.feed_forward_kv_cache`.
    """

def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-05) -> torch.Tensor:
    """Every row divided by its root mean square, times a weight for each column; sums in float.

    x / sqrt(mean(x^2) + eps) * weight over the last dimension; sums in float32 at least, as PyTorch's.

    Args:
        x: [..., cols] of bf16, fp16 or fp32: what is computed on.
        weight: [cols] of bf16, fp16 or fp32: a factor for each column.
        eps: added under the square root.

    Returns:
        out: [..., cols] of bf16, fp16 or fp32: the result.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 32768; length of a row.

    Gradients:
        of x, weight: by the kernel `rms_norm_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/normalization/rmsnorm.py for gfx950 and gfx942; `wb.kernels['normalization/rmsnorm']`,
            `torch.ops.hipkittens.normalization_rmsnorm`.
    """

class RmsNormBackwardResult(NamedTuple):
    dx: torch.Tensor
    dweight: torch.Tensor

def rms_norm_backward(dout: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-05) -> RmsNormBackwardResult:
    """The gradients of x and weight from that of RMSNorm's result.

    Args:
        dout: [..., cols] of bf16, fp16 or fp32: gradient of `out`.
        x: [..., cols] of bf16, fp16 or fp32: what is computed on.
        weight: [cols] of bf16, fp16 or fp32: a factor for each column.
        eps: added under the square root.

    Returns:
        dx: [..., cols] of bf16, fp16 or fp32: gradient of `x`.
        dweight: [cols] of bf16, fp16 or fp32: gradient of `weight`.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 16384; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/normalization/rmsnorm_backward.py for gfx950 and gfx942;
            `wb.kernels['normalization/rmsnorm_backward']`,
            `torch.ops.hipkittens.normalization_rmsnorm_backward`.
    """

def rms_norm_pad(x: torch.Tensor, weight: torch.Tensor, out_cols: int, eps: float = 1e-05) -> torch.Tensor:
    """RMSNorm of the rows of x, in rows of `out_cols` columns of which the last ones are zero.

    Args:
        x: [..., cols] of bf16, fp16 or fp32: what is computed on.
        weight: [cols] of bf16, fp16 or fp32: a factor for each column.
        out_cols: columns of the result, at least as many; 1 to 32768.
        eps: added under the square root.

    Returns:
        out: [..., out_cols] of bf16, fp16 or fp32: the result.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 32768; length of a row.
        out_cols: 1 to 32768; columns of the result, at least as many.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/normalization/rmsnorm_pad.py for gfx950 and gfx942;
            `wb.kernels['normalization/rmsnorm_pad']`, `torch.ops.hipkittens.normalization_rmsnorm_pad`.
    """

def rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, positions: torch.Tensor | None = None, interleaved: bool = False, *, layout: str = 'bhnd') -> torch.Tensor:
    """Pairs of elements of each head turned by the angles of its token's position; x may be a view, such
    as the queries in a fused QKV.

    Heads, batch x heads x tokens x dim, turned; cosines and sines are positions x turned / 2.

    Args:
        x: [batch, heads, tokens, dim] of bf16, fp16 or fp32: heads.
        cos: [places, turned/2] of bf16, fp16 or fp32: cosines of angles by position.
        sin: [places, turned/2] of bf16, fp16 or fp32: sines of angles by position.
        positions: [tokens] or [batch, tokens] of int64: row of `cos` and `sin` for each token; 0, 1, 2
            and so on where None.
        interleaved: whether pairs are neighbours (GPT-J), or half a head apart (NeoX).
        layout: "bhnd" as above, or "bnhd": tokens and heads change places, as views, of
            x, out.

    Returns:
        out: [batch, heads, tokens, dim] of bf16, fp16 or fp32: the result.

    Sizes:
        batch: 1 to 65535; batches.
        heads: 1 to 4096; heads of a token, of a fused tensor all of them.
        tokens: 1 to 16777216; tokens of a batch.
        dim: 2 to 512; elements of a head.
        turned: 2 to 512 in steps of 2; elements of a head that are turned, the first so many.

    Gradients:
        of x: by the kernel `rope_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `positions` (below places); it names the element.

    Source:
        kernels/rotary/rope.py for gfx950 and gfx942; `wb.kernels['rotary/rope']`,
            `torch.ops.hipkittens.rotary_rope`.
    """

def rope_backward(dout: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, positions: torch.Tensor | None = None, interleaved: bool = False, *, layout: str = 'bhnd') -> torch.Tensor:
    """The gradient of heads from that of the turned ones; dout may be a view.

    The gradient of the heads: dout turned by the same angles in the other direction.

    Args:
        dout: [batch, heads, tokens, dim] of bf16, fp16 or fp32: gradient of `out`.
        cos: [places, turned/2] of bf16, fp16 or fp32: cosines of angles by position.
        sin: [places, turned/2] of bf16, fp16 or fp32: sines of angles by position.
        positions: [tokens] or [batch, tokens] of int64: row of `cos` and `sin` for each token; 0, 1, 2
            and so on where None.
        interleaved: whether pairs are neighbours (GPT-J), or half a head apart (NeoX).
        layout: "bhnd" as above, or "bnhd": tokens and heads change places, as views, of
            dout, dx.

    Returns:
        dx: [batch, heads, tokens, dim] of bf16, fp16 or fp32: gradient of `x`.

    Sizes:
        batch: 1 to 65535; batches.
        heads: 1 to 4096; heads of a token, of a fused tensor all of them.
        tokens: 1 to 16777216; tokens of a batch.
        dim: 2 to 512; elements of a head.
        turned: 2 to 512 in steps of 2; elements of a head that are turned, the first so many.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `positions` (below places); it names the element.

    Source:
        kernels/rotary/rope_backward.py for gfx950 and gfx942; `wb.kernels['rotary/rope_backward']`,
            `torch.ops.hipkittens.rotary_rope_backward`.
    """

def sigmoid_gated_delta_rule(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, a_log: torch.Tensor, a: torch.Tensor, dt_bias: torch.Tensor, b: torch.Tensor, states: torch.Tensor, indices: torch.Tensor, cu_seqlens: torch.Tensor | None = None, scale: float | None = None, use_qk_l2norm: bool = False, softplus_beta: float = 1.0, softplus_threshold: float = 20.0) -> torch.Tensor:
    """g = -exp(a_log) softplus(a + dt_bias), beta = sigmoid(b), then the gated delta rule token after
    token; states are those of a pool by index, and change in place.

    The rule with g = -exp(a_log) softplus(a + dt_bias) and beta = sigmoid(b).

    Args:
        q: [batch, tokens, heads, keys] of bf16, fp16 or fp32: queries.
        k: [batch, tokens, heads, keys] of bf16, fp16 or fp32: keys.
        v: [batch, tokens, heads*groups, values] of bf16, fp16 or fp32: values.
        a_log: [heads*groups] of fp32: logarithm of each head's decay.
        a: [batch, tokens, heads*groups] of bf16, fp16 or fp32: what decays are made of.
        dt_bias: [heads*groups] of fp32: added to `a`.
        b: [batch, tokens, heads*groups] of bf16, fp16 or fp32: what beta is made of.
        states: [states, heads*groups, keys, values] of fp32: a pool of states, written in place.
        indices: [sequences] of int32: the state of each sequence; below 0 it begins with zeros, and its
            last state is lost.
        cu_seqlens: [sequences+1] of int32: where sequences behind one another begin, and where the last
            ends (batch is 1); where None, each batch is a sequence.
        scale: what products of queries and keys are multiplied by; 1 / sqrt(dim) where None.
        use_qk_l2norm: whether q and k are divided by their lengths first.
        softplus_beta: of PyTorch's softplus.
        softplus_threshold: of PyTorch's softplus.

    Returns:
        o: [batch, tokens, heads*groups, values] of bf16, fp16 or fp32: the result.

    Sizes:
        batch: 1 to 65535; batches.
        tokens: 1 to 1048576; tokens of a batch.
        heads: 1 to 1024; heads of q and k.
        groups: 1 to 64; heads of v for each of q and k.
        keys: one of 64, 128, 256; rows of a state.
        values: 16 to 512 in steps of 16; columns of a state.
        sequences: 1 to 65535; sequences: as many as batches, or packed into one.
        states: 1 to 65536; states in the pool.

    Gradients:
        none: states is written in place.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `indices` (below states), `cu_seqlens` (below
            tokens+1); it names the element.

    Source:
        kernels/gated_delta/sigmoid_gated_recurrent.py for gfx950 and gfx942;
            `wb.kernels['gated_delta/sigmoid_gated_recurrent']`,
            `torch.ops.hipkittens.gated_delta_sigmoid_gated_recurrent`.
    """

def silu(x: torch.Tensor) -> torch.Tensor:
    """silu(x).

    Args:
        x: [..., cols] of bf16, fp16 or fp32: rows.

    Returns:
        out: [..., cols] of bf16, fp16 or fp32: the result.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 1048576; length of a row.

    Gradients:
        of x: by the kernel `silu_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/activations/silu.py for gfx950 and gfx942; `wb.kernels['activations/silu']`,
            `torch.ops.hipkittens.activations_silu`.
    """

def silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    """silu(gate) * up, where a row of x is gate, then up.

    Args:
        x: [..., 2*cols] of bf16, fp16 or fp32: rows of a gate and what it multiplies.

    Returns:
        out: [..., cols] of bf16, fp16 or fp32: the result.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 1048576; length of a row.

    Gradients:
        of x: by the kernel `silu_and_mul_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/activations/silu_and_mul.py for gfx950 and gfx942;
            `wb.kernels['activations/silu_and_mul']`, `torch.ops.hipkittens.activations_silu_and_mul`.
    """

def silu_and_mul_backward(dout: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The gradient of x from that of silu(gate) * up.

    Args:
        dout: [..., cols] of bf16, fp16 or fp32: gradient of `out`.
        x: [..., 2*cols] of bf16, fp16 or fp32: what is computed on.

    Returns:
        dx: [..., 2*cols] of bf16, fp16 or fp32: gradient of `x`.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 1048576; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/activations/silu_and_mul_backward.py for gfx950 and gfx942;
            `wb.kernels['activations/silu_and_mul_backward']`,
            `torch.ops.hipkittens.activations_silu_and_mul_backward`.
    """

def silu_backward(dout: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The gradient of x from that of silu(x).

    Args:
        dout: [..., cols] of bf16, fp16 or fp32: gradient of `out`.
        x: [..., cols] of bf16, fp16 or fp32: what is computed on.

    Returns:
        dx: [..., cols] of bf16, fp16 or fp32: gradient of `x`.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 1048576; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/activations/silu_backward.py for gfx950 and gfx942;
            `wb.kernels['activations/silu_backward']`, `torch.ops.hipkittens.activations_silu_backward`.
    """

def softmax(x: torch.Tensor) -> torch.Tensor:
    """Exponentials of each row that sum to one; sums in float. Rows of more than 32,768 columns are read
    twice.

    exp(x) / sum(exp(x)) over the last dimension.

    Args:
        x: [..., cols] of bf16, fp16 or fp32: what is computed on.

    Returns:
        out: [..., cols] of bf16, fp16 or fp32: the result.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 1048576; length of a row.

    Gradients:
        of x: by the kernel `softmax_backward`.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/activations/softmax.py for gfx950 and gfx942; `wb.kernels['activations/softmax']`,
            `torch.ops.hipkittens.activations_softmax`.
    """

def softmax_backward(dout: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """The gradient of softmax's argument from that of its result; sums in float.

    out * (dout - sum(out * dout)) over the last dimension, where out is what softmax gave.

    Args:
        dout: [..., cols] of bf16, fp16 or fp32: gradient of `out`.
        out: [..., cols] of bf16, fp16 or fp32: the result.

    Returns:
        dx: [..., cols] of bf16, fp16 or fp32: gradient of `x`.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 1048576; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/activations/softmax_backward.py for gfx950 and gfx942;
            `wb.kernels['activations/softmax_backward']`,
            `torch.ops.hipkittens.activations_softmax_backward`.
    """

class SparseMlaResult(NamedTuple):
    out: torch.Tensor
    lse: torch.Tensor

def sparse_mla(q: torch.Tensor, kv_cache: torch.Tensor, topk_indices: torch.Tensor, block_table: torch.Tensor | None = None, seq_lens: torch.Tensor | None = None, cu_seqlens_q: torch.Tensor | None = None, scale: float | None = None, kv_scale: float = 1.0, v_cache: torch.Tensor | None = None) -> SparseMlaResult:
    """Latent attention of each query over the keys chosen for it (sparse attention), by their places in
    the sequence and a table of pages, or by their rows in the cache; split along keys and merged.

    Latent attention of each query, q (queries, H, 576), over the keys topk_indices (queries, topk)
    names.

    Args:
        q: [queries, heads, 576] of bf16 or fp16: queries.
        kv_cache: [rows, page, 1, 576] of bf16, fp16 or fp8: keys over `kv_scale`, whose first 512
            columns are the values.
        topk_indices: [queries, keys] of int32: the keys of each query: places in its sequence, or rows
            of the cache; -1 for none.
        block_table: [sequences, pages] of int32: the pages of each sequence in order; where None,
            `topk_indices` are rows of the cache.
        seq_lens: [sequences] of int32: keys of each sequence; None without a table.
        cu_seqlens_q: [sequences+1] of int32: where each sequence's queries begin, and where the last
            end; where None, each has one.
        scale: what products of queries and keys are multiplied by; 1 / sqrt(dim) where None.
        kv_scale: factor for the cache.
        v_cache: [rows, page, 1, 512] of bf16, fp16 or fp8: values over `kv_scale`; where None, they are
            the first 512 columns of the keys.

    Returns:
        out: [queries, heads, 512] of bf16 or fp16: the result.
        lse: [queries, heads] of fp32: logarithms of the sums of exponentials, natural.

    Sizes:
        queries: 1 to 65535; queries.
        keys: 1 to 1048576; keys of a query's list, on average.
        rows: 1 to 1048576; pages of the cache.
        heads: 1 to 1024; heads of the queries.
        page: 1 to 4096; rows of a page.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.
        ArgumentError: an index is out of range: `seq_lens` (below pages*page+1), `block_table` (below
            rows), `cu_seqlens_q` (below queries+1); it names the element.

    Source:
        kernels/attention_paged/unified_attn_sparse_mla.py for gfx950 and gfx942;
            `wb.kernels['attention_paged/unified_attn_sparse_mla']`,
            `torch.ops.hipkittens.attention_paged_unified_attn_sparse_mla`.
    """

def tanh(x: torch.Tensor) -> torch.Tensor:
    """tanh(x).

    Args:
        x: [..., cols] of bf16, fp16 or fp32: rows.

    Returns:
        out: [..., cols] of bf16, fp16 or fp32: the result.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 1048576; length of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/activations/tanh.py for gfx950 and gfx942; `wb.kernels['activations/tanh']`,
            `torch.ops.hipkittens.activations_tanh`.
    """

class TopkResult(NamedTuple):
    values: torch.Tensor
    columns: torch.Tensor

def topk(x: torch.Tensor, k: int) -> TopkResult:
    """The k largest elements of each row as float32, in falling order, and their columns; one pass over
    the registers for each, so for a small k.

    The k largest elements of each row as float32, in falling order, and their columns.

    Args:
        x: [..., cols] of bf16, fp16 or fp32: what is computed on.
        k: elements that are wanted of a row; 1 to 1024.

    Returns:
        values: [..., k] of fp32: the k largest, in falling order.
        columns: [..., k] of int64: where they are.

    Sizes:
        rows: 1 to 1048576; rows, any number.
        cols: 1 to 32768; length of a row.
        k: 1 to 1024; elements that are wanted of a row.

    Gradients:
        by autograd of the PyTorch reference.

    Raises:
        ShapeError: tensors that do not fit together, or a size, a dtype or a setting that is not here.
        ArgumentError: an argument is missing, unknown, of another kind, or not where the device is.

    Source:
        kernels/activations/topk.py for gfx950 and gfx942; `wb.kernels['activations/topk']`,
            `torch.ops.hipkittens.activations_topk`.
    """
