"""The few functions of PyTorch that the snippets use, on NumPy: where PyTorch is not installed it checks what their text computes.

It refuses what PyTorch refuses (comparing float32 with float64, a mask that is not boolean, axes given as NumPy gives them), and has
nothing else, so that a function PyTorch lacks is an error here too.
"""

import numpy as _np

float32, float64, int64, bool = _np.float32, _np.float64, _np.int64, _np.bool_


class Tensor(_np.ndarray):
    def transpose(self, dim0, dim1):
        return self.swapaxes(dim0, dim1)

    def swapaxes(self, dim0, dim1):
        return _np.ndarray.swapaxes(self, dim0, dim1)

    def view(self, *shape):
        if not self.flags.c_contiguous:
            raise RuntimeError("view size is not compatible with input tensor's size and stride")
        return _np.ndarray.reshape(self, shape)

    def reshape(self, *shape):
        return _np.ndarray.reshape(self, shape)

    def expand(self, *shape):
        return _wrap(_np.broadcast_to(self, shape))

    def masked_fill(self, mask, value):
        if mask.dtype != _np.bool_:
            raise RuntimeError("masked_fill only supports boolean masks")
        return _wrap(_np.where(mask, self.dtype.type(value), self))

    def contiguous(self):
        return _wrap(_np.ascontiguousarray(self))

    def clamp(self, max):
        return _wrap(_np.minimum(_np.asarray(self), self.dtype.type(max)))

    def clone(self):
        return _wrap(_np.array(self))

    def abs(self):
        return _wrap(_np.abs(_np.asarray(self)))

    def sum(self, dim):
        return _wrap(_np.asarray(self).sum(axis=dim))

    def mean(self, dim, keepdim=False):
        return _wrap(_np.asarray(self).mean(axis=dim, keepdims=keepdim))

    def float(self):
        return _wrap(_np.asarray(self).astype(_np.float32))

    def repeat_interleave(self, repeats, dim):
        return _wrap(_np.asarray(self).repeat(repeats, axis=dim))

    def max(self):
        return _wrap(_np.asarray(self).max())

    def all(self):
        return _wrap(_np.asarray(self).all())

    @property
    def T(self):
        if self.ndim != 2:
            raise RuntimeError("T of a tensor that is no matrix")
        return self.transpose(0, 1)


def _wrap(array):
    return _np.asarray(array).view(Tensor)


def tensor(values, dtype=None):
    array = _np.array(values, dtype=dtype)
    return _wrap(array.astype(_np.float32) if dtype is None and array.dtype == _np.float64 else array)


def from_numpy(array):
    return _wrap(array)


def sigmoid(x):
    return _wrap(1 / (1 + _np.exp(-_np.asarray(x))))


def zeros(size, dtype):
    return _wrap(_np.zeros(size, dtype))


def ones(size, dtype):
    return _wrap(_np.ones(size, dtype))


def zeros_like(x):
    return _wrap(_np.zeros_like(_np.asarray(x)))


def tril(x):
    return _wrap(_np.tril(_np.asarray(x)))


def arange(*bounds, dtype):
    return _wrap(_np.arange(*bounds, dtype=dtype))


def sin(x):
    return _wrap(_np.sin(_np.asarray(x)))


def cos(x):
    return _wrap(_np.cos(_np.asarray(x)))


def rsqrt(x):
    return _wrap(1 / _np.sqrt(_np.asarray(x)))


def cat(tensors, dim):
    return _wrap(_np.concatenate(tensors, axis=dim))


def where(condition, x, y):
    if condition.dtype != _np.bool_:
        raise RuntimeError("where expected condition to be a boolean tensor")
    return _wrap(_np.where(condition, x, _np.asarray(y, x.dtype)))


def isfinite(x):
    return _wrap(_np.isfinite(_np.asarray(x)))


def softmax(x, dim):
    x = _np.asarray(x)
    with _np.errstate(invalid="ignore"):
        e = _np.exp(x - x.max(axis=dim, keepdims=True))
        return _wrap(e / e.sum(axis=dim, keepdims=True))


def allclose(x, y, rtol, atol, equal_nan):
    if x.dtype != y.dtype:
        raise RuntimeError(f"{x.dtype} did not match {y.dtype}")
    return _np.allclose(_np.asarray(x), _np.asarray(y), rtol=rtol, atol=atol, equal_nan=equal_nan)
