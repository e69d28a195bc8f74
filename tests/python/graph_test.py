"""The analysis on graphs that are written by hand, with numbers by NumPy: no PyTorch is needed, and none is imported."""

import json
import os
import subprocess
import sys
import unittest

import reading
from reading import np

import attnscope

NEEDS_TORCH = False


class Code:
    """Writes a graph while it computes with NumPy, as a recorder would while a library computes."""

    def __init__(self, seed=0):
        self.graph, self.random = attnscope.Graph(), np.random.default_rng(seed)

    def given(self, *shape, parameter=None):
        return self.graph.value(shape, parameter=parameter, data=self.random.normal(size=shape).astype(np.float32))

    def node(self, op, args, array, **named):
        array = np.asarray(array, np.float32)
        return self.graph.add(op, args, array.shape, named, data=array)

    def view(self, x, *shape):
        array = x.data.reshape(shape)
        return self.node("view", [x, list(array.shape)], array)

    def transpose(self, x, a, b):
        return self.node("transpose", [x, a, b], x.data.swapaxes(a, b))

    def expand(self, x, *shape):
        return self.node("expand", [x, list(shape)], np.broadcast_to(x.data, shape))

    def clone(self, x):
        return self.node("clone", [x], x.data)

    def bmm(self, a, b):
        return self.node("bmm", [a, b], a.data @ b.data)

    def mm(self, a, b):
        return self.node("mm", [a, b], a.data @ b.data)

    def mul(self, a, number):
        return self.node("mul", [a, number], a.data * getattr(number, "data", number))

    def div(self, a, number):
        return self.node("div", [a, number], a.data / getattr(number, "data", number))

    def add(self, a, b):
        return self.node("add", [a, b], a.data + b.data)

    def softmax(self, x, axis=-1):
        e = np.exp(x.data - x.data.max(axis, keepdims=True))
        return self.node("_softmax", [x, axis, False], e / e.sum(axis, keepdims=True))

    def linear(self, x, name, width):
        """x [B,T,C] times a parameter, as the library writes it."""
        b, t, c = x.shape
        weight = self.given(c, width, parameter=name)
        return self.view(self.mm(self.view(x, b * t, c), weight), b, t, width)

    def attention(self, q, k, v):
        """q, k, v [N,T,D]."""
        scaled = self.div(self.bmm(q, self.transpose(k, 1, 2)), q.shape[-1] ** 0.5)
        return self.bmm(self.softmax(scaled), v)

    def find(self):
        return attnscope.find_attentions(self.graph)


def stage(attention, name):
    """(axes, array in those axes) of a stage."""
    found = attention.stage(name)
    value, layout = found.parts[0]
    place = attention.place(layout, found.letters)
    return None if place is None else attnscope.arrange(value.read(), place)


def multi_head(code, b, t, h, d, s=None):
    """The usual attention with W_Q, W_K, W_V and W_O; returns what it computes, in the axes of the file."""
    x = code.given(b, t, h * d)
    y = x if s is None else code.given(b, s, h * d)
    q, k, v = (code.linear(given, name, h * d) for given, name in ((x, "wq"), (y, "wk"), (y, "wv")))
    expected = {name: each.data.reshape(b, -1, h, d).swapaxes(1, 2) for name, each in (("q", q), ("k", k), ("v", v))}

    def split(each):
        each = code.transpose(code.view(each, b, each.shape[1], h, d), 1, 2)
        return code.view(code.clone(each), b * h, each.shape[2], d)
    context = code.attention(split(q), split(k), split(v))
    expected["context"] = context.data.reshape(b, h, t, d)
    joined = code.clone(code.transpose(code.view(context, b, h, t, d), 1, 2))
    joined = code.view(joined, b, t, h * d)
    expected["concat"] = joined.data
    expected["attention_out"] = code.linear(joined, "wo", 5).data
    return expected


