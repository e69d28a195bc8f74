"""Mistakes that only the code shows: each is named with its line, and the same program without it raises no alarm."""

import copy
import math
import unittest

import reading
from program_test import PROGRAM, examine, findings
from reading import torch

if torch is not None:
    import attnscope
    import torch.nn as nn
    import torch.nn.functional as F

    POSITIONS, WIDTH, HEADS, WORDS, TEXTS = 6, 16, 4, 20, 2
    HEAD = WIDTH // HEADS

    class Attention(nn.Module):
        def __init__(self, mistake, masked=True):
            super().__init__()
            self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
            self.mistake, self.masked = mistake, masked

        def forward(self, x):
            texts, positions, width = x.shape
            q, k, v = (each(x).view(texts, positions, HEADS, HEAD).transpose(1, 2) for each in (self.q, self.k, self.v))
            if self.mistake == "keys_viewed":
                k = k.contiguous().view(texts, HEADS, HEAD, positions)
            elif self.mistake == "keys_reshaped":
                k = k.reshape(texts, HEADS, HEAD, positions)
            else:
                k = k.transpose(2, 3)
            scores = q @ k / math.sqrt(HEAD)
            if self.masked:
                seen = torch.ones(positions, positions, dtype=torch.bool).tril()
                if self.mistake == "mask_thrown_away":
                    scores.masked_fill(~seen, -math.inf)
                else:
                    scores = scores.masked_fill(~seen, -math.inf)
            return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(texts, positions, width))

    class Block(nn.Module):
        def __init__(self, mistake, masked):
            super().__init__()
            self.attention, self.norm_1, self.norm_2 = Attention(mistake, masked), nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.feed_forward = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
            self.mistake = mistake

        def forward(self, x):
            if self.mistake == "norm_thrown_away":
                self.norm_1(x)
                x = x + self.attention(x)
            else:
                x = x + self.attention(self.norm_1(x))
            made = self.feed_forward(self.norm_2(x))
            if self.mistake == "dropout_behind":
                made = F.dropout(made, 0.1)
            else:
                made = F.dropout(made, 0.1, self.training)
            return made if self.mistake == "feed_forward_replaces" else x + made

    class Words(nn.Module):
        def __init__(self, mistake=None, masked=True):
            super().__init__()
            self.words, self.positions = nn.Embedding(WORDS, WIDTH), nn.Embedding(32, WIDTH)
            self.blocks = nn.ModuleList(Block(mistake, masked) for _ in range(2))
            self.norm, self.head, self.mistake = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS), mistake

        def forward(self, ids):
            x = self.words(ids)
            if self.mistake == "positions_thrown_away":
                x + self.positions(torch.arange(ids.shape[1]))
            elif self.mistake == "positions_by_words":
                x = x + self.positions(ids)
            elif self.mistake == "one_position":
                x = x + self.positions(torch.tensor(ids.shape[1]))
            else:
                x = x + self.positions(torch.arange(ids.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    class OfLibrary(nn.Module):
        def __init__(self, batch_first):
            super().__init__()
            self.words, self.positions = nn.Embedding(WORDS, WIDTH), nn.Parameter(torch.randn(1, 32, WIDTH))
            self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=batch_first)

        def forward(self, ids):
            x = self.words(ids) + self.positions[:, :ids.shape[1]]
            return x + self.attention(x, x, x)[0]

    class TimeFirst(nn.Module):
        def __init__(self, transposed):
            super().__init__()
            self.words, self.positions, self.transposed = nn.Embedding(WORDS, WIDTH), nn.Embedding(32, WIDTH), transposed
            self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH) for _ in range(3))

        def forward(self, ids):
            x = self.words(ids) + self.positions(torch.arange(ids.shape[1]))
            x = x.transpose(0, 1) if self.transposed else x
            time, texts, width = x.shape
            q, k, v = (each(x).reshape(time, texts * HEADS, HEAD).transpose(0, 1) for each in (self.q, self.k, self.v))
            weights = (torch.bmm(q, k.transpose(1, 2)) / HEAD ** 0.5).softmax(-1)
            return x + torch.bmm(weights, v).transpose(0, 1).reshape(time, texts, width)

    class Rotated(nn.Module):
        def __init__(self, by):
            super().__init__()
            self.qkv, self.by = nn.Linear(WIDTH, 3 * WIDTH), by

        def turned(self, x, sign=1):
            angles = sign * torch.arange(x.shape[-2])[:, None] * 10000 ** (-torch.arange(0, HEAD, 2) / HEAD)
            cos, sin = torch.cat([angles.cos()] * 2, -1), torch.cat([angles.sin()] * 2, -1)
            first, second = x.chunk(2, -1)
            return x * cos + torch.cat([-second, first], -1) * sin

        def forward(self, x):
            texts, positions, width = x.shape
            q, k, v = self.qkv(x).view(texts, positions, 3, HEADS, HEAD).unbind(2)
            if self.by == "heads":
                q, k = self.turned(q).transpose(1, 2), self.turned(k).transpose(1, 2)
            else:
                q, k = self.turned(q.transpose(1, 2)), self.turned(k.transpose(1, 2), -1 if self.by == "minus" else 1)
            if self.by == "twice":
                k = self.turned(k)
            weights = (q @ k.transpose(2, 3) / HEAD ** 0.5).softmax(-1)
            return (weights @ v.transpose(1, 2)).transpose(1, 2).reshape(texts, positions, width)

    class Across(nn.Module):
        def __init__(self, sides):
            super().__init__()
            self.q, self.k, self.v, self.norm, self.sides = *(nn.Linear(WIDTH, WIDTH) for _ in range(3)), nn.LayerNorm(WIDTH), sides

        def forward(self, x, memory):
            given = {"x": self.norm(x), "m": memory}
            q, k, v = (each(given[side]) for each, side in zip((self.q, self.k, self.v), self.sides))
            return x + (q @ k.transpose(1, 2) / WIDTH ** 0.5).softmax(-1) @ v

    class Cached(nn.Module):
        def __init__(self, first):
            super().__init__()
            self.q, self.k, self.v, self.first = *(nn.Linear(WIDTH, WIDTH) for _ in range(3)), first

        def forward(self, x, keys, values):
            q, k, v = self.q(x), torch.cat([keys, self.k(x)], 1), torch.cat([values, self.v(x)], 1)
            offset = 0 if self.first else keys.shape[1]
            seen = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool).tril(offset)
            return (q @ k.transpose(1, 2) / WIDTH ** 0.5).masked_fill(~seen, -1e9).softmax(-1) @ v

    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(WIDTH, HEAD) for _ in range(3))

        def forward(self, x):
            return (self.q(x) @ self.k(x).transpose(1, 2) / HEAD ** 0.5).softmax(-1) @ self.v(x)

    class ListedHeads(nn.Module):
        def __init__(self, same):
            super().__init__()
            self.heads = nn.ModuleList([Head()] * HEADS if same else [Head() for _ in range(HEADS)])

        def forward(self, x):
            return torch.cat([head(x) for head in self.heads], -1)

    class Kept(nn.Module):
        def __init__(self, kept):
            super().__init__()
            self.attention, self.norm, self.kept = Attention(None), nn.LayerNorm(WIDTH), kept

        def forward(self, x):
            if self.kept:
                made = self.attention(x)
                x = x + made
            else:
                made = self.attention(x)
                x = x + x
            return self.norm(x)

    def of_heads(x=None, masked=lambda scores: scores, scale=HEAD ** -0.5, positions=POSITIONS, texts=TEXTS, transposed=True, dim=-1):
        """Attention of several heads without a module, with something of its own."""
        x = torch.randn(texts, positions, WIDTH) if x is None else x
        q, k, v = (nn.Linear(WIDTH, WIDTH)(x).view(texts, positions, HEADS, HEAD).transpose(1, 2) for _ in range(3))
        scores = masked(q @ (k.transpose(2, 3) if transposed else k) * scale)
        return scores.softmax(dim) @ v

    def seen(dtype=torch.float32, positions=POSITIONS):
        return torch.ones(positions, positions, dtype=dtype).tril()

    def in_groups(wrong):
        q, k, v = torch.randn(2, 4, 5, 4), torch.randn(2, 2, 5, 4), torch.randn(2, 2, 5, 4)
        k, v = k.repeat_interleave(2, 1), v.repeat(1, 2, 1, 1) if wrong else v.repeat_interleave(2, 1)
        return (q @ k.transpose(2, 3) / 2).softmax(-1) @ v

    def of_additive(dim):
        q, k, vector = states()[:, :, None], states()[:, None], torch.randn(WIDTH, 1)
        return torch.softmax(torch.tanh(q + k) @ vector, dim).squeeze(-1) @ states()

    def asked_for_neighbours(shift):
        text = ids()
        return F.cross_entropy(Words().eval()(text).view(-1, WORDS), text.roll(shift, 1).view(-1))

    def ids(more=0):
        return torch.randint(0, WORDS, (TEXTS, POSITIONS + more))

    def states(positions=POSITIONS):
        return torch.randn(TEXTS, positions, WIDTH)

    def gathered(logits, targets):
        return -logits.log_softmax(-1).gather(-1, targets[..., None]).mean()

    def indexed(logits, targets):
        chances = logits.softmax(-1).view(-1, WORDS)
        return -torch.log(chances[torch.arange(targets.numel()), targets.reshape(-1)]).mean()

    def one_of_all(logits, targets):
        return -(F.one_hot(targets, WORDS) * logits.log_softmax(-1)).sum(-1).mean()

    def asked(loss):
        def run(masked):
            text = ids(1)
            loss(Words(None, masked).eval()(text[:, :-1]), text[:, 1:])
        return run

    def of_words(mistake):
        return lambda wrong: Words(mistake if wrong else None).eval()(ids())

    # name: (what it is called, a program that is run with the mistake and without)
    MISTAKES = {
        "keys_viewed": ("other", of_words("keys_viewed")),
        "keys_reshaped": ("other", of_words("keys_reshaped")),
        "mask_thrown_away": ("mask_missing", of_words("mask_thrown_away")),
        "norm_thrown_away": ("result_unused", of_words("norm_thrown_away")),
        "positions_thrown_away": ("result_unused", of_words("positions_thrown_away")),
        "dropout_behind": ("dropout_left_on", of_words("dropout_behind")),
        "library_over_texts": ("softmax_over_batch", lambda wrong: OfLibrary(not wrong).eval()(ids())),
        "over_texts": ("softmax_over_batch", lambda wrong: TimeFirst(not wrong)(ids())),
        "rotated_by_heads": ("position_offset", lambda wrong: Rotated("heads" if wrong else "positions")(states())),
        "keys_rotated_twice": ("position_offset", lambda wrong: Rotated("twice" if wrong else "positions")(states())),
        "keys_rotated_back": ("position_offset", lambda wrong: Rotated("minus" if wrong else "positions")(states())),
        "positions_by_words": ("no_positions", of_words("positions_by_words")),
        "one_position": ("no_positions", of_words("one_position")),
        "values_of_queries": ("other", lambda wrong: Across("xmx" if wrong else "xmm")(states(), states())),
        "sides_mixed_up": ("qk_swapped", lambda wrong: Across("mxx" if wrong else "xmm")(states(), states())),
        "mask_at_the_first_key": ("causal_offset", lambda wrong: Cached(wrong)(states(2), states(5), states(5))),
        "assigned_and_forgotten": ("result_unused", lambda wrong: Kept(not wrong).eval()(states())),
        "one_head_for_all": ("same_operands", lambda wrong: ListedHeads(wrong)(states())),
        "ones_are_added": ("mask_missing", lambda wrong: of_heads(
            masked=lambda scores: scores + seen() if wrong else scores.masked_fill(seen() == 0, -math.inf))),
        "nothing_times_infinity": ("non_finite", lambda wrong: of_heads(
            masked=lambda scores: scores + (1 - seen()) * (-math.inf if wrong else -1e9))),
        "mask_falls_on_heads": ("other", lambda wrong: of_heads(texts=HEADS, masked=lambda scores: scores.masked_fill(
            (torch.arange(POSITIONS) >= torch.tensor([3, 4, 5, 6])[:, None]).view(*(() if wrong else (HEADS, 1)), -1, 1, POSITIONS), -1e9))),
        "keys_as_they_are": ("other", lambda wrong: of_heads(positions=HEAD, transposed=not wrong)),
        "precedence": ("scaled_twice", lambda wrong: of_heads(scale=1 / HEAD ** 1 / 2 if wrong else 1 / HEAD ** (1 / 2))),
        "softmax_over_one": ("other", lambda wrong: of_additive(-1 if wrong else 2)),
        "logits_reshaped": ("other", lambda wrong: F.cross_entropy((lambda logits: logits.reshape(
            TEXTS, WORDS, POSITIONS) if wrong else logits.transpose(1, 2))(Words().eval()(ids())), ids())),
        "groups_mixed_up": ("gqa_tiled", lambda wrong: in_groups(wrong)),
        "softmax_before_the_loss": ("softmax_twice", lambda wrong: F.cross_entropy(
            (lambda logits: logits.softmax(-1) if wrong else logits)(Words().eval()(ids())).view(-1, WORDS), ids().view(-1))),
        "shifted_back": ("copies", lambda wrong: asked_for_neighbours(1 if wrong else -1)),
        "row_of_the_first_query": ("causal_offset", lambda wrong: Cached(wrong)(states(1), states(5), states(5))),
        "asked_by_gather": ("mask_missing", lambda wrong: asked(gathered)(not wrong)),
        "asked_by_index": ("mask_missing", lambda wrong: asked(indexed)(not wrong)),
        "asked_by_one_hot": ("mask_missing", lambda wrong: asked(one_of_all)(not wrong)),
    }


