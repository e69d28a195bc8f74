"""Ways of writing attention. Each runs twice: first without a recording, when `see` keeps the tensors that the code itself computes, then
in a recording, whose stages have to be those tensors, bit for bit."""

import math

import reading
from reading import np, torch

if torch is not None:
    import attnscope
    import torch.nn as nn
    import torch.nn.functional as F

WAYS = {}
MODES = ("grad", "no_grad", "inference")
ORDER = {"q": "BHTD", "k": "BHSD", "v": "BHSD", "context": "BHTD", "concat": "BTC", "attention_out": "BTC"}


def way(*modes, **expected):
    """Registers a way of writing attention; `expected` are fields of the recorded attention, the names of
    its stages (`stages`), or how many attentions there are (`count`)."""
    def register(function):
        WAYS[function.__name__] = (function, modes or MODES, expected)
        return function
    return register


def canonical(name, tensor, axes):
    """A tensor of the code, in the axes of the file."""
    base = name.rpartition("/")[2].split(".")[0].split("_")[0]
    order = ORDER.get(name.rpartition("/")[2].split(".")[0]) or ORDER.get(base, "BHTS")
    array = bits(tensor)
    order = order.replace("D", "E") if "E" in axes else order
    missing = [letter for letter in order if letter not in axes]
    array = array.reshape(array.shape + (1,) * len(missing))
    axes += "".join(missing)
    return np.ascontiguousarray(array.transpose([axes.index(letter) for letter in order]))


def bits(tensor):
    tensor = tensor.detach()
    return (tensor.contiguous().view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).cpu().numpy().copy()


class Seen:
    """Collects what the code computes, as (attention, stage) -> array; does nothing while recording."""

    def __init__(self):
        self.stages, self.on = {}, True

    def __call__(self, name, tensor, axes="BHTS"):
        if self.on:
            self.stages[name] = canonical(name, tensor, axes)


# ------------------------------------------------------------------------------------------------- by hand, without modules

def randn(*shape):
    return torch.randn(*shape)


@way(heads="known", kind="self", scale=1 / math.sqrt(3), softmax_over="S")
def two_axes(see):
    q, k, v = randn(5, 3), randn(5, 3), randn(5, 3)
    see("q", q, "TD"), see("k", k, "SD"), see("v", v, "SD")
    scores = q @ k.T
    see("scores", scores, "TS")
    scaled = scores / 3 ** 0.5
    see("scaled", scaled, "TS")
    weights = torch.softmax(scaled, -1)
    see("weights", weights, "TS")
    see("context", weights @ v, "TD")


@way(kind="self")
def weights_without_modules(see):
    x = randn(2, 5, 6)
    wq, wk, wv, wo = (randn(6, 6) for _ in range(4))
    q, k, v = x @ wq, x @ wk, x @ wv
    see("q", q, "BTD"), see("k", k, "BSD"), see("v", v, "BSD")
    scores = q @ k.transpose(-2, -1) / math.sqrt(6)
    see("scaled", scores, "BTS")
    weights = F.softmax(scores, dim=-1)
    see("weights", weights, "BTS")
    context = weights @ v
    see("context", context, "BTD"), see("concat", context, "BTC")
    see("attention_out", context @ wo, "BTC")


@way(kind="cross")
def more_keys_than_queries(see):
    q, k, v = randn(2, 3, 4), randn(2, 7, 4), randn(2, 7, 5)
    see("q", q, "BTD"), see("k", k, "BSD"), see("v", v, "BSE")
    weights = (q.matmul(k.mT if hasattr(k, "mT") else k.transpose(1, 2)) * 0.5).softmax(dim=2)
    see("weights", weights, "BTS"), see("context", weights.matmul(v), "BTE")


@way(softmax_over="S")
def keys_first(see):
    """The map is transposed: keys are rows, the softmax runs over them."""
    q, k, v = randn(2, 3, 4, 5), randn(2, 3, 6, 5), randn(2, 3, 6, 5)
    see("q", q, "BHTD"), see("k", k, "BHSD"), see("v", v, "BHSD")
    scores = k @ q.transpose(-2, -1)
    see("scores", scores, "BHST")
    weights = torch.softmax(scores * 0.4, dim=-2)
    see("weights", weights, "BHST")
    see("context", v.transpose(-2, -1) @ weights, "BHDT")


@way(softmax_over="T")
def softmax_over_queries(see):
    q, k, v = randn(2, 4, 5), randn(2, 6, 5), randn(2, 6, 5)
    weights = torch.softmax(q @ k.transpose(1, 2), dim=1)
    see("weights", weights, "BTS"), see("context", weights @ v, "BTD")


@way()
def single_query_vector(see):
    q, k, v = randn(1, 4), randn(6, 4), randn(6, 4)
    weights = torch.softmax(q @ k.t() / 2, -1)
    see("weights", weights, "TS"), see("context", weights @ v, "TD")


@way()
def heads_in_the_batch(see):
    """bmm over batch times heads, as three-dimensional products want it."""
    x, w = randn(2, 5, 12), [randn(12, 12) for _ in range(3)]
    q, k, v = ((x @ each).view(2, 5, 3, 4) for each in w)
    see("q", q, "BTHD"), see("k", k, "BSHD"), see("v", v, "BSHD")
    q, k, v = (each.permute(0, 2, 1, 3).reshape(6, 5, 4) for each in (q, k, v))
    scores = torch.bmm(q, k.transpose(1, 2))
    see("scores", scores.view(2, 3, 5, 5))
    weights = torch.softmax(scores.div(2.0), 2)
    see("weights", weights.view(2, 3, 5, 5))
    context = torch.bmm(weights, v)
    see("context", context.view(2, 3, 5, 4), "BHTD")
    joined = context.view(2, 3, 5, 4).permute(0, 2, 1, 3).reshape(2, 5, 12)
    see("concat", joined, "BTC")


@way()
def einsum_by_letters(see):
    x, wq, wk, wv, wo = randn(2, 5, 12), randn(12, 3, 4), randn(12, 3, 4), randn(12, 3, 4), randn(3, 4, 12)
    q, k, v = (torch.einsum("btc,chd->bthd", x, w) for w in (wq, wk, wv))
    see("q", q, "BTHD"), see("k", k, "BSHD"), see("v", v, "BSHD")
    scores = torch.einsum("bthd,bshd->bhts", q, k) / 2
    see("scaled", scores)
    weights = scores.softmax(-1)
    see("weights", weights)
    context = torch.einsum("bhts,bshd->bthd", weights, v)
    see("context", context, "BTHD")
    see("attention_out", torch.einsum("bthd,hdc->btc", context, wo), "BTC")


@way()
def einsum_heads_last(see):
    q, k, v = randn(2, 5, 4, 3), randn(2, 5, 4, 3), randn(2, 5, 4, 3)  # b t d h
    scores = torch.einsum("btdh,bsdh->btsh", q, k)
    weights = torch.softmax(scores / 2, dim=2)
    see("scores", scores, "BTSH"), see("weights", weights, "BTSH")
    see("context", torch.einsum("btsh,bsdh->btdh", weights, v), "BTDH")


@way(scale=0.5)
def baddbmm_as_scaling(see):
    """With beta=0 the first argument is not read; PyTorch 1.13 reads it all the same, so it must be whole there."""
    q, k, v = randn(6, 5, 4), randn(6, 5, 4), randn(6, 5, 4)
    old = torch.__version__.startswith("1.")
    scaled = torch.baddbmm(torch.zeros(6, 5, 5), q, k.transpose(1, 2), alpha=0.5, **({} if old else {"beta": 0}))
    see("scaled", scaled, "BTS")
    weights = torch.softmax(scaled, -1)
    see("weights", weights, "BTS"), see("context", torch.bmm(weights, v), "BTD")


@way()
def baddbmm_with_mask(see):
    q, k, v = randn(6, 5, 4) * 0.5, randn(6, 5, 4), randn(6, 5, 4)
    mask = torch.full((5, 5), float("-inf")).triu(1).expand(6, 5, 5)
    masked = torch.baddbmm(mask, q, k.transpose(1, 2))
    see("masked", masked, "BTS")
    weights = torch.softmax(masked, -1)
    see("weights", weights, "BTS"), see("context", torch.bmm(weights, v), "BTD")


@way(stages="q k v scores scaled masked masked.1 weights context")
def written_in_place(see):
    q, k, v = randn(2, 3, 5, 4), randn(2, 3, 5, 4), randn(2, 3, 5, 4)
    scores = q @ k.transpose(-2, -1)
    see("scores", scores)
    scores /= 2.0
    see("scaled", scores)
    scores.masked_fill_(torch.ones(5, 5, dtype=torch.bool).triu(1), -math.inf)
    see("masked", scores)
    scores += randn(3, 1, 5)
    see("masked.1", scores)
    weights = scores.softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way("no_grad", "inference")
