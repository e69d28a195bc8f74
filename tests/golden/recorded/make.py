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