@unittest.skipIf(not PROGRAM, "not run here: the program is not known")
@unittest.skipIf(torch is None, "not run here: PyTorch is not installed")
class MistakesTest(reading.FolderTest):
    def wrong(self, name, program, wrong):
        path = self.path(f"{name}-{wrong}")
        torch.manual_seed(3)
        with torch.no_grad(), attnscope.record(path):
            program(wrong)
        code, report = examine(path)
        self.assertGreater(len(report["attentions"]), 0)
        found = findings(report, "wrong") + [each for each in report["findings"] if each["kind"] == "wrong"]
        self.assertEqual(code, 1 if found else 0)
        return found

    def test_each_is_named_where_it_is(self):
        for name, (bug, program) in MISTAKES.items():
            with self.subTest(mistake=name):
                found = self.wrong(name, program, True)
                self.assertEqual({each["bug"] for each in found}, {bug})
                for each in found:
                    self.assertRegex(each["line"], r"^mistakes_test\.py:\d+$")

    def test_right_programs_near_them(self):
        def axes_of_one_text():
            x, attention = torch.randn(1, 4, 5, 12), nn.MultiheadAttention(12, 3)
            along = x.permute(0, 2, 1, 3).reshape(5, 4, 12)
            attention(along, along, along)

        def averaged_heads():
            class Averaged(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(HEAD, WIDTH)

                def forward(self, x):
                    q, k, v = self.qkv(x).view(TEXTS, POSITIONS, 3, HEADS, HEAD).permute(2, 0, 3, 1, 4)
                    return self.out(((q @ k.transpose(2, 3) / 2).softmax(-1) @ v).mean(1))

            class Around(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.attention, self.norm = Averaged(), nn.LayerNorm(WIDTH)

                def forward(self, x):
                    return x + self.attention(self.norm(x))

            Around()(states())

        def two_masks():
            x, before = states(), torch.arange(POSITIONS) < torch.tensor([[2], [0]])
            of_heads(x, lambda scores: torch.where(seen(torch.bool), scores, -1e4 * torch.ones(())) + before[:, None, None] * -1e4)

        def number_of_the_layer():
            x = states()
            for layer in range(3):
                x = x + of_heads(x, scale=HEAD ** -0.5 / (layer + 1)).transpose(1, 2).reshape(x.shape)

        def all_queries_in_a_row():
            x, queries = states(), nn.Parameter(torch.randn(3, WIDTH))
            context = torch.softmax(queries @ x.transpose(1, 2), -1) @ x
            nn.Linear(3 * WIDTH, 5)(context.flatten(1))

        def positions_in_the_mask():
            q, k, v = (torch.randn(TEXTS, HEADS, POSITIONS, HEAD) for _ in range(3))
            bias = torch.randn(1, HEADS, POSITIONS, POSITIONS) + (1 - seen()) * -1e9
            (q @ k.transpose(2, 3) + bias).softmax(-1) @ v

        def repeated_for_neighbours():
            q, k, v = torch.randn(2, 4, 5, 4), torch.randn(2, 2, 5, 4), torch.randn(2, 2, 5, 4)
            k, v = (each.repeat(1, 1, 2, 1).view(2, 4, 5, 4) for each in (k, v))
            (q @ k.transpose(2, 3) / 2).softmax(-1) @ v

        def one_normed():
            x, norm, maps = states(), nn.LayerNorm(WIDTH), [nn.Linear(WIDTH, WIDTH) for _ in range(3)]
            q, k, v = maps[0](norm(x)), maps[1](x), maps[2](x)
            (q @ k.transpose(1, 2) / 4).masked_fill(seen() == 0, -math.inf).softmax(-1) @ v

        class Inner(Attention):
            def __init__(self):
                super().__init__(None)
                self.down, self.up, self.is_gated, self.gate = nn.Linear(WIDTH, 4), nn.Linear(4, WIDTH), False, nn.Linear(WIDTH, WIDTH)

            def forward(self, x):
                made = super().forward(x)
                if self.is_gated:
                    made = made * self.gate(x)
                return made + self.up(self.down(made)) * 0.5

        class Keeping(nn.Module):
            def forward(self, x):
                self.state = x.mean()
                return self.state * 2

        class Outer(nn.Module):
            def __init__(self):
                super().__init__()
                self.attention, self.norm, self.keeping = Inner(), nn.LayerNorm(WIDTH), Keeping()

            def forward(self, x):
                self.keeping(x)
                return x + self.attention(self.norm(x)) * self.keeping.state

        def low_rank_output_and_a_setting():
            Outer()(states())

        def copied_inside():
            model = Outer()
            other = copy.deepcopy(model)
            return model(states()) + other(states())

        def chunks_of_scaled_queries():
            q, k, v = (torch.randn(2, HEADS, POSITIONS, HEAD) for _ in range(3))
            q, hidden = q * HEAD ** -0.5, seen() == 0
            torch.cat([(q[:, :, at:at + 2] @ k.transpose(2, 3)).masked_fill(hidden[at:at + 2], -math.inf).softmax(-1) @ v
                       for at in range(0, POSITIONS, 2)], 2)

        def dropout_of_its_own_will():
            class Uncertain(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.drop, self.qkv = nn.Dropout(0.2), nn.Linear(WIDTH, 3 * WIDTH)

                def forward(self, x):
                    q, k, v = self.qkv(x).chunk(3, -1)
                    return self.drop((q @ k.transpose(1, 2) / 4).softmax(-1)) @ v

            model = Uncertain().eval()
            model.drop.train()
            model(states())

        for program in (low_rank_output_and_a_setting, copied_inside, chunks_of_scaled_queries, dropout_of_its_own_will, axes_of_one_text, averaged_heads, two_masks, number_of_the_layer, all_queries_in_a_row, positions_in_the_mask,
                        repeated_for_neighbours, one_normed):
            path = self.path(program.__name__)
            with self.subTest(program.__name__), torch.no_grad(), attnscope.record(path):
                program()
            code, report = examine(path)
            self.assertEqual((code, findings(report, "wrong"), findings(report, "unusual"), report["findings"]), (0, [], [], []))
            self.assertGreater(len(report["attentions"]), 0)

    def test_keys_and_values_may_have_groups_of_their_own(self):
        for keys, values in ((4, 1), (1, 4), (2, 4)):
            q, k, v = torch.randn(2, 4, 6, HEAD), torch.randn(2, keys, 6, HEAD), torch.randn(2, values, 6, HEAD)
            path = self.path(f"groups-{keys}-{values}")
            with attnscope.record(path):
                k, v = (each.repeat_interleave(4 // each.shape[1], 1) for each in (k, v))
                (q @ k.transpose(2, 3) / 2).softmax(-1) @ v
            code, report = examine(path)
            self.assertEqual((code, report["attentions"][0]["verdict"]), (0, "correct"))
            self.assertEqual(report["attentions"][0]["stages"]["k"][1] in (keys, 4), True)

    def test_a_softmax_over_the_texts_of_one_query_is_unusual(self):
        for axis, unusual in ((0, set()), (1, {"softmax_over_batch"})):
            path = self.path(f"texts-{axis}")
            state, memory = torch.randn(1, TEXTS, WIDTH), torch.randn(POSITIONS, TEXTS, WIDTH)
            with attnscope.record(path):
                weights = torch.sum(state * memory, 2).softmax(axis)
                (weights[..., None] * memory).sum(0)
            code, report = examine(path)
            self.assertEqual((code, {each["bug"] for each in findings(report, "unusual")}), (0, unusual))

    def test_a_feed_forward_network_without_a_residual_is_unusual(self):
        for mistake, unusual in (("feed_forward_replaces", {"no_residual"}), (None, set())):
            path = self.path(f"residual-{mistake}")
            with torch.no_grad(), attnscope.record(path):
                Words(mistake).eval()(ids())
            code, report = examine(path)
            self.assertEqual((code, {each["bug"] for each in findings(report, "unusual")}), (0, unusual))

    def test_without_it_there_is_no_alarm(self):
        for name, (_, program) in MISTAKES.items():
            with self.subTest(mistake=name):
                self.assertEqual(self.wrong(name, program, False), [])


if __name__ == "__main__":
    unittest.main()