class AttentionTest(unittest.TestCase):
    def test_heads_of_any_size(self):
        random = np.random.default_rng(1)
        for round_ in range(60):
            b, t, h, d = (int(each) for each in random.integers(1, 6, 4))
            s = int(random.integers(1, 7)) if round_ % 2 else None
            code = Code(round_)
            expected = multi_head(code, b, t, h, d, s)
            with self.subTest(b=b, t=t, h=h, d=d, s=s):
                (attention,) = code.find()
                self.assertEqual([each.name for each in attention.stages],
                                 ["q", "k", "v", "scores", "scaled", "weights", "context", "concat", "attention_out"])
                self.assertEqual([attention.sizes[letter] for letter in "BHTSD"], [b, h, t, s or t, d])
                self.assertEqual(attention.kind, "self" if s is None else "cross")
                self.assertEqual(attention.facts, [])
                for name, array in expected.items():
                    np.testing.assert_array_equal(stage(attention, name), array, name)

    def test_parameters_and_inputs(self):
        code = Code()
        multi_head(code, 2, 3, 2, 4)
        (attention,) = code.find()
        self.assertEqual([attention.stage(name).more["parameters"] for name in ("q", "k", "v", "attention_out")],
                         [["wq"], ["wk"], ["wv"], ["wo"]])
        self.assertEqual([attention.stage(name).inputs for name in ("scores", "scaled", "weights", "context", "concat")],
                         [["q", "k"], ["scores"], ["scaled"], ["weights", "v"], ["context"]])
        self.assertAlmostEqual(attention.scale, 0.5)

    def test_grouped_heads(self):
        for groups, repeat in ((2, 3), (1, 4), (3, 1)):
            code = Code()
            b, t, d, h = 2, 5, 4, groups * repeat
            x = code.given(b, t, 8)
            q, k, v = code.linear(x, "wq", h * d), code.linear(x, "wk", groups * d), code.linear(x, "wv", groups * d)

            def split(each, heads):
                return code.transpose(code.view(each, b, t, heads, d), 1, 2)

            def repeated(each):
                each = code.expand(code.view(each, b, groups, 1, t, d), b, groups, repeat, t, d)
                return code.view(code.view(code.clone(each), b, h, t, d), b * h, t, d)
            context = code.attention(code.view(code.clone(split(q, h)), b * h, t, d), repeated(split(k, groups)),
                                     repeated(split(v, groups)))
            code.linear(code.view(code.clone(code.transpose(code.view(context, b, h, t, d), 1, 2)), b, t, h * d), "wo", 8)
            (attention,) = code.find()
            self.assertEqual((attention.sizes["H"], attention.sizes["G"], attention.repeat), (h, groups, repeat))
            np.testing.assert_array_equal(stage(attention, "k"), k.data.reshape(b, t, groups, d).swapaxes(1, 2))
            np.testing.assert_array_equal(stage(attention, "q"), q.data.reshape(b, t, h, d).swapaxes(1, 2))

    def test_axes_in_any_order(self):
        """Permutations that are not their own inverse, each way of ordering four axes."""
        for order in ((1, 2, 0, 3), (2, 0, 1, 3), (1, 3, 0, 2), (3, 0, 1, 2), (2, 3, 0, 1), (3, 2, 1, 0)):
            code = Code()
            sizes = dict(zip("bhtd", (2, 3, 4, 5)))
            letters = [None] * 4
            for place, axis in enumerate(order):
                letters[axis] = "bhtd"[place]
            shape = [sizes[letter] for letter in letters]  # so that permute(order) gives [b, h, t, d]
            given = [code.given(*shape) for _ in range(3)]
            q, k, v = (code.view(code.clone(code.node("permute", [each, list(order)], each.data.transpose(order))), 6, 4, 5)
                       for each in given)
            context = code.view(code.attention(q, k, v), 2, 3, 4, 5)
            joined = code.view(code.clone(code.node("permute", [context, [2, 0, 1, 3]], context.data.transpose(2, 0, 1, 3))), 4, 2, 15)
            code.linear(joined, "wo", 7)
            (attention,) = code.find()
            with self.subTest(order=order):
                np.testing.assert_array_equal(stage(attention, "q"), given[0].data.transpose(order))
                np.testing.assert_array_equal(stage(attention, "k"), given[1].data.transpose(order))
                np.testing.assert_array_equal(stage(attention, "concat"), joined.data.swapaxes(0, 1))

    def test_heads_split_without_a_transpose(self):
        code = Code()
        b, t, h, d = 2, 6, 3, 4
        x = code.given(b, t, h * d)
        q, k, v = (code.view(code.linear(x, name, h * d), b * h, t, d) for name in ("wq", "wk", "wv"))
        context = code.view(code.attention(q, k, v), b, h, t, d)
        code.linear(code.view(code.clone(code.transpose(context, 1, 2)), b, t, h * d), "wo", 8)
        (attention,) = code.find()
        self.assertIn("heads_split_without_transpose", [fact["what"] for fact in attention.facts])

    def test_heads_joined_without_a_transpose(self):
        for t in (5, 6):  # 6 is a multiple of the heads, 5 is not
            code = Code()
            b, h, d = 2, 3, 4
            x = code.given(b, t, h * d)
            q, k, v = (code.view(code.clone(code.transpose(code.view(code.linear(x, name, h * d), b, t, h, d), 1, 2)), b * h, t, d)
                       for name in ("wq", "wk", "wv"))
            code.linear(code.view(code.attention(q, k, v), b, t, h * d), "wo", 8)
            (attention,) = code.find()
            self.assertEqual([fact["what"] for fact in attention.facts], ["heads_joined_without_transpose"])

    def test_softmax_over_queries(self):
        code = Code()
        q, k, v = (code.given(2, 5, 4) for _ in range(3))
        code.bmm(code.softmax(code.bmm(q, code.transpose(k, 1, 2)), 1), v)
        (attention,) = code.find()
        self.assertEqual(attention.softmax_over, "T")

    def test_softmax_by_hand(self):
        code = Code()
        q, k, v = (code.given(2, 5, 4) for _ in range(3))
        scores = code.bmm(q, code.transpose(k, 1, 2))
        top = code.node("amax", [scores, [-1], True], scores.data.max(-1, keepdims=True))
        power = code.node("sub", [scores, top], scores.data - top.data)
        power = code.node("exp", [power], np.exp(power.data))
        total = code.node("sum", [power, [-1], True], power.data.sum(-1, keepdims=True))
        weights = code.div(power, total)
        code.bmm(weights, v)
        (attention,) = code.find()
        self.assertEqual([each.name for each in attention.stages], ["q", "k", "v", "scores", "weights", "context"])
        np.testing.assert_array_equal(stage(attention, "weights")[:, 0], weights.data)

    def test_masks(self):
        code = Code()
        q, k, v = (code.given(2, 5, 4) for _ in range(3))
        mask = code.graph.value((5, 5), "bool", data=np.triu(np.ones((5, 5), bool), 1))
        bias = code.given(1, 5, 5)
        scores = code.bmm(q, code.transpose(k, 1, 2))
        masked = code.node("masked_fill", [scores, mask, float("-inf")], np.where(mask.data, -np.inf, scores.data))
        biased = code.add(masked, bias)
        capped = code.mul(code.node("tanh", [code.div(biased, 3.0)], np.tanh(biased.data / 3)), 3.0)
        code.bmm(code.softmax(capped), v)
        (attention,) = code.find()
        self.assertEqual([(each.name, each.op) for each in attention.stages[3:7]],
                         [("scores", "product"), ("masked", "mask"), ("masked.1", "bias"), ("capped", "cap")])
        self.assertIs(attention.stage("masked").more["mask"][0], mask)
        self.assertEqual(attention.stage("capped").more["by"], 3.0)
        self.assertAlmostEqual(attention.scale, 1.0)