def given_places_for_results(see):
    q, k, v = randn(2, 5, 4), randn(2, 5, 4), randn(2, 5, 4)
    scores, weights, context = torch.empty(2, 5, 5), torch.empty(2, 5, 5), torch.empty(2, 5, 4)
    torch.matmul(q, k.transpose(1, 2), out=scores)
    see("scores", scores, "BTS")
    torch.mul(scores, 0.5, out=scores)
    see("scaled", scores, "BTS")
    torch.softmax(scores, -1, out=weights)
    see("weights", weights, "BTS")
    torch.bmm(weights, v, out=context)
    see("context", context, "BTD")


@way()
def through_a_flat_view(see):
    """A view is written to; the tensor it is a view of is used afterwards."""
    q, k, v = randn(2, 3, 5, 4), randn(2, 3, 5, 4), randn(2, 3, 5, 4)
    scores = (q @ k.transpose(-2, -1)).clone()
    see("scores", scores)
    flat = scores.view(6, 25)
    flat.mul_(0.5)
    see("scaled", scores)
    weights = scores.softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way()
def part_of_a_map_is_hidden(see):
    q, k, v = randn(2, 5, 4), randn(2, 5, 4), randn(2, 5, 4)
    scores = q @ k.transpose(1, 2)
    see("scores", scores, "BTS")
    scores[:, :, 3:] = -1e9
    see("masked", scores, "BTS")
    weights = scores.softmax(-1)
    see("weights", weights, "BTS"), see("context", weights @ v, "BTD")


@way()
def boolean_index(see):
    q, k, v = randn(5, 4), randn(5, 4), randn(5, 4)
    scores = q @ k.T
    see("scores", scores, "TS")
    scores[torch.ones(5, 5).triu(1) == 1] = float("-inf")
    see("masked", scores, "TS")
    weights = scores.softmax(-1)
    see("weights", weights, "TS"), see("context", weights @ v, "TD")


def masked_way(see, masked):
    q, k, v = randn(2, 3, 5, 4), randn(2, 3, 5, 4), randn(2, 3, 5, 4)
    scores = q @ k.transpose(-2, -1) / 2
    see("scaled", scores)
    scores = masked(scores)
    see("masked", scores)
    weights = scores.softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way()
def mask_added(see):
    masked_way(see, lambda scores: scores + torch.triu(torch.full((5, 5), float("-inf")), diagonal=1))


@way()
def mask_of_minus_1e9(see):
    masked_way(see, lambda scores: scores + (1.0 - torch.tril(torch.ones(5, 5))) * -1e9)


@way()
def mask_by_where(see):
    masked_way(see, lambda scores: torch.where(torch.tril(torch.ones(5, 5, dtype=torch.bool)), scores, torch.tensor(-1e30)))


@way()
def mask_of_padding(see):
    masked_way(see, lambda scores: scores.masked_fill((torch.arange(5)[None] >= torch.tensor([[5], [3]]))[:, None, None], -math.inf))


@way()
def mask_of_a_window(see):
    distance = torch.arange(5)[:, None] - torch.arange(5)
    masked_way(see, lambda scores: scores.masked_fill((distance < 0) | (distance > 2), torch.finfo(scores.dtype).min))


@way()
def alibi(see):
    slopes = torch.tensor([0.5, 0.25, 0.125]).view(3, 1, 1)
    masked_way(see, lambda scores: scores + slopes * (torch.arange(5) - torch.arange(5)[:, None]))


@way()
def mask_before_scaling(see):
    q, k, v = randn(2, 5, 4), randn(2, 5, 4), randn(2, 5, 4)
    scores = q @ k.transpose(1, 2)
    see("scores", scores, "BTS")
    scores = scores.masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf if hasattr(torch, "inf") else -math.inf)
    see("masked", scores, "BTS")
    scores = scores / 4 ** 0.5
    see("scaled", scores, "BTS")
    weights = torch.softmax(scores, dim=-1)
    see("weights", weights, "BTS"), see("context", weights @ v, "BTD")


@way(stages="q k v scores scaled capped masked weights context")
def soft_cap(see):
    q, k, v = randn(2, 3, 5, 4), randn(2, 3, 5, 4), randn(2, 3, 5, 4)
    scores = q @ k.transpose(-2, -1) * 0.5
    see("scaled", scores)
    scores = torch.tanh(scores / 3.0) * 3.0
    see("capped", scores)
    scores = scores + torch.full((5, 5), -1e9).triu(1)
    see("masked", scores)
    weights = scores.softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way(scale=0.5)
def query_scaled_first(see):
    q, k, v = randn(2, 3, 5, 4), randn(2, 3, 5, 4), randn(2, 3, 5, 4)
    see("q", q, "BHTD")
    scaled = (q * 4 ** -0.5) @ k.transpose(-2, -1)
    see("scaled", scaled)
    weights = scaled.softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way()
def both_scaled_first(see):
    q, k, v = randn(2, 3, 5, 4), randn(2, 3, 5, 4), randn(2, 3, 5, 4)
    see("q", q, "BHTD"), see("k", k, "BHSD")
    factor = 4 ** -0.25
    scaled = (q * factor) @ (k * factor).transpose(-2, -1)
    see("scaled", scaled)
    weights = scaled.softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


def by_hand(see, softmax):
    q, k, v = randn(2, 3, 5, 4), randn(2, 3, 5, 4), randn(2, 3, 5, 4)
    scaled = q @ k.transpose(-2, -1) / 2
    see("scaled", scaled)
    weights = softmax(scaled)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way(softmax_over="S", stages="q k v scores scaled weights context")
def softmax_by_hand(see):
    def softmax(x):
        e = torch.exp(x - x.max(dim=-1, keepdim=True).values)
        return e / e.sum(dim=-1, keepdim=True)
    by_hand(see, softmax)


@way(stages="q k v scores scaled weights context")
def softmax_by_hand_without_maximum(see):
    by_hand(see, lambda x: x.exp() / (x.exp().sum(-1, keepdim=True) + 1e-9))


@way(stages="q k v scores scaled weights context")
def softmax_by_hand_inverse(see):
    def softmax(x):
        e = (x - x.amax(-1, keepdim=True)).exp()
        return e * e.sum(-1).unsqueeze(-1).reciprocal()
    by_hand(see, softmax)


@way(stages="q k v scores scaled weights context")
def softmax_by_logarithm(see):
    by_hand(see, lambda x: F.log_softmax(x, dim=-1).exp())


@way(stages="q k v scores scaled weights context")
def softmax_by_logsumexp(see):
    by_hand(see, lambda x: torch.exp(x - torch.logsumexp(x, dim=-1, keepdim=True)))


@way(stages="q k v scores scaled weights context")
def softmax_by_log_of_sum(see):
    by_hand(see, lambda x: (x - x.exp().sum(-1, keepdim=True).log()).exp())


@way()
def softmax_in_double(see):
    """What meets v is the result of the cast; the softmax has its own."""
    def softmax(x):
        wide = F.softmax(x, dim=-1, dtype=torch.float64)
        see("softmax", wide)
        return wide.to(x.dtype)
    by_hand(see, softmax)


@way()
def sink_in_the_sum(see):
    by_hand(see, lambda x: x.exp() / (1 + x.exp().sum(-1, keepdim=True)))


@way(stages="q k v scores scaled joined softmax weights context")
def sink_as_a_column(see):
    q, k, v, sink = randn(2, 3, 5, 4), randn(2, 3, 5, 4), randn(2, 3, 5, 4), randn(3)
    scores = q @ k.transpose(-2, -1) / 2
    see("scaled", scores)
    joined = torch.cat([scores, sink.view(1, 3, 1, 1).expand(2, 3, 5, 1)], -1)
    softmax = joined.softmax(-1)
    see("softmax", softmax)
    weights = softmax[..., :-1]
    see("weights", weights), see("context", weights @ v, "BHTD")


@way()
def mask_after_the_softmax(see):
    q, k, v = randn(2, 5, 4), randn(2, 5, 4), randn(2, 5, 4)
    softmax = torch.softmax(q @ k.transpose(1, 2) / 2, -1)
    see("softmax", softmax, "BTS")
    weights = softmax * torch.tril(torch.ones(5, 5))
    see("weights", weights, "BTS"), see("context", weights @ v, "BTD")


@way()
def renormalised_after_a_mask(see):
    q, k, v = randn(2, 5, 4), randn(2, 5, 4), randn(2, 5, 4)
    softmax = torch.softmax(q @ k.transpose(1, 2) / 2, -1)
    see("softmax", softmax, "BTS")
    weights = softmax * torch.tril(torch.ones(5, 5))
    weights = weights / weights.sum(-1, keepdim=True)
    see("weights", weights, "BTS"), see("context", weights @ v, "BTD")


@way()
def nan_rows_made_zero(see):
    q, k, v = randn(2, 5, 4), randn(2, 5, 4), randn(2, 5, 4)
    scores = (q @ k.transpose(1, 2)).masked_fill(torch.arange(5).view(5, 1) == 2, -math.inf)
    softmax = scores.softmax(-1)
    see("softmax", softmax, "BTS")
    weights = torch.nan_to_num(softmax)
    see("weights", weights, "BTS"), see("context", weights @ v, "BTD")


