"""What the program says of recordings: every way of writing attention follows from stage to stage, mistakes are named where they are."""

import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import time
import unittest
import unittest.mock

import reading
from reading import np, torch

PROGRAM = os.environ.get("ATTNSCOPE_PROGRAM", "")
if torch is not None:
    import attnscope
    import torch.nn as nn
    import torch.nn.functional as F
    import ways_test

try:
    FLEX = torch is not None and bool(__import__("torch.nn.attention.flex_attention"))
except ImportError:
    FLEX = False

# Ways that are mistakes, and what they are called.
WRONG_WAYS = {"softmax_over_queries": {"no_scale", "softmax_over_queries"}, "part_of_a_map_is_hidden": {"no_scale"},
              "boolean_index": {"no_scale"}, "nan_rows_made_zero": {"no_scale"}, "mask_after_the_softmax": {"mask_after_softmax"},
              "powers_hidden_after_they_were_summed": {"mask_after_softmax"}}
UNUSUAL_WAYS = {"heads_of_keys_tiled": {"gqa_tiled"}}
# Ways of which the program has no arithmetic for some stage, or which hold random numbers of their own.
UNKNOWN_WAYS = {"sink_in_the_sum", "sink_as_a_column", "renormalised_after_a_mask", "heads_talk", "additive_scores", "several_terms",
                "shifted_positions", "additive_scores_of_one_query", "graph_attention", "graph_attention_of_pairs",
                "heads_talk_by_convolution", "rows_hidden_one_after_another", "the_difference_of_two_maps",
                "the_difference_of_the_maps_of_a_head",
                "positions_relative_to_the_query", "graph_attention_of_two_maps"}


# Stages that are drawn as matrices: columns of a sink, what leaves several heads that are attentions of their own, gates, and what has
# another width than the queries, or than the heads together.
NOT_DRAWN = {"sink_as_a_column": {"joined", "softmax"}, "grouped_with_five_axes": {"attention_out"},
             "heads_in_a_loop": {"concat", "attention_out"}, "gate_before_the_output": {"other"}, "gate_for_each_head": {"other"},
             "graph_attention": {"concat"}, "the_difference_of_the_maps_of_a_head": {"attention_out"}}


# What has no role here is called that in a trace.
OTHER = {"heads_talk": "mixed", "heads_talk_by_convolution": "mixed"}


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120, check=False)


def examine(path):
    """(exit code, the line of JSON) of `attnscope recording`."""
    done = run("recording", path, "--json")
    assert "error in attnscope" not in done.stdout, done.stdout  # what looks for mistakes failed, and was passed by
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


def as_float(array):
    """A recorded tensor in float32; bfloat16 comes as its upper halves."""
    return (array.astype(np.uint32) << 16).view(np.float32) if array.dtype == np.dtype("<u2") else array.astype(np.float32)


def same(drawn, recorded):
    """Whether they are equal to the bit; an axis that is missing or of size 1 holds for all."""
    if drawn is None or recorded.size == 0:
        return False
    shape = [size for size in recorded.shape if size != 1]
    whole = [size for size in drawn.shape if size != 1]
    if shape != whole:
        try:
            recorded = np.broadcast_to(recorded.reshape([1] * (drawn.ndim - recorded.ndim) + list(recorded.shape)), drawn.shape)
        except ValueError:
            return False
    return np.array_equal(recorded.reshape(drawn.shape), drawn, equal_nan=True)


def findings(report, kind):
    return [each for attention in report["attentions"] for each in attention["findings"] if each["kind"] == kind]


def change_number(path, tensor, index, value):
    """Changes one float32 of a .safetensors file."""
    with open(path, "r+b") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        entry = json.loads(file.read(length))[tensor]
        assert entry["dtype"] == "F32"
        file.seek(8 + length + entry["data_offsets"][0] + 4 * int(np.ravel_multi_index(index, entry["shape"])))
        file.write(struct.pack("<f", value))