class NoAttentionTest(unittest.TestCase):
    """Softmaxes that are none."""

    def none(self, code):
        self.assertEqual(code.find(), [])

    def test_a_gate(self):
        code = Code()
        x = code.given(6, 8)
        weights = code.softmax(code.mm(x, code.given(8, 4, parameter="gate")))
        code.node("mul", [x, weights], np.ones((6, 8)))
        self.none(code)

    def test_a_head_with_its_loss(self):
        code = Code()
        logits = code.mm(code.given(6, 8), code.given(8, 11, parameter="head"))
        code.node("_log_softmax", [logits, 1, False], logits.data)
        self.none(code)

    def test_a_contrastive_map(self):
        code = Code()
        a, b = code.mm(code.given(6, 8), code.given(8, 4, parameter="a")), code.mm(code.given(6, 8), code.given(8, 4, parameter="b"))
        similar = code.mm(a, code.transpose(b, 0, 1))
        result = code.node("_log_softmax", [code.div(similar, 0.07), 1, False], similar.data)
        code.node("nll_loss_forward", [result], np.zeros(()))
        self.none(code)

    def test_two_layers_with_plain_weights(self):
        code = Code()
        hidden = code.mm(code.given(6, 8), code.given(8, 7))
        hidden = code.node("relu", [hidden], hidden.data)
        code.softmax(code.mm(hidden, code.given(7, 3)))
        self.none(code)

    def test_a_map_that_reaches_nothing(self):
        code = Code()
        q, k = code.given(5, 4), code.given(5, 4)
        code.mul(code.softmax(code.mm(q, code.transpose(k, 0, 1))), 2.0)
        self.none(code)

    def test_a_product_with_a_parameter_behind_a_map(self):
        """A linear map of weights over keys (as a pointer network or a probe has it) is no context."""
        code = Code()
        q, k = code.given(5, 4), code.given(5, 4)
        code.mm(code.softmax(code.mm(q, code.transpose(k, 0, 1))), code.given(5, 3, parameter="probe"))
        self.none(code)


