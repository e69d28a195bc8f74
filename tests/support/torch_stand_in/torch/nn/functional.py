import math

import numpy as np

from torch import _wrap


def layer_norm(x, normalized_shape, weight, bias, eps):
    x = np.asarray(x)
    if tuple(normalized_shape) != x.shape[-1:] or weight.shape != x.shape[-1:]:
        raise RuntimeError("normalized_shape does not fit")
    mean = x.mean(-1, keepdims=True)
    return _wrap((x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + x.dtype.type(eps)) * weight + bias)


def relu(x):
    return _wrap(np.where(np.asarray(x) < 0, np.float32(0), np.asarray(x)))


def gelu(x, approximate="none"):
    x = np.asarray(x)
    if approximate == "tanh":
        y = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    elif approximate == "none":
        y = 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
    else:
        raise RuntimeError("approximate is none or tanh")
    return _wrap(y.astype(x.dtype))


def embedding(ids, table):
    if ids.dtype != np.int64:
        raise RuntimeError("expected indices of type int64")
    return _wrap(np.asarray(table)[np.asarray(ids)])


def silu(x):
    x = np.asarray(x)
    return _wrap(x / (1 + np.exp(-x)))
