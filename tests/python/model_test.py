"""Recordings that are opened as models: small language models and layers written by hand, whose results PyTorch computes for other texts
than those that were recorded."""

import json
import math
import os
import shutil
import unittest.mock

import reading
from program_test import PROGRAM, change_number, run
from reading import np, torch

if torch is not None:
    import attnscope
    import torch.nn as nn
    import torch.nn.functional as F

    def rotated(x, way, base=10000.0, size=None, factor=1.0):
        """Rotary positions, as they are written in three ways, of the first numbers of each head."""
        size = size or x.shape[-1]
        x, rest = x[..., :size], x[..., size:]
        angles = torch.arange(x.shape[-2])[:, None] * factor * base ** (-torch.arange(0, size, 2) / size)
        if way == "halves":
            a, b = x.chunk(2, -1)
            x = x * torch.cat([angles, angles], -1).cos() + torch.cat([-b, a], -1) * torch.cat([angles, angles], -1).sin()
        elif way == "neighbours":
            a, b = x[..., 0::2], x[..., 1::2]
            x = torch.stack([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1).flatten(-2)
        else:
            pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * torch.polar(torch.ones_like(angles), angles)
            x = torch.view_as_real(pairs).flatten(-2)
        return torch.cat([x, rest], -1) if rest.shape[-1] else x

    class Attention(nn.Module):
        """Of several heads; `given` changes how it is written, and what it computes."""

        def __init__(self, width, heads, packed=False, bias=True, causal=True, out=True, scale=None, fill=-math.inf, mask=None,
                     listed=False, size=None, rotary=None, added=False, groups=None, alibi=False, head_norm=False, **_):
            super().__init__()
            self.heads, self.packed, self.causal, self.scale, self.fill = heads, packed, causal, scale, fill
            self.mask, self.rotary, self.added, self.groups, self.alibi = mask, rotary, added, groups or heads, alibi
            self.listed = None
            if listed:
                self.listed = nn.ModuleList(Attention(width, 1, bias=bias, causal=causal, out=False, size=width // heads) for _ in range(heads))
            elif packed:
                self.qkv = nn.Linear(width, 3 * width, bias=bias)
            else:
                keys = width // heads * self.groups
                self.q, self.k, self.v = (nn.Linear(width, size or each, bias=bias) for each in (width, keys, keys))
            self.out = nn.Linear(width, width, bias=bias) if out else None
            self.norms = nn.ModuleList(RmsNorm(width // heads) for _ in range(2)) if head_norm else None

        def split(self, x, heads=None):
            return x.view(*x.shape[:-1], heads or self.heads, -1).transpose(-2, -3)

        def forward(self, x):
            if self.listed is not None:
                return self.out(torch.cat([head(x) for head in self.listed], -1))
            q, k, v = self.qkv(x).chunk(3, -1) if self.packed else (self.q(x), self.k(x), self.v(x))
            q, k, v = self.split(q), self.split(k, self.groups), self.split(v, self.groups)
            if self.norms is not None:
                q, k = self.norms[0](q), self.norms[1](k)
            if self.rotary is not None:
                q, k = rotated(q, **self.rotary), rotated(k, **self.rotary)
            if self.groups != self.heads:
                k, v = (each.repeat_interleave(self.heads // self.groups, -3) for each in (k, v))
            scores = q @ k.transpose(-2, -1) * (self.scale or q.shape[-1] ** -0.5)
            T = x.shape[-2]
            if self.alibi:
                distance = (torch.arange(T)[None] - torch.arange(T)[:, None]).abs()
                bias = -torch.tensor([2.0 ** (-8 * (head + 1) / self.heads) for head in range(self.heads)])[:, None, None] * distance
                scores = scores + (bias + torch.full((T, T), -math.inf).triu(1) if self.added else bias)
            if self.causal and self.added and not self.alibi:
                scores = scores + torch.full((T, T), -math.inf).triu(1)
            elif self.causal and not self.added:
                scores = scores.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), self.fill)
            if self.mask is not None:
                scores = scores.masked_fill(self.mask(T), -math.inf)
            heads = scores.softmax(-1) @ v
            heads = heads.transpose(-2, -3).flatten(-2)
            return heads if self.out is None else self.out(heads)

    class OneHead(nn.Module):
        """The attention of a first lesson: nothing is put side by side, and nothing comes after it."""

        def __init__(self, one_by_one=False):
            super().__init__()
            self.q, self.k, self.v, self.one_by_one = nn.Linear(8, 6), nn.Linear(8, 6), nn.Linear(8, 6), one_by_one

        def forward(self, x):
            q, k, v = self.q(x), self.k(x), self.v(x)
            if not self.one_by_one:
                return torch.softmax(q @ k.transpose(-2, -1) / 6 ** 0.5, -1) @ v
            found = torch.zeros(v.shape)
            for text in range(x.shape[0]):
                for query in range(x.shape[1]):
                    found[text, query] = torch.softmax(k[text] @ q[text, query] / 6 ** 0.5, 0) @ v[text]
            return found

    def written_out(x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))

    class RmsNorm(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.weight = nn.Parameter(1 + torch.randn(width) / 4)

        def forward(self, x):
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight

    class Layer(nn.Module):
        def __init__(self, width, norm="pre", activation=F.gelu, rms=False, gated=False, residual=True, feed_forward=True, bias=True,
                     dropout=0.0, **given):
            super().__init__()
            self.norm, self.activation, self.residual, self.dropout = norm, activation, residual, dropout
            make = RmsNorm if rms else nn.LayerNorm
            self.attention = Attention(width, bias=bias, **given)
            self.norm1, self.norm2 = (make(width) if norm else nn.Identity() for _ in range(2))
            self.up = nn.Linear(width, 3 * width, bias=bias) if feed_forward else None
            self.gate = nn.Linear(width, 3 * width, bias=bias) if gated else None
            self.down = nn.Linear(3 * width, width, bias=bias)

        def forward_2(self, x):
            hidden = self.activation(self.up(x)) if self.gate is None else self.activation(self.gate(x)) * self.up(x)
            return F.dropout(self.down(hidden), self.dropout, self.training)

        def sublayer(self, x, norm, function):
            if self.norm == "pre":
                return x + function(norm(x)) if self.residual else function(norm(x))
            return norm(x + function(x) if self.residual else function(x))

        def forward(self, x):
            x = self.sublayer(x, self.norm1, self.attention)
            return x if self.up is None else self.sublayer(x, self.norm2, self.forward_2)

    class Language(nn.Module):
        """Tokens in, logits out."""

        def __init__(self, words=13, width=12, heads=2, layers=2, length=9, tied=False, head_bias=False, positions="table", norm="pre",
                     final=None, **given):
            super().__init__()
            self.words = nn.Embedding(words, width)
            self.positions = positions
            if positions == "table":
                self.places = nn.Embedding(length, width)
            elif positions == "parameter":
                self.places = nn.Parameter(torch.randn(1, length, width))
            elif positions in ("waves", "scaled waves"):
                at = torch.arange(length).unsqueeze(1) * torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
                self.register_buffer("places", torch.stack([at.sin(), at.cos()], -1).view(1, length, width))
            self.layers = nn.ModuleList(Layer(width, norm=norm, heads=heads, **given) for _ in range(layers))
            make = RmsNorm if given.get("rms") else nn.LayerNorm
            self.final = make(width) if (norm == "pre" if final is None else final) else nn.Identity()
            self.head = nn.Linear(width, words, bias=head_bias)
            if tied:
                self.head.weight = self.words.weight

        def forward(self, ids):
            x = self.words(ids)
            T = ids.shape[-1]
            if self.positions == "scaled waves":
                x = x * math.sqrt(x.shape[-1])
            if self.positions == "table":
                x = x + self.places(torch.arange(T))
            elif self.positions is not None:
                x = x + self.places[:, :T]
            for layer in self.layers:
                x = layer(x)
            return self.head(self.final(x))

VARIANTS = {
    "as_it_comes": {},
    "one_head": dict(heads=1),
    "three_heads": dict(heads=3, layers=1),
    "four_heads": dict(heads=4, layers=3),
    "heads_in_a_list": dict(listed=True, heads=3),
    "heads_in_a_list_without_biases": dict(listed=True, bias=False),
    "packed": dict(packed=True),
    "packed_and_tied": dict(packed=True, tied=True, norm="pre"),
    "without_biases": dict(bias=False),
    "head_with_a_bias": dict(head_bias=True),
    "tied_head_with_a_bias": dict(head_bias=True, tied=True),
    "norm_after_the_sum": dict(norm="post"),
    "norm_after_the_sum_and_a_last_one": dict(norm="post", final=True),
    "no_norms": dict(norm=None),
    "no_last_norm": dict(final=False),
    "sees_everything": dict(causal=False),
    "relu": dict(activation=F.relu if torch is not None else None),
    "gelu_written_out": dict(activation=written_out if torch is not None else None),
    "gelu_by_erf": dict(activation=(lambda x: x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))) if torch is not None else None),
    "silu_written_out": dict(activation=(lambda x: x * torch.sigmoid(x)) if torch is not None else None),
    "gated": dict(gated=True, activation=F.silu if torch is not None else None, rms=True, bias=False),
    "rms": dict(rms=True),
    "without_positions": dict(positions=None),
    "positions_as_a_parameter": dict(positions="parameter"),
    "sines_and_cosines": dict(positions="waves", norm="post"),
    "enlarged_embedding": dict(positions="scaled waves"),
    "no_feed_forward": dict(feed_forward=False),
    "no_feed_forward_norm_after": dict(feed_forward=False, norm="post"),
    "no_output_projection": dict(out=False),
    "no_residual": dict(residual=False),
    "a_scale_of_its_own": dict(scale=0.3),
    "large_negative_fill": dict(fill=-1e9),
    "rotary_halves": dict(positions=None, rotary=dict(way="halves")),
    "rotary_neighbours": dict(positions=None, rotary=dict(way="neighbours"), bias=False, rms=True),
    "rotary_complex_packed": dict(positions=None, rotary=dict(way="complex"), packed=True),
    "rotary_of_another_base": dict(positions=None, rotary=dict(way="halves", base=500000.0)),
    "rotary_of_a_part": dict(positions=None, rotary=dict(way="neighbours", size=4)),
    "added_mask": dict(added=True),
    "llama": dict(positions=None, rotary=dict(way="halves"), rms=True, bias=False, gated=True, activation=F.silu, groups=1, tied=True),
    "alibi": dict(positions=None, alibi=True),
    "alibi_with_the_mask": dict(positions=None, alibi=True, added=True, heads=4),
    "norms_of_queries_and_keys": dict(positions=None, rms=True, head_norm=True, rotary=dict(way="neighbours")),
    "a_window": dict(mask=lambda T: torch.ones(T, T, dtype=torch.bool).tril(-3)),
}


def logits_of(folder, ids, out):
    text = ids if isinstance(ids, str) else " ".join(map(str, ids))
    done = run("export", "--model", folder, "--text", text, "--stage", "logits", "--out", out)
    assert done.returncode == 0, done.stderr
    return np.load(out)[0]


class ModelTest(reading.FolderTest):
    def record(self, model, given, **options):
        path = self.path()
        with torch.no_grad(), attnscope.record(path, model, **options):
            model(given)
        return path

    def opened(self, path):
        """The folder of the model, and what the program says."""
        folder = self.path("model")
        shutil.rmtree(folder, ignore_errors=True)
        done = run("recording", path, "--model", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"All \d+ stages( of layers 0 to \d)? equal the recording within \S+e-0[678] of each stage's largest number\.")
        return folder, done.stdout

    def refused(self, path):
        folder = self.path("model")
        done = run("recording", path, "--model", folder)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertFalse(os.path.exists(folder))
        return done.stderr

    def test_language_models(self):
        for name, given in VARIANTS.items():
            with self.subTest(name):
                torch.manual_seed(len(name))
                model = Language(**given).eval()
                folder, _ = self.opened(self.record(model, torch.randint(13, (2, 6))))
                for length in (6, 9):
                    ids = torch.randint(13, (length,))
                    with torch.no_grad():
                        expected = model(ids[None])[0].numpy()
                    np.testing.assert_allclose(logits_of(folder, ids.tolist(), self.path("logits.npy")), expected, rtol=2e-5, atol=2e-5)

    def test_padding_at_the_end_of_texts(self):
        """The shorter text has the logits that it has alone, whatever stands behind its end."""
        ids, lengths = torch.randint(1, 13, (3, 6)), torch.tensor([4, 6, 5])
        hidden = torch.arange(6) >= lengths[:, None]
        ids[hidden] = 0
        for name, given in (("encoder", dict(causal=False)), ("decoder", {}), ("window", VARIANTS["a_window"]), ("rotary", VARIANTS["llama"])):
            with self.subTest(name):
                model, own = Language(**given).eval(), given.get("mask")
                both = lambda T: hidden[:, None, None] if own is None else hidden[:, None, None] | own(T)
                for layer in model.layers:
                    layer.attention.mask = both
                folder, _ = self.opened(self.record(model, ids))
                for layer in model.layers:
                    layer.attention.mask = own
                with torch.no_grad():
                    expected = model(ids[:1, :4])[0].numpy()
                found = logits_of(folder, ids[0, :4].tolist(), self.path("logits.npy"))
                np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)

    def test_padding_in_pytorchs_encoder(self):
        """Its fast path leaves the padding out, and puts zeros there at the end."""
        class Encoded(nn.Module):
            def __init__(self, **given):
                super().__init__()
                self.words, self.places, self.head = nn.Embedding(13, 12, padding_idx=0), nn.Embedding(9, 12), nn.Linear(12, 13)
                layer = nn.TransformerEncoderLayer(12, 2, 24, batch_first=True)
                self.encoder = nn.TransformerEncoder(layer, 2, **given)

            def forward(self, ids):
                x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
                return self.head(self.encoder(x, src_key_padding_mask=ids == 0))

        ids = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 2, 0, 0]])
        for with_gradients, given in ((False, {}), (True, {}), (False, dict(enable_nested_tensor=False))):
            with self.subTest(gradients=with_gradients, **given):
                model, path = Encoded(**given).eval(), self.path()
                with torch.set_grad_enabled(with_gradients), attnscope.record(path, model):
                    model(ids)
                folder, _ = self.opened(path)
                with torch.no_grad():
                    expected = model(ids[1:, :3])[0].numpy()
                found = logits_of(folder, ids[1, :3].tolist(), self.path("logits.npy"))
                np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)

    def test_padding_elsewhere_is_refused(self):
        ids = torch.randint(1, 13, (2, 6))
        begins, one_layer = torch.arange(6) < torch.tensor([[2], [0]]), Language()
        self.assertIn("behind the end of a text", self.refusal_of(Language(mask=lambda T: begins[:, None, None], causal=False), ids))
        one_layer.layers[1].attention.mask = lambda T: begins.flip(1)[:, None, None]
        self.assertIn("has another mask than the first attention", self.refusal_of(one_layer, ids))

    def test_a_changed_parameter_is_noticed(self):
        torch.manual_seed(1)
        model = Language().eval()
        path = self.record(model, torch.randint(13, (1, 6)))
        step = os.path.join(path, "run1-step00000000-rank0.safetensors")
        for parameter in ("layers.1.up.weight", "layers.0.attention.k.bias", "head.weight", "final.bias", "layers.0.norm2.weight"):
            with self.subTest(parameter):
                shutil.copy(step, self.path("kept"))
                _, arrays = reading.read_file(step)
                index = (0,) * arrays["parameters/" + parameter].ndim
                change_number(step, "parameters/" + parameter, index, float(arrays["parameters/" + parameter][index]) + 0.01)
                self.refused(path)
                shutil.copy(self.path("kept"), step)
        self.opened(path)

    def results(self, folder, ids, stage, layer=0):
        out = self.path("stage.npy")
        done = run("export", "--model", folder, "--text", " ".join(map(str, ids)), "--stage", stage, "--layer", str(layer), "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(out)[0]

    def test_vectors_become_tokens(self):
        """Of one attention or layer, token i is the i-th vector that was recorded."""
        def attention(**given):
            return lambda: Attention(8, 2, **given), "attention_out" if given.get("out", True) else "concat"

        def layer(stage="residual_2", **given):
            return lambda: Layer(8, heads=2, **given), stage

        def library(stage, **given):
            return lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **given), stage

        cases = {"an attention": attention(), "packed": attention(packed=True, causal=False), "no W_O": attention(out=False),
                 "one head": (OneHead, "concat"), "query by query": (lambda: OneHead(True), "concat"),
                 "a layer": layer(), "a layer, norms after": layer("norm_2", norm="post"), "without norms": layer(norm=None),
                 "nn.TransformerEncoderLayer": library("norm_2"), "its norms first": library("residual_2", norm_first=True)}
        for name, (make, stage) in cases.items():
            for shape in ((5, 8), (1, 5, 8), (3, 5, 8)):
                if name.startswith(("nn.", "its", "query")) and len(shape) == 2:
                    continue  # PyTorch adds the batch itself
                with self.subTest(name, shape=shape):
                    torch.manual_seed(len(shape))
                    model, vectors = make().eval(), torch.randn(shape)
                    path = self.path()
                    with attnscope.record(path, model):
                        model(vectors)
                    folder, _ = self.opened(path)
                    ids = [1, 3, 0, 2, 3]
                    with torch.no_grad():  # the fast path of nn.TransformerEncoderLayer, too, has to come to the same
                        expected = model(vectors.reshape(-1, 8)[ids].reshape(1, 5, 8))[0].numpy()
                    np.testing.assert_allclose(self.results(folder, ids, stage), expected, rtol=2e-5, atol=2e-5)

    def test_kernels_of_whole_layers_become_models(self):
        """Without gradients, one operation is a whole attention or layer: what it keeps to itself follows from its parameters."""
        def layer(**given):
            return nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **given)

        causal = torch.ones(5, 5, dtype=torch.bool).triu(1)
        cases = {"attention": (nn.MultiheadAttention(8, 2, batch_first=True), "attention_out", {}), "layer": (layer(), "norm_2", {}),
                 "norms first": (layer(norm_first=True), "residual_2", {}), "gelu": (layer(activation="gelu"), "norm_2", {}),
                 "causal": (layer(), "norm_2", {"src_mask": causal}),
                 "layers": (nn.TransformerEncoder(layer(), 2, enable_nested_tensor=False), "norm_2", {}),
                 "layers, norms first": (nn.TransformerEncoder(layer(norm_first=True), 2, enable_nested_tensor=False), "residual_2", {})}
        for name, (model, stage, given) in cases.items():
            with self.subTest(name):
                torch.manual_seed(len(name))
                for parameter in model.parameters():
                    nn.init.normal_(parameter, std=0.4)
                vectors, path = torch.randn(2, 5, 8), self.path()

                def run_on(x):
                    return model(x, x, x)[0] if name == "attention" else model(x, **given)

                model.eval()
                with torch.no_grad(), attnscope.record(path, model):
                    run_on(vectors)
                folder, _ = self.opened(path)
                ids = [1, 3, 0, 2, 9]
                expected = run_on(vectors.reshape(-1, 8)[ids][None])[0].detach().numpy()  # with gradients: operation by operation
                last = len(model.layers) - 1 if hasattr(model, "layers") else 0
                np.testing.assert_allclose(self.results(folder, ids, stage, last), expected, rtol=3e-5, atol=3e-5)

    def test_positions_may_come_before_texts(self):
        for name, make, stage in (("layer", lambda: nn.TransformerEncoderLayer(8, 2, 16), "norm_2"),
                                  ("own", lambda: Layer(8, heads=4), "residual_2")):
            for texts in (1, 3):
                with self.subTest(name, texts=texts):
                    torch.manual_seed(texts)
                    model, vectors = make().eval(), torch.randn(5, texts, 8)
                    path = self.path()
                    swap = (lambda x: x) if name == "layer" else (lambda x: x.transpose(0, 1))
                    with attnscope.record(path, model):
                        model(swap(vectors))
                    folder, _ = self.opened(path)
                    ids = [1, 3, 0, 2, 3]
                    chosen = vectors.transpose(0, 1).reshape(-1, 8)[ids].reshape(5, 1, 8)
                    expected = swap(model(swap(chosen)))[:, 0].detach().numpy()
                    np.testing.assert_allclose(self.results(folder, ids, stage), expected, rtol=2e-5, atol=2e-5)

    def test_encoder_decoders_and_decoders_alone(self):
        """The words are the different vectors of the source, then those of the target; other texts of them give what PyTorch gives."""
        whole = lambda encoder=2, decoder=2, **given: nn.Transformer(12, 3, encoder, decoder, 24, batch_first=True, **given)
        layer = lambda **given: nn.TransformerDecoderLayer(12, 3, 24, batch_first=True, **given)
        models = {"post": whole(), "pre": whole(norm_first=True), "uneven": whole(1, 3), "layer": layer(),
                  "layers": nn.TransformerDecoder(layer(norm_first=True), 2), "normed": nn.TransformerDecoder(layer(), 2, nn.LayerNorm(12))}
        for name, model in models.items():
            for causal in (True, False):
                with self.subTest(name, causal=causal):
                    source, target, model = torch.randn(2, 5, 12), torch.randn(2, 4, 12), model.eval()
                    is_whole = isinstance(model, nn.Transformer)

                    def compute(source, target, model=model, causal=causal, is_whole=is_whole):
                        mask = torch.full((target.shape[1],) * 2, -math.inf).triu(1) if causal else None
                        return model(*((source, target) if is_whole else (target, source)), tgt_mask=mask)

                    path = self.path()
                    with attnscope.record(path, model):
                        compute(source, target)
                    folder, _ = self.opened(path)
                    if not causal:
                        continue
                    vectors = torch.cat([source.view(-1, 12), target.view(-1, 12)])
                    a, b = [3, 0, 9, 1], [17, 2, 12]
                    with torch.no_grad():
                        expected = compute(vectors[a][None], vectors[b][None])[0].numpy()
                    last = "norm_2" if name == "layer" else "residual_2" if name == "layers" else "final_norm"
                    done = run("export", "--model", folder, "--source", " ".join(map(str, a)), "--text", " ".join(map(str, b)), "--stage", last,
                               *(["--layer", "1"] if name == "layers" else []), "--out", self.path("last.npy"))
                    self.assertEqual(done.returncode, 0, done.stderr)
                    np.testing.assert_allclose(np.load(self.path("last.npy"))[0], expected, rtol=2e-5, atol=2e-5)

    def test_what_stands_around_the_layers_is_left_out(self):
        """Patches of an image, segments and heads of other kinds: the layers open, on the vectors that they were given."""
        class Image(nn.Module):
            def __init__(self, pooled):
                super().__init__()
                self.patches, self.first = nn.Conv2d(3, 12, 4, 4), nn.Parameter(torch.randn(1, 1, 12))
                self.places, self.head, self.pooled = nn.Parameter(torch.randn(1, 5, 12)), nn.Linear(12, 3), pooled
                self.layers = nn.ModuleList(Layer(12, heads=2, causal=False) for _ in range(2))

            def forward(self, image):
                x = self.patches(image).flatten(2).transpose(1, 2)
                x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.places
                for layer in self.layers:
                    x = layer(x)
                return self.head(x.mean(1) if self.pooled else x[:, 0])

        class Segments(Language):
            def __init__(self):
                super().__init__(causal=False, positions=None)
                self.segments, self.tags = nn.Embedding(2, 12), nn.Linear(12, 4)

            def forward(self, ids):
                x = self.words(ids) + self.segments((ids > 6).long())
                for layer in self.layers:
                    x = layer(x)
                return self.tags(self.final(x))

        for model, given in ((Image(False), torch.randn(2, 3, 8, 8)), (Image(True), torch.randn(2, 3, 8, 8)), (Segments(), torch.randint(13, (2, 6)))):
            with self.subTest(type(model).__name__):
                folder, path = self.path("model"), self.record(model.eval(), given)
                shutil.rmtree(folder, ignore_errors=True)
                done = run("recording", path, "--model", folder)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, r"All \d+ stages of layers 0 to 1 equal the recording within \S+e-0[678] .* was left out")

    def test_padding_of_two_texts(self):
        model, source, target = nn.Transformer(12, 2, 2, 2, 24, batch_first=True).eval(), torch.randn(2, 5, 12), torch.randn(2, 4, 12)
        of_source, of_target = torch.arange(5) >= torch.tensor([[5], [3]]), torch.arange(4) >= torch.tensor([[2], [4]])
        mask = torch.ones(4, 4, dtype=torch.bool).triu(1)
        for memory, code in ((of_source, 0), (None, 2)):
            path = self.path()
            with attnscope.record(path, model):
                model(source, target, tgt_mask=mask, src_key_padding_mask=of_source, tgt_key_padding_mask=of_target,
                      memory_key_padding_mask=memory)
            if code == 0:
                self.opened(path)
            else:
                shutil.rmtree(self.path("model"), ignore_errors=True)
                self.assertRegex(self.refused(path), r"decoder\.layers\.0\.multihead_attn .* has another mask than the first attention of its kind")

    def test_two_tables_become_vectors(self):
        class Translator(nn.Module):
            def __init__(self):
                super().__init__()
                self.theirs, self.ours, self.places = nn.Embedding(20, 12), nn.Embedding(30, 12), nn.Embedding(9, 12)
                self.layers, self.head = nn.Transformer(12, 2, 1, 1, 24, batch_first=True), nn.Linear(12, 30)

            def forward(self, source, target):
                source, target = (table(ids) * 3.5 + self.places(torch.arange(ids.shape[1]))
                                  for table, ids in ((self.theirs, source), (self.ours, target)))
                return self.head(self.layers(source, target, tgt_mask=torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)))

        path, model = self.path(), Translator().eval()
        with attnscope.record(path, model):
            model(torch.randint(20, (2, 5)), torch.randint(30, (2, 4)))
        folder = self.path("model")
        shutil.rmtree(folder, ignore_errors=True)
        done = run("recording", path, "--model", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("The output head was left out", done.stdout)

    def test_multihead_attention(self):
        torch.manual_seed(4)
        model, x = nn.MultiheadAttention(8, 4, batch_first=True), torch.randn(2, 6, 8)
        path = self.path()
        with attnscope.record(path, model):
            model(x, x, x)
        folder, said = self.opened(path)
        self.assertIn("All 9 stages", said)
        ids = [7, 2, 2, 11]
        chosen = x.reshape(-1, 8)[ids][None]
        expected = model(chosen, chosen, chosen)[0][0].detach().numpy()
        np.testing.assert_allclose(self.results(folder, ids, "attention_out"), expected, rtol=2e-5, atol=2e-5)

    def test_what_is_a_class_of_transformers_is_written_as_one(self):
        torch.manual_seed(5)
        for name, given, kind in (("gpt2", dict(packed=True, tied=True), "gpt2"), ("own", dict(head_bias=True), "attnscope")):
            with self.subTest(name):
                folder, _ = self.opened(self.record(Language(**given).eval(), torch.randint(13, (1, 5))))
                with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
                    self.assertEqual(json.load(file)["model_type"], kind)

    def test_a_folder_with_a_model_stays(self):
        path = self.record(Language().eval(), torch.randint(13, (1, 5)))
        folder, _ = self.opened(path)
        done = run("recording", path, "--model", folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("already holds a model", done.stderr)

    def refusal_of(self, model, given, **options):
        shutil.rmtree(self.path(), ignore_errors=True)
        return self.refused(self.record(model, given, **options))

    def test_refusals_say_what_and_where(self):
        ids = torch.arange(6)[None]
        ahead = lambda T: torch.ones(T, T, dtype=torch.bool).triu(2) | torch.ones(T, T, dtype=torch.bool).tril(-2)
        self.assertRegex(self.refusal_of(Language(mask=ahead, causal=False), ids),
                         r"layers\.0\.attention/masked \(model_test\.py:\d+\) hides other keys than those after the query")
        stretched = dict(way="halves", factor=0.5)
        self.assertRegex(self.refusal_of(Language(positions=None, rotary=stretched), ids),
                         r"layers\.0\.attention/q_rotated \(model_test\.py:\d+\) rotates otherwise than a model of ours")
        self.assertRegex(self.refusal_of(Language(rotary=dict(way="halves")), ids), "added to the embedding, and rotate")
        mixed = Language()
        mixed.layers[1].attention.causal = False
        self.assertRegex(self.refusal_of(mixed, ids), r"layers\.1\.attention .* has another mask than the first attention")
        other = Language()
        other.layers[1].norm = "post"
        self.assertRegex(self.refusal_of(other, ids), r"layers\.1\.attention .*differently")
        other = Language()
        other.layers[1].attention.scale = 0.1
        self.assertRegex(self.refusal_of(other, ids), r"layers\.1\.attention .* another number")
        other = Language(activation=torch.tanh)
        self.assertRegex(self.refusal_of(other, ids), r"layers\.0/ffn_activation .* is no activation that a model of ours has")
        self.assertIn("its parameters were not recorded", self.refusal_of(Language(), ids, parameters=False))
        self.assertRegex(self.refusal_of(Language(), ids, stages=["q", "k", "v", "weights"]), "was not recorded|is not understood")

    def test_what_the_graph_does_not_show_is_noticed_by_the_numbers(self):
        class Enlarged(Language):
            def forward(self, ids):
                return super().forward(ids) * 1.0001

        class Shifted(Layer):
            def forward(self, x):
                return super().forward(x).roll(1, -1)

        torch.manual_seed(6)
        ids = torch.arange(6)[None]
        self.assertRegex(self.refusal_of(Enlarged().eval(), ids), r"changed_logits \(model_test\.py:\d+\) has no place in a model of ours")
        other = Language()
        other.layers[0] = Shifted(12, heads=2)
        self.assertRegex(self.refusal_of(other.eval(), ids), r"layers\.1\.attention|layers\.1/|differs")
        dropping = Language(dropout=0.3).train()
        said = self.refusal_of(dropping, torch.arange(6)[None])
        self.assertIn("differs at layers.0/residual_2", said)
        self.assertIn("record after model.eval()", said)

    def test_open_gives_a_module_what_it_needs(self):
        with unittest.mock.patch.dict(os.environ, ATTNSCOPE=PROGRAM):
            for name, module in (("two", nn.TransformerDecoderLayer(12, 2, 24, batch_first=True)), ("three", nn.MultiheadAttention(12, 2)),
                                 ("one", nn.TransformerEncoderLayer(12, 2, 24, batch_first=True))):
                folder = attnscope.open(module, self.path(name))
                self.assertEqual(run("model", folder).returncode, 0)

    def test_open_writes_a_module(self):
        torch.manual_seed(7)
        with unittest.mock.patch.dict(os.environ, ATTNSCOPE=PROGRAM):
            model = Language(dropout=0.5).train()
            model.layers[1].eval()
            state, modes = torch.get_rng_state(), [each.training for each in model.modules()]
            folder = attnscope.open(model, self.path("written"))
            self.assertEqual(modes, [each.training for each in model.modules()])
            self.assertTrue(torch.equal(state, torch.get_rng_state()))
            ids = [9, 8, 7, 1, 0]
            with torch.no_grad():
                expected = model.eval()(torch.tensor([ids]))[0].numpy()
            np.testing.assert_allclose(logits_of(folder, ids, self.path("logits.npy")), expected, rtol=2e-5, atol=2e-5)
            attnscope.open(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), self.path("layer"))
            attnscope.open(Layer(8, heads=2), self.path("own layer"), torch.randn(2, 3, 8))
            with self.assertRaisesRegex(RuntimeError, "already holds a model"):
                attnscope.open(model, folder)
            letters = attnscope.open(model, self.path("letters"), words=dict(enumerate("abcdefgh ijkl")))
            np.testing.assert_array_equal(logits_of(letters, "i hba", self.path("letters.npy")), logits_of(folder, ids, self.path("logits.npy")))
            with self.assertRaisesRegex(RuntimeError, "has 2 words, but the model 13 ids"):
                attnscope.open(model, self.path("few"), words=["a", "b"])
            with self.assertRaisesRegex(RuntimeError, "every word has to be another one"):
                attnscope.open(model, self.path("alike"), words=["a"] * 13)
            with self.assertRaisesRegex(RuntimeError, "is no activation that a model of ours has"):
                attnscope.open(Language(activation=torch.tanh), self.path("other"))


if __name__ == "__main__":
    reading.main()
