"""A recording changes nothing and breaks nothing: bits, errors, Ctrl+C, threads, forks, copies, memory, checkpoints, training loops."""

import copy
import gc
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest
import unittest.mock
import warnings
import weakref

import reading
from reading import np, torch

if torch is not None:
    import attnscope
    import torch.nn as nn
    import torch.nn.functional as F
    from torch.utils.checkpoint import checkpoint
    from torch.utils.data import DataLoader

    class Attention(nn.Module):
        def __init__(self, width=12, heads=3, dropout=0.2):
            super().__init__()
            self.heads, self.drop = heads, nn.Dropout(dropout)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x):
            q, k, v = (each.view(*x.shape[:2], self.heads, -1).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
            scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
            scores = scores.masked_fill(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1), float("-inf"))
            return self.out((self.drop(scores.softmax(-1)) @ v).transpose(1, 2).reshape(x.shape))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm_a, self.attention, self.norm_b = nn.LayerNorm(12), Attention(), nn.LayerNorm(12)
            self.feed = nn.Sequential(nn.Linear(12, 24), nn.GELU(), nn.Dropout(0.1), nn.Linear(24, 12))

        def forward(self, x):
            x = x + self.attention(self.norm_a(x))
            return x + self.feed(self.norm_b(x))

    class Model(nn.Module):
        def __init__(self, layers=2):
            super().__init__()
            self.words, self.places = nn.Embedding(11, 12), nn.Embedding(16, 12)
            self.blocks, self.norm = nn.ModuleList(Block() for _ in range(layers)), nn.LayerNorm(12)
            self.head = nn.Linear(12, 11, bias=False)

        def forward(self, ids):
            x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))


def ids(*shape):
    return torch.randint(0, 11, shape or (2, 5))