class AtomsTest(unittest.TestCase):
    def test_views_split_and_regroup(self):
        random = np.random.default_rng(3)
        for _ in range(200):
            sizes = [int(each) for each in random.integers(1, 5, 5)]
            atoms = attnscope.Atoms()
            axes = [atoms.new(size) for size in sizes]
            cut = sorted(int(each) for each in random.integers(0, 6, 2))
            shape = [int(np.prod(part)) for part in (sizes[:cut[0]], sizes[cut[0]:cut[1]], sizes[cut[1]:])]
            joined = atoms.regroup(axes, shape)
            self.assertEqual([int(np.prod([atoms.sizes[atom] for atom in axis])) for axis in joined], shape)
            self.assertEqual(atoms.layout(atoms.regroup(joined, sizes)), atoms.layout(axes))

    def test_a_split_reaches_every_layout(self):
        atoms = attnscope.Atoms()
        axis = atoms.new(12)
        other = [list(axis)]
        first = atoms.regroup([axis], [3, 4])
        self.assertEqual(atoms.layout(other), [first[0] + first[1]])

    def test_a_crossing_has_no_layout(self):
        atoms = attnscope.Atoms()
        self.assertIsNone(atoms.regroup([atoms.new(3), atoms.new(5)], [5, 3]))

    def test_families(self):
        atoms = attnscope.Atoms()
        (key,) = atoms.new(5)
        (joined,) = atoms.new(6, [key])
        (cut,) = atoms.new(5, [joined])
        (other,) = atoms.new(5)
        self.assertEqual(atoms.family([key]), {key, joined, cut})
        self.assertEqual(atoms.family([other]), {other})


