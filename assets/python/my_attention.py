"""Self-attention written by hand, with what it takes to see it in attnscope.

    python3 my_attention.py          # writes the folder run.attn
    attnscope run.attn               # shows it

The first step forgets to divide the scores by √d; the second one does it. attnscope names the mistake and its line.
"""

import math
import sys

import torch
from torch import nn

import attnscope

WORDS = "the dog heard the bird and sang".split()


class SelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.divides = heads, False
        self.queries = nn.Linear(width, width, bias=False)
        self.keys = nn.Linear(width, width, bias=False)
        self.values = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width)

    def split(self, x):
        texts, length, width = x.shape
        return x.view(texts, length, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.queries(x)), self.split(self.keys(x)), self.split(self.values(x))
        scores = q @ k.transpose(-2, -1)
        if self.divides:
            scores = scores / math.sqrt(q.shape[-1])
        ahead = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(ahead, -math.inf)
        weights = scores.softmax(-1)
        heads = weights @ v
        return self.out(heads.transpose(1, 2).reshape(x.shape))


def main(folder):
    torch.manual_seed(7)
    known = sorted(set(WORDS))
    embedding, attention = nn.Embedding(len(known), 16), SelfAttention(16, 2)
    x = 2 * embedding(torch.tensor([[known.index(word) for word in WORDS]]))
    with attnscope.record(folder, attention, tokens=WORDS) as run:
        attention(x)
        run.step()
        attention.divides = True
        attention(x)
    print(f"{folder} holds two steps: open it in attnscope, or type attnscope {folder}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "run.attn")