if torch is not None:
    class Heads(nn.Module):
        """Attention with several heads, whose mistakes are made on purpose by name."""

        def __init__(self, mistake=None, width=12, heads=3):
            super().__init__()
            self.mistake, self.heads, self.d = mistake, heads, width // heads
            self.q_proj, self.k_proj, self.v_proj, self.out = (nn.Linear(width, width) for _ in range(4))

        def split(self, x, linear):
            y = linear(x)
            if self.mistake == "heads_split_without_transpose":
                return y.view(len(x), self.heads, -1, self.d)
            return y.view(len(x), -1, self.heads, self.d).transpose(1, 2)

        def hidden(self, T):
            shift = {"causal_leaks_one": 2, "causal_masks_self": 0}.get(self.mistake, 1)
            hidden = torch.ones(T, T).triu(shift).bool()
            return ~hidden if self.mistake == "inverted_mask" else hidden

        def forward(self, x):
            names = {"kv_swapped": "qvk", "qk_swapped": "kqv"}.get(self.mistake, "qkv")
            q, k, v = (self.split(x, getattr(self, name + "_proj")) for name in names)
            scores = q @ k.transpose(2, 3)
            divisor = {"no_scale": None, "scaled_twice": self.d, "scale_d_model": math.sqrt(self.heads * self.d)}
            divisor = divisor.get(self.mistake, math.sqrt(self.d))
            if divisor is not None:
                scores = scores / divisor
            hidden = self.hidden(x.shape[1])
            if self.mistake == "mask_after_softmax":
                weights = torch.softmax(scores, -1) * ~hidden
            elif self.mistake == "mask_sign":
                weights = torch.softmax(scores + hidden * 1e9, -1)
            else:
                axis = {"softmax_over_queries": 2, "softmax_over_heads": 1}.get(self.mistake, -1)
                fill = -1e9 if axis != -1 else -math.inf
                weights = torch.softmax(scores.masked_fill(hidden, fill), axis)
            if self.mistake == "softmax_twice":
                weights = torch.softmax(weights, -1)
            if self.mistake == "dropout_left_on":
                weights = F.dropout(weights, 0.5)
            context = weights @ v
            if self.mistake == "heads_joined_without_transpose":
                return self.out(context.reshape(x.shape))
            return self.out(context.transpose(1, 2).reshape(x.shape))


    def of_heads(x):
        return (nn.Linear(12, 12)(x).view(2, 5, 3, 4).transpose(1, 2) for _ in range(3))

    SEEN = torch.ones(5, 5).tril()

    def cut_before_told_apart(x):
        q, k, v = nn.Linear(12, 36)(x).reshape(2, 3, 3, 5, 4).unbind(1)
        return (q @ k.transpose(2, 3) / 2).softmax(-1) @ v

    def zeros_by_index(x):
        q, k, v = of_heads(x)
        weights = (q @ k.transpose(2, 3) / 2).softmax(-1)
        weights[:, :, SEEN == 0] = 0
        return weights @ v

    def zeros_by_where(x):
        q, k, v = of_heads(x)
        weights = (q @ k.transpose(2, 3) / 2).softmax(-1)
        return torch.where(SEEN == 1, weights, torch.zeros_like(weights)) @ v

    def subtracted_twice(x):
        q, k, v = of_heads(x)
        return (q @ k.transpose(2, 3) / 2 - (1 - SEEN) * -1e9).softmax(-1) @ v

    def row_by_row(x):
        q, k, v = of_heads(x)
        scores = q @ k.transpose(2, 3) / 2
        for row in range(5):
            scores[:, :, row, row + 2:] = -1e9
        return scores.softmax(-1) @ v

    def hidden_by_a_large_number(x):
        q, k, v = of_heads(x)
        return (q @ k.transpose(2, 3) / 2).masked_fill(SEEN == 0, 1e9).softmax(-1) @ v

    def capped_behind_the_mask(x):
        q, k, v = of_heads(x)
        scores = (q @ k.transpose(2, 3) / 2).masked_fill(SEEN == 0, -math.inf)
        return (torch.tanh(scores / 5.0) * 5.0).softmax(-1) @ v

    class Named(nn.Module):
        """Queries, keys and values come from maps with their names, as many as `roles` has."""

        def __init__(self, roles):
            super().__init__()
            self.roles, (self.q, self.k, self.v) = roles, (nn.Linear(12, 12) for _ in range(3))

        def forward(self, x):
            q, k, v = (getattr(self, role)(x).view(2, 5, 3, 4).transpose(1, 2) for role in self.roles)
            return (q @ k.transpose(2, 3) / 2).softmax(-1) @ v

    class Forgotten(Named):
        """The keys are computed, and then the queries are taken."""

        def __init__(self):
            super().__init__("qkv")

        def forward(self, x):
            q, k, v = (getattr(self, role)(x).view(2, 5, 3, 4).transpose(1, 2) for role in self.roles)
            k = q
            return (q @ k.transpose(2, 3) / 2).softmax(-1) @ v

    class Words(nn.Module):
        """A text of ids, of which 0 is padding, that a mask hides; or all the others."""

        def __init__(self, inverted, kernel=False):
            super().__init__()
            self.inverted, self.words, self.places = inverted, nn.Embedding(9, 12), nn.Embedding(5, 12)
            self.attention = nn.MultiheadAttention(12, 3, batch_first=True) if kernel else Named("qkv")

        def forward(self, _):
            ids = torch.tensor([[3, 4, 5, 6, 0], [7, 8, 3, 0, 0]])
            hidden, x = (ids != 0) if self.inverted else (ids == 0), self.words(ids) + self.places(torch.arange(5))
            if isinstance(self.attention, nn.MultiheadAttention):
                return self.attention(x, x, x, key_padding_mask=hidden)[0]
            q, k, v = (getattr(self.attention, role)(x).view(2, 5, 3, 4).transpose(1, 2) for role in "qkv")
            return (q @ k.transpose(2, 3) / 2).masked_fill(hidden[:, None, None], -math.inf).softmax(-1) @ v

    class MaskedAfterDropout(nn.Module):
        def forward(self, x):
            q, k, v = of_heads(x)
            return F.dropout((q @ k.transpose(2, 3) / 2).softmax(-1), 0.2, self.training).masked_fill(SEEN == 0, 0) @ v

    class NoKeys(nn.Module):
        """The third query sees none."""

        def __init__(self, fill):
            super().__init__()
            self.fill = fill

        def forward(self, x):
            q, k, v = of_heads(x)
            hidden = torch.arange(5)[:, None].expand(5, 5) == 2
            return (q @ k.transpose(2, 3) / 2).masked_fill(hidden, self.fill).softmax(-1) @ v

    def far_keys(x):
        q, k, v = of_heads(x)
        distance = torch.arange(5)[:, None] - torch.arange(5)
        bias = torch.tensor([0.5, 0.25, 0.125])[:, None, None] * distance
        return (q @ k.transpose(2, 3) / 2 + bias).masked_fill(SEEN == 0, -math.inf).softmax(-1) @ v

    def far_keys_on_both_sides(x):
        q, k, v = torch.randn(3, 2, 3, 5, 4)
        distance = (torch.arange(5)[:, None] - torch.arange(5)).abs()
        return (q @ k.transpose(2, 3) / 2 + torch.tensor([0.5, 0.25, 0.125])[:, None, None] * distance).softmax(-1) @ v

    def turned(x, first=0):
        """Rotary positions, from `first` on."""
        angles = (torch.arange(5) + first)[:, None] * torch.tensor([1.0, 0.01])
        a, b = x.chunk(2, -1)
        return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1)

    def one_position_further(x):
        q, k, v = of_heads(x)
        return (turned(q, 1) @ turned(k).transpose(2, 3) / 2).softmax(-1) @ v

    def hides_queries(x):
        q, k, v = of_heads(x)
        words = torch.tensor([[3, 4, 5, 6, 0], [7, 8, 3, 0, 0]])
        return (q @ k.transpose(2, 3) / 2).masked_fill((words == 0)[:, None, :, None], -1e9).softmax(-1) @ v

    def from_the_first_key(x):
        q, k, v = of_heads(x)
        return (q[:, :, 2:] @ k.transpose(2, 3) / 2).masked_fill(torch.ones(3, 5).triu(1).bool(), -1e9).softmax(-1) @ v

    def over_the_batch(x):
        q, k, v = of_heads(x)
        return (q @ k.transpose(2, 3) / 2).softmax(0) @ v

    class Drawn(nn.Module):
        def forward(self, x):
            q, k, v = of_heads(x)
            weights = (q @ k.transpose(2, 3) / 2).softmax(-1)
            return weights * (torch.rand_like(weights) > 0.3) / 0.7 @ v

    def hides_by(change):
        """A mask whose number leaves the hidden keys a weight."""
        def program(x):
            q, k, v = of_heads(x)
            return change(q @ k.transpose(2, 3) / 2).softmax(-1) @ v
        return program

    def scales_by(number):
        def program(x):
            q, k, v = of_heads(x)
            return (q @ k.transpose(2, 3) * number).softmax(-1) @ v
        return program

    def turns_only_queries(x):
        q, k, v = of_heads(x)
        return (turned(q) @ k.transpose(2, 3) / 2).softmax(-1) @ v

    def cuts_only(role):
        """The heads of one of q, k and v are cut by a reshape alone."""
        def program(x):
            q, k, v = (nn.Linear(12, 12)(x).view(2, 3, 5, 4) if each == role else nn.Linear(12, 12)(x).view(2, 5, 3, 4).transpose(1, 2)
                       for each in "qkv")
            return (q @ k.transpose(2, 3) / 2).softmax(-1) @ v
        return program

    OTHERWISE = {"mask_missing": [hides_by(lambda scores: scores.masked_fill(SEEN == 0, -1.0)),
                                  hides_by(lambda scores: scores.masked_fill(SEEN == 0, 0)), hides_by(lambda scores: scores * SEEN)],
                 "other": [scales_by(2.0), scales_by(5 ** -0.5), scales_by(3 ** -0.5)],
                 "heads_split_without_transpose": [cut_before_told_apart, *map(cuts_only, "qkv")], "mask_after_softmax": [zeros_by_index, zeros_by_where, MaskedAfterDropout()],
                 "mask_sign": [subtracted_twice, hidden_by_a_large_number], "softcap_after_mask": [capped_behind_the_mask],
                 "causal_leaks_one": [row_by_row], "inverted_mask": [Words(True).eval(), Words(True, kernel=True).eval()], "dropout_left_on": [Drawn().eval()], "softmax_over_batch": [over_the_batch], "alibi_sign": [far_keys, far_keys_on_both_sides],
                 "position_offset": [one_position_further, turns_only_queries], "padding_on_queries": [hides_queries], "causal_offset": [from_the_first_key]}