class SaveTest(reading.FolderTest):
    def saved(self, **arrays):
        attnscope.save(self.path(), **arrays)
        recording = reading.Recording(self.path())
        return recording.steps[0]

    def test_axes(self):
        random = np.random.default_rng(0)
        for shape, expected in (((3, 4), (1, 1, 3, 4)), ((2, 3, 4), (2, 1, 3, 4)), ((2, 5, 3, 4), (2, 5, 3, 4)),
                                ((2, 6, 5, 3, 4), (12, 5, 3, 4))):
            array = random.normal(size=shape)
            found = self.saved(weights=array)["attention/weights"]
            np.testing.assert_array_equal(found, array.reshape(expected))
            self.assertEqual(found.dtype, np.float64)
        self.assertEqual(self.saved(concat=np.ones((3, 4)), attention_out=np.ones((2, 3, 4)))["attention/concat"].shape, (1, 3, 4))

    def test_anything_that_is_an_array(self):
        found = self.saved(q=[[1.0, 2.0], [3.0, 4.0]], whatever=np.arange(3), flags=[True, False], half=np.ones(2, np.float16), number=7)
        self.assertEqual({name: (array.dtype.name, array.shape) for name, array in found.items()}, {
            "attention/q": ("float64", (1, 1, 2, 2)), "whatever": ("int64", (3,)), "flags": ("bool", (2,)), "half": ("float16", (2,)),
            "number": ("int64", (1,) if found["number"].shape else ())})
        with self.assertRaises(TypeError):
            attnscope.save(self.path(), q=["word"])

    def test_not_contiguous(self):
        array = np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)[:, ::-1]
        np.testing.assert_array_equal(self.saved(scores=array)["attention/scores"][:, 0], array)

    def test_tokens_and_runs(self):
        attnscope.save(self.path(), tokens=(["x", "y"], ["a"]), weights=np.ones((1, 2)))
        attnscope.save(self.path(), tokens=["a", "-0", "\u00e9\ud800"], weights=np.ones((1, 2)))
        first, second = reading.Recording(self.path(), "recording.1.json"), reading.Recording(self.path())
        self.assertEqual((first.json["tokens"], first.json["source_tokens"]), ([["a"]], [["x", "y"]]))
        self.assertEqual(second.json["tokens"], [["a", "-0", "\u00e9?"]])
        self.assertEqual((first.json["run"], second.json["run"], second.json["finished"]), (1, 2, True))

    def test_a_single_file(self):
        path = self.path("one.safetensors")
        attnscope.save(path, tokens=["a"], weights=np.ones((1, 1), np.float32), name="layer 1/attention")
        metadata, arrays = reading.read_file(path)
        self.assertEqual((metadata["format"], metadata["tokens"]), ("attnscope-recording/1", '[["a"]]'))
        self.assertEqual(list(arrays), ["layer_1_attention/weights"])

    def test_a_folder_with_a_broken_recording(self):
        os.makedirs(self.path())
        with open(os.path.join(self.path(), "recording.json"), "w", encoding="utf-8") as file:
            file.write("{")
        attnscope.save(self.path(), weights=np.ones((1, 1)))
        self.assertEqual(reading.Recording(self.path()).json["run"], 1)
        self.assertTrue(os.path.exists(os.path.join(self.path(), "recording.0.json")))

    def test_pytorch_is_not_imported(self):
        script = ("import sys; sys.path.insert(0, sys.argv[1]); import attnscope, numpy; "
                  "attnscope.save(sys.argv[2], q=numpy.ones((2, 2))); print('torch' in sys.modules)")
        done = subprocess.run([sys.executable, "-W", "error", "-c", script, reading.SOURCE, self.path()], capture_output=True, text=True,
                              check=True, timeout=60)
        self.assertEqual(done.stdout, "False\n")

    def test_the_example_of_the_format(self):
        """The lines for other programs, as the description of the format has them."""
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "assets", "help", "10-recordings.md"), encoding="utf-8") as file:
            lines = file.read().split("## Written by another program")[1].splitlines()
        script = "\n".join(line[4:] for line in lines if line.startswith("    ") or not line)
        self.assertLessEqual(len([line for line in script.splitlines() if line.strip()]), 40)
        subprocess.run([sys.executable, "-W", "error", "-c", script], cwd=self.folder, check=True, timeout=60)
        (name,) = os.listdir(self.path())
        metadata, arrays = reading.read_file(os.path.join(self.path(), name))
        self.assertEqual((metadata["format"], metadata["step"]), ("attnscope-recording/1", "0"))
        arrays = {name.rpartition("/")[2]: array for name, array in arrays.items()}
        np.testing.assert_allclose(arrays["context"], arrays["weights"] @ arrays["v"])
        self.assertEqual(len(arrays), 8)

    def test_numbers_that_json_does_not_have(self):
        attnscope.write_json(self.path("x.json"), {"a": [float("-inf"), float("inf"), float("nan"), 1.5], "b": (1, "\ud800")})
        with open(self.path("x.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file), {"a": ["-inf", "inf", None, 1.5], "b": [1, "?"]})


if __name__ == "__main__":
    reading.main()
