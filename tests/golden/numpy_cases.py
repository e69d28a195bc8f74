#!/usr/bin/env python3
"""Write reference cases of randomly drawn shapes, computed by NumPy in double.

The same files as make_cases.py writes (README.md describes the format), for
where PyTorch is not: gradients come from a small reverse-mode differentiation
of elementary operations, so that nothing is derived by hand.

    numpy_cases.py --out DIR --seed N [--dtype F32|F64]
"""
import argparse, json, math, os, struct
import numpy as np

erf = np.vectorize(math.erf, otypes=[float])


class Node:
    """An array, and how the gradient of what was computed from it flows back to its operands."""

    def __init__(self, value, parents=()):
        self.value, self.parents, self.grad = np.asarray(value, dtype=np.float64), parents, None

    def __add__(self, other):
        other = node(other)
        return Node(self.value + other.value, [(self, lambda g: g), (other, lambda g: g)])

    def __mul__(self, other):
        other = node(other)
        return Node(self.value * other.value, [(self, lambda g: g * other.value), (other, lambda g: g * self.value)])

    def __matmul__(self, other):
        return Node(self.value @ other.value, [(self, lambda g: g @ other.value.swapaxes(-1, -2)),
                                               (other, lambda g: self.value.swapaxes(-1, -2) @ g)])

    def __sub__(self, other):
        return self + node(other) * -1.0

    def __truediv__(self, other):
        return self * node(other) ** -1.0

    def __pow__(self, exponent):
        return Node(self.value ** exponent, [(self, lambda g: g * exponent * self.value ** (exponent - 1))])

    def apply(self, f, slope):
        return Node(f(self.value), [(self, lambda g: g * slope(self.value))])

    def sum(self, axis=-1):
        return Node(self.value.sum(axis, keepdims=True), [(self, lambda g: g + np.zeros_like(self.value))])

    def reshape(self, *shape):
        return Node(self.value.reshape(shape), [(self, lambda g: g.reshape(self.value.shape))])

    def swap(self, a, b):
        return Node(self.value.swapaxes(a, b), [(self, lambda g: g.swapaxes(a, b))])

    def rows(self, index):
        """self[index] along the first axis, where rows may repeat."""
        def back(g):
            out = np.zeros_like(self.value)
            np.add.at(out, index, g)
            return out
        return Node(self.value[index], [(self, back)])


def node(x):
    return x if isinstance(x, Node) else Node(x)


def backward(end, start):
    """Leaves in every node that `end` was computed from the gradient of sum(start * end)."""
    order, seen = [], set()

    def visit(n):
        if id(n) not in seen:
            seen.add(id(n))
            for parent, _ in n.parents:
                visit(parent)
            order.append(n)
    visit(end)
    for n in order:
        n.grad = np.zeros_like(n.value)
    end.grad = np.asarray(start, dtype=np.float64)
    for n in reversed(order):
        for parent, flow in n.parents:
            g = flow(n.grad)
            while g.ndim > parent.value.ndim:  # the sum over what was repeated
                g = g.sum(0)
            for axis, size in enumerate(parent.value.shape):
                if size == 1 and g.shape[axis] != 1:
                    g = g.sum(axis, keepdims=True)
            parent.grad = parent.grad + g


# --- what the modules consist of -------------------------------------------------------------------------------------

def softmax(x, keep):
    keep = np.broadcast_to(keep, x.value.shape)
    largest = np.where(keep, x.value, -np.inf).max(-1, keepdims=True)
    e = (x - np.where(np.isfinite(largest), largest, 0.0)).apply(lambda v: np.exp(np.where(keep, v, -np.inf)),
                                                                 lambda v: np.exp(np.where(keep, v, -np.inf)))
    return e / (e.sum() + (~keep.any(-1, keepdims=True)).astype(float))  # a row without a key is 0


def layer_norm(x, p, name, eps):
    n = x.value.shape[-1]
    d = x - x.sum() * (1 / n)
    y = d * ((d * d).sum() * (1 / n) + eps) ** -0.5 * p[name + ".weight"]
    return y + p[name + ".bias"] if name + ".bias" in p else y