class BitsTest(reading.FolderTest):
    """Outputs, gradients and random state are the same bits with and without."""

    def same(self, run, name="run.attn", attentions=None):
        results = []
        for recorded in (False, True):
            torch.manual_seed(7), random.seed(7), np.random.seed(7)
            if recorded:
                with attnscope.record(self.path(name)):
                    result = run()
            else:
                result = run()
            results.append(([each.detach().clone() for each in result], torch.get_rng_state(), random.getstate()))
        (plain, *states), (found, *found_states) = results
        self.assertEqual(len(plain), len(found))
        for one, other in zip(plain, found):
            if one.is_nested:
                one, other = one.to_padded_tensor(0.0), other.to_padded_tensor(0.0)
            self.assertTrue(torch.equal(torch.nan_to_num(one.float(), nan=7), torch.nan_to_num(other.float(), nan=7)))
        self.assertTrue(torch.equal(states[0], found_states[0]))
        self.assertEqual(states[1], found_states[1])
        recording = reading.Recording(self.path(name))
        if attentions is not None:
            self.assertEqual(len(recording.attentions), attentions)
        for step in recording.steps:
            reading.check_graph(self, recording, step)
        return recording

    def test_training_step(self):
        def run():
            model = Model()
            optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
            results = []
            for _ in range(3):
                batch = ids()
                loss = F.cross_entropy(model(batch).flatten(0, 1), batch.flatten())
                optimizer.zero_grad()
                loss.backward()
                results += [loss] + [each.grad.clone() for each in model.parameters()]
                optimizer.step()
            return results + list(model.parameters())
        recording = self.same(run, attentions=6)
        self.assertEqual([each["name"] for each in recording.attentions][:3],
                         ["blocks.0.attention", "blocks.1.attention", "blocks.0.attention#2"])

    def test_modes(self):
        model, batch = Model().eval(), ids()
        for mode in (torch.no_grad, torch.inference_mode, torch.enable_grad):
            def run():
                with mode():
                    return [model(batch)]
            self.same(run, mode.__name__, 2)

    def test_operations_that_are_made_of_others(self):
        """Under inference_mode these are seen whole, and have to be computed as PyTorch computes them, of inputs in any layout."""
        linear, lstm, x = nn.Linear(12, 12), nn.LSTM(12, 4, batch_first=True), torch.randn(2, 6, 12)
        wide, token = torch.randn(3, 12, 7, 2), torch.randn(1, 1, 12)
        with torch.inference_mode():
            self.same(lambda: [linear(x[:, -1:]), linear(token.expand(2, -1, -1)), x[:, ::2] @ x.transpose(1, 2)[..., ::2], lstm(x)[0],
                               torch.matmul(wide.permute(3, 0, 2, 1), wide[:, :, :3, 0]), F.dropout(x, 0.5),
                               F.interpolate(wide, scale_factor=2.0, mode="bilinear"), torch.einsum("btc,sc->bts", x, x[0, ::2])],
                      attentions=0)

    def test_tensors_without_a_source(self):
        """Held results of these raise in PyTorch 1.13, unless what is held is an alias."""
        def run():
            x = torch.ones(2, 3) * torch.full((3,), 2.0) + torch.arange(3)
            y = torch.zeros(2, 3)
            y[:, 1:] = x[:, 1:]
            z = torch.empty_like(x).fill_(1.5)
            z.add_(y).mul_(2)
            return [x.clone(), y, z, torch.eye(3) @ torch.ones(3, 3)]
        for mode in (torch.no_grad, torch.inference_mode, torch.enable_grad):
            with mode():
                self.same(run, mode.__name__, 0)

    def test_encoder_of_pytorch(self):
        layer = nn.TransformerEncoderLayer(12, 4, 24, batch_first=True, dropout=0.1)
        encoder = nn.TransformerEncoder(layer, 2)
        x, padding = torch.randn(2, 5, 12), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
        self.same(lambda: [encoder.train()(x)], "train", 2)
        self.same(lambda: [encoder.train()(x, src_key_padding_mask=padding)], "padded", 2)
        encoder.eval()
        with torch.no_grad():
            with self.subTest("the fast path"):
                recording = self.same(lambda: [encoder(x)], "fast", 2)
                self.assertEqual(recording.attentions[0]["stages"][0]["have"], "follows")
            with self.subTest("the fast path with padding, by nested tensors"):
                self.same(lambda: [encoder(x, src_key_padding_mask=padding)], "nested", 2)
        self.same(lambda: [encoder(x)], "evaluation with gradients", 2)

    def test_other_modules_of_pytorch(self):
        attention = nn.MultiheadAttention(12, 4, batch_first=True, dropout=0.1)
        x, y = torch.randn(2, 5, 12), torch.randn(2, 4, 12)
        self.same(lambda: attention(x, x, x), "training", 1)
        self.same(lambda: attention(x, y, y, need_weights=False)[:1], "across", 1)
        with torch.no_grad():
            attention.eval()
            self.same(lambda: attention(x, x, x), "fast", 1)
            self.same(lambda: attention(x, x, x, need_weights=True, average_attn_weights=False), "with weights", 1)
        transformer = nn.Transformer(12, 3, 1, 2, 24, batch_first=True)
        recording = self.same(lambda: [transformer(x, y)], "transformer", 5)
        self.assertEqual([each["kind"] for each in recording.attentions], ["self", "self", "cross", "self", "cross"])

    def test_what_is_not_attention_is_left_alone_too(self):
        def run():
            lstm, convolution, norm = nn.LSTM(4, 5), nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)
            x = norm(convolution(torch.randn(2, 1, 6, 6)))
            y = torch.randn(3, 4, requires_grad=True)
            z = torch.fft.rfft(y).abs().sum() + torch.linalg.svd(y @ y.T)[1].sum() + torch.sparse.mm(torch.eye(3).to_sparse(), y).sum()
            z.backward()
            return [x, lstm(torch.randn(3, 2, 4))[0], z, y.grad, torch.sort(torch.randn(5))[0], norm.running_mean, torch.rand(3)]
        self.same(run, attentions=0)

    def test_checkpoints(self):
        block = Block()
        reentrant = [True] if torch.__version__.startswith("1.") else [True, False]
        for way in reentrant:
            def run():
                x = torch.randn(2, 5, 12, requires_grad=True)
                y = checkpoint(block, x, use_reentrant=way)
                y.square().sum().backward()
                return [y, x.grad] + [each.grad.clone() for each in block.parameters()]
            block.zero_grad()
            torch.manual_seed(0)

            def fresh():
                block.zero_grad()
                return run()
            recording = self.same(fresh, f"checkpoint {way}", 1)
            self.assertEqual(recording.attentions[0]["calls"], 1)

    def test_gradients_of_stages(self):
        attention, x = Attention(dropout=0.0), torch.randn(2, 5, 12)
        with attnscope.record(self.path(), gradients=True):
            attention(x).square().sum().backward()
        arrays = reading.Recording(self.path()).steps[0]
        # By hand: the same arithmetic, with gradients kept.
        q, k, v = (each.view(2, 5, 3, 4).transpose(1, 2) for each in attention.qkv(x).chunk(3, -1))
        scaled = q @ k.transpose(-2, -1) / 2
        masked = scaled.masked_fill(torch.ones(5, 5, dtype=torch.bool).triu(1), float("-inf"))
        weights = masked.softmax(-1)
        context = weights @ v
        for each in (scaled, weights, context):
            each.retain_grad()
        attention.out(context.transpose(1, 2).reshape(2, 5, 12)).square().sum().backward()
        for name, value in (("scaled", scaled), ("weights", weights), ("context", context)):
            np.testing.assert_allclose(arrays[f"Attention/{name}.grad"], value.grad.numpy(), rtol=1e-5, atol=1e-6)