@way()
def product_by_multiplying_and_summing(see):
    q, k, v = randn(2, 5, 4), randn(2, 6, 4), randn(2, 6, 4)
    see("q", q, "BTD"), see("k", k, "BSD"), see("v", v, "BSD")
    scores = (q[:, :, None] * k[:, None]).sum(-1)
    see("scores", scores, "BTS")
    weights = (scores * 0.5).softmax(-1)
    see("weights", weights, "BTS")
    see("context", (weights[..., None] * v[:, None]).sum(2), "BTD")


@way(repeat=2)
def grouped_by_repeat_interleave(see):
    q, k, v = randn(2, 6, 5, 4), randn(2, 3, 5, 4), randn(2, 3, 5, 4)
    see("q", q, "BHTD"), see("k", k, "BHSD"), see("v", v, "BHSD")
    k, v = k.repeat_interleave(2, dim=1), v.repeat_interleave(2, dim=1)
    scores = q @ k.transpose(-2, -1)
    see("scores", scores)
    weights = (scores / 2).softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way(repeat=2)
def grouped_by_expand(see):
    q, k, v = randn(2, 6, 5, 4), randn(2, 3, 5, 4), randn(2, 3, 5, 4)
    see("q", q, "BHTD"), see("k", k, "BHSD"), see("v", v, "BHSD")
    k, v = (each[:, :, None].expand(2, 3, 2, 5, 4).reshape(2, 6, 5, 4) for each in (k, v))
    weights = (q @ k.transpose(-2, -1) / 2).softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way()
def grouped_with_five_axes(see):
    q, k, v = randn(2, 3, 2, 5, 4), randn(2, 3, 1, 5, 4), randn(2, 3, 1, 5, 4)
    wo = randn(24, 7)
    weights = (q @ k.transpose(-2, -1) / 2).softmax(-1)
    see("weights", weights.reshape(2, 6, 5, 5))
    context = weights @ v
    see("context", context.reshape(2, 6, 5, 4), "BHTD")
    concat = context.permute(0, 3, 1, 2, 4).reshape(2, 5, 24)
    see("concat", concat, "BTC"), see("attention_out", concat @ wo, "BTC")


@way(repeat=3)
def one_key_head_for_all(see):
    q, k, v, wo = randn(2, 3, 5, 4), randn(2, 1, 5, 4), randn(2, 1, 5, 4), randn(12, 12)
    see("k", k, "BHSD"), see("v", v, "BHSD")
    weights = (q @ k.transpose(-2, -1) / 2).softmax(-1)
    see("weights", weights)
    context = weights @ v
    see("context", context, "BHTD")
    see("attention_out", context.transpose(1, 2).reshape(2, 5, 12) @ wo, "BTC")


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat([-b, a], dim=-1)


@way()
def rotary_by_halves(see):
    x, wq, wk, wv = randn(2, 5, 12), randn(12, 12), randn(12, 12), randn(12, 12)
    q, k, v = ((x @ w).view(2, 5, 3, 4).transpose(1, 2) for w in (wq, wk, wv))
    see("q", q, "BHTD"), see("k", k, "BHSD")
    angles = torch.arange(5)[:, None] * torch.tensor([1.0, 0.1]).repeat(2)
    cos, sin = angles.cos(), angles.sin()
    q, k = (each * cos + rotate_half(each) * sin for each in (q, k))
    see("q_rotated", q, "BHTD"), see("k_rotated", k, "BHSD")
    weights = (q @ k.transpose(-2, -1) / 2).softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way()
def rotary_by_complex_numbers(see):
    x, wq, wk, wv = randn(2, 5, 12), randn(12, 12), randn(12, 12), randn(12, 12)
    q, k, v = ((x @ w).view(2, 5, 3, 4) for w in (wq, wk, wv))
    see("q", q, "BTHD"), see("k", k, "BSHD")
    turns = torch.polar(torch.ones(5, 2), torch.arange(5)[:, None] * torch.tensor([1.0, 0.1])).view(1, 5, 1, 2)
    q, k = (torch.view_as_real(torch.view_as_complex(each.reshape(2, 5, 3, 2, 2)) * turns).flatten(3) for each in (q, k))
    see("q_rotated", q, "BTHD"), see("k_rotated", k, "BSHD")
    q, k, v = (each.transpose(1, 2) for each in (q, k, v))
    weights = (q @ k.transpose(-2, -1) / 2).softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way()
def rotary_on_a_part(see):
    x, wq, wk, wv = randn(2, 5, 12), randn(12, 12), randn(12, 12), randn(12, 12)
    q, k, v = ((x @ w).view(2, 5, 2, 6).transpose(1, 2) for w in (wq, wk, wv))
    see("q", q, "BHTD"), see("k", k, "BHSD")
    angles = torch.arange(5)[:, None] * torch.tensor([1.0, 0.1]).repeat(2)
    cos, sin = angles.cos(), angles.sin()
    q, k = (torch.cat([each[..., :4] * cos + rotate_half(each[..., :4]) * sin, each[..., 4:]], -1) for each in (q, k))
    see("q_rotated", q, "BHTD"), see("k_rotated", k, "BHSD")
    weights = (q @ k.transpose(-2, -1) / 2).softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way()
def normalised_queries_and_keys(see):
    x, wq, wk, wv = randn(2, 5, 12), randn(12, 12), randn(12, 12), randn(12, 12)
    q, k, v = ((x @ w).view(2, 5, 3, 4).transpose(1, 2) for w in (wq, wk, wv))
    see("q", q, "BHTD"), see("k", k, "BHSD")
    q, k = (each * torch.rsqrt(each.pow(2).mean(-1, keepdim=True) + 1e-6) for each in (q, k))
    see("q_normed", q, "BHTD"), see("k_normed", k, "BHSD")
    angles = torch.arange(5)[:, None] * torch.tensor([1.0, 0.1]).repeat(2)
    q, k = (each * angles.cos() + rotate_half(each) * angles.sin() for each in (q, k))
    see("q_rotated", q, "BHTD"), see("k_rotated", k, "BHSD")
    weights = (q @ k.transpose(-2, -1) / 2).softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way(stages="q k v scores scaled mixed softmax weights context")