@reading.unittest.skipIf(not PROGRAM, "not run here: the program is not known")
class ProgramTest(reading.FolderTest):
    def record_way(self, name):
        see, path = ways_test.Seen(), self.path(name)
        see.on = False
        torch.manual_seed(1)
        with torch.no_grad(), attnscope.record(path):
            ways_test.WAYS[name][0](see)
        return path

    def test_every_way_follows(self):
        seen = 0
        for name in ways_test.WAYS:
            if name in ways_test.FUSED and not hasattr(F, "scaled_dot_product_attention"):
                continue
            with self.subTest(way=name):
                code, report = examine(self.record_way(name))
                self.assertIn(code, (0, 1), report)
                self.assertEqual({each["bug"] for each in findings(report, "wrong")}, WRONG_WAYS.get(name, set()))
                self.assertEqual({each["bug"] for each in findings(report, "unusual")}, UNUSUAL_WAYS.get(name, set()))
                verdicts = {attention["verdict"] for attention in report["attentions"]}
                expected = {name: verdict for verdict, names in (("wrong", WRONG_WAYS), ("unusual", UNUSUAL_WAYS), ("unknown", UNKNOWN_WAYS))
                            for name in names}
                self.assertEqual(verdicts, {expected.get(name, "correct")})
                seen += 1
        self.assertGreater(seen, 40)

    def record_heads(self, mistake):
        path = self.path(f"heads-{mistake}")
        torch.manual_seed(2)
        module = Heads(mistake)
        module.eval()
        with torch.no_grad(), attnscope.record(path):
            module(torch.randn(2, 5, 12))
        return path

    def test_mistakes_are_named_with_their_line(self):
        for mistake in ("no_scale", "scaled_twice", "scale_d_model", "causal_leaks_one", "causal_masks_self", "inverted_mask",
                        "mask_after_softmax", "mask_sign", "softmax_over_queries", "softmax_over_heads", "softmax_twice",
                        "dropout_left_on", "kv_swapped", "qk_swapped", "heads_split_without_transpose", "heads_joined_without_transpose"):
            with self.subTest(mistake=mistake):
                code, report = examine(self.record_heads(mistake))
                self.assertEqual(code, 1, report)
                wrong = findings(report, "wrong")
                self.assertEqual([each["bug"] for each in wrong], [mistake])
                self.assertRegex(wrong[0]["line"], r"^program_test\.py:\d+$")
        code, report = examine(self.record_heads(None))
        self.assertEqual((code, report["attentions"][0]["verdict"], report["attentions"][0]["findings"]), (0, "correct", []))

    def test_mistakes_that_are_written_otherwise(self):
        for mistake, ways in OTHERWISE.items():
            for index, way in enumerate(ways):
                path = self.path(f"{mistake}-{index}")
                with self.subTest(mistake=mistake, way=index), torch.no_grad():
                    torch.manual_seed(2)
                    with attnscope.record(path):
                        way(torch.randn(2, 5, 12))
                    wrong = findings(examine(path)[1], "wrong")
                    self.assertEqual([each["bug"] for each in wrong], [mistake])
                    self.assertRegex(wrong[0]["line"], r"^program_test\.py:\d+$")

    def of_module(self, module, name):
        """The report of a module in evaluation."""
        path = self.path(name)
        torch.manual_seed(2)
        with torch.no_grad(), attnscope.record(path):
            module.eval()(torch.randn(2, 5, 12))
        return examine(path)[1]

    def test_operands_that_are_one_are_named(self):
        for roles, said in (("qqv", "q and k are the same numbers; k was never used."), ("qkk", "k and v are the same numbers; v was never used."),
                            ("kqk", "q and v are the same numbers; v was never used.")):
            with self.subTest(roles=roles):
                wrong = findings(self.of_module(Named(roles), roles), "wrong")
                self.assertIn(("same_operands", said), [(each["bug"], each["text"]) for each in wrong])
        wrong = findings(self.of_module(Forgotten(), "forgotten"), "wrong")
        self.assertEqual([each["text"] for each in wrong], ["q and k are the same numbers; k was never used."])
        shared = Named("qqv")
        del shared.k
        report = self.of_module(shared, "shared")
        self.assertEqual(report["attentions"][0]["verdict"], "correct")
        self.assertEqual([each["text"] for each in findings(report, "worth knowing")], ["q and k are the same numbers, from one map."])
        self.assertEqual(findings(self.of_module(Named("qkv"), "own"), "worth knowing"), [])

    def test_right_programs_like_the_mistakes_raise_no_alarm(self):
        def near_keys_by_subtraction(x):
            q, k, v = of_heads(x)
            bias = torch.tensor([0.5, 0.25, 0.125])[:, None, None] * (torch.arange(5)[:, None] - torch.arange(5))
            scores = torch.add(q @ k.transpose(2, 3) / 2, bias, alpha=-1)
            return scores.masked_fill(SEEN == 0, -math.inf).softmax(-1) @ v

        def two_texts_of_one_length(x):
            q, _, _ = of_heads(x)
            _, k, v = of_heads(torch.randn(2, 5, 12))
            scores = turned(q, 3) @ turned(k).transpose(2, 3) / 2
            return scores.masked_fill(SEEN.T == 0, -math.inf).softmax(-1) @ v

        def the_largest_behind_the_dropout(x):
            q, k, v = of_heads(x)
            weights = F.dropout((q @ k.transpose(2, 3) / 2).softmax(-1), 0.1)
            return (weights * (weights >= weights.topk(2, -1).values[..., -1:])) @ v

        def renormalised_behind_the_dropout(x):
            q, k, v = of_heads(x)
            weights = F.dropout((q @ k.transpose(2, 3) / 2).softmax(-1), 0.1).masked_fill(SEEN == 0, 0)
            return (weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)) @ v

        def a_value_that_is_returned(x):
            q, k, v = of_heads(x)
            return (q @ k.transpose(2, 3) / 2).softmax(-1) @ v, nn.Linear(12, 1)(x)

        def masked_before_and_after(x):
            q, k, v = of_heads(x)
            weights = (q @ k.transpose(2, 3) / 2 * SEEN).softmax(-1) * SEEN
            return weights / weights.sum(-1, keepdim=True) @ v

        def only_summaries_are_seen(x):
            """Two words at the beginning of every text stand for the rest of it."""
            table, ids = nn.Embedding(10, 12), torch.tensor([[1, 1, 4, 5, 6], [1, 1, 3, 5, 2]])
            q, k, v = of_heads(table(ids))
            return (q @ k.transpose(2, 3) / 2).masked_fill((ids != 1)[:, None, None], -1e9).softmax(-1) @ v

        for program in (only_summaries_are_seen, masked_before_and_after, near_keys_by_subtraction, two_texts_of_one_length, the_largest_behind_the_dropout, renormalised_behind_the_dropout,
                        a_value_that_is_returned):
            with self.subTest(program.__name__), torch.no_grad():
                torch.manual_seed(3)
                path = self.path(program.__name__)
                with attnscope.record(path):
                    program(torch.randn(2, 5, 12))
                report = examine(path)[1]
                self.assertEqual(len(report["attentions"]), 1)
                self.assertEqual(findings(report, "wrong") + findings(report, "unusual"), [])

    def test_pixels_memories_and_activations_need_no_scale(self):
        def pixels(x):
            image = x.reshape(1, 12, 2, 5)
            q, k, v = (nn.Conv2d(12, 4, 1)(image).flatten(2) for _ in range(3))
            return v @ (q.transpose(1, 2) @ k).softmax(-1).transpose(1, 2)

        def activations(x):
            q, k = (F.relu(nn.Linear(12, 12)(x)) for _ in range(2))
            return (q @ k.transpose(1, 2)).softmax(-1) @ x

        def maps(x):
            q, k, v = (nn.Linear(12, 12)(x) for _ in range(3))
            return (q @ k.transpose(1, 2)).softmax(-1) @ v

        for program, kind in ((pixels, "unusual"), (activations, "unusual"), (maps, "wrong")):
            with self.subTest(program.__name__), attnscope.record(self.path(program.__name__)):
                program(torch.randn(2, 5, 12))
            found = examine(self.path(program.__name__))[1]["attentions"][0]["findings"]
            self.assertEqual([(each["kind"], each["bug"]) for each in found], [(kind, "no_scale")])

    def test_right_models_and_what_they_are_asked_for(self):
        """An encoder sees all of the text that the decoder copies; a model that reads backwards is asked for what came before."""
        table, other, out = nn.Embedding(11, 8), nn.Embedding(11, 8), nn.Linear(8, 11)

        def attend(x, y, hidden=None):
            scores = x @ y.transpose(1, 2) / 8 ** 0.5
            return x + (scores if hidden is None else scores.masked_fill(hidden, -1e9)).softmax(-1) @ y

        def copies(masked=True):
            ids = torch.randint(0, 11, (4, 9))
            x, y = attend(table(ids), table(ids)), other(ids[:, :-1])
            y = attend(attend(y, y, torch.ones(8, 8).triu(1).bool() if masked else None), x)
            F.cross_entropy(out(y).flatten(0, 1), ids[:, 1:].flatten())

        def reads_backwards():
            ids = torch.randint(0, 11, (4, 7))
            x = table(ids[:, 1:])
            F.cross_entropy(out(attend(x, x, torch.ones(6, 6).tril(-1).bool())).transpose(1, 2), ids[:, :-1])

        for index, (program, bugs) in enumerate(((copies, []), (reads_backwards, []), (lambda: copies(False), ["mask_missing"]))):
            with self.subTest(index):
                torch.manual_seed(index)
                with attnscope.record(self.path(str(index))):
                    program()
                self.assertEqual([each["bug"] for each in findings(examine(self.path(str(index)))[1], "wrong")], bugs)

    def test_masks_that_hide_padding_are_right(self):
        for kernel in (False, True):
            report = self.of_module(Words(False, kernel), f"words-{kernel}")
            self.assertEqual((report["attentions"][0]["verdict"], report["attentions"][0]["findings"]), ("correct", []))

    def test_rows_without_a_key_are_told(self):
        for fill, are in ((-math.inf, "NaN"), (-1e30, "spread over all keys")):
            report = self.of_module(NoKeys(fill), f"no-keys-{fill}")
            self.assertEqual([each["text"] for each in findings(report, "worth knowing")],
                             [f"Query 2 of text 0 sees no key, and its weights are {are}."])
            self.assertEqual(report["attentions"][0]["verdict"], "correct")

    @unittest.skipUnless(torch is not None and hasattr(F, "scaled_dot_product_attention"), "this PyTorch has no such kernel")
    def test_rows_without_a_key_inside_of_a_kernel(self):
        seen = SEEN.bool().clone()
        seen[2] = False
        path, (q, k, v) = self.path(), (torch.randn(2, 3, 5, 4) for _ in range(3))
        with torch.no_grad(), attnscope.record(path):
            F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        report = examine(path)[1]
        self.assertEqual(report["attentions"][0]["verdict"], "correct")
        self.assertIn("sees no key", report["attentions"][0]["findings"][0]["text"])

    @unittest.skipUnless(FLEX, "this PyTorch has no flex_attention")
    def test_functions_of_flex_attention_become_masks_and_biases(self):
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        (q, k, v), slopes = (torch.randn(2, 3, 6, 8) for _ in range(3)), torch.tensor([0.5, 0.25, 0.125])
        causal = create_block_mask(lambda b, h, i, j: i >= j, None, None, 6, 6, device="cpu")
        cases = {"plain": {}, "causal": {"block_mask": causal}, "hidden by scores": {"score_mod": lambda s, b, h, i, j: torch.where(
            i >= j, s, -math.inf)}, "alibi": {"score_mod": lambda s, b, h, i, j: s - slopes[h] * (i - j).abs(), "block_mask": causal}}
        for name, given in cases.items():
            with self.subTest(name), torch.no_grad():
                path = self.path(name)
                with attnscope.record(path):
                    flex_attention(q, k, v, **given)
                report = examine(path)[1]
                self.assertEqual((report["attentions"][0]["verdict"], report["unfollowed"]), ("correct", []), report)
        path = self.path("capped")
        with torch.no_grad(), attnscope.record(path):
            flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: torch.tanh(s))
        report = examine(path)[1]
        self.assertEqual(report["attentions"][0]["verdict"], "unknown")
        self.assertEqual(report["attentions"][0]["unfollowed"][0]["what"], "flex_attention: score_mod")

    def test_one_changed_number_is_found(self):
        """The check of the arithmetic can fail, at every stage that has one."""
        for stage in ("q", "scores", "scaled", "masked", "weights", "context", "concat", "attention_out"):
            with self.subTest(stage=stage):
                shutil.rmtree(self.path("heads-None"), ignore_errors=True)
                path = self.record_heads(None)
                cell = (1, 3, 2) if stage in ("concat", "attention_out") else (1, 2, 3, 1)
                file = os.path.join(path, "run1-step00000000-rank0.safetensors")
                _, arrays = reading.read_file(file)
                change_number(file, f"Heads/{stage}", cell, float(arrays[f"Heads/{stage}"][cell]) + 1e-3)
                code, report = examine(path)
                self.assertEqual(code, 0)
                if stage in ("q", "attention_out"):  # a linear map that does not fit is not blamed, but what follows from it is
                    self.assertIn("scores[" if stage == "q" else "", "".join(each["text"] for each in findings(report, "unusual")))
                    text = run("recording", path).stdout
                    self.assertRegex(text, stage + r" .*how its channels are cut")
                    continue
                texts = [each["text"] for each in findings(report, "unusual")]
                self.assertTrue(any(each.startswith(f"{stage}[{','.join(map(str, cell))}] is") for each in texts), texts)
                self.assertEqual(report["attentions"][0]["verdict"], "unusual")

    def test_each_rank_of_a_job_is_listed_by_itself(self):
        path, other = self.record_heads(None), self.record_heads("no_scale")
        shutil.move(os.path.join(other, "recording.json"), os.path.join(path, "recording-rank1.json"))
        name = "run1-step00000000-rank{}.safetensors"
        shutil.move(os.path.join(other, name.format(0)), os.path.join(path, name.format(1)))
        for rank, code in (("0", 0), ("1", 1)):
            done = run("recording", path, "--rank", rank)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(f"Recorded by ranks 0, 1; this is rank {rank}\n", done.stdout)
        self.assertIn("has no step", run("recording", path, "--rank", "2").stderr)

    def kernels(self):
        """(name, module, named arguments) of PyTorch's attentions and layers that are one operation in evaluation."""
        torch.manual_seed(4)
        padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
        causal = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
        attention = nn.MultiheadAttention(16, 2, batch_first=True)
        for name, given in (("plain", {}), ("padding", {"key_padding_mask": padding}), ("causal", {"attn_mask": causal}),
                            ("both", {"attn_mask": causal, "key_padding_mask": padding}), ("no weights", {"need_weights": False})):
            yield f"attention, {name}", attention, given
        for first in (False, True):
            for bend in ("relu", "gelu"):
                layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=first, activation=bend)
                for name, given in (("plain", {}), ("padding", {"src_key_padding_mask": padding}), ("causal", {"src_mask": causal}),
                                    ("both", {"src_mask": causal, "src_key_padding_mask": padding})):
                    yield f"layer, {bend}, {'norms first' if first else 'norms after'}, {name}", layer, given
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        yield "layers, nested tensors", nn.TransformerEncoder(layer, 2), {"src_key_padding_mask": padding}

    def weights_by_hand(self, x, attention, given):
        """[B, H, T, S] from the parameters, as the documentation of nn.MultiheadAttention has it."""
        q, k, _ = (x @ attention.in_proj_weight.T + attention.in_proj_bias).split(16, -1)
        q, k = (each.view(2, 5, 2, 8).transpose(1, 2) for each in (q, k))
        scores = q @ k.transpose(-1, -2) / math.sqrt(8)
        for name, mask in given.items():
            if mask is False:
                continue
            scores = scores.masked_fill(mask[:, None, None] if "padding" in name else mask, -math.inf)
        return scores.softmax(-1)

    def test_what_lies_inside_of_pytorchs_kernels_is_computed_and_confirmed(self):
        x, seen = torch.randn(2, 5, 16), 0
        for number, (name, module, given) in enumerate(self.kernels()):
            with self.subTest(name), torch.no_grad():
                module.eval()
                path = self.path(f"kernel-{number}.attn")
                with attnscope.record(path):
                    module(x, x, x, **given) if name.startswith("attention") else module(x, **given)
                code, report = examine(path)
                self.assertEqual((code, {each["verdict"] for each in report["attentions"]}), (0, {"correct"}), report)
                if "weights" in report["attentions"][0]["stages"]:
                    continue  # this PyTorch has no kernel for it
                seen += 1
                layer = module.layers[0] if hasattr(module, "layers") else module
                first = layer.norm1(x) if getattr(layer, "norm_first", False) else x
                expected = self.weights_by_hand(first, getattr(layer, "self_attn", layer), given)
                drawn, words = self.drawn(path)[0, "weights"], 3 if "nested" in name else 5  # the rest has no rows there
                np.testing.assert_allclose(drawn[0], expected.numpy()[0], atol=1e-6)
                np.testing.assert_allclose(drawn[1][:, :words], expected.numpy()[1][:, :words], atol=1e-6)
                file = os.path.join(path, "run1-step00000000-rank0.safetensors")
                result = next(each for each in reading.read_file(file)[1] if re.search("attention_out|norm_2|residual_2", each))
                change_number(file, result, (0, 1, 2), 7.5)
                self.assertEqual(examine(path)[1]["attentions"][0]["verdict"], "unusual", "what the kernel left was changed")
        self.assertGreater(seen, 10)

    def record_job(self, ranks, way):
        """What this many processes of PyTorch record together in one folder."""
        path, meeting = self.path(f"job-of-{ranks}.attn"), self.folder
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "parallel.py")
        processes = [subprocess.Popen([sys.executable, "-B", script, meeting, str(rank), str(ranks), way, path],
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for rank in range(ranks)]
        for process in processes:
            said, _ = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, said)
        return path

    def stage_of_job(self, path, stage):
        out = self.path(stage.replace("/", "-") + ".npy")
        done = run("export", "--recording", path, "--stage", stage, "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(out)

    @unittest.skipUnless(torch is not None and torch.distributed.is_available(), "this PyTorch has no processes")
    def test_heads_of_two_processes_stand_side_by_side(self):
        parts, whole = self.record_job(2, "heads"), self.record_job(1, "heads")
        done = run("recording", parts)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Recorded by ranks 0, 1; these are the heads of all\n", done.stdout)
        self.assertEqual(done.stdout.count("follows\n"), 20, done.stdout)
        for layer in ("0", "1"):
            stages = [f"{layer}.attention/{stage}" for stage in
                      ("q", "k", "v", "scores", "scaled", "masked", "weights", "context", "concat", "attention_out")]
            stages += [f"{layer}/ffn_hidden", f"{layer}/ffn_activation"]
            stages += [f"parameters/{layer}.{name}" for name in
                       ("attention.q.weight", "attention.v.bias", "attention.out.weight", "attention.out.bias", "up.bias", "down.weight")]
            for stage in stages:
                np.testing.assert_allclose(self.stage_of_job(parts, stage), self.stage_of_job(whole, stage), atol=2e-6, err_msg=stage)
        self.assertIn("this is rank 1\n", run("recording", parts, "--rank", "1").stdout)

    @unittest.skipUnless(torch is not None and torch.distributed.is_available(), "this PyTorch has no processes")
    def test_processes_with_texts_of_their_own_are_not_joined(self):
        path = self.record_job(2, "texts")
        self.assertIn("this is rank 0\n", run("recording", path).stdout)

    def drawn(self, path):
        """{(layer, name of a stage in the recording): array} of what the window shows first."""
        out = self.path("trace.safetensors")
        done = run("trace", "--recording", path, "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        arrays = {}
        for name, array in reading.read_file(out)[1].items():
            if name.endswith((".keep", ".ids")) or name in ("tokens", "source_tokens"):  # masks, and the words
                continue
            match = re.fullmatch(r"(?:decoder\.)?layers\.(\d+)\.(?:(?:cross_)?attention\.)?(?:cross_)?([a-z_]+(?:\.\d+)?)", name)
            self.assertIsNotNone(match, name)
            arrays[int(match[1]), match[2]] = array
        return arrays

    def test_every_way_is_drawn(self):
        seen = 0
        for name in ways_test.WAYS:
            if name in ways_test.FUSED and not hasattr(F, "scaled_dot_product_attention"):
                continue
            with self.subTest(name):
                path = self.record_way(name)
                recording = reading.Recording(path)
                step = recording.steps[max(recording.steps)]
                drawn = self.drawn(path)
                attentions, left = {}, set(drawn)
                for key, array in step.items():
                    attention, _, stage = key.rpartition("/")
                    if attention and attention not in ("parameters", "inputs") and not stage.endswith(".grad"):
                        attentions.setdefault(attention, {})[stage] = as_float(array)
                # The attentions of the first group, in the order of the code, are the layers; the others have other sizes.
                named = [each["name"] for graph in recording.json["graphs"] for each in graph["attentions"]]
                layer = 0
                for attention in named:
                    stages = {"other" if stage == OTHER.get(name) else stage: array
                              for stage, array in attentions.get(attention, {}).items() if stage not in NOT_DRAWN.get(name, set())}
                    if not stages or not all(same(drawn.get((layer, stage)), array) for stage, array in stages.items()):
                        self.assertGreater(layer, 0, attention)
                        continue
                    left -= {(layer, stage) for stage in stages}
                    layer += 1
                # What only follows is drawn beside what was recorded.
                follows = {(number, stage["name"]) for number, attention in enumerate(named) for graph in recording.json["graphs"]
                           for each in graph["attentions"] if each["name"] == attention for stage in each["stages"]
                           if stage.get("have") == "follows"}
                self.assertLessEqual({stage for _, stage in left}, {stage for _, stage in follows})
                seen += 1
        self.assertGreater(seen, 50)

    def test_a_changed_number_is_drawn(self):
        path = self.record_heads(None)
        change_number(os.path.join(path, "run1-step00000000-rank0.safetensors"), "Heads/weights", (1, 2, 3, 1), 0.125)
        self.assertEqual(self.drawn(path)[0, "weights"][1, 2, 3, 1], 0.125)

    def plain_arrays(self):
        random = np.random.default_rng(3)
        q, k, v = (random.normal(size=(4, 3)).astype(np.float32) for _ in range(3))
        scores = q @ k.T
        scaled = scores / np.float32(math.sqrt(3))
        masked = np.where(np.tril(np.ones((4, 4), bool)), scaled, np.float32(-np.inf))
        powers = np.exp(masked - masked.max(-1, keepdims=True))
        weights = powers / powers.sum(-1, keepdims=True)
        return {"q": q, "k": k, "v": v, "scores": scores, "scaled": scaled, "masked": masked, "weights": weights, "context": weights @ v}

    def test_saved_arrays_are_drawn_with_what_follows(self):
        arrays = self.plain_arrays()
        for name in ("saved.attn", "saved.safetensors"):
            path = self.path(name)
            attnscope.save(path, tokens=["a", "b", "c", "d"], **arrays)
            for stage, array in self.drawn(path).items():
                self.assertTrue(same(array, arrays[stage[1]]), stage)
            text = run("recording", path).stdout
            for stage in ("scores", "scaled", "weights", "context"):
                self.assertRegex(text, stage + r" .*follows")
        # What is not computed as usual is taken as it is, not blamed.
        attnscope.save(self.path("other.attn"), **{**arrays, "scaled": arrays["scores"] * 2})
        self.assertNotIn("differs", run("recording", self.path("other.attn")).stdout)

    def test_show_opens_one_window_and_adds_steps(self):
        told, program = self.path("told"), self.path("window")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho \"$@\" >> {told}\nexec sleep 60\n")
        os.chmod(program, 0o755)
        arrays = self.plain_arrays()
        with unittest.mock.patch.dict(os.environ, {"ATTNSCOPE": program}):
            folder = attnscope.show(tokens=["a", "b", "c", "d"], **arrays)
            self.addCleanup(shutil.rmtree, folder)
            process = attnscope._Window.process
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            attnscope.show(weights=arrays["weights"] / 2)
        for _ in range(600):
            if os.path.exists(told):
                break
            time.sleep(0.1)
        with open(told, encoding="utf-8") as file:
            self.assertEqual(file.read().split(), [folder])
        self.assertTrue(same(self.drawn(folder)[0, "weights"], arrays["weights"] / 2))
        done = run("recording", folder, "--json")
        self.assertEqual(json.loads(done.stdout)["steps"], [0, 1], done.stderr)

    def test_a_stage_is_exported(self):
        path, out = self.record_heads(None), self.path("weights.npy")
        done = run("export", "--recording", path, "--stage", "Heads/weights", "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        _, arrays = reading.read_file(os.path.join(path, "run1-step00000000-rank0.safetensors"))
        self.assertEqual(np.load(out).tobytes(), arrays["Heads/weights"].tobytes())
        done = run("export", "--recording", path, "--stage", "Heads/nothing", "--out", out)
        self.assertEqual(done.returncode, 2)
        self.assertIn('no tensor "Heads/nothing"', done.stderr)

    def test_bfloat16_is_exported_as_float32(self):
        path, out = self.path("half"), self.path("half.npy")
        torch.manual_seed(3)
        q, k, v = (torch.randn(2, 3, 5, 4).bfloat16() for _ in range(3))
        with torch.no_grad(), attnscope.record(path):
            weights = torch.softmax(q @ k.transpose(2, 3) / 2, -1)
            weights @ v
        name = examine(path)[1]["attentions"][0]["name"]
        self.assertEqual(run("export", "--recording", path, "--stage", name + "/weights", "--out", out).returncode, 0)
        array = np.load(out)
        self.assertEqual(array.dtype, np.float32)
        self.assertEqual(array.tobytes(), weights.float().numpy().tobytes())


if __name__ == "__main__":
    reading.main()