class TroubleTest(reading.FolderTest):
    """Errors pass, and leave a readable recording and nothing else."""

    def hooks(self):
        from torch.nn.modules import module
        return len(module._global_forward_pre_hooks) + len(module._global_forward_hooks)

    def nothing_is_left(self, model):
        import torch.utils._python_dispatch as dispatch
        self.assertEqual(self.hooks(), 0)
        if hasattr(dispatch, "_get_current_dispatch_mode"):
            self.assertIsNone(dispatch._get_current_dispatch_mode())
        for module in model.modules():
            self.assertEqual(len(module._forward_hooks) + len(module._forward_pre_hooks), 0)
        copy.deepcopy(model), pickle.loads(pickle.dumps(model))
        self.assertEqual([name for name in vars(model) if "attnscope" in name], [])

    def test_an_error_passes_unchanged(self):
        model, error = Model(), ZeroDivisionError("of the program")

        def run():
            model(ids())
            raise error
        with self.assertRaises(ZeroDivisionError) as caught:
            with attnscope.record(self.path()):
                run()
        self.assertIs(caught.exception, error)
        recording = reading.Recording(self.path())
        self.assertEqual((recording.json["error"]["type"], recording.json["error"]["text"]), ("ZeroDivisionError", "of the program"))
        self.assertTrue(recording.json["error"]["line"].startswith("behaviour_test.py:"))
        self.assertEqual(recording.metadata[0]["complete"], "no")
        self.assertEqual(len(recording.attentions), 2)
        self.nothing_is_left(model)

    def test_an_error_of_pytorch_in_the_middle(self):
        model = Model()
        model.blocks[1].attention.out = nn.Linear(13, 12)
        with self.assertRaises(RuntimeError):
            with attnscope.record(self.path()):
                model(ids())
        self.assertEqual([each["name"] for each in reading.Recording(self.path()).attentions], ["blocks.0.attention", "blocks.1.attention"])
        self.nothing_is_left(model)

    def test_a_caught_error_does_not_mix_up_names(self):
        model, broken = Model(), Attention()
        broken.out = nn.Linear(5, 5)
        with attnscope.record(self.path()):
            try:
                broken(torch.randn(1, 3, 12))
            except RuntimeError:
                pass
            model(ids())
        self.assertEqual([each["name"] for each in reading.Recording(self.path()).attentions],
                         ["Attention", "blocks.0.attention", "blocks.1.attention"])

    def test_ctrl_c(self):
        # A shell that starts this in the background has it ignored.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        model, done = Model(), threading.Event()

        def interrupted():
            end = time.monotonic() + 60
            try:
                while time.monotonic() < end:
                    model(ids())
            finally:
                done.set()

        def interrupt():  # again where Python drops it (in a callback of a weak reference)
            while not done.wait(0.3):
                os.kill(os.getpid(), signal.SIGINT)
        timer = threading.Thread(target=interrupt)
        with self.assertRaises(KeyboardInterrupt):
            with attnscope.record(self.path()):
                timer.start()
                interrupted()
        timer.join()
        recording = reading.Recording(self.path())
        self.assertEqual(recording.json["error"]["type"], "KeyboardInterrupt")
        self.assertGreater(len(recording.attentions), 0)
        self.nothing_is_left(model)

    def test_an_error_of_ours_is_one_warning(self):
        model, batch = Model().eval(), ids()
        expected = model(batch)
        for broken in ("hold", "where", "value_of", "result_of"):
            def fail(*_):
                raise LookupError("planted")
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with attnscope.record(self.path(broken)) as run:
                    setattr(run.recorder, broken, fail)
                    self.assertTrue(torch.equal(model(batch), expected))
            self.assertEqual(len([each for each in caught if "planted" in str(each.message)]), 1, broken)
            self.nothing_is_left(model)
            json.load(open(os.path.join(self.path(broken), "recording.json"), encoding="utf-8"))

    def test_an_error_of_the_analysis_is_one_warning(self):
        original, attnscope.find_attentions = attnscope.find_attentions, None
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with attnscope.record(self.path()):
                    Model()(ids())
        finally:
            attnscope.find_attentions = original
        self.assertEqual(len([each for each in caught if "attnscope" in str(each.message)]), 1)

    def test_an_attention_that_cannot_be_analysed_leaves_the_others(self):
        build, calls = attnscope.build_from, []

        def fail_once(*given):
            calls.append(given)
            if len(calls) == 1:
                raise LookupError("planted")
            return build(*given)
        with unittest.mock.patch.object(attnscope, "build_from", fail_once), attnscope.record(self.path()):
            Model()(ids())
        recording = reading.Recording(self.path())
        self.assertEqual([each["name"] for each in recording.attentions], ["blocks.1.attention"])
        self.assertRegex(recording.json["unfollowed"][0]["what"], "an attention, because of .*planted")
        self.assertRegex(recording.json["unfollowed"][0]["line"], r"behaviour_test\.py:\d+")

    def test_warnings_that_are_errors(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with attnscope.record(self.path()) as run:
                run.recorder.hold = None
                Model()(ids())

    def test_a_folder_that_cannot_be_written(self):
        blocked = os.path.join(self.folder, "file")
        with open(blocked, "w", encoding="utf-8") as file:
            file.write("mine")
        model = Model()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with attnscope.record(blocked):
                model(ids())
            run = attnscope.watch(model, os.path.join(blocked, "inner"))
            model(ids())
            run.step(loss=1.0)
            run.close()
        self.assertEqual(len([each for each in caught if "attnscope" in str(each.message)]), 2)
        with open(blocked, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")
        self.nothing_is_left(model)

    def test_nothing_ran(self):
        with attnscope.record(self.path()):
            pass
        recording = reading.Recording(self.path())
        self.assertTrue(recording.json["finished"])
        self.assertEqual((recording.steps, recording.attentions), ({}, []))

    def test_memory_is_released(self):
        for given in (False, True):
            model = Model()
            with attnscope.record(self.path(), *([model] if given else [])) as run:
                result = model(ids())
            output = weakref.ref(result)
            parameter, module = weakref.ref(model.head.weight), weakref.ref(model)
            del result
            self.assertIsNone(output())
            del model
            gc.collect()
            self.assertIsNone(parameter())
            self.assertIsNone(module())
            self.assertIsNotNone(run)

    def test_an_address_that_is_used_again(self):
        """Tensors that the recorder did not see made are not taken for those that stood at their address before."""
        with attnscope.record(self.path(), memory=0) as run:
            made = [torch.randn(3, 4) for _ in range(50)]
            del made
            given = [torch.from_numpy(np.ones((3, 4), np.float32)) for _ in range(50)]
            makers = {run.recorder.value_of(each).maker for each in given}
        self.assertEqual(makers, {None})

    def test_memory_has_a_bound(self):
        model, batch = Model(), ids(4, 16)
        with attnscope.record(self.path(), memory=40_000) as run:
            for _ in range(20):
                model(batch)
            held = {id(buffer): buffer.bytes for buffer in run.recorder.buffers.values() if buffer.alias is not None and not buffer.outside}
            self.assertLess(sum(held.values()), 40_000 + 16 * 4 * 3 * 16 * 16 * 4)
        recording = reading.Recording(self.path())
        reading.check_graph(self, recording)
        self.assertTrue(any(each["what"].startswith("memory full") for each in recording.json["unfollowed"]))


class OthersTest(reading.FolderTest):
    """Threads, processes, several recordings at once; code that is traced, parameters that are lent, tensors of another class."""

    def test_code_that_is_traced(self):
        """PyTorch hands constants as numbers to a mode while it traces; what was traced is the same as without."""
        def code(x):
            return (x @ x.transpose(1, 2) / 2 + 0.25).softmax(-1) @ x
        x = torch.randn(2, 5, 4)
        plain = torch.jit.trace(code, (x,))
        with attnscope.record(self.path()):
            traced = torch.jit.trace(code, (x,))
            result = traced(x)
        self.assertTrue(torch.equal(result, plain(x)))
        self.assertTrue(torch.equal(traced(x), plain(x)))
        with self.assertRaisesRegex(RuntimeError, "multiplied"), attnscope.record(self.path("error")):
            torch.randn(2, 3) @ torch.randn(2, 3)

    def test_parameters_that_are_lent(self):
        """What a module computes with tensors in the place of its parameters leaves these unused, which is no mistake."""
        call = torch.func.functional_call if hasattr(torch, "func") else torch.nn.utils.stateless.functional_call
        model = Attention().eval()
        with torch.no_grad(), attnscope.record(self.path()):
            call(model, {name: each * 2 for name, each in model.named_parameters()}, (torch.randn(2, 5, 12),))
        recording = reading.Recording(self.path())
        self.assertEqual([each["facts"] for each in recording.attentions], [[]])

    @unittest.skipIf(torch is not None and torch.__version__.startswith("1."), "PyTorch 1 makes no such tensors under any mode")
    def test_tensors_of_another_class_are_named(self):
        class Own(torch.Tensor):
            pass
        x = torch.randn(5, 4)
        own = x.as_subclass(Own)
        with torch.no_grad(), attnscope.record(self.path()):
            result = own * 2
        self.assertEqual(result.tolist(), (x * 2).tolist())
        self.assertEqual([each["what"] for each in reading.Recording(self.path()).json["unfollowed"]], ["tensors of the class Own"])

    def test_other_threads_are_named(self):
        model = Model()
        with attnscope.record(self.path()):
            model(ids())
            worker = threading.Thread(target=lambda: model(ids()), name="helper")
            worker.start()
            worker.join()
        recording = reading.Recording(self.path())
        self.assertEqual(len(recording.attentions), 2)
        self.assertEqual([each["what"] for each in recording.json["unfollowed"]], ["thread helper: Model"])

    def test_a_thread_records_for_itself(self):
        model, results = Model().eval(), []

        def work(index):
            with torch.no_grad(), attnscope.record(self.path(str(index))):
                results.append(model(torch.arange(5)[None]))
        workers = [threading.Thread(target=work, args=(index,)) for index in range(3)]
        for each in workers:
            each.start()
        for each in workers:
            each.join()
        for index in range(3):
            self.assertEqual(len(reading.Recording(self.path(str(index))).attentions), 2)
        self.assertTrue(all(torch.equal(each, results[0]) for each in results))

    def test_forked_workers(self):
        if not hasattr(os, "fork"):
            self.skipTest("there is no fork here")
        with attnscope.record(self.path()):
            batches = [batch for batch in DataLoader(torch.arange(12).view(6, 2), batch_size=2, num_workers=2)]
            Model()(batches[0] % 11)
        self.assertEqual(len(batches), 3)
        self.assertEqual(len(reading.Recording(self.path()).attentions), 2)

    def test_a_fork_that_leaves_the_block(self):
        if not hasattr(os, "fork"):
            self.skipTest("there is no fork here")
        script = textwrap.dedent("""
            import os, sys
            sys.path.insert(0, sys.argv[1])
            import attnscope, torch
            child = None
            with attnscope.record(sys.argv[2]) as run:
                torch.nn.MultiheadAttention(4, 2)(*[torch.randn(3, 1, 4)] * 3)
                child = os.fork()
                recording = run.recorder.on
            if child == 0:
                os._exit(0 if torch.ones(2).sum() == 2 and not recording else 1)
            assert recording
            _, status = os.waitpid(child, 0)
            print("child", status)
        """)
        done = subprocess.run([sys.executable, "-c", script, reading.SOURCE, self.path()], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.stdout, done.returncode), ("child 0\n", 0), done.stderr)
        self.assertEqual(len(reading.Recording(self.path()).attentions), 1)

    def test_a_run_ends_with_the_program(self):
        script = textwrap.dedent("""
            import sys
            sys.path.insert(0, sys.argv[1])
            import attnscope, torch
            model = torch.nn.MultiheadAttention(4, 2)
            run = attnscope.watch(model, sys.argv[2], every=2)
            for step in range(5):
                model(*[torch.randn(3, 1, 4)] * 3)
                run.step(loss=step)
        """)
        subprocess.run([sys.executable, "-c", script, reading.SOURCE, self.path()], check=True, timeout=120)
        recording = reading.Recording(self.path())
        self.assertTrue(recording.json["finished"])
        self.assertEqual(sorted(recording.steps), [0, 2, 4])

    def test_nested_and_repeated(self):
        model = Model()
        with attnscope.record(self.path()):
            model(ids())
            with attnscope.record(self.path()):
                model.blocks[0](torch.randn(1, 3, 12))
        with attnscope.record(self.path()):
            pass
        names = sorted(name for name in os.listdir(self.path()) if name.endswith(".json"))
        self.assertEqual(names, ["recording.1.json", "recording.2.json", "recording.json"])
        runs = [reading.Recording(self.path(), name) for name in names]
        self.assertEqual([each.json["run"] for each in runs], [1, 2, 3])
        self.assertEqual([len(each.attentions) for each in runs], [3, 1, 0])
        self.assertTrue(all(each.json["finished"] for each in runs))

    def test_only_some_modules(self):
        model = Model()
        with attnscope.record(self.path(), model.blocks[1]):
            model(ids())
        recording = reading.Recording(self.path())
        self.assertEqual([each["class"] for each in recording.attentions], ["Attention"])
        self.assertEqual(recording.attentions[0]["stages"][0]["parameters"],
                         ["blocks.1.attention.qkv.weight", "blocks.1.attention.qkv.bias"])


class WatchTest(reading.FolderTest):
    """Training loops."""

    def train(self, run, model, steps, forwards=1):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(steps):
            optimizer.zero_grad()
            for _ in range(forwards):
                batch = ids()
                loss = F.cross_entropy(model(batch).flatten(0, 1), batch.flatten())
                loss.backward()
            optimizer.step()
            if run is not None:
                run.step(loss=loss, rate=0.1, note="x" if step == 1 else float("nan"))

    def test_texts_are_there_while_it_runs(self):
        """However often numbers are logged."""
        run = attnscope.watch(None, self.path(), every=50)
        run.step(loss=2)
        run.text("a sample")
        time.sleep(0.25)
        run.step(loss=1)
        with open(os.path.join(self.path(), "texts-run1-rank0.jsonl"), encoding="utf-8") as file:
            self.assertIn("a sample", file.read())
        run.close()

    def test_steps_curves_and_texts(self):
        model = Model()
        run = attnscope.watch(model, self.path(), every=4, tokens=["a", "b", "c", "d", "e"])
        self.train(run, model, 6)
        run.text("once upon a time")
        self.train(run, model, 3)
        run.close()
        recording = reading.Recording(self.path())
        self.assertEqual(sorted(recording.steps), [0, 4, 8])
        self.assertEqual(recording.json["every"], 4)
        self.assertEqual(recording.json["tokens"], [["a", "b", "c", "d", "e"]])
        self.assertEqual(len(recording.json["graphs"]), 1, "equal steps have one graph")
        with open(os.path.join(self.path(), "curves-run1-rank0.jsonl"), encoding="utf-8") as file:
            curves = [json.loads(line) for line in file]
        self.assertEqual([each["step"] for each in curves], list(range(9)))
        self.assertEqual((curves[1]["note"], curves[0]["note"]), ("x", None))
        with open(os.path.join(self.path(), "texts-run1-rank0.jsonl"), encoding="utf-8") as file:
            self.assertEqual(json.loads(file.readline())["texts"], ["once upon a time"])

    def test_parameters_are_those_of_the_forward_pass(self):
        """They are written although the optimizer changes them at once, and once only if nothing changes them."""
        model = Model()
        before = copy.deepcopy(model.state_dict())
        run = attnscope.watch(model, self.path(), every=2)
        self.train(run, model, 1)
        after = copy.deepcopy(model.state_dict())
        model.requires_grad_(False)
        for _ in range(3):
            model(ids())
            run.step()
        run.close()
        steps = reading.Recording(self.path()).steps
        name = "blocks.0.attention.qkv.weight"
        np.testing.assert_array_equal(steps[0][f"parameters/{name}"], before[name].numpy())
        np.testing.assert_array_equal(steps[2][f"parameters/{name}"], after[name].numpy())
        self.assertGreater(len([each for each in steps[0] if each.startswith("parameters/")]), 20)

    def test_several_forwards_in_a_step(self):
        model = Model()
        with attnscope.watch(model, self.path(), every=3) as run:
            self.train(run, model, 1, forwards=2)
        recording = reading.Recording(self.path())
        self.assertEqual([each["name"] for each in recording.attentions],
                         ["blocks.0.attention", "blocks.1.attention", "blocks.0.attention#2", "blocks.1.attention#2"])
        reading.check_graph(self, recording)

    def test_off_steps_have_no_mode(self):
        import torch.utils._python_dispatch as dispatch
        from torch.nn.modules import module
        model = Model()
        run = attnscope.watch(model, self.path(), every=10)
        self.train(run, model, 1)
        self.assertEqual(len(module._global_forward_pre_hooks), 0)
        if hasattr(dispatch, "_get_current_dispatch_mode"):
            self.assertIsNone(dispatch._get_current_dispatch_mode())
        run.close()

    def test_training_is_the_same(self):
        results = []
        for watched in (False, True):
            torch.manual_seed(3)
            model = Model()
            run = attnscope.watch(model, self.path(), every=2) if watched else None
            self.train(run, model, 7)
            run.close() if watched else None
            results.append([each.detach().clone() for each in model.parameters()])
        self.assertTrue(all(torch.equal(one, other) for one, other in zip(*results)))

    def test_a_reader_sees_whole_steps_only(self):
        model, path = Model(), self.path()
        run, stop, seen = attnscope.watch(model, path, every=1), threading.Event(), set()

        def follow():
            while not stop.is_set():
                recording = reading.Recording(path)
                seen.update(recording.steps)
                time.sleep(0.005)
        reader = threading.Thread(target=follow)
        reader.start()
        self.train(run, model, 25)
        run.close()
        stop.set()
        reader.join()
        self.assertEqual(sorted(reading.Recording(path).steps), list(range(25)))

    def test_what_is_written_is_what_the_code_had(self):
        """Buffers and caches that the program changes after the step are written as they were in it."""
        keys = torch.randn(4, 6)
        before = keys.clone()
        with attnscope.watch(None, self.path(), every=2) as run:
            torch.softmax(torch.randn(3, 6) @ keys.T, -1) @ torch.randn(4, 6)
            run.step()
            keys.zero_()
        recording = reading.Recording(self.path())
        name = recording.attentions[0]["name"]
        np.testing.assert_array_equal(recording.steps[0][f"{name}/k"][0, 0], before.numpy())


class FactsTest(reading.FolderTest):
    """What only the graph shows."""

    def facts(self, run):
        with attnscope.record(self.path()):
            run()
        recording = reading.Recording(self.path())
        reading.check_graph(self, recording)
        graph = recording.graph()
        return [fact for attention in graph["attentions"] for fact in attention["facts"]], graph["facts"]

    def test_a_right_model_has_none(self):
        self.assertEqual(self.facts(lambda: Model()(ids())), ([], []))

    def test_a_block_without_its_residuals_and_norms(self):
        model = Model(1)
        block = model.blocks[0]
        block.forward = lambda x: block.feed(block.attention(x))
        own, _ = self.facts(lambda: model(ids()))
        self.assertEqual([fact["name"] for fact in own if fact["what"] == "no_residual"], ["blocks.0"])
        self.assertEqual({fact["name"] for fact in own if fact["what"] == "unused_parameter"},
                         {f"blocks.0.norm_{letter}.{kind}" for letter in "ab" for kind in ("weight", "bias")})

    def test_parts_that_an_argument_leaves_out(self):
        """A memory that is not given, keys of another text, or a setting leave parts unused by the code's own will; code that never names
        the part does not."""
        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                for name in ("both", "keys", "value", "norm", "memory_norm", "early", "forgotten", "switched"):
                    setattr(self, name, torch.nn.Linear(8, 8))
                self.is_switched = False

            def forward(self, x, memory=None):
                has_memory = memory is not None
                q, v = self.both(x), self.value(x if memory is None else memory)
                k = self.keys(memory) if memory is not None else self.both(x)
                x = self.norm(x + torch.softmax(q @ k.mT / 8 ** 0.5, -1) @ v)
                if has_memory:
                    x = self.memory_norm(x)
                if self.is_switched:
                    x = self.switched(x)
                for _ in range(2):
                    if memory is None:
                        continue
                    x = self.early(x)
                return x

        own, _ = self.facts(lambda: Block()(torch.randn(2, 5, 8)))
        self.assertEqual({fact["name"] for fact in own if fact["what"] == "unused_parameter"},
                         {f"forgotten.{kind}" for kind in ("weight", "bias")})

    def test_a_sequence_whose_parts_have_parameters_of_their_own(self):
        class Scaled(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.maps, self.gain = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(3)), torch.nn.Parameter(torch.ones(8))

            def forward(self, x):
                q, k, v = (each(x) for each in self.maps)
                return x + torch.softmax(q @ k.transpose(-2, -1) / 8 ** 0.5, -1) @ v * self.gain

        model = torch.nn.Sequential(torch.nn.Embedding(10, 8), Scaled(), torch.nn.Linear(8, 10))
        self.assertEqual(self.facts(lambda: model(torch.tensor([[1, 2, 3]]))), ([], []))

    def test_an_attention_with_a_norm_of_its_own_that_is_not_used(self):
        class Attention(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.q, self.k, self.v, self.o = (torch.nn.Linear(8, 8) for _ in range(4))
                self.norm = torch.nn.LayerNorm(8)

            def forward(self, x):
                return self.o(torch.softmax(self.q(x) @ self.k(x).transpose(-2, -1) / 8 ** 0.5, -1) @ self.v(x))

        class Block(torch.nn.Module):
            def __init__(self, adds):
                super().__init__()
                self.attention, self.first, self.adds = Attention(), torch.nn.LayerNorm(8), adds

            def forward(self, x):
                return self.adds * x + self.attention(self.first(x)) if self.adds else self.attention(self.first(x))

        for adds, expected in ((1, set()), (0, {"no_residual"})):
            own, _ = self.facts(lambda: Block(adds)(torch.randn(2, 5, 8)))
            self.assertEqual({fact["what"] for fact in own}, {"unused_parameter"} | expected)

    def test_a_layer_that_is_called_again_with_the_same_input(self):
        """It takes views of its input that are known from the first call."""
        layer, x = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), torch.randn(2, 5, 16)
        self.assertEqual(self.facts(lambda: (layer(x), layer(x)))[0], [])

    def test_what_small_weights_become(self):
        """The number that is put in their place is part of the operation."""
        def sparse(zero):
            q, k, v = (torch.randn(2, 4, 3) for _ in range(3))
            weights = torch.softmax(q @ k.transpose(1, 2), -1)
            weights = weights.masked_fill(weights < 0.2, 0) if zero else torch.where(weights < 0.2, torch.tensor(0.25), weights)
            return (weights / weights.sum(-1, keepdim=True)) @ v
        for zero, fill in ((True, 0), (False, 0.25)):
            with self.subTest(fill=fill):
                self.facts(lambda zero=zero: sparse(zero))
                recording = reading.Recording(self.path())
                stage = recording.stages(recording.attentions[-1])["softmax.1"]
                self.assertEqual((stage["op"], stage["fill"], stage["true_means"]), ("mask", fill, "hidden"))

    def test_a_block_with_one_of_two_residuals(self):
        model = Model(1)
        block = model.blocks[0]
        block.forward = lambda x: block.norm_b(block.feed(block.attention(block.norm_a(x)) + x))
        self.assertEqual([fact["what"] for fact in self.facts(lambda: model(ids()))[0]], ["feed_forward_replaces"])

    def test_an_unused_part(self):
        model = Model()
        model.norm.forward = lambda x: x
        self.assertEqual([fact["name"] for fact in self.facts(lambda: model(ids()))[1]], ["norm.weight", "norm.bias"])

    def test_targets(self):
        batch = ids(4, 7)
        shifted = torch.cat([batch[:, 1:], ids(4, 1)], 1)
        for targets, are in ((batch, "inputs"), (shifted, "next inputs"), (ids(4, 7), None)):
            _, facts = self.facts(lambda: F.cross_entropy(Model()(batch).flatten(0, 1), targets.flatten()))
            self.assertEqual([fact["are"] for fact in facts], [are] if are else [])
        _, facts = self.facts(lambda: F.cross_entropy(Model()(batch)[:, :-1].flatten(0, 1), batch[:, 1:].flatten()))
        self.assertEqual([fact["are"] for fact in facts], ["next inputs"])

    def test_weights_that_reach_nothing(self):
        q, k, v = (torch.randn(5, 4) for _ in range(3))

        def run():
            torch.softmax(q @ k.T, -1)
            return k.T @ v
        self.assertEqual([fact["what"] for fact in self.facts(run)[1]], ["weights_unused"])


class OptionsTest(reading.FolderTest):
    def record(self, **options):
        with attnscope.record(self.path(), **options):
            Model()(ids())
        recording = reading.Recording(self.path())
        reading.check_graph(self, recording)
        return recording

    def test_stages(self):
        arrays = self.record(stages=["weights"], parameters=False).steps[0]
        self.assertEqual(sorted(each for each in arrays if not each.startswith("inputs/")),
                         ["blocks.0.attention/weights", "blocks.1.attention/weights"])

    def test_layers_and_heads(self):
        recording = self.record(layers=[1], heads=[0, 2])
        self.assertEqual([each["name"] for each in recording.attentions], ["blocks.1.attention"])
        with attnscope.record(self.path("whole")):
            torch.manual_seed(0)
            Model()(ids())
        self.assertEqual(recording.steps[0]["blocks.1.attention/weights"].shape, (2, 2, 5, 5))

    def test_dtype(self):
        recording = self.record(dtype="float16")
        self.assertEqual(recording.steps[0]["blocks.0.attention/weights"].dtype, np.float16)

    def test_tokens(self):
        for tokens, expected in ((["a", "b"], ([["a", "b"]], None)), ([["a"], ["b"]], ([["a"], ["b"]], None)),
                                 ((["x", "y"], ["a"]), ([["a"]], [["x", "y"]])), (None, (None, None)), ("a b", ([["a", "b"]], None))):
            recording = self.record(tokens=tokens)
            self.assertEqual((recording.json["tokens"], recording.json["source_tokens"]), expected)

    def test_unused_parameters_are_named(self):
        model = Model()
        model.blocks[0].forward = lambda x: model.blocks[0].attention(x) if False else x + model.blocks[0].attention(x)
        with attnscope.record(self.path()):
            model(ids())
        facts = {fact["name"] for fact in reading.Recording(self.path()).attentions[0]["facts"] if fact["what"] == "unused_parameter"}
        self.assertEqual({name.rsplit(".", 1)[0] for name in facts},
                         {"blocks.0.norm_a", "blocks.0.norm_b", "blocks.0.feed.0", "blocks.0.feed.3"})


if __name__ == "__main__":
    reading.main()