def gelu_erf(x):
    return x.apply(lambda v: v * 0.5 * (1 + erf(v / math.sqrt(2))),
                   lambda v: 0.5 * (1 + erf(v / math.sqrt(2))) + v * np.exp(-v * v / 2) / math.sqrt(2 * math.pi))


def gelu_tanh(x):
    u = (x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)
    return x * 0.5 * (u.apply(np.tanh, lambda v: 1 - np.tanh(v) ** 2) + 1.0)


def relu(x):
    return x.apply(lambda v: np.maximum(v, 0), lambda v: (v > 0).astype(float))


def linear(x, p, name):
    y = x @ p[name + ".weight"].swap(0, 1)
    return y + p[name + ".bias"] if name + ".bias" in p else y


def split(x, heads):
    b, t, e = x.value.shape
    return x.reshape(b, t, heads, e // heads).swap(1, 2)


def join(x):
    b, h, t, d = x.value.shape
    return x.swap(1, 2).reshape(b, t, h * d)


def attention(x, source, p, name, heads, keep):
    """nn.MultiheadAttention; keep is broadcastable to [B,H,T,S]."""
    e = x.value.shape[-1]

    def project(y, part):
        rows = np.arange(part * e, (part + 1) * e)
        out = y @ p[name + "in_proj_weight"].rows(rows).swap(0, 1)
        return split(out + p[name + "in_proj_bias"].rows(rows) if name + "in_proj_bias" in p else out, heads)
    q, k, v = project(x, 0), project(source, 1), project(source, 2)
    weights = softmax(q @ k.swap(-1, -2) * (1 / math.sqrt(e // heads)), keep)
    return linear(join(weights @ v), p, name + "out_proj"), weights


def layer(x, p, name, c, keep, memory=None, memory_keep=None):
    """nn.TransformerEncoderLayer or, with a memory, nn.TransformerDecoderLayer."""
    act = relu if c["activation"] == "relu" else gelu_tanh if c.get("gelu") == "tanh" else gelu_erf
    blocks = [lambda y: attention(y, y, p, name + "self_attn.", c["num_heads"], keep)[0]]
    if memory is not None:
        blocks.append(lambda y: attention(y, memory, p, name + "multihead_attn.", c["num_heads"], memory_keep)[0])
    blocks.append(lambda y: linear(act(linear(y, p, name + "linear1")), p, name + "linear2"))
    for i, block in enumerate(blocks):
        norm = lambda y: layer_norm(y, p, f"{name}norm{i + 1}", c.get("layer_norm_eps", 1e-5))
        x = x + block(norm(x)) if c["norm_first"] else norm(x + block(x))
    return x


def gpt2(p, c, ids):
    t, e = ids.shape[1], c["d_model"]
    keep, eps, weights = np.tril(np.ones((t, t), bool)), c.get("layer_norm_eps", 1e-5), []
    x = p["wte.weight"].rows(ids) + p["wpe.weight"].rows(np.arange(t))
    conv = lambda y, name: y @ p[name + ".weight"] + p[name + ".bias"]
    for i in range(c["num_layers"]):
        h = f"h.{i}."
        packed = conv(layer_norm(x, p, h + "ln_1", eps), h + "attn.c_attn").swap(0, 2)
        q, k, v = (split(packed.rows(np.arange(j * e, (j + 1) * e)).swap(0, 2), c["num_heads"]) for j in range(3))
        w = softmax(q @ k.swap(-1, -2) * (1 / math.sqrt(e // c["num_heads"])), keep)
        weights.append(w)
        x = x + conv(join(w @ v), h + "attn.c_proj")
        act = relu if c["activation"] == "relu" else gelu_erf if c["gelu"] == "erf" else gelu_tanh
        x = x + conv(act(conv(layer_norm(x, p, h + "ln_2", eps), h + "mlp.c_fc")), h + "mlp.c_proj")
    head = p["wte.weight"] if c["tied_lm_head"] else p["lm_head.weight"]
    return layer_norm(x, p, "ln_f", eps) @ head.swap(0, 1), weights


def cross_entropy(logits, targets):
    v = logits.value.shape[-1]
    p = softmax(logits.reshape(-1, v), np.ones(v, bool))
    picked = (p * np.eye(v)[targets.reshape(-1)]).sum()
    return picked.apply(np.log, lambda x: 1 / x).sum(0) * (-1 / targets.size)


# --- drawing and writing ---------------------------------------------------------------------------------------------

class Draw:
    """Numbers that are exact in the file's type, and sizes from 1."""

    def __init__(self, seed, dtype):
        self.r, self.dtype = np.random.RandomState(seed), dtype

    def normal(self, *shape, std=1.0):
        return (self.r.randn(*shape) * std).astype(self.dtype).astype(float)

    def size(self, low, high):
        return int(self.r.randint(low, high + 1))

    def coin(self):
        return bool(self.r.randint(2))

    def key_padding(self, b, s):
        """True = ignored; every sequence keeps a key."""
        return np.arange(s) >= self.r.randint(1, s + 1, (b, 1))

    def masked(self, t, s):
        """True = may not attend; every query keeps a key, and with a key padding the first one."""
        mask = self.r.rand(t, s) < 0.4
        mask[:, 0] = False
        return mask


def write(path, module, config, tensors, dtype):
    kinds = {"f": "F32" if dtype == np.float32 else "F64", "i": "I64", "b": "BOOL"}
    header, blobs, at = {"__metadata__": {"format": "attnscope-case/1", "module": module, "config": json.dumps(config),
                                          "source": "NumPy " + np.__version__}}, [], 0
    for name, value in tensors.items():
        value = value.value if isinstance(value, Node) else np.asarray(value)
        value = np.ascontiguousarray(value.astype(dtype) if value.dtype.kind == "f" else value).reshape(value.shape)
        blobs.append(value.tobytes())
        header[name] = {"dtype": kinds[value.dtype.kind], "shape": list(value.shape), "data_offsets": [at, at + len(blobs[-1])]}
        at += len(blobs[-1])
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def parameters(draw, shapes, std=0.4):
    """Nodes by name; gains of norms lie around 1."""
    return {n: Node(draw.normal(*s, std=std) + (1 if "norm" in n and n.endswith("weight") or "ln_" in n and n.endswith("weight") else 0))
            for n, s in shapes.items()}


def with_gradients(tensors, out, draw, inputs, p):
    """Adds a gradient to start from and what it makes of every input and parameter."""
    tensors["in.grad_out"] = draw.normal(*out.value.shape)
    backward(out, tensors["in.grad_out"])
    for name, x in inputs.items():
        tensors["grad.in." + name] = x.grad
    for name, x in p.items():
        tensors["param." + name], tensors["grad.param." + name] = x, x.grad


def attention_shapes(name, e, bias):
    shapes = {name + "in_proj_weight": (3 * e, e), name + "out_proj.weight": (e, e)}
    if bias:
        shapes.update({name + "in_proj_bias": (3 * e,), name + "out_proj.bias": (e,)})
    return shapes


def layer_shapes(name, c, cross):
    e, f = c["d_model"], c["d_ff"]
    shapes = attention_shapes(name + "self_attn.", e, True)
    if cross:
        shapes.update(attention_shapes(name + "multihead_attn.", e, True))
    shapes.update({name + "linear1.weight": (f, e), name + "linear2.weight": (e, f), name + "linear1.bias": (f,), name + "linear2.bias": (e,)})
    for i in range(3 if cross else 2):
        shapes.update({f"{name}norm{i + 1}.weight": (e,), f"{name}norm{i + 1}.bias": (e,)})
    return {n: s for n, s in shapes.items() if c.get("bias", True) or not n.endswith("bias")}


def sdpa_case(draw):
    b, h, t, s, d, dv = (draw.size(1, n) for n in (3, 3, 7, 9, 6, 6))
    q, k, v = (Node(draw.normal(*shape)) for shape in ((b, h, t, d), (b, h, s, d), (b, h, s, dv)))
    shape = [(t, s), (b, 1, 1, s), (b, 1, t, s), (1, h, t, s), (b, h, t, s), (s,), (h, t, s), (b, h, t, 1)][draw.size(0, 7)]
    kind = ["none", "bool_keep", "additive"][draw.size(0, 2)]
    scale = draw.size(1, 9) / 8
    tensors = {"in.q": q, "in.k": k, "in.v": v}
    keep, bias = np.ones((t, s), bool), np.zeros(())
    if kind == "bool_keep":
        tensors["in.mask"] = keep = draw.r.rand(*shape) < 0.6  # some rows keep nothing
    elif kind == "additive":
        tensors["in.mask"] = mask = np.where(draw.r.rand(*shape) < 0.2, -np.inf, draw.normal(*shape))
        keep, bias = np.isfinite(mask), np.where(np.isfinite(mask), mask, 0)
    scores = q @ k.swap(-1, -2)
    scaled = scores * scale
    weights = softmax(scaled + bias, keep)
    context = weights @ v
    tensors.update({"out.scores": scores, "out.scaled": scaled, "out.weights": weights, "out.context": context})
    if draw.coin():
        with_gradients(tensors, context, draw, {"q": q, "k": k, "v": v}, {})
    return {"scale": scale, "mask": kind}, tensors


def mha_case(draw):
    h = draw.size(1, 4)
    e, b, t = h * draw.size(1, 5), draw.size(1, 3), draw.size(1, 7)
    cross, bias = draw.coin(), draw.coin()
    s = draw.size(1, 8) if cross else t
    p = parameters(draw, attention_shapes("", e, bias))
    x = Node(draw.normal(b, t, e))
    source = Node(draw.normal(b, s, e)) if cross else x
    tensors, keep = {"in.query": x}, np.ones((1, 1, t, s), bool)
    if draw.coin():
        mask = np.stack([draw.masked(t, s) for _ in range(b * h)]) if draw.coin() else draw.masked(t, s)
        tensors["in.attn_mask"] = mask
        keep = keep & ~(mask.reshape(b, h, t, s) if mask.ndim == 3 else mask)
    if draw.coin():
        tensors["in.key_padding_mask"] = padding = draw.key_padding(b, s)
        keep = keep & ~padding[:, None, None, :]
    y, weights = attention(x, source, p, "", h, keep)
    inputs = {"query": x}
    if cross:
        tensors["in.key_value"] = inputs["key_value"] = source
    tensors.update({"out.output": y, "out.weights": np.broadcast_to(weights.value, (b, h, t, s))})
    with_gradients(tensors, y, draw, inputs, p)
    return {"embed_dim": e, "num_heads": h, "bias": bias, "mask": "bool_masked"}, tensors


def layer_config(draw):
    h = draw.size(1, 4)
    c = {"d_model": h * draw.size(1, 4) * (2 if h == 1 else 1), "num_heads": h, "d_ff": draw.size(1, 13), "norm_first": draw.coin(),
         "activation": "gelu" if draw.coin() else "relu"}
    c.update({} if c["activation"] == "relu" else {"gelu": "erf"})
    c.update({"layer_norm_eps": 1e-3} if draw.coin() else {}, **({"bias": False} if draw.coin() else {}))
    return c


def masks_of(draw, tensors, name, padding_name, b, t, s):
    """Draws the optional masks and returns what may attend, broadcastable to [B,H,T,S]."""
    keep = np.ones((1, 1, t, s), bool)
    if draw.coin():
        tensors["in." + name] = mask = draw.masked(t, s)
        keep = keep & ~mask
    if draw.coin():
        tensors["in." + padding_name] = padding = draw.key_padding(b, s)
        keep = keep & ~padding[:, None, None, :]
    return keep


def encoder_layer_case(draw):
    c, b, t = layer_config(draw), draw.size(1, 3), draw.size(1, 6)
    p, x = parameters(draw, layer_shapes("", c, False)), Node(draw.normal(b, t, c["d_model"]))
    tensors = {"in.src": x}
    y = layer(x, p, "", c, masks_of(draw, tensors, "src_mask", "src_key_padding_mask", b, t, t))
    tensors["out.output"] = y
    with_gradients(tensors, y, draw, {"src": x}, p)
    return c, tensors


def decoder_layer_case(draw):
    c, b, t, s = layer_config(draw), draw.size(1, 3), draw.size(1, 6), draw.size(1, 7)
    p = parameters(draw, layer_shapes("", c, True))
    x, memory = Node(draw.normal(b, t, c["d_model"])), Node(draw.normal(b, s, c["d_model"]))
    tensors = {"in.tgt": x, "in.memory": memory}
    keep = masks_of(draw, tensors, "tgt_mask", "tgt_key_padding_mask", b, t, t)
    y = layer(x, p, "", c, keep, memory, masks_of(draw, tensors, "memory_mask", "memory_key_padding_mask", b, t, s))
    tensors["out.output"] = y
    with_gradients(tensors, y, draw, {"tgt": x, "memory": memory}, p)
    return c, tensors


def transformer_case(draw):
    c, b, t, s = layer_config(draw), draw.size(1, 3), draw.size(1, 5), draw.size(1, 6)
    c.update(encoder_layers=draw.size(1, 3), decoder_layers=draw.size(1, 3))
    shapes = {}
    for stack, cross in (("encoder", False), ("decoder", True)):
        for i in range(c[stack + "_layers"]):
            shapes.update(layer_shapes(f"{stack}.layers.{i}.", c, cross))
        shapes.update({f"{stack}.norm.weight": (c["d_model"],), **({f"{stack}.norm.bias": (c["d_model"],)} if c.get("bias", True) else {})})
    p, eps = parameters(draw, shapes), c.get("layer_norm_eps", 1e-5)
    src, tgt = Node(draw.normal(b, s, c["d_model"])), Node(draw.normal(b, t, c["d_model"]))
    tensors = {"in.src": src, "in.tgt": tgt}
    src_keep = masks_of(draw, tensors, "src_mask", "src_key_padding_mask", b, s, s)
    tgt_keep = masks_of(draw, tensors, "tgt_mask", "tgt_key_padding_mask", b, t, t)
    memory_keep = masks_of(draw, tensors, "memory_mask", "memory_key_padding_mask", b, t, s)
    memory, y = src, tgt
    for i in range(c["encoder_layers"]):
        memory = layer(memory, p, f"encoder.layers.{i}.", c, src_keep)
    memory = layer_norm(memory, p, "encoder.norm", eps)
    for i in range(c["decoder_layers"]):
        y = layer(y, p, f"decoder.layers.{i}.", c, tgt_keep, memory, memory_keep)
    y = layer_norm(y, p, "decoder.norm", eps)
    tensors["out.output"] = y
    with_gradients(tensors, y, draw, {"src": src, "tgt": tgt}, p)
    return c, tensors


def gpt2_config(draw):
    h, v = draw.size(1, 4), draw.size(2, 23)
    return {"vocab_size": v, "context_length": draw.size(6, 11), "d_model": h * draw.size(4, 7), "num_heads": h, "num_layers": draw.size(1, 3),
            "d_ff": draw.size(3, 29), "activation": "relu" if draw.size(0, 3) == 0 else "gelu", "gelu": "erf" if draw.coin() else "tanh",
            "tied_lm_head": draw.coin(), "norm_first": True, "layer_norm_eps": 1e-5}


def gpt2_parameters(draw, c):
    e, f = c["d_model"], c["d_ff"]
    shapes = {"wte.weight": (c["vocab_size"], e), "wpe.weight": (c["context_length"], e)}
    for i in range(c["num_layers"]):
        for name, m, n in ((".attn.c_attn", e, 3 * e), (".attn.c_proj", e, e), (".mlp.c_fc", e, f), (".mlp.c_proj", f, e)):
            shapes.update({f"h.{i}{name}.weight": (m, n), f"h.{i}{name}.bias": (n,)})
        shapes.update({f"h.{i}.ln_{j}.{kind}": (e,) for j in (1, 2) for kind in ("weight", "bias")})
    shapes.update({"ln_f.weight": (e,), "ln_f.bias": (e,)})
    if not c["tied_lm_head"]:
        shapes["lm_head.weight"] = (c["vocab_size"], e)
    return parameters(draw, shapes, std=0.2)


def gpt2_case(draw):
    c = gpt2_config(draw)
    p, b, t = gpt2_parameters(draw, c), draw.size(1, 3), draw.size(1, 6)
    ids, targets = (draw.r.randint(0, c["vocab_size"], (b, t)) for _ in range(2))
    logits, weights = gpt2(p, c, ids)
    loss = cross_entropy(logits, targets)
    backward(loss, np.ones((1, 1)))
    tensors = {"in.tokens": ids, "in.targets": targets, "out.logits": logits, "out.loss": loss.value.reshape(1)}
    tensors.update({f"out.h.{i}.attn.weights": w for i, w in enumerate(weights)})
    tensors.update({"param." + n: x for n, x in p.items()})
    if draw.coin():
        tensors.update({"grad.param." + n: x.grad for n, x in p.items()})
    return c, tensors


def trained(c, p, batches, kept_in=np.float64):
    """Losses, gradient norms and parameters after torch.optim.AdamW on every parameter alike, clipped by the global norm."""
    p = {n: Node(x.value.copy()) for n, x in p.items()}
    m, v = ({n: np.zeros_like(x.value) for n, x in p.items()} for _ in range(2))
    losses, norms = [], []
    for step, batch in enumerate(batches, 1):
        loss = cross_entropy(gpt2(p, c, batch[:, :-1])[0], batch[:, 1:])
        backward(loss, np.ones((1, 1)))
        norm = math.sqrt(sum((x.grad ** 2).sum() for x in p.values()))
        losses.append(loss.value.item()), norms.append(norm)
        for n, x in p.items():
            g = x.grad * min(1.0, c["clip"] / (norm + 1e-6))
            m[n], v[n] = 0.9 * m[n] + 0.1 * g, 0.95 * v[n] + 0.05 * g * g
            moved = m[n] / (1 - 0.9 ** step) / (np.sqrt(v[n] / (1 - 0.95 ** step)) + c["eps"])
            p[n] = Node((x.value * (1 - c["lr"] * c["weight_decay"]) - c["lr"] * moved).astype(kept_in).astype(np.float64))
    return np.array(losses), np.array(norms), p


def train_case(draw):
    """30 steps. Models so small that keeping their parameters in float32 alone moves the numbers by a good part of the tolerance are drawn
    again: no program that computes in float could be held to it."""
    while True:
        c = gpt2_config(draw)
        c.update(steps=30, lr=2e-3, betas=[0.9, 0.95], eps=1e-8, weight_decay=0.1, clip=1.0)
        p, b, t = gpt2_parameters(draw, c), draw.size(1, 3), draw.size(2, 5)
        batches = draw.r.randint(0, c["vocab_size"], (c["steps"], b, t + 1))
        losses, norms, end = trained(c, p, batches)
        if np.max(np.abs(trained(c, p, batches, np.float32)[1] / norms - 1)) < 1e-5:
            break
    tensors = {"in.batches": batches, **{"param." + n: x.value for n, x in p.items()}}
    tensors.update({"out.losses": losses, "out.grad_norms": norms, **{"out.param." + n: x for n, x in end.items()}})
    return c, tensors


CASES = {"sdpa": sdpa_case, "multihead_attention": mha_case, "encoder_layer": encoder_layer_case, "decoder_layer": decoder_layer_case,
         "transformer": transformer_case, "gpt2": gpt2_case, "train_gpt2": train_case}


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--out", required=True), a.add_argument("--seed", type=int, default=0)
    a.add_argument("--dtype", choices=["F32", "F64"], default="F32")
    a = a.parse_args()
    os.makedirs(a.out, exist_ok=True)
    dtype = np.float32 if a.dtype == "F32" else np.float64
    for i, (module, case) in enumerate(CASES.items()):
        config, tensors = case(Draw(a.seed * len(CASES) + i, dtype))
        write(os.path.join(a.out, f"{module}_{a.seed}.safetensors"), module, config, tensors, dtype)


if __name__ == "__main__":
    main()
