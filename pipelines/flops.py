"""Floating-point work of one token, by the conventions in use, and the ratios made of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A dense transformer. `params` N, `layers` L, `heads` H (query heads), `head_dim` Q, `seq_len` T."""

    params: float
    layers: int = 0
    heads: int = 0
    head_dim: int = 0
    seq_len: int = 0


def palm(shape: Shape) -> float:
    """FLOP a token, forward and backward, full attention square: 6N + 12LHQT (arXiv 2204.02311, appendix B)."""
    return 6 * shape.params + 12 * shape.layers * shape.heads * shape.head_dim * shape.seq_len


def six_n(shape: Shape) -> float:
    """FLOP a token without attention: 6N."""
    return 6 * shape.params


def torchtitan(shape: Shape, embedding_params: float) -> float:
    """As `palm`, without the input embedding: 6(N - N_emb) + 12LHQT (torchtitan, its metrics)."""
    return palm(shape) - 6 * embedding_params


def megatron_causal(shape: Shape, *, hidden: int, kv_heads: int, ffn: int, vocab: int, swiglu: bool = True) -> float:
    """FLOP a token as Megatron-LM counts a dense causal model (its `num_floating_point_operations`)."""
    query, kv = shape.heads * shape.head_dim, kv_heads * shape.head_dim
    mlp = 6 * shape.layers * hidden * ffn * (3 if swiglu else 2)
    attention = 6 * shape.layers * (hidden * (query + 2 * kv) + query * hidden + query * shape.seq_len)
    return mlp + attention + 6 * hidden * vocab


def hardware(shape: Shape, *, recompute: bool) -> float:
    """FLOP a token that the hardware does: full activation recomputation redoes the forward pass, 8N + 16LHQT."""
    return palm(shape) * 4 / 3 if recompute else palm(shape)


def mfu(tokens_per_s: float, flops_per_token: float, gpus: float, peak_flops: float) -> float:
    """Model FLOP/s used, as a fraction. `peak_flops`: dense FLOP/s of one GPU in the dtype used."""
    return tokens_per_s * flops_per_token / (gpus * peak_flops)
