"""Writes the recording beside this file: a small language model, and what PyTorch computes with it for another text."""

import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "python"))

import model_test  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from model_test import attnscope  # noqa: E402

torch.manual_seed(11)
model = model_test.Language(words=11, width=8, heads=2, layers=2, length=8, packed=True, head_bias=True).eval()
run = os.path.join(HERE, "run.attn")
shutil.rmtree(run, ignore_errors=True)
with torch.no_grad(), attnscope.record(run, model):
    model(torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]]))
other = torch.tensor([[8, 9, 7, 10, 0, 2, 3, 8]])
with torch.no_grad():
    np.savez(os.path.join(HERE, "other.npz"), tokens=other.numpy().astype(np.int32), logits=model(other).numpy())

# Two of PyTorch's encoder layers, each of which is one operation, and the maps of weights that it keeps to itself.
layers = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), 2, enable_nested_tensor=False).eval()
for parameter in layers.parameters():
    torch.nn.init.normal_(parameter, std=0.5)
padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
x = torch.randn(2, 5, 8)
run = os.path.join(HERE, "layers.attn")
shutil.rmtree(run, ignore_errors=True)
with torch.no_grad(), attnscope.record(run, layers):
    layers(x, src_key_padding_mask=padding)
maps = {}
for number, layer in enumerate(layers.layers):
    maps[f"weights.{number}"] = layer.self_attn(x, x, x, key_padding_mask=padding, average_attn_weights=False)[1].detach().numpy()
    x = layer(x, src_key_padding_mask=padding)
np.savez(os.path.join(HERE, "layers.npz"), result=x.detach().numpy(), **maps)
