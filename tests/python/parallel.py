"""One process of a job that records a small model: parallel.py FOLDER RANK RANKS WAY PATH. "heads": each process has its heads, columns of
the feed-forward layer and partial sums (as Megatron cuts them); "texts": each has the whole model and a text of its own."""

import math
import os
import sys

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

folder, rank, ranks, way, path = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "assets", "python"))
import attnscope  # noqa: E402

parts, part = (ranks, rank) if way == "heads" else (1, 0)
WIDTH, HEADS = 16, 4


class ColumnParallelLinear(nn.Module):
    def __init__(self, width_in, width_out):
        super().__init__()
        weight, bias = torch.randn(width_out, width_in) / math.sqrt(width_in), torch.randn(width_out)
        self.weight = nn.Parameter(weight.chunk(parts)[part].clone())
        self.bias = nn.Parameter(bias.chunk(parts)[part].clone())

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)


class RowParallelLinear(nn.Module):
    def __init__(self, width_in, width_out):
        super().__init__()
        weight, bias = torch.randn(width_out, width_in) / math.sqrt(width_in), torch.randn(width_out)
        self.weight = nn.Parameter(weight.chunk(parts, 1)[part].clone())
        self.bias = nn.Parameter(bias)

    def forward(self, x):
        x = F.linear(x, self.weight)
        if parts > 1:
            dist.all_reduce(x)
        return x + self.bias


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (ColumnParallelLinear(WIDTH, WIDTH) for _ in range(3))
        self.out = RowParallelLinear(WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (part(x).view(batch, length, HEADS // parts, WIDTH // HEADS).transpose(1, 2) for part in (self.q, self.k, self.v))
        scores = q @ k.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)
        scores = scores.masked_fill(torch.triu(torch.ones(length, length, dtype=torch.bool), 1), float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, -1))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2, self.attention = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), Attention()
        self.up, self.down = ColumnParallelLinear(WIDTH, 4 * WIDTH), RowParallelLinear(4 * WIDTH, WIDTH)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


if ranks > 1:
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks)
torch.manual_seed(7)
model = nn.Sequential(Layer(), Layer()).eval()
texts = torch.randn(2, 1, 5, WIDTH)
x = texts[rank if way == "texts" else 0]
with torch.no_grad(), attnscope.record(path):
    model(x)
if ranks > 1:
    dist.destroy_process_group()
