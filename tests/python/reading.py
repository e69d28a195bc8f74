"""What the tests of attnscope.py share: a reader of recordings that shares no code with it, and the place of the module itself."""

import json
import os
import struct
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError:
    print("not run here: NumPy is not installed for " + sys.executable)
    sys.exit(0)

SOURCE = os.environ.get("ATTNSCOPE_PYTHON", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "assets", "python"))
sys.dont_write_bytecode = True  # the module stands among the files that the program embeds
sys.path.insert(0, SOURCE)

try:
    import torch
except ImportError:
    torch = None

_NUMPY = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1",
          "BOOL": "?"}


def read_file(path):
    """(metadata, {name: array}) of a .safetensors file; every byte of it has to belong to one tensor."""
    with open(path, "rb") as file:
        content = file.read()
    (length,) = struct.unpack("<Q", content[:8])
    assert length % 8 == 0 and 8 + length <= len(content)
    header = json.loads(content[8:8 + length].decode("utf-8"))
    metadata = header.pop("__metadata__", {})
    data, end, arrays = content[8 + length:], 0, {}
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        start, stop = entry["data_offsets"]
        array = np.frombuffer(data[start:stop], _NUMPY[entry["dtype"]])
        assert start == end and array.size == int(np.prod(entry["shape"])), name
        arrays[name], end = array.reshape(entry["shape"]), stop
    assert end == len(data)
    assert all(isinstance(value, str) for value in metadata.values())
    return metadata, arrays


class Recording:
    """A folder as a reader sees it: recording.json of the newest run, its steps, and its graphs."""

    def __init__(self, path, name="recording.json"):
        def no_constants(text):
            raise ValueError(f"{text} is not JSON")
        with open(os.path.join(path, name), encoding="utf-8") as file:
            self.json = json.load(file, parse_constant=no_constants)
        self.steps, self.metadata = {}, {}
        for file in sorted(os.listdir(path)):
            if file.startswith(f"run{self.json['run']}-step") and file.endswith(f"-rank{self.json['rank']}.safetensors"):
                metadata, arrays = read_file(os.path.join(path, file))
                self.steps[int(metadata["step"])], self.metadata[int(metadata["step"])] = arrays, metadata
        self.leftovers = [file for file in os.listdir(path) if file.startswith(".")]

    def graph(self, step=0):
        return self.json["graphs"][int(self.metadata[step]["graph"])]

    @property
    def attentions(self):
        return [attention for graph in self.json["graphs"] for attention in graph["attentions"]]

    def stages(self, attention):
        return {stage["name"]: stage for stage in attention["stages"]}


def check_graph(test, recording, step=0):
    """What the format promises of every graph, whatever was recorded."""
    graph, arrays = recording.graph(step), recording.steps[step]
    names = {entry["name"] for entry in graph["around"]} | {
        f"{each['name']}/{stage['name']}" for each in graph["attentions"] for stage in each["stages"]}
    test.assertEqual(len(names), len(graph["around"]) + sum(len(each["stages"]) for each in graph["attentions"]), "a name is used twice")
    described = set()
    for attention in graph["attentions"]:
        own = [stage["name"] for stage in attention["stages"]]
        for stage in attention["stages"]:
            full, axes = f"{attention['name']}/{stage['name']}", stage["axes"]
            test.assertEqual(len(set(axes)), len(axes))
            for name in stage["inputs"]:
                test.assertTrue(name in own or name in names, f"{full} reads {name}")
            if "with" in stage:
                test.assertIn(stage["with"], arrays)
            if stage["have"] == "recorded":
                test.assertIn(full, arrays)
                test.assertEqual(len(arrays[full].shape), len(axes), full)
                for letter, size in zip(axes, arrays[full].shape):
                    wanted = attention["axes"].get(letter)
                    if wanted is not None and "extra" not in stage:
                        test.assertIn(size, (1, wanted), f"{full} {axes} {arrays[full].shape}")
                described.add(full)
            else:
                test.assertNotIn(full, arrays)
                test.assertTrue(stage["have"] == "follows" or stage.get("reason"), full)
    for entry in graph["around"]:
        if entry.get("have") == "recorded":
            test.assertIn(entry["name"], arrays)
            described.add(entry["name"])
    test.assertEqual({name for name in arrays if not name.startswith("parameters/") and not name.endswith(".grad")}, described)
    test.assertEqual(recording.leftovers, [])


class FolderTest(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name="run.attn"):
        return os.path.join(self.folder, name)


def main():
    """Runs a file of tests. Without PyTorch, a file that needs it says so and passes."""
    if torch is None and getattr(sys.modules["__main__"], "NEEDS_TORCH", True):
        print("not run here: PyTorch is not installed (python3-torch)")
        return
    if torch is not None:
        torch.set_num_threads(1)
    unittest.main(verbosity=0)