def heads_talk(see):
    """Talking heads: maps are mixed by a matrix over heads, before and after the softmax."""
    before, after = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)
    q, k, v = randn(2, 3, 5, 4), randn(2, 3, 5, 4), randn(2, 3, 5, 4)
    scores = q @ k.transpose(-2, -1) / 2
    see("scaled", scores)
    mixed = before(scores.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
    see("mixed", mixed)
    softmax = mixed.softmax(-1)
    see("softmax", softmax)
    weights = after(softmax.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way()
def additive_scores(see):
    x, memory = randn(2, 4, 6), randn(2, 5, 6)
    w1, w2, vector = nn.Linear(6, 7), nn.Linear(6, 7), nn.Linear(7, 1, bias=False)
    q, k = w1(x), w2(memory)
    see("q", q, "BTD"), see("k", k, "BSD"), see("v", memory, "BSE")
    scores = vector(torch.tanh(q[:, :, None] + k[:, None])).squeeze(-1)
    see("scores", scores, "BTS")
    weights = scores.softmax(-1)
    see("weights", weights, "BTS"), see("context", weights @ memory, "BTE")


@way(stages="q k v scores scaled weights context")
def keys_in_blocks(see):
    """A running maximum and a running sum; weights are never there as a whole."""
    q, k, v = randn(2, 3, 5, 4), randn(2, 3, 6, 4), randn(2, 3, 6, 4)
    see("q", q, "BHTD"), see("k", k, "BHSD"), see("v", v, "BHSD")
    top, total, out, maps = torch.full((2, 3, 5, 1), -math.inf), torch.zeros(2, 3, 5, 1), torch.zeros(2, 3, 5, 4), []
    for start in range(0, 6, 2):
        block = q @ k[:, :, start:start + 2].transpose(-2, -1) / 2
        maps.append(block)
        new = torch.maximum(top, block.amax(-1, keepdim=True))
        power, shrink = torch.exp(block - new), torch.exp(top - new)
        total, out, top = total * shrink + power.sum(-1, keepdim=True), out * shrink + power @ v[:, :, start:start + 2], new
    see("scaled", torch.cat(maps, -1)) if see.on else None
    see("context", out / total, "BHTD")


@way(stages="q k v scores scaled weights context")
def divided_last(see):
    q, k, v = randn(2, 3, 5, 4), randn(2, 3, 6, 4), randn(2, 3, 6, 4)
    scaled = q @ k.transpose(-2, -1) / 2
    see("scaled", scaled), see("v", v, "BHSD")
    power = (scaled - scaled.amax(-1, keepdim=True)).exp()
    see("context", (power @ v) / power.sum(-1, keepdim=True), "BHTD")


@way(count=3)
def queries_in_chunks(see):
    q, k, v = randn(2, 6, 4), randn(2, 6, 4), randn(2, 6, 4)
    found = []
    for index, part in enumerate(q.split(2, dim=1)):
        weights = (part @ k.transpose(1, 2) / 2).softmax(-1)
        see(f"{index}/weights", weights, "BTS"), see(f"{index}/q", part, "BTD")
        found.append(weights @ v)
        see(f"{index}/context", found[-1], "BTD")
    torch.cat(found, dim=1)


@way(count=3)
def heads_in_a_loop(see):
    x, found = randn(2, 5, 12), []
    for index in range(3):
        q, k, v = (x @ randn(12, 4) for _ in range(3))
        see(f"{index}/q", q, "BTD"), see(f"{index}/k", k, "BSD"), see(f"{index}/v", v, "BSD")
        weights = F.softmax(q @ k.transpose(1, 2) / 2, -1)
        see(f"{index}/weights", weights, "BTS")
        found.append(weights @ v)
    torch.cat(found, -1) @ randn(12, 12)


@way(count=4)
def cache_that_grows(see):
    w, keys, values = [randn(6, 6) for _ in range(3)], None, None
    for index in range(4):
        x = randn(1, 1, 6)
        q, k, v = (x @ each for each in w)
        keys = k if keys is None else torch.cat([keys, k], 1)
        values = v if values is None else torch.cat([values, v], 1)
        see(f"{index}/q", q, "BTD"), see(f"{index}/k", keys, "BSD"), see(f"{index}/v", values, "BSD")
        weights = (q @ keys.transpose(1, 2) / 2).softmax(-1)
        see(f"{index}/weights", weights, "BTS"), see(f"{index}/context", weights @ values, "BTD")


@way("no_grad", "inference", count=3)
def cache_that_is_written(see):
    """A cache of fixed size: each new key is written into it, and what earlier calls used must stay as it was."""
    w, keys, values = [randn(6, 6) for _ in range(3)], torch.zeros(1, 4, 6), torch.zeros(1, 4, 6)
    for index in range(3):
        x = randn(1, 1, 6)
        q, k, v = (x @ each for each in w)
        keys[:, index:index + 1], values[:, index:index + 1] = k, v
        see(f"{index}/k", keys, "BSD"), see(f"{index}/v", values, "BSD")
        scores = (q @ keys.transpose(1, 2) / 2).masked_fill(torch.arange(4) > index, -math.inf)
        weights = scores.softmax(-1)
        see(f"{index}/weights", weights, "BTS"), see(f"{index}/context", weights @ values, "BTD")


@way()
def several_terms(see):
    """Content and positions have products of their own, which are added; the second is gathered."""
    q, k, v, positions = randn(2, 3, 5, 4), randn(2, 3, 5, 4), randn(2, 3, 5, 4), randn(3, 9, 4)
    content = q @ k.transpose(-2, -1)
    see("scores", content)
    index = (torch.arange(5)[:, None] - torch.arange(5) + 4).expand(2, 3, 5, 5)
    position = torch.gather(q @ positions.transpose(-2, -1), -1, index)
    see("scores.1", position)
    total = content + position
    see("masked", total)
    scaled = total / 2
    see("scaled", scaled)
    weights = scaled.softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way()
def shifted_positions(see):
    """Transformer-XL: the map over positions is shifted by a pad and two views."""
    q, k, v, r = randn(2, 3, 5, 4), randn(2, 3, 5, 4), randn(2, 3, 5, 4), randn(3, 5, 4)
    content = q @ k.transpose(-2, -1)
    shifted = F.pad(q @ r.transpose(-2, -1), (1, 0)).view(2, 3, 6, 5)[:, :, 1:].reshape(2, 3, 5, 5)
    see("scores", content), see("scores.1", shifted)
    weights = ((content + shifted) * 0.5).softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way()
def windows_of_an_image(see):
    x, w, wo = randn(2, 4, 4, 6), [randn(6, 6) for _ in range(3)], randn(6, 6)
    windows = x.view(2, 2, 2, 2, 2, 6).permute(0, 1, 3, 2, 4, 5).reshape(8, 4, 6)
    q, k, v = ((windows @ each).view(8, 4, 2, 3).transpose(1, 2) for each in w)
    see("q", q, "BHTD"), see("k", k, "BHSD")
    scores = q @ k.transpose(-2, -1) + randn(2, 4, 4)
    scores = scores.view(2, 4, 2, 4, 4) + randn(1, 4, 1, 4, 4)
    weights = scores.view(8, 2, 4, 4).softmax(-1)
    see("weights", weights)
    context = weights @ v
    see("context", context, "BHTD")
    see("attention_out", context.transpose(1, 2).reshape(8, 4, 6) @ wo, "BTC")


@way("no_grad")
def bfloat16(see):
    q, k, v = (randn(2, 3, 5, 4).bfloat16() for _ in range(3))
    scores = q @ k.transpose(-2, -1)
    see("scores", scores)
    weights = F.softmax(scores / 2, dim=-1, dtype=torch.float32).to(q.dtype)
    see("weights", weights) if False else None
    see("context", weights @ v, "BHTD")


@way("grad", "no_grad")
def autocast(see):
    attention = Heads(12, 3)
    x = randn(2, 5, 12)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        attention(x, see)


@way()
def double_precision(see):
    q, k, v = (randn(2, 3, 5, 4).double() for _ in range(3))
    weights = (q @ k.transpose(-2, -1) / 2).softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


def projected(see, *order, width=12, heads=3):
    """q, k and v of several heads, [B,H,T,D], from three linear maps."""
    x = randn(2, 5, width)
    q, k, v = (nn.Linear(width, width)(x).view(2, 5, heads, -1).transpose(1, 2) for _ in range(3))
    for name, tensor, axes in (("q", q, "BHTD"), ("k", k, "BHSD"), ("v", v, "BHSD")):
        see(name, tensor, axes) if name in order else None
    return q, k, v


@way(heads="known")
def heads_cut_by_chunk(see):
    x, w, out = randn(2, 5, 12), [nn.Linear(12, 12) for _ in range(3)], nn.Linear(12, 12)
    q, k, v = (torch.stack(each(x).chunk(3, -1), 1) for each in w)
    see("q", q, "BHTD"), see("k", k, "BHSD"), see("v", v, "BHSD")
    weights = (q @ k.transpose(-2, -1) / 2).softmax(-1)
    see("weights", weights)
    joined = torch.cat((weights @ v).unbind(1), -1)
    see("concat", joined, "BTC"), see("attention_out", out(joined), "BTC")


@way(heads="known")
def heads_put_into_the_batch_by_cat(see):
    x, w = randn(2, 5, 12), [nn.Linear(12, 12) for _ in range(3)]
    q, k, v = (torch.cat(each(x).split(4, 2), 0) for each in w)
    see("q", q.view(3, 2, 5, 4), "HBTD"), see("k", k.view(3, 2, 5, 4), "HBSD"), see("v", v.view(3, 2, 5, 4), "HBSD")
    weights = torch.softmax(torch.bmm(q, k.transpose(1, 2)) / 2, -1)
    see("weights", weights.view(3, 2, 5, 5), "HBTS")
    see("concat", torch.cat(torch.bmm(weights, v).split(2, 0), 2), "BTC")


@way(heads="known")
def heads_cut_by_slices(see):
    """Each head is cut on its own, and stacked."""
    x, w = randn(2, 5, 12), [nn.Linear(12, 12) for _ in range(3)]
    q, k, v = (torch.stack([y[..., 4 * i:4 * i + 4] for i in range(3)]) for y in (each(x) for each in w))
    see("q", q, "HBTD"), see("k", k, "HBSD")
    weights = (q @ k.transpose(-2, -1) / 2).softmax(-1)
    see("weights", weights, "HBTS")
    context = weights @ v
    see("concat", torch.cat([context[i] for i in range(3)], -1), "BTC")


@way(repeat=3)
def queries_and_heads_as_rows(see):
    """One head of keys for all: the rows of a query's heads stand one below the other."""
    x, qkv, out = randn(2, 5, 12), nn.Linear(12, 20), nn.Linear(12, 12)
    q, k, v = qkv(x).split([12, 4, 4], -1)
    see("q", q.view(2, 5, 3, 4), "BTHD"), see("k", k, "BSD"), see("v", v, "BSD")
    weights = (torch.bmm(q.reshape(2, 15, 4), k.transpose(1, 2)) / 2).view(2, 5, 3, 5).softmax(-1)
    see("weights", weights, "BTHS")
    joined = torch.bmm(weights.view(2, 15, 5), v).view(2, 5, 12)
    see("concat", joined, "BTC"), see("attention_out", out(joined), "BTC")


@way(heads="known")
def channels_attend_to_channels(see):
    x, qkv = randn(2, 5, 12), nn.Linear(12, 36)
    q, k, v = qkv(x).reshape(2, 5, 3, 3, 4).permute(2, 0, 3, 4, 1).unbind(0)
    q, k = (each / each.norm(dim=-1, keepdim=True) for each in (q, k))
    weights = (q @ k.transpose(-2, -1) * 3).softmax(-1)
    see("weights", weights)
    return (weights @ v).permute(0, 3, 1, 2).reshape(2, 5, 12)


@way(scale=None)
def pooled_by_a_vector(see):
    x, vector = randn(2, 6, 8), nn.Parameter(randn(8))
    see("k", x, "BSD")
    weights = (x @ vector).softmax(1)
    see("weights", weights, "BS"), see("context", (weights.unsqueeze(-1) * x).sum(1), "BD")


@way(scale=None)
def pooled_by_a_linear_map(see):
    """Each position has a score of its own, as in attention over words, or over the states of an encoder beside the decoder's."""
    states, state, w, score = randn(2, 6, 8), randn(2, 8), nn.Linear(16, 8), nn.Linear(8, 1, bias=False)
    energy = torch.tanh(w(torch.cat([state.unsqueeze(1).repeat(1, 6, 1), states], 2)))
    see("k", energy, "BSD"), see("v", states, "BSD")
    weights = score(energy).squeeze(2).softmax(1)
    see("weights", weights, "BS"), see("context", torch.bmm(weights.unsqueeze(1), states).squeeze(1), "BD")


@way()
def additive_scores_of_one_query(see):
    state, states, w, u, score = randn(2, 1, 8), randn(2, 6, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 1)
    q, k = w(state), u(states)
    see("q", q, "BTD"), see("k", k, "BSD")
    weights = score(torch.tanh(q + k)).squeeze(2).unsqueeze(1).softmax(-1)
    see("weights", weights, "BTS"), see("context", torch.bmm(weights, states), "BTD")


@way(scale=None)
def states_of_an_encoder(see):
    """Luong's attention: one query, multiplied and summed; nothing is divided."""
    state, states, w = randn(1, 2, 8), randn(6, 2, 8), nn.Linear(8, 8)
    k = w(states)
    see("q", state, "TBD"), see("k", k, "SBD"), see("v", states, "SBD")
    scores = (state * k).sum(2)
    see("scores", scores, "SB")
    weights = scores.t().softmax(1).unsqueeze(1)
    see("weights", weights, "BTS"), see("context", weights.bmm(states.transpose(0, 1)), "BTD")


@way(scale=None)
def a_query_repeated_for_each_key(see):
    state, states = randn(2, 8), randn(2, 6, 8)
    see("q", state, "BD"), see("k", states, "BSD")
    weights = (state.unsqueeze(1).repeat(1, 6, 1) * states).sum(2).softmax(1)
    see("weights", weights, "BS"), see("context", (weights.unsqueeze(2).expand_as(states) * states).sum(1), "BD")


@way("no_grad", "inference", scale=None)
def scores_one_by_one(see):
    x, scores = randn(5, 3), torch.empty(5, 5)
    see("q", x, "TD"), see("k", x, "SD")
    for row, one in enumerate(x):
        for column, other in enumerate(x):
            scores[row, column] = torch.dot(one, other)
    weights = scores.softmax(-1)
    see("scores", scores, "TS"), see("weights", weights, "TS"), see("context", weights @ x, "TD")


@way("no_grad", "inference", scale=None)
def a_context_row_by_row(see):
    x, context = randn(5, 3), torch.zeros(3)
    scores = torch.stack([torch.dot(x[1], each) for each in x])
    weights = scores.softmax(0)
    for index, each in enumerate(x):
        context += weights[index] * each
    see("q", x[1], "D"), see("k", x, "SD"), see("weights", weights, "S"), see("context", context, "D")


@way(kind="self", stages="q k v scores scaled weights context")
def queries_one_by_one(see):
    x, w, rows = randn(5, 6), [randn(6, 6) for _ in range(3)], []
    q, k, v = (x @ each for each in w)
    for index in range(5):
        weights = torch.softmax(k @ q[index] / math.sqrt(6), dim=0)
        rows.append((weights, weights @ v))
    context = torch.stack([each for _, each in rows])
    see("q", q, "TD"), see("k", k, "SD"), see("v", v, "SD"), see("context", context, "TD")
    if see.on:
        see("weights", torch.stack([each for each, _ in rows]), "TS")


@way(stages="q k v scores scaled weights context")
def cell_by_cell(see):
    """Three loops, as in a first explanation of attention."""
    x, scores, context = randn(4, 3), torch.zeros(4, 4), torch.zeros(4, 3)
    q, k, v = (x @ randn(3, 3) for _ in range(3))
    for row in range(4):
        for column in range(4):
            scores[row, column] = torch.dot(q[row], k[column]) / math.sqrt(3)
    weights = torch.softmax(scores, -1)
    for row in range(4):
        for column in range(4):
            context[row] += weights[row, column] * v[column]
    see("q", q, "TD"), see("k", k, "SD"), see("v", v, "SD"), see("weights", weights, "TS")
    if see.on:
        see("scaled", scores, "TS"), see("context", context, "TD")


@way(stages="q k v scores scaled weights context")
def cells_in_lists(see):
    x = randn(4, 3)
    q, k, v = (x @ randn(3, 3) for _ in range(3))
    scores = torch.stack([torch.stack([(one * other).sum() for other in k]) for one in q]) / math.sqrt(3)
    weights = F.softmax(scores, dim=1)
    context = torch.stack([sum(each * row for each, row in zip(line, v)) for line in weights])
    see("scaled", scores, "TS"), see("weights", weights, "TS"), see("context", context, "TD")


@way(stages="q k v scores scaled weights context")
def rows_of_a_softmax_by_hand(see):
    q, k, v, rows = randn(5, 4), randn(6, 4), randn(6, 4), []
    scores = q @ k.T
    for row in scores / 2:
        powers = torch.exp(row - row.max())
        rows.append(powers / powers.sum())
    weights = torch.stack(rows)
    see("scores", scores, "TS"), see("weights", weights, "TS"), see("context", weights @ v, "TD")


@way(stages="q k v scores scaled weights context concat attention_out", heads="known")
def heads_written_into_a_tensor(see):
    x, out = randn(2, 5, 12), nn.Linear(12, 12)
    q, k, v = (nn.Linear(12, 12)(x).view(2, 5, 3, 4).transpose(1, 2) for _ in range(3))
    context = torch.zeros(2, 3, 5, 4)
    for text in range(2):
        for head in range(3):
            weights = torch.softmax(q[text, head] @ k[text, head].T / 2, -1)
            context[text, head] = weights @ v[text, head]
    concat = context.transpose(1, 2).reshape(2, 5, 12)
    see("q", q, "BHTD"), see("context", context, "BHTD"), see("concat", concat, "BTC"), see("attention_out", out(concat), "BTC")


@way(stages="q k v scores scaled weights context")
def texts_in_a_list(see):
    x, w, found = randn(3, 5, 6), [nn.Linear(6, 6) for _ in range(3)], []
    for text in x:
        q, k, v = (each(text) for each in w)
        found.append(torch.softmax(q @ k.T / math.sqrt(6), -1) @ v)
    see("context", torch.stack(found), "BTD")


@way(stages="q k v scores scores.1 masked scaled weights context", heads="known")
def positions_relative_to_the_query(see):
    """A further term of the scores is a product of the queries with a vector for each distance."""
    q, k, v = projected(see, "q", "k", "v")
    distances = randn(9, 4)[torch.arange(5) - torch.arange(5)[:, None] + 4]
    further = torch.einsum("bhtd,tsd->bhts", q, distances)
    scores = q @ k.transpose(-2, -1)
    weights = ((scores + further) / 2).softmax(-1)
    see("scores", scores), see("scores.1", further), see("weights", weights), see("context", weights @ v, "BHTD")


@way(stages="q k v scores scaled weights context concat", heads="known")
def heads_written_as_columns(see):
    q, k, v = randn(2, 3, 5, 4), randn(2, 3, 5, 4), randn(2, 3, 5, 4)
    scores, context = torch.zeros(2, 3, 5, 5), torch.zeros(2, 5, 12)
    for head in range(3):
        scores[:, head] = q[:, head] @ k[:, head].transpose(1, 2) / 2
    weights = scores.softmax(-1)
    for head in range(3):
        context[:, :, 4 * head:4 * (head + 1)] = weights[:, head] @ v[:, head]
    see("q", q, "BHTD"), see("weights", weights)
    if see.on:
        see("scaled", scores), see("concat", context, "BTC")


@way(stages="q k v scores weights context")
def graph_attention_of_two_maps(see):
    """Additive, with a vector for each head."""
    mine, theirs, vectors = randn(3, 5, 2, 4), randn(3, 5, 2, 4), nn.Parameter(randn(2, 4))
    scores = (F.leaky_relu(mine[:, :, None] + theirs[:, None], 0.2) * vectors).sum(-1)
    weights = scores.softmax(2)
    see("scores", scores, "BTSH"), see("weights", weights, "BTSH"), see("q", mine, "BTHD"), see("k", theirs, "BSHD")
    see("context", torch.einsum("btsh,bshd->bthd", weights, theirs), "BTHD")


@way()
def graph_attention(see):
    """Two numbers for each node and head, by learned vectors; the map is their outer sum."""
    nodes, edges, w = randn(6, 5), torch.ones(6, 6).triu(-1).bool(), nn.Linear(5, 12, bias=False)
    one, other = nn.Parameter(randn(1, 3, 4)), nn.Parameter(randn(1, 3, 4))
    states = w(nodes).view(6, 3, 4)
    mine, theirs = (states * one).sum(-1), (states * other).sum(-1)
    see("q", mine, "TH"), see("k", theirs, "SH")
    scores = mine.unsqueeze(1) + theirs.unsqueeze(0)
    see("scores", scores, "TSH")
    weights = F.leaky_relu(scores).masked_fill(~edges.unsqueeze(-1), -1e9).softmax(1)
    see("weights", weights, "TSH")
    torch.einsum("tsh,shd->thd", weights, states).reshape(6, 12)


@way()
def graph_attention_of_pairs(see):
    nodes, w, score = randn(6, 5), nn.Linear(5, 4), nn.Linear(8, 1)
    states = w(nodes)
    pairs = torch.cat([states.repeat_interleave(6, 0), states.repeat(6, 1)], 1).view(6, 6, 8)
    weights = F.leaky_relu(score(pairs).squeeze(-1)).softmax(-1)
    see("weights", weights, "TS"), see("context", weights @ states, "TD")


@way()
def rotary_by_stacked_halves(see):
    q, k, v = projected(see, "q", "k", "v")
    angles = torch.arange(5)[:, None] * torch.tensor([1.0, 0.1])

    def turn(x):
        a, b = x.reshape(2, 3, 5, 2, 2).unbind(-1)
        return torch.stack([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1).flatten(3)
    q, k = turn(q), turn(k)
    see("q_rotated", q, "BHTD"), see("k_rotated", k, "BHSD")
    weights = (q @ k.transpose(-2, -1) / 2).softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way(heads="known")
def rotary_in_double(see):
    q, k, v = projected(see, "q", "k", "v")
    turns = torch.polar(torch.ones(5, 2).double(), torch.arange(5)[:, None] * torch.tensor([1.0, 0.1]).double())
    q, k = (torch.view_as_real(torch.view_as_complex(each.double().reshape(2, 3, 5, 2, 2)) * turns).flatten(3).float() for each in (q, k))
    see("q_rotated", q, "BHTD"), see("k_rotated", k, "BHSD")
    weights = (q @ k.transpose(-2, -1) / 2).softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way(stages="q k v scores scaled mixed softmax weights context")
def heads_talk_by_convolution(see):
    q, k, v = projected(see, "q")
    before, after = nn.Conv2d(3, 3, 1), nn.Conv2d(3, 3, 1)
    mixed = before(q @ k.transpose(-2, -1) / 2)
    softmax = mixed.softmax(-1)
    weights = after(softmax)
    see("mixed", mixed), see("softmax", softmax), see("weights", weights), see("context", weights @ v, "BHTD")


@way(stages="q k v scores scaled weights context concat other attention_out")
def gate_before_the_output(see):
    x, w, out, gate = randn(2, 5, 12), [nn.Linear(12, 12) for _ in range(3)], nn.Linear(12, 12), nn.Linear(12, 12)
    q, k, v = (each(x).view(2, 5, 3, 4).transpose(1, 2) for each in w)
    joined = ((q @ k.transpose(-2, -1) / 2).softmax(-1) @ v).transpose(1, 2).reshape(2, 5, 12)
    see("concat", joined, "BTC")
    gated = joined * torch.sigmoid(gate(x))
    see("attention_out", out(gated), "BTC")


@way(stages="q k v scores scaled weights context other concat attention_out")
def gate_for_each_head(see):
    q, k, v = projected(see, "v")
    context = (q @ k.transpose(-2, -1) / 2).softmax(-1) @ v
    see("context", context, "BHTD")
    gated = context * torch.sigmoid(nn.Parameter(randn(3, 1, 1)))
    joined = gated.transpose(1, 2).reshape(2, 5, 12)
    see("concat", joined, "BTC"), see("attention_out", nn.Linear(12, 12)(joined), "BTC")


@way(stages="q k v scores scaled masked weights context")
def powers_hidden_before_they_are_summed(see):
    q, k, v = projected(see, "q")
    scaled = q @ k.transpose(-2, -1) / 2
    powers = torch.exp(scaled - scaled.amax(-1, keepdim=True)) * torch.tril(torch.ones(5, 5))
    weights = powers / powers.sum(-1, keepdim=True)
    see("scaled", scaled), see("weights", weights), see("context", weights @ v, "BHTD")


@way(stages="q k v scores scaled softmax weights context")
def powers_hidden_after_they_were_summed(see):
    q, k, v = projected(see, "q")
    powers = torch.exp(q @ k.transpose(-2, -1) / 2)
    weights = powers * torch.tril(torch.ones(5, 5)) / powers.sum(-1, keepdim=True)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way()
def filled_with_a_whole_tensor(see):
    q, k, v = projected(see, "q")
    scaled = q @ k.transpose(-2, -1) / 2
    masked = torch.where(torch.ones(5, 5).tril().bool(), scaled, torch.full_like(scaled, -1e9))
    weights = masked.softmax(-1)
    see("masked", masked), see("weights", weights), see("context", weights @ v, "BHTD")


@way()
def a_mask_is_subtracted(see):
    q, k, v = projected(see, "q")
    masked = q @ k.transpose(-2, -1) / 2 - 1e9 * torch.ones(5, 5).triu(1)
    weights = masked.softmax(-1)
    see("masked", masked), see("weights", weights), see("context", weights @ v, "BHTD")


@way(stages="q k v scores scaled masked masked.1 weights context")
def scores_times_a_mask(see):
    """The first GPT: hidden cells are set to 0, then to a large negative number."""
    q, k, v = projected(see, "q")
    seen = torch.ones(5, 5).tril()
    multiplied = q @ k.transpose(-2, -1) / 2 * seen
    masked = multiplied - 1e4 * (1 - seen)
    weights = masked.softmax(-1)
    see("masked", multiplied), see("masked.1", masked), see("weights", weights), see("context", weights @ v, "BHTD")


@way("no_grad", "inference", stages="q k v scores scaled masked weights context")
def rows_hidden_one_after_another(see):
    q, k, v = projected(see, "q")
    scores = q @ k.transpose(-2, -1) / 2
    see("scaled", scores)
    for row in range(5):
        scores[:, :, row, row + 1:] = -math.inf
    weights = scores.softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way(count=2)
def the_difference_of_two_maps(see):
    x, w = randn(2, 5, 16), [nn.Linear(16, 16) for _ in range(3)]
    q, k, v = (each(x).view(2, 5, 2, 8).transpose(1, 2) for each in w)
    one, other = ((a @ b.transpose(-2, -1) / 2).softmax(-1) for a, b in zip(q.chunk(2, -1), k.chunk(2, -1)))
    weights = one - 0.3 * other
    see("0/weights", weights), see("1/weights", weights), see("0/context", weights @ v, "BHTD")


@way(heads="known")
def the_difference_of_the_maps_of_a_head(see):
    x, (q, k, v, out) = randn(3, 5, 16), [nn.Linear(16, 16) for _ in range(4)]
    q, k, v = q(x).view(3, 5, 4, 4).transpose(1, 2), k(x).view(3, 5, 4, 4).transpose(1, 2), v(x).view(3, 5, 2, 8).transpose(1, 2)
    see("q", q, "BHTD"), see("k", k, "BHSD"), see("v", v.repeat_interleave(2, 1), "BHSE")
    scores = q @ k.transpose(-2, -1) / 2
    maps = scores.softmax(-1).view(3, 2, 2, 5, 5)
    weights = maps[:, :, 0] - 0.3 * maps[:, :, 1]
    context = weights @ v
    see("scaled", scores), see("weights", weights.repeat_interleave(2, 1)), see("context", context.repeat_interleave(2, 1), "BHTE")
    see("attention_out", out(context.transpose(1, 2).reshape(3, 5, 16)), "BTC")


@way(scale=None, softmax_over="S")
def several_learned_queries(see):
    x, hidden, queries = randn(2, 6, 4), nn.Linear(4, 8, bias=False), nn.Linear(8, 3, bias=False)
    keys = torch.tanh(hidden(x))
    weights = queries(keys).softmax(1).transpose(1, 2)
    see("k", keys, "BSD"), see("v", x, "BSD"), see("weights", weights, "BTS"), see("context", weights @ x, "BTD")


@way("no_grad", "inference", scale=1 / 2)
def one_of_three_is_scaled_in_place(see):
    x, w = randn(2, 6, 8), nn.Linear(8, 24, bias=False)
    q, k, v = w(x).view(2, 6, 3, 2, 4).permute(2, 0, 3, 1, 4).contiguous().unbind(0)
    see("q", q, "BHTD"), see("k", k, "BHSD"), see("v", v, "BHSD")
    k.div_(2)
    weights = (q @ k.transpose(-2, -1)).softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way("no_grad", scale=1 / 2)
def a_part_of_packed_queries_is_scaled_in_place(see):
    x, w = randn(2, 6, 8), nn.Linear(8, 24, bias=False)
    packed = w(x)
    see("k", packed[..., 8:16].view(2, 6, 2, 4).transpose(1, 2), "BHSD"), see("v", packed[..., 16:].view(2, 6, 2, 4).transpose(1, 2), "BHSD")
    packed[..., :8] *= 0.5
    q, k, v = (each.view(2, 6, 2, 4).transpose(1, 2) for each in (packed[..., :8], packed[..., 8:16], packed[..., 16:]))
    weights = (q @ k.transpose(-2, -1)).softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way("no_grad")
def experts_and_words_are_no_attention(see):
    x, gate, experts, words = randn(2, 6, 4), nn.Linear(4, 3), randn(2, 6, 3, 4), nn.Linear(4, 9)
    chosen = (gate(x).softmax(-1)[..., None] * experts).sum(2)
    words(chosen).softmax(-1) @ randn(9, 4)
    q = randn(5, 3)
    weights = (q @ q.T / 3 ** 0.5).softmax(-1)
    see("weights", weights, "TS"), see("context", weights @ q, "TD")


@way(repeat=1)
def heads_of_keys_tiled(see):
    q, k, v = randn(2, 6, 5, 4), randn(2, 3, 5, 4).repeat(1, 2, 1, 1), randn(2, 3, 5, 4).repeat(1, 2, 1, 1)
    see("q", q, "BHTD"), see("k", k, "BHSD"), see("v", v, "BHSD")
    weights = (q @ k.transpose(-2, -1) / 2).softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way(repeat=2)
def grouped_by_einsum(see):
    q, k, v, out = randn(2, 5, 3, 2, 4), randn(2, 5, 3, 4), randn(2, 5, 3, 4), nn.Linear(24, 24)
    see("k", k, "BSHD"), see("v", v, "BSHD")
    weights = torch.einsum("btgrd,bsgd->bgrts", q, k).div(2).softmax(-1)
    see("weights", weights.reshape(2, 6, 5, 5))
    joined = torch.einsum("bgrts,bsgd->btgrd", weights, v).reshape(2, 5, 24)
    see("concat", joined, "BTC"), see("attention_out", out(joined), "BTC")


@way(scale=0.5, stages="q k v scores scaled scaled.1 weights context")
def powers_of_two(see):
    q, k, v = projected(see, "q")
    scaled = q @ k.transpose(-2, -1) * (0.5 / math.log(2))
    powers = torch.exp2(scaled - scaled.amax(-1, keepdim=True))
    weights = powers / powers.sum(-1, keepdim=True)
    see("scaled", scaled), see("weights", weights), see("context", weights @ v, "BHTD")


@way(stages="q k v scores scaled weights context concat")
def some_of_the_queries_are_read(see):
    q, k, v = projected(see, "q")
    weights = (q @ k.transpose(-2, -1) / 2).softmax(-1)
    joined = (weights @ v).transpose(1, 2).reshape(2, 5, 12)
    see("weights", weights), see("concat", joined, "BTC")
    return nn.Linear(12, 12)(joined[:, :2]), nn.Linear(12, 12)(joined[:, 2:])


@way()
def beside_norms_of_batches_and_groups(see):
    x, norms, qkv = randn(2, 8, 3, 3), [nn.BatchNorm2d(8), nn.GroupNorm(2, 8)], nn.Conv2d(8, 24, 1)
    q, k, v = qkv(norms[1](norms[0](x))).flatten(2).chunk(3, 1)
    weights = (q.transpose(1, 2) @ k / math.sqrt(8)).softmax(-1)
    see("weights", weights, "BTS"), see("context", v @ weights.transpose(1, 2), "BDT")


# ------------------------------------------------------------------------------------------------- modules

if torch is not None:
    class Heads(nn.Module):
        """The usual module: four linear maps."""

        def __init__(self, width, heads, dropout=0.0, bias=True):
            super().__init__()
            self.heads, self.rate = heads, dropout
            self.query, self.key, self.value, self.out = (nn.Linear(width, width, bias=bias) for _ in range(4))

        def forward(self, x, see, memory=None, mask=None):
            memory = x if memory is None else memory

            def split(y):
                return y.view(*y.shape[:2], self.heads, -1).transpose(1, 2)
            q, k, v = split(self.query(x)), split(self.key(memory)), split(self.value(memory))
            see("q", q, "BHTD"), see("k", k, "BHSD"), see("v", v, "BHSD")
            scores = torch.matmul(q, k.transpose(-2, -1))
            see("scores", scores)
            scores = scores * q.shape[-1] ** -0.5
            see("scaled", scores)
            if mask is not None:
                scores = scores.masked_fill(mask == 0, float("-inf"))
                see("masked", scores)
            weights = F.softmax(scores, dim=-1)
            see("weights", weights)
            if self.rate:
                weights = F.dropout(weights, self.rate, self.training)
                see("dropped", weights)
            context = torch.matmul(weights, v)
            see("context", context, "BHTD")
            joined = context.transpose(1, 2).contiguous().view(*x.shape[:2], -1)
            see("concat", joined, "BTC")
            result = self.out(joined)
            see("attention_out", result, "BTC")
            return result


@way(name="Heads", kind="self")
def a_module(see):
    Heads(12, 3)(randn(2, 5, 12), see, mask=torch.tril(torch.ones(5, 5)))


@way(kind="self")
def a_module_without_a_batch_and_biases(see):
    Heads(12, 3, bias=False)(randn(1, 5, 12), see)


@way(kind="cross")
def cross_attention(see):
    Heads(12, 3)(randn(2, 4, 12), see, memory=randn(2, 6, 12))


@way()
def forward_without_call(see):
    Heads(12, 3).forward(randn(2, 5, 12), see)


@way(stages="q k v scores scaled weights dropped context concat attention_out")
def dropout_in_training(see):
    Heads(12, 3, dropout=0.4)(randn(2, 5, 12), see)


@way()
def dropout_by_hand(see):
    q, k, v = randn(2, 5, 4), randn(2, 5, 4), randn(2, 5, 4)
    weights = torch.softmax(q @ k.transpose(1, 2) / 2, -1)
    see("weights", weights, "BTS")
    keep = (torch.rand(2, 5, 5) > 0.3).float()
    dropped = weights * keep / 0.7
    see("dropped", dropped, "BTS"), see("context", dropped @ v, "BTD")


@way()
def one_linear_map_for_all(see):
    x, qkv, out = randn(2, 5, 12), nn.Linear(12, 36), nn.Linear(12, 12)
    q, k, v = qkv(x).chunk(3, dim=-1)
    q, k, v = (each.view(2, 5, 3, 4).transpose(1, 2) for each in (q, k, v))
    see("q", q, "BHTD"), see("k", k, "BHSD"), see("v", v, "BHSD")
    weights = (q @ k.transpose(-2, -1) / 2).softmax(-1)
    see("weights", weights)
    context = weights @ v
    see("attention_out", out(context.transpose(1, 2).flatten(2)), "BTC")


@way()
def one_linear_map_unbound(see):
    x, qkv, out = randn(2, 5, 12), nn.Linear(12, 36), nn.Linear(12, 12)
    q, k, v = qkv(x).reshape(2, 5, 3, 3, 4).permute(2, 0, 3, 1, 4).unbind(0)
    see("q", q, "BHTD"), see("k", k, "BHSD"), see("v", v, "BHSD")
    weights = (q * 0.5 @ k.transpose(-2, -1)).softmax(-1)
    see("weights", weights)
    see("attention_out", out((weights @ v).transpose(1, 2).reshape(2, 5, 12)), "BTC")


@way()
def one_linear_map_by_head(see):
    """GPT-NeoX: heads first, q, k and v within each."""
    x, qkv, out = randn(2, 5, 12), nn.Linear(12, 36), nn.Linear(12, 12)
    q, k, v = qkv(x).view(2, 5, 3, 12).transpose(1, 2).chunk(3, dim=-1)
    see("q", q, "BHTD"), see("k", k, "BHSD"), see("v", v, "BHSD")
    weights = (q @ k.transpose(-2, -1) / 2).softmax(-1)
    see("weights", weights)
    see("attention_out", out((weights @ v).transpose(1, 2).reshape(2, 5, 12)), "BTC")


@way()
def projections_by_convolution(see):
    x, w = randn(2, 12, 5), [nn.Conv1d(12, 12, 1) for _ in range(3)]
    q, k, v = (each(x).view(2, 3, 4, 5) for each in w)
    see("q", q, "BHDT"), see("k", k, "BHDS"), see("v", v, "BHDS")
    weights = (q.transpose(-2, -1) @ k / 2).softmax(-1)
    see("weights", weights), see("context", v @ weights.transpose(-2, -1), "BHDT")


@way()
def low_rank_adapter(see):
    x, w, a, b = randn(2, 5, 12), [nn.Linear(12, 12) for _ in range(3)], nn.Linear(12, 2, bias=False), nn.Linear(2, 12, bias=False)
    q, k, v = w[0](x) + b(a(x)) * 2.0, w[1](x), w[2](x)
    q, k, v = (each.view(2, 5, 3, 4).transpose(1, 2) for each in (q, k, v))
    see("q", q, "BHTD"), see("k", k, "BHSD")
    weights = (q @ k.transpose(-2, -1) / 2).softmax(-1)
    see("weights", weights), see("context", weights @ v, "BHTD")


@way()
def cosine_similarity(see):
    """The library repeats queries and keys for each other, and divides by their lengths then."""
    q, k, v = (randn(2, 3, 5, 4) for _ in range(3))
    see("q", q, "BHTD"), see("k", k, "BHSD")
    scores = F.cosine_similarity(q.unsqueeze(-2), k.unsqueeze(-3), dim=-1)
    weights = (scores * 10).softmax(-1)
    see("scores", scores), see("weights", weights), see("context", weights @ v, "BHTD")


@way(scale=0.5)
def only_the_largest_scores(see):
    """They are put back among cells of −∞."""
    q, k, v = (randn(2, 3, 5, 4) for _ in range(3))
    scores = q @ k.transpose(-2, -1) / 2
    largest, places = scores.topk(2, -1)
    masked = torch.full_like(scores, -math.inf).scatter(-1, places, largest)
    weights = masked.softmax(-1)
    see("masked", masked), see("weights", weights), see("context", weights @ v, "BHTD")


@way(kind="self")
def batch_second(see):
    """[T, B, C], as older code of PyTorch has it."""
    x, w, out = randn(5, 2, 12), [nn.Linear(12, 12) for _ in range(3)], nn.Linear(12, 12)
    q, k, v = (each(x).view(5, 6, 4).transpose(0, 1) for each in w)
    see("q", q.reshape(2, 3, 5, 4), "BHTD"), see("k", k.reshape(2, 3, 5, 4), "BHSD")
    weights = torch.bmm(q, k.transpose(1, 2)).mul(0.5).softmax(-1)
    see("weights", weights.view(2, 3, 5, 5))
    joined = torch.bmm(weights, v).transpose(0, 1).reshape(5, 2, 12)
    see("concat", joined, "TBC"), see("attention_out", out(joined), "TBC")


@way(count=3)
def heads_in_a_list(see):
    class Single(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key, self.value = (nn.Linear(12, 4, bias=False) for _ in range(3))

        def forward(self, x, index):
            q, k, v = self.query(x), self.key(x), self.value(x)
            see(f"{index}/q", q, "BTD"), see(f"{index}/k", k, "BSD")
            scores = q @ k.transpose(1, 2)
            scores.masked_fill_(torch.ones(5, 5).triu(1).bool(), -math.inf)
            see(f"{index}/masked", scores, "BTS")
            weights = torch.softmax(scores / 2, -1)
            see(f"{index}/weights", weights, "BTS")
            see(f"{index}/context", weights @ v, "BTD")
            return weights @ v

    class Several(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = nn.ModuleList(Single() for _ in range(3))

        def forward(self, x):
            return torch.cat([head(x, index) for index, head in enumerate(self.heads)], -1)
    Several()(randn(2, 5, 12))


@way(count=3)
def one_module_called_again(see):
    attention = Heads(12, 3)
    x = randn(2, 5, 12)
    for index in range(3):
        def see_call(name, tensor, axes="BHTS", index=index):
            see(f"{index}/{name}", tensor, axes)
        x = attention(x, see_call)


@way()
def learned_queries(see):
    """Queries that are parameters, through a linear map: pooling."""
    latents, w = nn.Parameter(randn(3, 12)), [nn.Linear(12, 12) for _ in range(3)]
    memory = randn(2, 6, 12)
    q, k, v = w[0](latents), w[1](memory), w[2](memory)
    weights = (q @ k.transpose(-2, -1) / 3).softmax(-1)
    see("weights", weights, "BTS"), see("context", weights @ v, "BTD")


@way()
def pytorch_attention_with_weights(see):
    attention = nn.MultiheadAttention(12, 3, batch_first=True)
    x = randn(2, 5, 12)
    result, weights = attention(x, x, x, attn_mask=torch.ones(5, 5, dtype=torch.bool).triu(1), average_attn_weights=False)
    see("weights", weights) if attention.training and torch.is_grad_enabled() else None
    see("attention_out", result, "BTC")


@way("grad", axes={"B": 1, "H": 3, "G": 3, "T": 5, "S": 5, "D": 4})
def pytorch_attention_of_one_text(see):
    """Its heads are no texts, although a single text has no axis of its own on the way to the kernel."""
    attention, x = nn.MultiheadAttention(12, 3, batch_first=True), randn(1, 5, 12)
    see("attention_out", attention(x, x, x, need_weights=False)[0], "BTC")


@way()
def pytorch_attention_across(see):
    attention = nn.MultiheadAttention(12, 3, kdim=6, vdim=8)
    result, weights = attention(randn(4, 2, 12), randn(7, 2, 6), randn(7, 2, 8), average_attn_weights=False)
    see("weights", weights), see("attention_out", result, "TBC")


def sdpa(see, q, k, v, **options):
    see("q", q, "BHTD"), see("k", k, "BHSD"), see("v", v, "BHSD")
    see("context", F.scaled_dot_product_attention(q, k, v, **options), "BHTD")


@way(scale=0.5)
def fused_kernel(see):
    sdpa(see, randn(2, 3, 5, 4), randn(2, 3, 6, 4), randn(2, 3, 6, 4))


@way(scale=0.3)
def fused_kernel_causal(see):
    sdpa(see, randn(2, 3, 5, 4), randn(2, 3, 5, 4), randn(2, 3, 5, 4), is_causal=True, scale=0.3)


@way()
def fused_kernel_without_heads(see):
    q, k, v = randn(2, 5, 4), randn(2, 5, 4), randn(2, 5, 4)
    see("q", q, "BTD"), see("k", k, "BSD")
    see("context", F.scaled_dot_product_attention(q, k, v), "BTD")


@way()
def fused_kernel_with_mask(see):
    sdpa(see, randn(2, 3, 5, 4), randn(2, 3, 5, 4), randn(2, 3, 5, 4), attn_mask=torch.ones(5, 5, dtype=torch.bool).tril())


@way(repeat=2)
def fused_kernel_grouped(see):
    sdpa(see, randn(2, 6, 5, 4), randn(2, 3, 5, 4), randn(2, 3, 5, 4), enable_gqa=True)


@way()
def fused_kernel_of_rotated_queries(see):
    q, k, v = projected(see, "q", "k")
    angles = torch.arange(5)[:, None] * torch.tensor([1.0, 0.1]).repeat(2)
    q, k = (each * angles.cos() + rotate_half(each) * angles.sin() for each in (q, k))
    see("q_rotated", q, "BHTD"), see("k_rotated", k, "BHSD")
    see("context", F.scaled_dot_product_attention(q, k, v, is_causal=True), "BHTD")


@way()
def fused_kernel_in_a_module(see):
    x, w, out = randn(2, 5, 12), [nn.Linear(12, 12) for _ in range(3)], nn.Linear(12, 12)
    q, k, v = (each(x).view(2, 5, 3, 4).transpose(1, 2) for each in w)
    sdpa(see, q, k, v, is_causal=True)
    context = F.scaled_dot_product_attention(q, k, v, is_causal=True) if see.on else None
    if context is not None:
        see("context", context, "BHTD")


FUSED = {name for name in WAYS if name.startswith("fused_kernel")}


class WaysTest(reading.FolderTest):
    def run_way(self, name, mode):
        function, _, expected = WAYS[name]
        see, context = Seen(), {"grad": torch.enable_grad, "no_grad": torch.no_grad, "inference": torch.inference_mode}[mode]
        torch.manual_seed(1)
        with context():
            function(see)
        state, see.on = torch.get_rng_state(), False
        torch.manual_seed(1)
        with context(), attnscope.record(self.path(f"{name}-{mode}")):
            function(see)
        self.assertTrue(torch.equal(state, torch.get_rng_state()), "the random state differs")
        recording = reading.Recording(self.path(f"{name}-{mode}"))
        self.assertEqual(recording.json["unfollowed"], [])
        attentions = recording.attentions
        self.assertEqual(len(attentions), expected.get("count", 1), [each["name"] for each in attentions])
        reading.check_graph(self, recording)
        for field, value in expected.items():
            if field == "scale" and value is not None:
                self.assertAlmostEqual(attentions[0]["scale"], value)
            elif field == "stages":
                self.assertEqual(" ".join(each["name"] for each in attentions[0]["stages"]), value)
            elif field != "count":
                self.assertEqual(attentions[0][field], value, field)
        self.assertGreater(len(see.stages), 0)
        for stage, wanted in see.stages.items():
            index, _, stage = stage.rpartition("/")
            full = f"{attentions[int(index or 0)]['name']}/{stage}"
            self.assertIn(full, recording.steps[0], sorted(recording.steps[0]))
            found = recording.steps[0][full]
            self.assertEqual(found.shape, wanted.shape, full)
            self.assertEqual(found.dtype.itemsize, wanted.dtype.itemsize, full)
            self.assertEqual(found.tobytes(), wanted.tobytes(), f"{full} differs")

    def test_every_way(self):
        self.assertGreaterEqual(len(WAYS), 40)
        for name, (_, modes, _) in WAYS.items():
            if name in FUSED and not hasattr(F, "scaled_dot_product_attention"):
                continue
            for mode in modes:
                with self.subTest(way=name, mode=mode):
                    self.run_way(name, mode)


if __name__ == "__main__":
    reading.main()
