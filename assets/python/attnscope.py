"""attnscope: shows the attention of your own code, as it runs.

    import attnscope

    with attnscope.record("run.attn", tokens=["the", "cat", "sat"]):
        model(x)                                        # any PyTorch code

    run = attnscope.watch(model, "run.attn", every=50)  # in a training loop
    run.step(loss=loss, lr=lr)                          # after each step

    attnscope.save("run.attn", q=q, k=k, weights=w)     # arrays of any library

    attnscope.open(model, "my-model")                   # the same weights in a model that attnscope runs

`record` notes every operation that runs in its block. When the block ends, it looks for attentions among them: a product whose result
goes through a softmax into another product. Every tensor between is a stage (q, k, v, scores, scaled, masked, weights, context, ...) and
is written to a folder, which attnscope shows. Your code, its results and its random numbers stay as they are.

This file has four parts: the graph of what ran; the analysis, which finds attentions in a graph and needs no PyTorch; the recorder, which
makes a graph of what PyTorch does; and the run, which writes files, with the functions that you call at its end.
"""

import ast
import atexit
import collections
import datetime
import functools
import hashlib
import heapq
import inspect
import io
import itertools
import json
import linecache
import math
import operator
import os
import queue
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
import threading
import time
import warnings
import weakref

import numpy as np

__all__ = ["record", "save", "watch"]
__version__ = "1.0"

FORMAT = "attnscope-recording/1"
MIB = 1 << 20


# ---------------------------------------------------------------------------------------------------------------------------------------
# The graph: operations and the values between them
# ---------------------------------------------------------------------------------------------------------------------------------------

# What each operation does to the axes of its input. An operation that is not listed ends a search.
_CLASSES = {
    "view": "view _unsafe_view reshape _reshape_alias unsqueeze squeeze flatten unflatten",
    "permute": "permute transpose t numpy_T mT movedim swapaxes",
    "same": "clone contiguous _to_copy to detach alias lift_fresh lift_fresh_copy copy _nested_tensor_from_mask to_padded_tensor",
    "placed": "written index_put index_copy index_fill masked_scatter scatter slice_scatter select_scatter fill zero roll flip",
    "broadcast": "expand repeat",
    "cut": "slice select narrow split split_with_sizes chunk unbind index index_select gather unfold constant_pad_nd",
    "join": "cat stack",
    "elementwise": "add sub rsub mul div neg where masked_fill exp exp2 log tanh sigmoid relu gelu silu clamp clamp_min clamp_max maximum "
                   "minimum pow sqrt rsqrt abs nan_to_num addcmul addcdiv lerp dropout native_dropout _fused_dropout bernoulli tril triu "
                   "erf softplus leaky_relu elu hardtanh threshold square reciprocal cos sin",
    "product": "mm bmm mv dot addmm baddbmm addmv matmul",
    "softmax": "_softmax _safe_softmax softmax",
    "log_softmax": "_log_softmax log_softmax",
    "sum": "sum logsumexp",
    "max": "max amax",
    "fused": "_scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_efficient_attention "
             "_scaled_dot_product_cudnn_attention _scaled_dot_product_fused_attention_overrideable scaled_dot_product_attention "
             "flex_attention",
    "layer": "_native_multi_head_attention _transformer_encoder_layer_fwd",
    "norm": "native_layer_norm _fused_rms_norm native_group_norm native_batch_norm rms_norm",
    "conv": "convolution _convolution",
    "embedding": "embedding",
    "complex": "view_as_complex view_as_real",
    "factory": "empty zeros ones full arange scalar_tensor empty_like zeros_like ones_like full_like rand randn randint normal "
               "new_zeros new_ones new_full new_empty eye linspace",
}
CLASS_OF = {name: kind for kind, names in _CLASSES.items() for name in names.split()}
RANDOM = frozenset("bernoulli rand rand_like native_dropout _fused_dropout dropout".split())
DROPOUT = frozenset("native_dropout _fused_dropout dropout".split())
ACTIVATION = frozenset("relu gelu silu tanh sigmoid elu leaky_relu softplus hardtanh threshold".split())
CARRIED = frozenset("view permute same placed broadcast cut join elementwise".split())


class Value:
    """A tensor at one moment: what made it (None: it came from outside), its shape, and its numbers as long as they may be needed."""
    __slots__ = ("number", "maker", "shape", "dtype", "parameter", "buffer", "offset", "strides", "active", "users", "data", "hooked",
                 "grad")

    def __init__(self, number, maker, shape, dtype, parameter=None, data=None):
        self.number, self.maker, self.shape, self.dtype, self.parameter = number, maker, shape, dtype, parameter
        self.buffer = self.offset = self.strides = self.grad = None
        self.active, self.hooked = 0, False
        self.users, self.data = None, data

    @property
    def size(self):
        return math.prod(self.shape)

    def held(self):
        """Are the numbers still there?"""
        return self.data is not None or (self.buffer is not None and self.buffer.alias is not None and not self.buffer.alias.is_meta)

    def read(self):
        """The numbers, as a NumPy array (bfloat16 as the bits of int16)."""
        return self.data if self.data is not None else self.buffer.read(self)


class Node:
    """An operation: name without overload and trailing "_", arguments in order (tensors as values), results, place in the source."""
    __slots__ = ("number", "op", "args", "kwargs", "results", "where", "call")

    def __init__(self, number, op, args, kwargs, where=None, call=None):
        self.number, self.op, self.args, self.kwargs, self.where, self.call = number, op, args, kwargs, where, call
        self.results = []

    @property
    def kind(self):
        return CLASS_OF.get(self.op, "other")

    def inputs(self):
        """All values among the arguments."""
        found = []
        for argument in (*self.args, *self.kwargs.values()):
            if type(argument) is Value:
                found.append(argument)
            elif type(argument) is list:
                found.extend(each for each in argument if type(each) is Value)
        return found

    def argument(self, place, name, default=None):
        """An argument that may have been given by place or by name."""
        return self.args[place] if place < len(self.args) else self.kwargs.get(name, default)


class Graph:
    """What ran, in order. `value` and `add` also write graphs by hand, for tests."""

    def __init__(self):
        self.nodes, self.count, self.replaced = [], 0, []

    def value(self, shape, dtype="float32", parameter=None, data=None, maker=None):
        self.count += 1
        return Value(self.count, maker, tuple(shape), dtype, parameter, data)

    def add(self, op, args, shape, kwargs=None, dtype="float32", data=None, where=None, call=None):
        """Appends an operation with one result, or with several if `shape` is a list of shapes; returns the result or results."""
        self.count += 1
        node = Node(self.count, op, list(args), kwargs or {}, where, call)
        self.nodes.append(node)
        several = isinstance(shape, list)
        node.results = [self.value(each, dtype, None, data, node) for each in (shape if several else [shape])]
        return node.results if several else node.results[0]

    def forget(self):
        """Lets go of everything. (Nodes and values know each other, so this spares a garbage collection.)"""
        for node in self.nodes + self.replaced:
            for value in node.results:
                value.maker = value.users = None
            node.results = node.args = ()
            node.kwargs = {}
        self.nodes, self.replaced = [], []

    def link(self):
        """Tells each value which operations use it."""
        for node in self.nodes:
            for value in (*node.results, *node.inputs()):
                value.users = []
        for node in self.nodes:
            for value in dict.fromkeys(node.inputs()):
                value.users.append(node)


class Call:
    """One call of a module: of which module, which of its calls, and from which other call."""
    __slots__ = ("module", "number", "outer", "training", "depth", "site", "place", "of_torch")

    def __init__(self, module, number, outer=None, training=False, depth=0, site=None, of_torch=False):
        self.module, self.number, self.outer, self.training, self.depth = module, number, outer, training, depth
        # The user's lines: the one that calls it, and the one of what a library computes in it.
        self.site, self.place, self.of_torch = site, None, of_torch

    def chain(self):
        """This call and those around it, innermost first."""
        call = self
        while call is not None:
            yield call
            call = call.outer


# ---------------------------------------------------------------------------------------------------------------------------------------
# Analysis 1: axes, as products of atoms
# ---------------------------------------------------------------------------------------------------------------------------------------

class Atoms:
    """The axes of one attention. An axis is a list of atoms; an atom has a size of at least 2, so an axis of size 1 is an empty list.
    Views only split and regroup atoms. An atom that is split, or found to be the same as others, is replaced everywhere: layouts (one
    list of atoms per axis) are resolved when they are read."""

    def __init__(self):
        self.sizes, self.parts, self.kin = [], {}, {}
        self.cut, self.stacked = {}, []  # layouts of what was cut into pieces; axes that a `stack` made

    def copy(self):
        other = Atoms()
        other.sizes, other.parts, other.kin = list(self.sizes), dict(self.parts), dict(self.kin)
        other.cut, other.stacked = dict(self.cut), list(self.stacked)
        return other

    def new(self, size, of=()):
        """A new axis of this size; `of` are the atoms that it was cut from or joined of."""
        if size <= 1:
            return []
        self.sizes.append(size)
        atom = len(self.sizes) - 1
        if of:
            self.kin[atom] = list(of)
        return [atom]

    def axis(self, axis):
        """An axis in today's atoms."""
        found = []
        for atom in axis:
            found.extend(self.axis(self.parts[atom]) if atom in self.parts else [atom])
        return found

    def layout(self, layout):
        return [self.axis(axis) for axis in layout]

    def length(self, axis):
        return math.prod(self.sizes[atom] for atom in self.axis(axis))

    def split(self, atom, first):
        """Splits an atom into two, the first of the given size."""
        kin = self.kin.get(atom, ())
        self.parts[atom] = self.new(first, kin) + self.new(self.sizes[atom] // first, kin)
        return self.parts[atom]

    def unify(self, one, other):
        """Makes two axes the same; False if their sizes do not go together."""
        one, other = self.axis(one), self.axis(other)
        while one and other:
            a, b = one[0], other[0]
            if a == b or self.sizes[a] == self.sizes[b]:
                if a != b:
                    self.parts[a] = [b]
                    self.kin.setdefault(b, self.kin[a]) if a in self.kin else None
                del one[0], other[0]
            elif self.sizes[a] % self.sizes[b] == 0:
                one[:1] = self.split(a, self.sizes[b])
            elif self.sizes[b] % self.sizes[a] == 0:
                other[:1] = self.split(b, self.sizes[a])
            else:
                return False
        return not one and not other

    def regroup(self, layout, shape):
        """The layout after a view to another shape, or None where the view does not respect the atoms (a crossing)."""
        atoms, result = [atom for axis in layout for atom in self.axis(axis)], []
        for size in shape:
            axis = []
            while size > 1:
                if not atoms:
                    return None
                if size % self.sizes[atoms[0]] == 0:
                    size //= self.sizes[atoms[0]]
                    axis.append(atoms.pop(0))
                elif self.sizes[atoms[0]] % size == 0:
                    atoms[:1] = self.split(atoms[0], size)
                else:
                    return None
            result.append(axis)
        return None if atoms else result

    def family(self, atoms):
        """These atoms, all they were cut from or joined of, and all that was cut from or joined of them."""
        family = set(self.axis(atoms))
        kin = [(self.axis([atom]), self.axis(of)) for atom, of in self.kin.items()]
        kin = [(one[0], other[0]) for one, other in kin if len(one) == len(other) == 1]
        while True:
            more = {atom for pair in kin if family & set(pair) for atom in pair} - family
            if not more:
                return family
            family |= more


def _order(node, dimensions):
    """The order of axes that a permutation makes."""
    order = list(range(dimensions))
    if node.op == "permute":
        return [each % dimensions for each in node.args[1]]
    if node.op in ("t", "numpy_T"):
        return order[::-1]
    a, b = (-2, -1) if node.op == "mT" else (node.args[1] % dimensions, node.args[2] % dimensions)
    order[a], order[b] = order[b], order[a]
    return order


def carry(atoms, node, source, layout, result):
    """The layout of a result of an operation, from that of one of its inputs; None if the operation does not keep axes."""
    kind, shape = node.kind, result.shape
    if kind == "view":
        return atoms.regroup(layout, shape)
    if kind == "permute":
        return [layout[axis] for axis in _order(node, len(layout))]
    if kind == "cut":
        return _carry_cut(atoms, node, source, layout, result)
    if kind == "join":
        pieces, axis = pieces_of(node), node.argument(1, "dim", 0) % len(shape)
        if pieces is not None and pieces[0] in atoms.cut:
            return carry_pieces(atoms, node, pieces)
        if node.op == "stack":
            return layout[:axis] + [atoms.new(shape[axis])] + layout[axis:]
        return [atoms.new(shape[i], layout[i]) if i == axis and shape[i] != source.shape[i] else layout[i] for i in range(len(shape))]
    if kind == "complex":
        return layout[:-1] if node.op == "view_as_complex" else layout + [atoms.new(2)]
    if len(layout) > len(shape):
        return None
    # Elementwise operations and copies are aligned from the right; what was of size 1 is new.
    lead = len(shape) - len(layout)
    carried = [atoms.new(size) for size in shape[:lead]]
    for axis, size, before in zip(layout, shape[lead:], source.shape):
        if size == before:
            carried.append(axis)
        elif node.op == "repeat":
            carried.append(atoms.new(size // before) + list(axis))
        elif before == 1:
            carried.append(atoms.new(size))
        else:
            return None
    return carried


def _carry_cut(atoms, node, source, layout, result):
    shape, atoms.cut[source] = result.shape, layout
    if node.op in ("select", "unbind"):
        axis = node.argument(1, "dim", 0) % len(layout)
        return layout[:axis] + layout[axis + 1:]
    if node.op == "index_select" and shape != source.shape:
        axis = node.args[1] % len(layout)
        repeats = shape[axis] // max(source.shape[axis], 1)
        if repeats > 1 and _made_by(node.args[2], "repeat_interleave"):
            return [list(a) + atoms.new(repeats) if i == axis else a for i, a in enumerate(layout)]
    if len(shape) != len(layout):
        return None
    return [axis if size == before else atoms.new(size, axis) for axis, size, before in zip(layout, shape, source.shape)]


def pieces_of(node):
    """(value, axis, number) if a `cat` or `stack` joins the equal pieces of one value along that axis, all and in order: heads that are cut
    by `chunk` and put side by side along another axis."""
    return whole_of(node.args[0]) if node.kind == "join" else None


def whole_of(pieces):
    """The same for a list of pieces."""
    places, shape = [piece_of(each) for each in pieces], pieces[0].shape
    if len(pieces) < 2 or None in places or any(each.shape != shape for each in pieces):
        return None
    (source, axis, _), count = places[0], len(pieces)
    width = 1 if len(shape) < len(source.shape) else shape[axis]
    whole = places == [(source, axis, width * index) for index in range(count)] and width * count == source.shape[axis]
    return (source, axis, count) if whole else None


def piece_of(value):
    """(what it was cut from, axis, where it begins) of one of several pieces, or None."""
    node = value.maker
    if node is None or node.op not in ("split", "split_with_sizes", "chunk", "unbind", "select", "slice"):
        return None
    source = node.args[0]
    axis = node.argument(2 if node.op in ("split", "split_with_sizes", "chunk") else 1, "dim", 0) % len(source.shape)
    if node.op == "slice":
        return (source, axis, node.argument(2, "start") or 0) if node.argument(4, "step", 1) == 1 else None
    if node.op == "select":
        return source, axis, node.args[2] % source.shape[axis]
    before = node.results[:next(place for place, each in enumerate(node.results) if each is value)]
    return source, axis, len(before) if node.op == "unbind" else sum(each.shape[axis] for each in before)


def carry_pieces(atoms, node, pieces):
    """The layout of what was joined of pieces, from that of the whole that they were cut from."""
    value, axis, count = pieces
    layout, whole = list(atoms.cut[value]), len(node.args[0][0].shape) == len(value.shape)
    halves = atoms.regroup([layout[axis]], [count, value.shape[axis] // count])
    if halves is None:
        return None
    layout[axis:axis + 1] = halves[1:] if whole else []
    along = node.argument(1, "dim", 0) % len(node.results[0].shape)
    if node.op == "stack":
        return layout[:along] + [halves[0]] + layout[along:]
    return layout[:along] + [halves[0] + list(layout[along])] + layout[along + 1:]


def carry_pieces_back(atoms, node, layout, pieces):
    """The layout of the whole, from that of what was joined of its pieces."""
    value, axis, count = pieces
    layout, along = list(layout), node.argument(1, "dim", 0) % len(layout)
    halves = [layout[along]] if node.op == "stack" else atoms.regroup([layout[along]], [count, node.args[0][0].shape[along]])
    if halves is None:
        return None
    layout[along:along + 1] = halves[1:]
    if len(layout) < len(value.shape):
        return layout[:axis] + [halves[0]] + layout[axis:]
    return layout[:axis] + [list(halves[0]) + list(layout[axis])] + layout[axis + 1:]


def carry_back(atoms, node, result, layout, source):
    """The layout of an input of an operation, from that of its result; None if unknown."""
    kind, shape = node.kind, source.shape
    if kind == "view":
        return atoms.regroup(layout, shape)
    if kind == "permute":
        order, found = _order(node, len(layout)), [None] * len(layout)
        for place, axis in enumerate(order):
            found[axis] = layout[place]
        return found
    if kind == "complex":
        return layout + [atoms.new(2, layout[-1])] if node.op == "view_as_complex" else layout[:-1]
    if kind == "cut" and node.op in ("select", "unbind"):
        axis = node.argument(1, "dim", 0) % len(shape)
        again = next((each for each in atoms.stacked if atoms.length(each) == shape[axis]), ())  # halves that were turned, then stacked
        return layout[:axis] + [atoms.new(shape[axis], again)] + layout[axis:]
    if kind == "cut" and node.op == "index_select" and shape != result.shape:
        axis = node.args[1] % len(layout)
        repeats = result.shape[axis] // max(shape[axis], 1)
        if repeats > 1 and _made_by(node.args[2], "repeat_interleave"):
            halves = atoms.regroup([layout[axis]], [shape[axis], repeats])
            return halves and [halves[0] if i == axis else a for i, a in enumerate(layout)]
    if kind == "join" and node.op == "stack":
        axis = node.argument(1, "dim", 0) % len(layout)
        atoms.stacked.append(layout[axis])
        return layout[:axis] + layout[axis + 1:]
    if kind in ("cut", "join"):
        if len(shape) != len(layout):
            return None
        return [axis if size == after else atoms.new(size, axis) for axis, size, after in zip(layout, shape, result.shape)]
    if len(shape) > len(layout):
        return None
    found = []
    for axis, size, after in zip(layout[len(layout) - len(shape):], shape, result.shape[len(layout) - len(shape):]):
        if node.op == "repeat" and size not in (1, after):
            halves = atoms.regroup([axis], [after // size, size])
            if halves is None:
                return None
            axis = halves[1]
        found.append(axis if size > 1 else [])
    return found


def _made_by(value, *ops):
    return type(value) is Value and value.maker is not None and value.maker.op in ops


# ---------------------------------------------------------------------------------------------------------------------------------------
# Analysis 2: products
# ---------------------------------------------------------------------------------------------------------------------------------------

class Product:
    """A sum over products: operands, and the layouts of both and of the result, whose atoms say which axes belong together."""

    def __init__(self, node, a, b, bias=None, alpha=1):
        self.node, self.a, self.b, self.bias, self.alpha, self.result = node, a, b, bias, alpha, node.results[0]
        self.atoms, self.op, self.pooled, self.learned = Atoms(), "product", False, False

    def only_sums(self, known):
        """Is the larger operand, which has every axis of the product, one of these values? Then it is summed, some cells left out."""
        larger = max(self.a, self.b, key=lambda each: each.size)
        return self.node.op == "sum" and larger.size == self.node.args[0].size and larger in known

    def arrange_sum(self, wide):
        """The operands are added, not multiplied. Returns the axes of the sum."""
        self.op, axes = "additive", [self.atoms.new(size) for size in wide]
        self.a_layout, self.b_layout = ([axis if size > 1 else [] for axis, size in zip(axes[len(wide) - len(each.shape):], each.shape)]
                                        for each in (self.a, self.b))
        return axes

    def arrange(self):
        """Makes the layouts; False if this is no product of two tensors with axes of their own."""
        new, a, b = self.atoms.new, self.a.shape, self.b.shape
        if self.node.op == "sum":  # elementwise product, then a sum over one axis: aligned from the right
            wide = self.node.args[0].shape
            axes = [new(size) for size in wide]
            self.a_layout = [axis if size > 1 else [] for axis, size in zip(axes[len(wide) - len(a):], a)]
            self.b_layout = [axis if size > 1 else [] for axis, size in zip(axes[len(wide) - len(b):], b)]
            axis = _one_axis(self.node, len(wide))
            self.summed = axes[axis]
            self.out_layout = axes[:axis] + ([[]] if self.node.argument(2, "keepdim", False) else []) + axes[axis + 1:]
            return True
        rows, columns = len(a) > 1, len(b) > 1
        batch = [new(size) for size in np.broadcast_shapes(a[:-2], b[:-2])]
        i, d, j = new(a[-2]) if rows else None, new(a[-1]), new(b[-1]) if columns else None
        self.summed = d

        def lead(shape):
            return [axis if size > 1 else [] for axis, size in zip(batch[len(batch) - len(shape[:-2]):], shape[:-2])]

        self.a_layout = lead(a) + ([i] if rows else []) + [d]
        self.b_layout = lead(b) + [d] + ([j] if columns else [])
        self.out_layout = batch + ([i] if rows else []) + ([j] if columns else [])
        return True


def product_of(node):
    """The product that a node is, or None."""
    args, kind = node.args, node.kind
    if kind == "product":
        if node.op in ("addmm", "baddbmm", "addmv"):
            bias = args[0] if node.kwargs.get("beta", 1) != 0 else None
            return Product(node, args[1], args[2], bias, node.kwargs.get("alpha", 1))
        return Product(node, args[0], args[1])
    if node.op == "sum" and _made_by(args[0], "mul"):
        units = [before_unit(each) for each in args[0].maker.args[:2]]
        axis, (a, b) = _one_axis(node, len(args[0].shape)), map(before_repeating, args[0].maker.args[:2]) if None in units else units
        if axis is not None and type(a) is Value and type(b) is Value and args[0].size and _has_axis(a, args[0], axis) and _has_axis(
                b, args[0], axis) and (a.size != b.size or args[0].size > a.size):
            product = Product(node, a, b)
            product.op = "product" if None in units else "cosine"
            return product
    return None


def before_unit(value):
    """What was repeated for pairs, and then divided by its own length, as `cosine_similarity` does it; None for anything else."""
    if not _made_by(value, "div") or type(value.maker.args[1]) is not Value:
        return None
    wide, length = value.maker.args[:2]
    for _ in range(8):
        if length is wide:
            return before_repeating(wide)
        if length.maker is None or length.maker.op not in ("sqrt", "clamp_min", "clone", "sum", "pow", "mul", "linalg_vector_norm", "norm"):
            return None
        length = length.maker.args[0]
    return None


def before_repeating(value):
    """A value before its axes of size 1 were expanded."""
    while _made_by(value, "expand", "repeat") and all(
            old in (1, new) for old, new in zip(value.maker.args[0].shape[::-1], value.shape[::-1])):
        value = value.maker.args[0]
    return value


def _has_axis(value, wide, axis):
    """Does an operand have an axis of what it was broadcast to?"""
    place = axis - len(wide.shape)
    return -place <= len(value.shape) and value.shape[place] == wide.shape[axis]


def _one_axis(node, dimensions):
    """The only axis that a sum runs over, or None."""
    axes = node.argument(1, "dim")
    axes = [axes] if isinstance(axes, int) else axes
    return axes[0] % dimensions if axes and len(axes) == 1 and dimensions else None


def strip(value, kinds=("view", "permute", "same")):
    """The value that this one is a view or copy of."""
    while value.maker is not None and value.maker.kind in kinds and type(value.maker.args[0]) is Value:
        value = value.maker.args[0]
    return value


def is_parameter(value):
    return value.parameter is not None or strip(value).parameter is not None


OUTSIDE = ("view", "permute", "same", "broadcast", "cut")


def puts_back(node, topk):
    """Does a `scatter` put the largest cells of a map into their places, among cells that are all one number?"""
    return node.op == "scatter" and node.args[3:4] == topk.results[:1] and node.args[2] is topk.results[1] and (
        node.results[0].shape == topk.args[0].shape and node.args[1] % len(topk.args[0].shape) == topk.argument(2, "dim", -1) % len(
            topk.args[0].shape) and type(node.args[0]) is Value and same_number(node.args[0]) is not None)


def comes_from_outside(value):
    """Is this a tensor that no operation made, a parameter or a buffer, or a part of one?"""
    return strip(value, OUTSIDE).maker is None


def is_constant(value, depth=12):
    """Is this a parameter, or made of nothing but parameters, numbers and tensors from outside with two axes (weights without a name)?"""
    value = strip(value, ("view", "permute", "same", "broadcast"))
    if value.parameter is not None:
        return True
    if value.maker is None:
        return len(value.shape) <= 2
    if depth == 0 or value.maker.kind in ("product", "fused", "embedding", "softmax"):
        return False
    return all(is_constant(each, depth - 1) for each in value.maker.inputs())


def other_operand(node, value):
    """The second argument of an operation that is not `value`: a value, a number or None."""
    for argument in node.args[:2]:
        if argument is not value:
            return argument
    return node.kwargs.get("other")


def number_of(argument):
    """A number, or the only element of a value; None if there are several, or if it is not known."""
    if type(argument) is Value:
        if argument.size != 1 or not argument.held() or argument.dtype == "bfloat16":
            return None
        return float(argument.read().reshape(-1)[0])
    return None if isinstance(argument, bool) or not isinstance(argument, (int, float)) else argument


def same_number(value):
    """The number that all elements of a value are, or None."""
    if number_of(value) is None and type(value) is Value and value.held() and value.dtype != "bfloat16" and value.size:
        cells = value.read()
        return float(cells.flat[0]) if (cells == cells.flat[0]).all() else None
    return number_of(value)


def factor_of(node, value):
    """What `mul` or `div` by one number multiplies `value` by; None if the operation is another one."""
    if node.op not in ("mul", "div") or node.args[0] is not value and node.op == "div":
        return None
    other = other_operand(node, value)
    if other is None or type(other) is Value and other.size != 1:
        return None
    number = number_of(other)
    if number is None:
        return math.nan
    return number if node.op == "mul" else (1 / number if number else math.inf)


def is_rows(value):
    """Is this the result of a linear map before it gets its batch axis back?"""
    return len(value.shape) == 2 and value.maker is not None and value.maker.op in ("mm", "addmm") and linear_of(value) is not None


def linear_of(value, depth=6):
    """(input, parameter names, product node) of the linear map that made a value, or None. Cuts, biases and added maps (LoRA) are seen
    through; a weight without a name counts too."""
    value = strip(value, ("view", "permute", "same", "cut"))
    node = value.maker
    if node is None or depth == 0:
        return None
    if node.kind == "conv":
        return node.args[0], [each.parameter for each in node.inputs() if each.parameter], node
    product = product_of(node) if node.kind == "product" else None
    if product is not None:
        for weight, given in ((product.b, product.a), (product.a, product.b)):
            if is_constant(weight):
                names = [strip(each).parameter for each in (weight, product.bias) if type(each) is Value]
                return given, [name for name in names if name], node
        return None
    if node.op in ("add", "mul") and type(node.args[0]) is Value:
        found = [(each, linear_of(each, depth - 1)) for each in node.inputs()]
        maps = [linear for _, linear in found if linear]
        if maps and (len(maps) == len(found) or all(linear or is_constant(each) for each, linear in found)):
            names = [name for each, linear in found for name in (linear[1] if linear else [strip(each).parameter]) if name]
            return maps[0][0], names, maps[0][2]
    return None


# ---------------------------------------------------------------------------------------------------------------------------------------
# Analysis 2b: loops
# ---------------------------------------------------------------------------------------------------------------------------------------

class Pieces:
    """The numbers of a value that a loop computed in equal pieces: as long as those of all pieces are there."""
    __slots__ = ("pieces", "order", "version", "kept", "outside")

    def __init__(self, pieces, order=None):
        self.pieces, self.order, self.version, self.kept, self.outside = pieces, order, None, False, False

    @property
    def alias(self):
        return self if all(each.held() for each in self.pieces) else None

    is_meta = False

    def read(self, value):
        numbers = self.pieces[0].read() if len(self.pieces) == 1 else np.stack([each.read() for each in self.pieces])
        return (numbers if self.order is None else numbers.transpose(self.order)).reshape(value.shape)


class Loops:
    """Replaces what was computed piece by piece in a loop and joined at its end (rows of a map, or its cells) by the same operations on
    the whole, as if the loop had not been written. Heads and chunks of queries that a `cat` joins stay attentions of their own."""

    MOST_PIECES, MOST_STEPS = 4096, 24

    def __init__(self, graph):
        self.graph, self.made, self.known, self.placed, self.node = graph, 0, {}, set(), None

    def replace(self):
        graph, nodes = self.graph, []
        for node in graph.nodes:
            self.node, self.made = node, 0
            whole = self.whole(node) if node.op in ("stack", "cat", "written", "add") else None
            steps = self.steps(whole) if whole is not None else []
            if steps and self.is_part(steps, node):
                nodes += steps
                self.placed.update(steps)
                node = self.renamed(whole, node.results[0])
            nodes.append(node)
        if self.placed:
            graph.nodes, graph.replaced = self.reached(nodes), graph.nodes
            graph.link()

    # What a loop's end joins.

    def whole(self, node):
        """The joined pieces as one value, made by operations on wholes; None if they are none."""
        result = node.results[0]
        if node.op == "written":
            return self.written(result)
        if node.op == "add":
            copies = [value for user in result.users if user.kind == "same" for value in user.results]
            is_last = not any(user.op == "add" and _made_by(other_operand(user, value), "mul")
                              for value in (result, *copies) for user in value.users)
            whole = self.as_sum(result) if is_last else result
            return whole if whole is not result else None
        pieces, axis = node.args[0], node.argument(1, "dim", 0) % len(result.shape)
        if not 2 <= len(pieces) <= self.MOST_PIECES or whole_of(pieces) is not None:
            return None
        whole = self.one(pieces, 0)
        if whole is None or whole is pieces[0]:
            return None
        return self.joined(whole, axis, result.shape)

    def written(self, result):
        """Of a tensor into which equal pieces were written, in any order, until it was full."""
        if not _contiguous(result) or any(user.op == "written" for user in result.users):
            return None
        value, places = result, {}
        while _made_by(value, "written") and len(places) <= self.MOST_PIECES:
            value, piece = value.maker.args
            places.setdefault(piece.offset - result.offset, piece)
        pieces, starts = [places[place] for place in sorted(places)], sorted(places)
        size, shape = pieces[0].size, pieces[0].shape
        if len(pieces) < 2 or any(each.shape != shape or each.strides != pieces[0].strides for each in pieces):
            return None
        lead = len(result.shape) - len(shape)
        if lead >= 1 and result.shape[lead:] == shape and _contiguous(pieces[0]) and starts == [
                size * place for place in range(result.size // max(size, 1))]:
            whole = self.table(pieces, result.shape[:lead])
            return self.viewed(whole, result.shape) if whole is not None and whole not in pieces else None
        return self.written_along(result, pieces, starts)

    def written_along(self, result, pieces, starts):
        """Of parts of one axis, such as the columns of each head."""
        shape, strides, count = tuple(pieces[0].shape), tuple(pieces[0].strides), len(pieces)
        for axis, (size, step) in enumerate(zip(result.shape, result.strides)):
            lead, rest = tuple(result.shape[:axis]), tuple(result.shape[axis + 1:])
            narrow = shape == lead + rest and strides == (*result.strides[:axis], *result.strides[axis + 1:])
            width = 1 if narrow else size // count
            if size == count * width and starts == [step * width * place for place in range(count)] and (
                    narrow or shape == lead + (width,) + rest and strides == tuple(result.strides)):
                whole = self.one(pieces, 0)
                return self.joined(whole, axis, result.shape) if whole is not None and whole is not pieces[0] else None
        return None

    def joined(self, whole, axis, shape):
        """With the axis of the pieces moved into or before that along which they are joined."""
        order = list(range(1, axis + 1)) + [0] + list(range(axis + 1, len(whole.shape)))
        return self.viewed(self.ordered(whole, order), shape)

    def table(self, pieces, shape):
        """The whole of pieces in several axes."""
        if len(shape) > 1:
            size = len(pieces) // shape[0]
            rows = [self.table(pieces[row * size:(row + 1) * size], shape[1:]) for row in range(shape[0])]
            if None in rows:
                return None
            pieces = rows
        whole = self.one(pieces, 0)
        return self.repeated(whole, len(pieces)) if whole is pieces[0] else whole

    # The whole of pieces.

    def one(self, pieces, depth):
        """The whole of some values, with an axis of its own before the others; the value itself if they are all the same one; None where
        they were not made alike."""
        first, key = pieces[0], tuple(map(id, pieces))
        if all(each is first for each in pieces):
            return first
        if key not in self.known:
            alike = depth < self.MOST_STEPS and all(each.shape == first.shape and each.dtype == first.dtype for each in pieces)
            whole = (self.cut(pieces) or self.computed(pieces, depth)) if alike else None
            self.known[key] = whole, pieces  # kept, so that no other value takes their identity
        return self.known[key][0]

    def cut(self, pieces):
        """Of pieces that one value was cut into."""
        found = whole_of(pieces)
        if found is None:
            return None
        source, axis, count = found
        lead, rest = list(source.shape[:axis]), list(source.shape[axis + 1:])
        narrow = len(pieces[0].shape) < len(source.shape)
        whole = source if narrow else self.make("view", [source], lead + [count, source.shape[axis] // count] + rest, source)
        order = [axis] + [each for each in range(len(whole.shape)) if each != axis]
        return self.make("permute", [whole, order], (count, *pieces[0].shape), pieces)

    def computed(self, pieces, depth):
        """Of results of the same operation."""
        given, pieces = pieces, [self.as_sum(each) for each in pieces]
        makers, first = [each.maker for each in pieces], pieces[0].maker
        if first is None or any(node is None or node.op != first.op or len(node.args) != len(first.args) or node.kwargs.keys()
                                != first.kwargs.keys() for node in makers) or first.op in RANDOM or len(first.results) != 1:
            return None
        wholes = []
        for arguments in zip(*(node.args for node in makers)):
            same = all(type(each) is not Value and type(each) is type(arguments[0]) and each == arguments[0] for each in arguments)
            whole = arguments[0] if same else self.one(arguments, depth + 1) if all(type(each) is Value for each in arguments) else None
            if whole is None and not same:
                return None
            wholes.append((whole, whole is not arguments[0]))
        if any(type(each) is Value or each != first.kwargs[name] for node in makers for name, each in node.kwargs.items()):
            return None
        return self.applied(first, wholes, pieces) if any(has_axis for _, has_axis in wholes) else given[0]

    def as_sum(self, value):
        """Terms that were added up one after the other, each a product of two: their sum."""
        terms, total = [], value
        while _made_by(value, "add") and not value.maker.kwargs:
            before, term = value.maker.args[0], other_operand(value.maker, value.maker.args[0])
            if number_of(term) == 0:  # sum() of Python begins with 0
                before, term = 0, before
            if not _made_by(term, "mul"):
                return total
            terms.append(term)
            value = self.last_written(before)
        if _made_by(value, "mul"):
            terms.append(value)
        elif len(terms) < 2 or type(value) is Value and not is_zero(value):
            return total
        whole = self.one(terms[::-1], 0) if len(terms) > 1 else None
        return total if whole is None or whole in terms else self.make("sum", [whole, [0]], total.shape, total)

    def last_written(self, value):
        """What was copied, or written before into a part of a tensor that the loop fills."""
        if type(value) is not Value:
            return value
        part = source = strip(value, ("same", "cut"))
        while _made_by(source, "written"):
            source, piece = source.maker.args
            if (piece.offset, piece.shape, piece.strides) == (value.offset, value.shape, value.strides):
                return strip(piece, ("same",))
        return source if source is not part else strip(value, ("same",))

    # Operations on wholes.

    def applied(self, node, wholes, pieces):
        """The result of an operation on wholes, of which those that are marked have an axis before the others."""
        kind, shape, value = node.kind, (len(pieces), *pieces[0].shape), wholes[0][0]
        size = len(node.args[0].shape) if type(node.args[0]) is Value else 0
        if kind == "product" and node.op in ("mm", "bmm", "mv", "dot", "matmul"):
            return self.product(wholes, [len(each.shape) for each in node.args], shape, pieces)
        if node.op == "addmm" and not node.kwargs and not wholes[0][1] and not wholes[2][1]:
            return self.make("add", [self.product(wholes[1:], [2, 2], shape, pieces), value], shape, pieces)
        if kind in ("elementwise", "broadcast"):
            operands = [self.aligned(whole, len(shape)) if has_axis else whole for whole, has_axis in wholes]
            return self.make(node.op, operands[:1] if kind == "broadcast" else operands, shape, pieces, node.kwargs)
        if not wholes[0][1]:
            return None
        if kind == "view":
            return self.make("view", [value], shape, pieces)
        if kind == "permute":
            return self.make("permute", [value, [0] + [each + 1 for each in _order(node, size)]], shape, pieces)
        if kind == "same":
            return self.make("clone", [value], shape, pieces)
        if kind in ("softmax", "log_softmax"):
            return self.make(node.op, [value, node.argument(1, "dim", -1) % size - size], shape, pieces)
        if node.op in ("sum", "max", "amax"):
            axes = node.argument(1, "dim")
            axes = list(range(size)) if axes is None or axes == [] else [axes] if isinstance(axes, int) else axes
            axes = [each % size - size for each in axes]
            return self.make("sum" if node.op == "sum" else "amax", [value, axes, node.argument(2, "keepdim", False)], shape, pieces)
        return None

    def product(self, wholes, axes, shape, pieces):
        """Products of vectors are those of matrices with an axis of size 1. `axes`: how many each operand had in the loop."""
        (a, a_has), (b, b_has) = wholes
        a_is_row, b_is_column = axes[0] == 1, axes[1] == 1
        if a_is_row:
            a = self.viewed(a, (*a.shape[:-1], 1, a.shape[-1]))
        if b_is_column:
            b = self.viewed(b, (*b.shape, 1))
        size = 1 + max(len(a.shape) - a_has, len(b.shape) - b_has)
        a, b = self.aligned(a, size) if a_has else a, self.aligned(b, size) if b_has else b
        middle = list(shape)
        if a_is_row:
            middle.insert(len(middle) - (not b_is_column), 1)
        if b_is_column:
            middle.append(1)
        return self.viewed(self.make("matmul", [a, b], middle, pieces), shape)

    def aligned(self, value, size):
        """With axes of size 1 behind the first, so that the others are aligned from the right."""
        return self.viewed(value, (value.shape[0], *[1] * (size - len(value.shape)), *value.shape[1:]))

    def viewed(self, value, shape):
        return value if value.shape == tuple(shape) else self.make("view", [value], shape, value)

    def ordered(self, value, order):
        shape = [value.shape[axis] for axis in order]
        return value if order == sorted(order) else self.make("permute", [value, order], shape, value, order=order)

    def repeated(self, value, count):
        return self.make("expand", [self.viewed(value, (1, *value.shape))], (count, *value.shape), [value] * count)

    def make(self, op, args, shape, numbers, kwargs=None, order=None):
        """An operation that the loop did in pieces. `numbers`: the pieces, or a value with the same numbers, whose axes may be in another
        order."""
        self.made += 1
        node = Node(self.node.number - 0.5 + self.made * 2 ** -20, op, args, kwargs or {}, self.node.where, self.node.call)
        pieces = [numbers] if type(numbers) is Value else numbers
        value = Value(node.number, node, tuple(shape), pieces[0].dtype)
        value.buffer, node.results = Pieces(pieces, order), [value]
        return value

    # The graph.

    def steps(self, value):
        """The operations that were made for a value, in order."""
        found, left = set(), [value]
        while left:
            node = left.pop().maker
            if node is not None and type(node.number) is float and node not in found and node not in self.placed:
                found.add(node)
                left += node.inputs()
        return sorted(found, key=lambda each: each.number)

    def is_part(self, steps, joins):
        """Do they compute a part of an attention? Or all of it, but for a single query at a time, or for texts or heads that are put side by
        side? (Heads and chunks of queries that a `cat` joins are attentions of their own.)"""
        found = [product for product in map(product_of, steps) if product is not None]
        maps = [product for product in found if is_parameter(product.a) or is_parameter(product.b) or (
            len(found) > 2 and any(len(each.shape) == 2 and comes_from_outside(each) for each in (product.a, product.b)))]
        products = len(found) - len(maps)
        softmaxes = [each for each in steps if each.kind in ("softmax", "log_softmax") or each.op in ("exp", "exp2")]
        single = any(sum(size > 1 for size in each.results[0].shape[1:]) <= 1 for each in softmaxes)
        return products == 1 or bool(softmaxes) and (not products or products == 2 and (single or joins.op != "cat"))

    def renamed(self, whole, result):
        """The last of the operations, with the value that the code goes on with as its result."""
        node = Node(self.node.number, "clone", [whole], {}, self.node.where, self.node.call)
        node.results, result.maker = [result], node
        return node

    def reached(self, nodes):
        """Without the operations on pieces that nothing else uses any more."""
        users = collections.Counter(value for node in nodes for value in node.inputs())
        left = []
        for node in reversed(nodes):
            unused = type(node.number) is int and not any(value.users for value in node.results) and not self.is_place(node)
            if unused or any(users[value] for value in node.results):
                left.append(node)
            else:
                users.subtract(node.inputs())
        return left[::-1]

    def is_place(self, node):
        """Is this a part of a tensor that the loop fills?"""
        return node.kind == "cut" and _made_by(strip(node.args[0], ("cut",)), "written", *_CLASSES["factory"].split())


# ---------------------------------------------------------------------------------------------------------------------------------------
# Analysis 3: from a product through a softmax to the context
# ---------------------------------------------------------------------------------------------------------------------------------------

def sweep(starts, visit, limit=400):
    """Goes forward in the order of the code: `visit(node)` returns the results from which to go on."""
    heap, seen = [], set()

    def reach(values):
        for value in values:
            for user in value.users or ():
                if user.number not in seen:
                    seen.add(user.number)
                    heapq.heappush(heap, (user.number, user))

    reach(starts)
    while heap and limit:
        limit -= 1
        reach(visit(heapq.heappop(heap)[1]) or ())


class Softmax:
    """A softmax, of the library or by hand: its input before the maximum was subtracted, its result, the axis it runs over, and whether
    something was added to the sum (a sink). `inside` are operations that hide some of its powers, `late` those that the sum does not
    know of; `of_two` is the operation that made powers of 2."""

    def __init__(self, node, source, result, axis, has_sink=False, steps=(), summed=None):
        self.node, self.source, self.result, self.axis, self.has_sink = node, source, result, axis, has_sink
        hiding = [step for step in steps if step[0].op not in ("exp", "exp2") and hides(*step[:2])]
        self.late = [step for step in hiding if step[2].number > summed.number]
        self.inside = [step for step in hiding if step not in self.late]
        self.of_two = next((node for node, _, _ in steps if node.op == "exp2"), None)


def _is_tiny(number):
    """Is it too small to be a sink: an epsilon against a division by 0?"""
    return number is not None and abs(number) <= 1e-4


class Walk:
    """Everything that a product's result leads to before the next product: layouts, and the operation by which each was reached."""

    def __init__(self, product):
        self.product, self.atoms = product, product.atoms
        self.layouts = {product.result: product.out_layout}
        self.came = {}            # value -> (node, the value that it was made of)
        self.bent = set()         # values behind a gather or a view that crosses axes: a further term, not the main one
        self.powers = set()       # values behind an exp
        self.sums, self.logs, self.inverse = {}, set(), set()  # sums of powers (with the axis), their logarithms, their inverses
        self.summed = {}          # of the sums: the powers that were summed
        self.shifted = {}         # x - log(sum(exp(x))) -> x
        self.enlarged = set()     # of the sums: those to which a sink was added
        self.softmaxes, self.loose = [], []
        sweep([product.result], self.visit)

    def visit(self, node):
        known = [value for value in node.inputs() if value in self.layouts]
        kind = node.kind
        if not known:
            return self.divisor(node)
        value = max(known, key=lambda each: each.number)
        if kind == "softmax":
            self.softmaxes.append(Softmax(node, value, node.results[0], node.argument(1, "dim", -1)))
            return ()
        if kind == "log_softmax":
            powers = [user.results[0] for user in node.results[0].users if user.op == "exp"]
            self.softmaxes += [Softmax(node, value, power, node.argument(1, "dim", -1)) for power in powers]
            return ()
        if node.op == "logsumexp":
            self.logs.add(node.results[0])
            return node.results
        if node.op == "topk":
            return [self.put_back(user, value) for user in node.results[0].users if puts_back(user, node)]
        product = product_of(node)
        if product is not None and not product.only_sums(self.layouts):
            return self.meet(node, product, value)
        if node.op == "sum" and value in self.powers and _one_axis(node, len(value.shape)) is not None:
            self.sums[node.results[0]], self.summed[node.results[0]] = _one_axis(node, len(value.shape)), value
            return node.results
        if self.normalised(node, value):
            return ()
        if kind not in CARRIED and not mixes_by_convolution(self, node, value):
            return ()
        return self.carry(node, value)

    def carry(self, node, value):
        layout = self.layouts[value]
        for result in node.results:
            if len(result.shape) == 0 or result.dtype == "bool":
                continue
            carried = carry(self.atoms, node, value, layout, result) if layout is not None else None
            self.layouts[result], self.came[result] = carried, (node, value)
            if carried is None or value in self.bent or node.op in ("gather", "index"):
                self.bent.add(result)
            if node.op in ("exp", "exp2") or value in self.powers:
                self.powers.add(result)
        if node.op == "sub" and node.args[0] is value and node.args[1] in self.logs:
            self.shifted[node.results[0]] = value
        return node.results

    def put_back(self, node, value):
        """The largest cells of a map, in their places."""
        result = node.results[0]
        self.layouts[result], self.came[result] = self.layouts[value], (node, value)
        return result

    def divisor(self, node):
        """Follows a sum of powers to the division by it."""
        sums = [value for value in node.inputs() if value in self.sums]
        logs = [value for value in node.inputs() if value in self.logs]
        if not sums and not logs or node.kind not in CARRIED:
            return ()
        result = node.results[0]
        if node.op == "log" or logs:
            self.logs.add(result)
        else:
            self.sums[result], self.summed[result] = self.sums[sums[0]], self.summed[sums[0]]
            added = other_operand(node, sums[0]) if node.op == "add" else 0
            if sums[0] in self.enlarged or not _is_tiny(number_of(added)):
                self.enlarged.add(result)
            turned = node.op == "reciprocal" or node.op == "div" and node.args[0] not in sums
            if turned or node.op == "pow" and node.args[1] == -1 or sums[0] in self.inverse:
                self.inverse.add(result)
        return [result]

    def normalised(self, node, value):
        """Is this the last operation of a softmax by hand?"""
        if node.op == "exp" and value in self.shifted:
            self.softmaxes.append(Softmax(node, self.shifted[value], node.results[0], -1))
            return True
        other = other_operand(node, value) if node.op in ("div", "mul") else None
        if value in self.powers and type(other) is Value and other in self.sums and (node.op == "div") == (other not in self.inverse):
            source = value
            while source in self.powers:
                source = self.came[source][1]
            self.softmaxes.append(Softmax(node, self.before_maximum(source), node.results[0], self.sums[other], other in self.enlarged,
                                          path_to(self.came, value, source), self.summed[other]))
            return True
        return False

    def before_maximum(self, value):
        """What the maximum was subtracted from."""
        node, before = self.came.get(value, (None, None))
        if node is not None and node.op == "sub" and node.args[0] is before and type(node.args[1]) is Value:
            # A running maximum is a maximum of several.
            makers = [strip(node.args[1], ("view", "permute", "same", "broadcast", "cut", "elementwise")).maker]
            if node.args[1].maker is not None:
                makers += [each.maker for each in node.args[1].maker.inputs()] + [node.args[1].maker]
            if any(maker is not None and (maker.kind == "max" or maker.op == "maximum") for maker in makers):
                return before
        return value

    def meet(self, node, product, value):
        """At another product: a mixing of heads is passed; one that was not normalised yet is remembered."""
        if self.layouts[value] is None:
            return ()
        mixed = mix(self, product, value)
        if mixed is not None:
            self.layouts[product.result], self.came[product.result] = mixed, (node, value)
            return node.results
        if value in self.powers:
            self.loose.append((product, value))
        return ()


def hides(node, value):
    """Does an operation multiply by zeros and ones, or put zeros into a part?"""
    if node.op == "mul":
        return is_zero_or_one(other_operand(node, value))
    return node.op in ("masked_fill", "where") and filled_with(node, value, mask_of(node, value))[0] == 0


def summed_axis(product, value):
    """The axis of an operand that a product sums, counted from the right (-1 is the last)."""
    if product.node.op == "sum":
        wide = product.node.args[0].shape
        return _one_axis(product.node, len(wide)) - len(wide)
    return -1 if value is product.a or len(product.b.shape) == 1 else -2


def mix(walk, product, value):
    """The layout behind a product with a square matrix that mixes heads, or None: it sums an axis that q and k share."""
    matrix = product.b if value is product.a else product.a
    if product.node.kind != "product" or len(matrix.shape) < 2 or matrix.shape[-1] != matrix.shape[-2] or not is_constant(matrix):
        return None
    layout, axis = walk.layouts[value], summed_axis(product, value)
    shared = {a for x in walk.product.a_layout for a in walk.atoms.axis(x)} & {a for x in walk.product.b_layout for a in walk.atoms.axis(x)}
    summed = walk.atoms.axis(layout[axis])
    if not summed or not set(summed) <= shared - set(walk.atoms.axis(walk.product.summed)):
        return None
    free = -2 if axis == -1 else -1
    return layout[:-2] + ([layout[free], layout[axis]] if value is product.a else [layout[axis], layout[free]])


def mixes_by_convolution(walk, node, value):
    """Is this a convolution of single cells whose channels are heads?"""
    layout, kernel = walk.layouts.get(value), node.args[1] if node.kind == "conv" else None
    if layout is None or type(kernel) is not Value or value is not node.args[0] or node.results[0].shape != value.shape:
        return False
    shared = {a for x in walk.product.a_layout for a in walk.atoms.axis(x)} & {a for x in walk.product.b_layout for a in walk.atoms.axis(x)}
    return kernel.size == kernel.shape[0] * kernel.shape[1] and set(walk.atoms.axis(layout[1])) <= shared


class After:
    """From a softmax (or another value with a known layout) forward to the product with v."""

    def __init__(self, walk, value, layout, free):
        self.walk, self.atoms, self.free = walk, walk.atoms, free
        self.layouts, self.came, self.product, self.map = {value: layout}, {}, None, None
        sweep([value], self.visit)

    def visit(self, node):
        known = [value for value in node.inputs() if value in self.layouts]
        if self.product is not None or not known:
            return ()
        value = max(known, key=lambda each: each.number)
        product, layout = product_of(node), self.layouts[value]
        if product is None and node.op == "mul" and any(
                user.op == "sum" and product_of(user) is not None for user in node.results[0].users):
            self.through_sum(node)
        if product is not None and not product.only_sums(self.layouts):
            return self.at_product(node, product, value, layout)
        if node.kind not in CARRIED and node.kind != "softmax" and not mixes_by_convolution(self.walk_like(), node, value):
            return ()
        found = []
        for result in node.results:
            carried = carry(self.atoms, node, value, layout, result) if layout is not None and result.dtype != "bool" else None
            if carried is not None:
                self.layouts[result], self.came[result] = carried, (node, value)
                found.append(result)
        return found

    def through_sum(self, node):
        """An elementwise product whose sum over keys is the context."""
        for user in node.results[0].users:
            product = product_of(user)
            value = next((each for each in (product.a, product.b) if each in self.layouts), None) if product is not None else None
            if value is not None and not product.only_sums(self.layouts):
                self.at_product(user, product, value, self.layouts[value])

    def at_product(self, node, product, value, layout):
        if layout is None or value is not product.a and value is not product.b:
            return ()
        mixed = mix(self.walk_like(), product, value)
        if mixed is not None:
            self.layouts[product.result], self.came[product.result] = mixed, (node, value)
            return node.results
        v = product.b if value is product.a else product.a
        axis = summed_axis(product, value)
        summed = set(self.atoms.axis(layout[axis])) if -axis <= len(layout) else set()
        size = value.shape[axis] if -axis <= len(layout) else 1
        if is_parameter(v) or size > 1 and not summed & self.atoms.family(self.free):
            return ()
        product.atoms = self.atoms
        product.arrange()
        mine, theirs = (product.a_layout, product.b_layout) if value is product.a else (product.b_layout, product.a_layout)
        if all(self.atoms.unify(one, other) for one, other in zip(mine, layout)):
            self.product, self.map, self.v, self.v_layout, self.summed = product, value, v, theirs, layout[axis]
        return ()

    def walk_like(self):
        """What `mix` asks of a walk."""
        return _MapsOf(self.layouts, self.atoms, self.walk.product)


class _MapsOf:
    def __init__(self, layouts, atoms, product):
        self.layouts, self.atoms, self.product = layouts, atoms, product


def path_to(came, value, start):
    """The operations from `start` to `value`: (node, before, after), in order."""
    path = []
    while value is not start:
        node, before = came[value]
        path.append((node, before, value))
        value = before
    return path[::-1]


# ---------------------------------------------------------------------------------------------------------------------------------------
# Analysis 4: stages
# ---------------------------------------------------------------------------------------------------------------------------------------

class Stage:
    """A step of an attention: its name and operation, and the values with their layouts (several are joined along keys)."""

    def __init__(self, name, op, letters, parts=(), node=None, inputs=(), have="recorded", **more):
        self.name, self.op, self.letters, self.parts, self.node = name, op, letters, list(parts), node
        self.inputs, self.have, self.more = list(inputs), have, more


class Attention:
    """One attention that was found. `roles` says for each letter (B, H, T, S, D, E, C) which atoms it is made of; D is the width of q
    and k, E that of v where it differs, G the heads of k and v."""

    def __init__(self, atoms, node):
        self.atoms, self.node, self.stages, self.facts, self.unfollowed = atoms, node, [], [], []
        self.operands = {"q": "q", "k": "k", "v": "v"}  # the stages that enter the products
        self.roles, self.sizes, self.heads, self.repeat, self.scale, self.softmax_over = {}, {}, "known", 1, None, "S"
        self.kind, self.call, self.group, self.softmax = "self", node.call, None, None
        self.context = self.concat = self.out = None
        self.q_linear = self.k_linear = self.v_linear = self.sources = None
        self.shared, self.groups = [], []  # heads that keys and values are repeated for, and those that they have

    def add(self, name, *given, **more):
        """Appends a stage; the second of a name gets ".1"."""
        names = [stage.name for stage in self.stages]
        unique, count = name, 0
        while unique in names:
            count += 1
            unique = f"{name}.{count}"
        self.stages.append(Stage(unique, *given, **more))
        return self.stages[-1]

    def stage(self, name):
        return next((stage for stage in self.stages if stage.name == name), None)

    def letters_of(self, axis):
        """The letters of an axis, as `layout` in the file has them."""
        found = []
        for atom in self.atoms.axis(axis):
            letter = next((letter for letter, atoms in self.roles.items() if atom in atoms), "C")
            if not found or found[-1] != letter:
                found.append(letter)
        return found

    def place(self, layout, letters):
        """How a tensor of this layout is brought to these axes: (size of each atom, order of atoms to take, shape, {axis: size} of atoms to
        repeat); None if it has atoms of other axes that cannot be left out."""
        layout = self.atoms.layout(layout)
        flat = [atom for axis in layout for atom in axis]
        order, shape, missing = [], [], {}
        for letter in letters:
            if letter == "C":  # channels: everything else, in the order of the code
                mine = [place for place, atom in enumerate(flat) if not any(atom in self.roles[each] for each in "BT")]
                order += mine
                shape.append(math.prod(self.atoms.sizes[flat[place]] for place in mine))
                continue
            wanted = self.roles.get("H" if letter == "G" else letter, [])
            mine = [flat.index(atom) for atom in wanted if atom in flat]
            if letter in "TSDE":  # atoms that were cut or joined stand for the whole
                mine = [place for place, atom in enumerate(flat) if atom in wanted]
            if letter == "G":
                mine = [place for place in mine if flat[place] not in self.shared]
            if letter == "G":
                wanted = self.groups
            if letter in "BHG" and 0 < len(mine) < len(wanted):  # the same numbers for the others of several axes
                first = len(order) + len(missing)
                missing |= {place: self.atoms.sizes[atom] for place, atom in enumerate(wanted, first) if atom not in flat}
                shape.append(self.sizes[letter])
            else:
                shape.append(math.prod(self.atoms.sizes[flat[place]] for place in mine))
            order += mine
        if len(set(order)) != len(order):
            return None
        if any(place not in order and flat[place] not in self.shared for place in range(len(flat))):
            return None
        return [self.atoms.sizes[atom] for atom in flat], order, shape, missing


def arrange(array, place):
    """An array in canonical axes, as `Attention.place` says. Axes that repeat the same numbers are taken once."""
    sizes, order, shape, missing = place
    array = array.reshape(sizes)
    for axis in range(len(sizes)):
        if axis not in order:
            array = array.take([0], axis)
    array = array.transpose(order + [axis for axis in range(len(sizes)) if axis not in order])
    for axis, size in missing.items():
        array = np.repeat(np.expand_dims(array, axis), size, axis)
    return np.ascontiguousarray(array).reshape(shape)


class Chain:
    """Back from an operand of a product: the value before views and factors of one number, and those before a rotation or a norm."""

    def __init__(self, atoms, value, layout):
        self.atoms, self.factors, self.steps, self.shared, self.tiled = atoms, [], [], [], []
        self.start, self.angles = value, []  # layouts of what it is turned by
        value, layout = self.back(value, layout)
        while True:
            step = dominator(atoms, value, layout, self.angles) if linear_of(value) is None else None
            if step is None:
                break
            source, source_layout, kind = step
            self.steps.append((kind, value, layout))
            value, layout = self.back(source, source_layout, scale=False)
        self.steps.append((None, value, layout))
        self.layouts = [step[2] for step in self.steps] + list(self.before(value, layout))

    def before(self, value, layout):
        """The layouts before q, k and v were cut from one map, or cast: they tell heads from batches."""
        while layout is not None and value.maker is not None and value.maker.kind in ("view", "permute", "same", "cut"):
            source = value.maker.args[0]
            if type(source) is not Value or value.maker.kind == "view" and is_rows(source):
                break
            layout, value = carry_back(self.atoms, value.maker, value, layout, source), source
            yield layout

    def back(self, value, layout, scale=True):
        """Through views, copies, repeated heads and factors."""
        while value.maker is not None and value.maker.inputs():
            node = value.maker
            source, pieces = node.inputs()[0], pieces_of(node)
            if pieces is not None:
                before = carry_pieces_back(self.atoms, node, layout, pieces)
                if before is None:
                    break
                value, layout = pieces[0], before
                continue
            if node.op == "cat":  # with a cache that was empty
                whole = [each for each in node.inputs() if each.size]
                if len(whole) != 1:
                    if len(set(whole)) == 1:
                        self.tiled = layout[node.argument(1, "dim", 0) % len(layout)]
                    break
                value = whole[0]
                continue
            if type(node.args[0]) is not Value:
                break
            if node.op == "mul" and type(node.args[1]) is Value and node.args[1].size >= source.size > 1 or (
                    node.op == "mul" and type(node.args[1]) is Value and source.size == 1):
                source = node.args[1]
            factor = factor_of(node, source) if scale else None
            repeats = node.op in ("expand", "repeat") or node.op == "index_select" and _made_by(node.args[2], "repeat_interleave")
            if node.op == "repeat" and any(1 < size < after for size, after in zip(source.shape[::-1], value.shape[::-1])):
                place = next(i for i in range(1, 1 + len(source.shape)) if 1 < source.shape[-i] < value.shape[-i])
                self.tiled = layout[-place]  # heads one after another, then again: not as heads that share keys are counted
                break
            if node.kind not in ("view", "permute", "same") and factor is None and not repeats:
                break
            if node.kind == "view" and is_rows(source) or scale and source.dtype != value.dtype:  # a rotation may compute in double
                break
            before = carry_back(self.atoms, node, value, layout, source)
            if before is None:
                break
            if repeats:
                now, then = ({a for axis in self.atoms.layout(each) for a in axis} for each in (layout, before))
                self.shared += now - then
            if factor is not None:
                self.factors.append((node, factor, source, before))
            value, layout = source, before
        return value, layout

    @property
    def value(self):
        return self.steps[-1][1]


def before_cut(value):
    """The factor that a whole was multiplied by before a piece was cut from it."""
    factor, cut = 1.0, False
    while value.maker is not None and value.maker.inputs():
        source = value.maker.inputs()[0]
        mine = factor_of(value.maker, source)
        cut = cut or value.maker.kind == "cut"
        if value.maker.kind not in ("view", "permute", "same", "cut") and mine is None:
            break
        factor *= mine if cut and mine is not None else 1.0
        value = source
    return factor


def dominator(atoms, value, layout, angles, limit=40):
    """(source, its layout, "rotate" or "norm"): the nearest earlier value through which everything passes that made this one. None if
    there is none before the next product, or if the operations between are of no known kind."""
    if value.maker is None or value.maker.kind not in CARRIED | {"norm", "complex"}:
        return None
    layouts, frontier, ops = {value: layout}, {value}, set()
    for _ in range(limit):
        last = max(frontier, key=lambda each: each.number)
        if len(frontier) == 1 and last is not value:
            kind = _kind_of_block(ops)
            if layouts.get(last) is None or kind is None and linear_of(last) is not None:
                return None
            if kind is not None:
                return last, layouts[last], kind
        frontier.discard(last)
        node = last.maker
        if node is None or node.kind in ("product", "fused", "layer", "conv", "embedding", "softmax"):
            return None
        ops.add(node.op)
        for source in node.inputs():
            if is_parameter(source) or is_angle(source) or source.maker is None and source.size < value.size:
                if node.op == "mul" and layouts[last] is not None and len(source.shape) > 1:
                    angles.append(aligned(layouts[last], source))
                continue
            frontier.add(source)
            if layouts.get(source) is None:
                layouts[source] = carry_back(atoms, node, last, layouts[last], source) if layouts[last] is not None and (
                    node.kind in CARRIED | {"complex"} or source.size >= last.size) else None
        if not frontier:
            return None
    return None


def _kind_of_block(ops):
    """What the operations between two values are together: a norm, a rotation, or None."""
    if ops & {"rsqrt", "native_layer_norm", "_fused_rms_norm", "linalg_vector_norm", "norm", "sqrt", "rms_norm"}:
        return "norm"
    turned = ops & {"cat", "stack", "neg", "view_as_complex", "roll", "index_put", "copy", "written"}
    return "rotate" if turned and ops & {"mul", "sub", "add"} else None


def is_angle(value):
    """Is this a cosine or sine of positions?"""
    for _ in range(6):
        node = value.maker
        if node is None or node.op in ("cos", "sin", "polar"):
            return node is not None
        if node.kind not in ("view", "permute", "same", "cut", "join", "broadcast", "complex") and node.op not in ("mul", "stack"):
            return False
        inputs = node.inputs()
        if not inputs:
            return False
        value = inputs[0]
    return False


def shared_by_both(atoms, k, v, heads):
    """Atoms of heads that have the same keys and the same values. What only keys or only values share is repeated in the file."""
    return set(atoms.axis(k.shared)) & set(atoms.axis(v.shared)) & set(heads)


class Builder:
    """Makes the stages of one attention from its walks."""

    def __init__(self, graph, walk, softmax, after, others):
        self.graph, self.walk, self.softmax, self.after, self.others = graph, walk, softmax, after, others
        self.product, self.atoms = walk.product, walk.atoms
        self.attention = Attention(self.atoms, self.product.node)
        self.attention.softmax = softmax.node
        self.sides()

    def build(self):
        attention, after = self.attention, self.after
        self.q, self.k, self.v = (Chain(self.atoms, value, layout) for value, layout in (
            (self.q_value, self.q_layout), (self.k_value, self.k_layout), (after.v, after.v_layout)))
        self.behind = Behind(self.atoms, after.product)
        attention.context, attention.concat, attention.out = after.product, self.behind.concat, self.behind.out
        attention.shared = self.atoms.axis(self.k.shared) + self.atoms.axis(self.v.shared)
        self.assign_roles()
        self.describe()
        self.query_stages()
        self.map_stages()
        self.weight_stages()
        context_stages(attention, after.product.node, [(after.product.result, after.product.out_layout)], self.behind)
        return attention

    def sides(self):
        """Which operand is k: the one with the axis that the context sums."""
        product, atoms, keys = self.product, self.atoms, self.atoms.family(self.after.summed)
        a, b = ({atom for axis in layout for atom in atoms.axis(axis)} for layout in (product.a_layout, product.b_layout))
        summed = set(atoms.axis(product.summed))
        a_free, b_free = a - b - summed, b - a - summed
        swapped = bool(keys & a_free) if keys else bool(b_free and not a_free)
        self.q_value, self.q_layout, self.k_value, self.k_layout = product.a, product.a_layout, product.b, product.b_layout
        if swapped:
            self.q_value, self.q_layout, self.k_value, self.k_layout = product.b, product.b_layout, product.a, product.a_layout
        self.free_q, self.free_k = (b_free, a_free) if swapped else (a_free, b_free)

    def has_rows_in_values(self):
        """Does v have axes that are those of the queries alone?"""
        return any(self.free_q & set(axis) for axis in self.atoms.layout(self.after.v_layout))

    def assign_roles(self):
        """Says for each letter which atoms it is made of."""
        attention, atoms, product, after = self.attention, self.atoms, self.product, self.after
        resolve = atoms.axis
        D = atoms.family(product.summed)
        S = atoms.family(after.summed or sorted(self.free_k))
        in_map = [atom for axis in product.out_layout for atom in resolve(axis)]
        E = [atom for axis in after.v_layout for atom in resolve(axis) if atom not in S and atom not in in_map]
        E = atoms.family(E) - S - set(in_map)
        with_v, with_q = self.standing_with(self.behind.layouts, E), self.standing_with(self.q.layouts, D)
        free = in_map if product.pooled else resolve(sorted(self.free_q))
        others = {atom for axis in after.v_layout for atom in resolve(axis)} if product.pooled else set(S)
        if not self.standing_with(self.k.layouts, D):  # one head of keys for all: heads and queries may be rows of one matrix
            others |= with_v & with_q
        T = atoms.family(self.rows([atom for atom in free if atom not in others])) - S - D
        batch = [atom for atom in in_map if atom not in T and atom not in S]
        if not E and self.behind.concat is not None and self.behind.concat[1]:  # heads of width 1 have no axis to stand with
            with_v = set(resolve(self.behind.concat[1][-1]))
        if not D and linear_of(self.q.value) is not None:
            with_q = set(resolve(self.q.steps[-1][2][-1]))
        heads = [atom for atom in batch if atom in with_v] or [atom for atom in batch if atom in with_q]
        if not heads:  # attention of channels, whose heads stand beside what the queries are
            last = [layout[-1:] for layout in (*self.behind.layouts, *self.q.layouts) if layout]
            heads = [atom for atom in batch if atom in self.standing_with(last, T)]
        if not heads:
            heads = [atom for atom in in_map if atom in T and atom in with_v and atom in with_q]
        if not heads and batch and self.assumed():
            attention.heads = "assumed"
            axes = [axis for axis in map(resolve, self.walk.layouts[self.softmax.source]) if axis and set(axis) <= set(batch)]
            heads = axes[-1] if len(axes) > 1 else []
        # Several maps of a head, as those whose difference is taken, are heads, too.
        heads += [atom for atom in batch if heads and atom in with_q and atom not in heads and atom not in T]
        T -= set(heads)
        attention.roles = {"B": [atom for atom in batch if atom not in heads], "H": heads, "T": T, "S": S, "D": D, "E": E}
        attention.sizes = {"B": self.size(attention.roles["B"]), "H": self.size(heads),
                           "T": self.length(product.out_layout if product.pooled else self.q_layout, T),
                           "S": self.length(self.k_layout, S), "D": self.length(self.q_layout, D),
                           "E": self.length(after.v_layout, E)}
        shared = shared_by_both(atoms, self.k, self.v, heads)
        attention.shared = list(shared | (set(attention.shared) - set(in_map)))
        of_both = {atom for layout in (self.k_layout, after.v_layout) for axis in layout for atom in resolve(axis)} - shared
        attention.groups = [atom for atom in heads if atom in of_both]
        attention.sizes["G"] = self.size(attention.groups)
        attention.repeat = attention.sizes["H"] // attention.sizes["G"]
        axis = self.walk.layouts.get(self.softmax.source)
        if axis is not None and axis[self.softmax.axis]:
            over = {letter for letter in attention.letters_of(axis[self.softmax.axis])}
            attention.softmax_over = over.pop() if len(over) == 1 else "".join(sorted(over))
        elif axis is not None and attention.sizes["S"] > 1:
            attention.softmax_over = "1"  # an axis of size 1

    def rows(self, free):
        """Of the atoms that only q has, those in the last axis of the map: the others are batches that k and v do not have."""
        axes = [axis for axis in self.atoms.layout(self.walk.layouts[self.softmax.source]) if set(axis) & set(free)]
        return [atom for atom in axes[-1] if atom in free] if axes else free

    def assumed(self):
        """Is there nothing before and nothing after that tells heads from batches?"""
        return linear_of(self.q.value) is None and self.behind.out is None

    def standing_with(self, layouts, wanted):
        """The atoms that stand in one axis with the wanted ones."""
        found = set()
        for layout in layouts:
            for axis in self.atoms.layout(layout) if layout is not None else ():
                if set(axis) & set(wanted):
                    found |= set(axis) - set(wanted)
        return found

    def size(self, atoms):
        return math.prod(self.atoms.sizes[atom] for atom in atoms)

    def length(self, layout, atoms):
        return self.size([atom for axis in self.atoms.layout(layout) for atom in axis if atom in atoms])

    def describe(self):
        attention = self.attention
        attention.q_linear, attention.k_linear, attention.v_linear = (linear_of(chain.value) for chain in (self.q, self.k, self.v))
        attention.sources = self.q.value, self.k.value
        attention.kind = kind_of(self.q.value, self.k_value, attention.sizes)
        crossing_facts(attention, (self.q, self.k, self.v), self.behind)
        try:
            position_facts(attention, self.q)
            operand_facts(attention)
        except Exception as error:  # the numbers are there all the same
            attention.unfollowed.append({"what": f"an error in attnscope: {type(error).__name__}: {error}",
                                         "line": Place(attention.node.where).line, "do": "look at the numbers"})
        tiled = [bool(chain.tiled) and set(self.atoms.axis(chain.tiled)) <= set(attention.roles["H"]) for chain in (self.k, self.v)]
        if tiled[0]:
            attention.facts.append({"what": "gqa_tiled"})
        if tiled[0] != tiled[1] and (self.v if tiled[0] else self.k).shared:
            attention.facts.append({"what": "gqa_mismatch", "name": "k" if tiled[0] else "v"})
        piece, layout = piece_of(self.q.value), self.q.steps[-1][2]
        if piece is not None and piece[2] == 0 and len(piece[0].shape) == len(layout) and set(self.atoms.axis(layout[piece[1]])) & set(attention.roles["T"]):
            attention.facts.append({"what": "queries_cut"})
        joined = self.k.value.maker
        if joined is not None and joined.op == "cat" and linear_of(joined.inputs()[-1]) is not None and (
                joined.inputs()[-1].size * attention.sizes["S"] == self.k.value.size * attention.sizes["T"]):
            attention.facts.append({"what": "new_keys_last"})

    def g(self):
        return "G" if self.attention.sizes["G"] != self.attention.sizes["H"] else "H"

    def query_stages(self):
        attention, g = self.attention, self.g()
        e = "E" if attention.sizes["E"] != attention.sizes["D"] else "D"
        chain_stages(attention, "q", self.q, "BHTD")
        chain_stages(attention, "k", self.k, f"B{g}SD")
        chain_stages(attention, "v", self.v, f"B{g}S{'E' if e == 'E' else 'D'}")
        if e == "D":
            attention.roles["D"] = attention.roles["D"] | attention.roles["E"]

    def map_stages(self):
        """From the product to the input of the softmax."""
        attention, product, walk = self.attention, self.product, self.walk
        path = path_to(walk.came, self.softmax.source, product.result)
        before = [(node, factor) for chain in (self.q, self.k) for node, factor, _, _ in chain.factors]
        if product.alpha != 1:
            before.append((product.node, product.alpha))
        scale, here = 1.0, [(product.result, product.out_layout)]
        last, operands = "scores", [attention.operands[name] for name in "qk"]
        op = product.op
        bias = product.bias if type(product.bias) is Value and not is_zero(product.bias) else None
        if bias is not None and product.node.kwargs.get("beta", 1) != 1 and bias.held() and bias.dtype.startswith("float"):
            bias = multiplied(bias, product.node.kwargs["beta"])
        if before or bias is not None:
            attention.add("scores", op, "BHTS", node=product.node, inputs=operands, have="follows")
            if before:
                scale = math.prod(factor for _, factor in before)
                last = attention.add("scaled", "scale", "BHTS", here if bias is None else (), node=product.node, inputs=[last],
                                     have="recorded" if bias is None else "follows", by=scale,
                                     factors=[factor for _, factor in before], on="operands").name
            if bias is not None:
                layout = product.out_layout[len(product.out_layout) - len(bias.shape):]
                layout = [axis if size > 1 else [] for axis, size in zip(layout, bias.shape)]
                last = attention.add(*mask_or_bias(bias), "BHTS", here, node=product.node, inputs=[last], how="add",
                                     mask=(bias, layout)).name
        else:
            attention.add("scores", op, "BHTS", here, node=product.node, inputs=operands)
        maps = Maps(attention, walk.layouts, walk.came, self.others)
        last = maps.follow(path, last)
        for node, power, _ in self.softmax.inside:  # powers that are set to 0 before they are summed: as if hidden before
            mask, (_, means) = mask_of(node, power), filled_with(node, power, mask_of(node, power))
            if node.op == "mul":
                mask, means = Value(mask.number, None, mask.shape, "bool", data=mask.read() != 0), "kept"
            last = attention.add("masked", "mask", "BHTS", node=node, inputs=[last], have="follows", how="masked_fill", fill=-math.inf,
                                 true_means=means, mask=(mask, aligned(walk.layouts[power], mask))).name
        attention.scale = scale * maps.scale * before_cut(self.q.value) * before_cut(self.k.value)
        if self.softmax.of_two is not None:  # 2^x is e^(x ln 2)
            attention.scale *= math.log(2)
            last = attention.add("scaled", "scale", "BHTS", node=self.softmax.of_two, inputs=[last], have="follows", by=math.log(2)).name
        if product.pooled or product.learned or attention.scale == 1 and self.attends_to_states():
            attention.scale = None  # there is none to ask for
        self.last = last

    def attends_to_states(self):
        """Are the values plain states, and the keys these or a map of them? Such attention, as Luong's, is not scaled."""
        states, linear = strip(self.v.value), self.attention.k_linear
        if self.attention.kind == "cross" and strip(self.k.value) is states:
            return True
        return self.attention.v_linear is None and (strip(self.k.value) is states or linear is not None and strip(linear[0]) is states)

    def weight_stages(self):
        """From the softmax to the map that meets v."""
        attention, softmax, after = self.attention, self.softmax, self.after
        path = [step for step in path_to(after.came, after.map, softmax.result)]
        steps = [(node, before, result, is_dropout(node, before)) for node, before, result in path]
        changing = [i for i, (node, before, result, drop) in enumerate(steps)
                    if not drop and (changes(node, before, result) or result.dtype != before.dtype)]
        for i in range(len(steps) - 1, 0, -1):  # one dropout in two steps: what it leaves is made larger afterwards
            if steps[i][3] and steps[i - 1][3] and factor_of(*steps[i][:2]) is not None:
                del steps[i - 1]
                changing = [each - (each >= i) for each in changing]
        drops = [i for i, step in enumerate(steps) if step[3]]
        first_drop = drops[0] if drops else len(steps)
        early = [i for i in changing if i < first_drop]
        result = (softmax.result, after.layouts[softmax.result])
        name = "softmax" if early else "weights"
        extra = {}
        length = self.length(result[1], attention.roles["S"])
        if length > attention.sizes["S"]:
            extra["extra"] = length - attention.sizes["S"]
        if extra or softmax.has_sink:
            attention.facts.append({"what": "sink"})
        what, more, last = "softmax", {"over": attention.softmax_over, **extra}, self.last
        if softmax.late:  # the mask comes after the softmax, whose own result was never made
            last = attention.add("softmax", what, "BHTS", node=softmax.node, inputs=[last], have="follows", **more).name
            what, more = what_changed(*softmax.late[-1][:2], self.walk.layouts)
        last = attention.add(name, what, "BHTS", [result], node=softmax.node, inputs=[last], **more).name
        for i, (node, before, result, drop) in enumerate(steps):
            if not drop and i not in changing:
                continue
            part = [(result, after.layouts[result])]
            if drop:
                last = attention.add("dropped", "dropout", "BHTS", part, node=node, inputs=[last], rate=dropout_rate(node)).name
            else:
                what, more = what_changed(node, before, self.after.layouts)
                name = "weights" if early and i == early[-1] else "masked" if what == "mask" and i > first_drop else "softmax"
                last = attention.add(name, what, "BHTS", part, node=node, inputs=[last], **more).name
        self.attention.last_map = last


def changes(node, before, result):
    """Does an operation change numbers (and not only their place)?"""
    return node.kind in ("elementwise", "product", "conv", "softmax", "log_softmax", "cut", "join") and not (
        node.kind in ("cut", "join") and before.shape == result.shape) or node.op in ("written", "index_put", "fill", "copy")


def what_changed(node, before, layouts):
    """(operation, further fields) of a step between softmax and context."""
    if node.kind == "cut":
        return "cut", {"called": node.op}
    if node.kind == "same" and node.results[0].dtype != before.dtype:
        return "cast", {}
    if node.kind in ("product", "conv"):
        return "mix", {}
    if node.kind == "softmax":
        return "softmax", {}
    if factor_of(node, before) is not None:
        return "scale", {"by": factor_of(node, before)}
    if node.op in ("masked_fill", "where", "index_put", "tril", "triu") or node.op == "mul" and is_zero_or_one(other_operand(node, before)):
        other = mask_of(node, before)
        more = {"called": node.op, **({"mask": (other, aligned(layouts[before], other))} if other is not None else {})}
        fill, means = filled_with(node, before, other)
        return "mask", more if fill is None else {**more, "fill": fill, "true_means": means}
    return "given", {"called": node.op}


def filled_with(node, before, mask):
    """(number, what true means) of an operation that puts one number into a part of a map."""
    if node.op == "where":
        fill = next((same_number(each) for each in node.args[1:3] if each is not before and each is not mask), None)
        return fill, "hidden" if len(node.args) < 2 or node.args[1] is not before else "kept"
    return same_number(node.argument(2, "value")) if node.op in ("masked_fill", "index_put") else None, "hidden"


def all_but(node):
    """What a `scatter` leaves, as a mask; None if its places are not held."""
    places = node.args[2]
    if not places.held():
        return None
    hidden = np.ones(node.results[0].shape, bool)
    np.put_along_axis(hidden, places.read(), False, node.args[1])
    return Value(places.number, None, hidden.shape, "bool", data=hidden)


def is_dropout(node, before):
    """Dropout, of the library or by hand (multiplied by random numbers)."""
    if node.op in DROPOUT:
        return True
    if node.op not in ("mul", "masked_fill", "where", "div"):
        return False
    other = mask_of(node, before)
    while other is not None and other.maker is not None:
        if other.maker.op in RANDOM:
            return True
        other = next((each for each in other.maker.inputs() if each.size == other.size), None) if other.maker.op in (
            "div", "mul", "lt", "gt", "ge", "le", "_to_copy", "bernoulli", "div_", "rsub", "add", "sub", "floor") else None
    # The factor 1 / (1 - p) of a dropout that is written in two steps.
    return node.op in ("div", "mul") and before.maker is not None and type(other_operand(node, before)) is not Value and (
        before.maker.op in ("mul", "masked_fill") and is_dropout(before.maker, before.maker.args[0]))


def dropout_rate(node):
    """The rate of a dropout; None if it is not known."""
    if node.op in DROPOUT:
        rate = node.argument(1, "p")
        return rate if isinstance(rate, float) else None
    todo, larger = node.inputs(), type(other_operand(node, node.args[0])) is not Value
    for _ in range(8):  # the library's own steps: a mask of bernoulli_(1 - p), divided by 1 - p
        maker = todo.pop().maker if todo else None
        if maker is not None and maker.op == "bernoulli":
            # An argument that has its default is not seen: bernoulli_() of an empty tensor keeps half.
            empty = maker.args[0].maker is not None and maker.args[0].maker.op == "empty_like"
            keep = maker.argument(1, "p", 0.5 if empty else None)
            return round(1 - keep, 12) if isinstance(keep, float) else None
        drawn = maker is not None and maker.op in ("gt", "ge", "lt", "le") and _made_by(maker.args[0], "rand", "rand_like", "uniform")
        if drawn:  # by hand; a known rate says that what is left was made larger
            return None if not larger or not isinstance(maker.args[1], float) else (
                maker.args[1] if maker.op in ("gt", "ge") else round(1 - maker.args[1], 12))
        larger = larger or maker is not None and bool(maker.args) and factor_of(maker, maker.args[0]) is not None
        todo += maker.inputs() if maker is not None and maker.kind in ("elementwise", "same") else []
    return None


def mask_of(node, before):
    """The mask of masked_fill, where or mul."""
    others = [each for each in node.inputs() if each is not before]
    booleans = [each for each in others if each.dtype == "bool"]
    return (booleans or others or [None])[0]


def aligned(layout, other):
    """The layout of another operand, aligned from the right with that of a map."""
    shape = other.shape
    if layout is None or len(shape) > len(layout):
        return None
    return [axis if size > 1 else [] for axis, size in zip(layout[len(layout) - len(shape):], shape)]


def is_zero(value):
    """Is this nothing but zeros?"""
    base = strip(value, ("view", "permute", "same", "broadcast"))
    return _made_by(base, "zeros", "new_zeros", "zeros_like") or value.held() and value.dtype != "bfloat16" and not value.read().any()


def is_zero_or_one(value):
    """Is this a mask that is multiplied with?"""
    if type(value) is not Value or not value.held() or value.dtype == "bfloat16":
        return False
    cells = value.read()
    return bool(((cells == 0) | (cells == 1)).all())


def mask_or_bias(value):
    """("masked", operation) of a tensor that is added to a map: a mask if it has cells that hide something."""
    if not value.held() or value.dtype == "bfloat16":
        return "masked", "bias"
    cells = value.read()
    with np.errstate(invalid="ignore"):
        return "masked", "mask" if cells.size and float(np.nanmin(cells)) <= -1000 or not cells.any() else "bias"


class Maps:
    """Names the operations between the product and the softmax, in the order of the code."""

    def __init__(self, attention, layouts, came, others=()):
        self.attention, self.layouts, self.came, self.others, self.scale, self.pending = attention, layouts, came, others, 1.0, None

    def follow(self, path, last):
        for node, before, result in path:
            last = self.step(node, before, result, last)
        return last

    def step(self, node, before, result, last):
        attention = self.attention
        layout = self.layouts[before]
        part = [(result, self.layouts[result])]
        factor = factor_of(node, before)
        if factor is not None or node.op in ("mul", "div") and not self.has_map_axes(node, before):
            return self.scaled(node, part, factor, last)
        if node.op == "tanh":
            self.pending = [stage for stage in attention.stages if stage.name == last and stage.op == "scale"]
            return attention.add("capped", "cap", "BHTS", part, node=node, inputs=[last]).name
        if node.op in ("masked_fill", "where", "index_put", "tril", "triu", "written", "fill", "masked_scatter", "scatter"):
            return self.masked(node, before, part, layout, last)
        if node.op in ("add", "sub") and type(other_operand(node, before)) is Value:
            return self.added(node, before, part, layout, last)
        if node.op == "mul" and is_zero_or_one(other_operand(node, before)):
            return attention.add("masked", "mask", "BHTS", part, node=node, inputs=[last], how="mul",
                                 mask=(other_operand(node, before), aligned(layout, other_operand(node, before)))).name
        if node.kind in ("product", "conv"):
            return attention.add("mixed", "mix", "BHTS", part, node=node, inputs=[last]).name
        if node.op == "cat":
            return attention.add("joined", "join", "BHTS", part, node=node, inputs=[last], called="cat",
                                 extra=result.shape[-1] - before.shape[-1]).name
        if node.kind == "elementwise" and node.op not in ("exp",) and not (node.op == "sub" and before is not node.args[0]):
            self.scale = self.scale if node.op in ACTIVATION or node.op.startswith("clamp") else math.nan
            return attention.add("other", "given", "BHTS", part, node=node, inputs=[last], called=node.op).name
        return last

    def has_map_axes(self, node, before):
        """Does the other factor differ from query to query or from key to key?"""
        other = other_operand(node, before)
        layout = aligned(self.layouts[before], other) if type(other) is Value else None
        if layout is None:
            return True
        atoms = {atom for axis in self.attention.atoms.layout(layout) for atom in axis}
        return bool(atoms & set(self.attention.roles["T"]) or atoms & set(self.attention.roles["S"]))

    def scaled(self, node, part, factor, last):
        attention, by = self.attention, factor
        if self.pending is not None:  # the factor after tanh, and the one before it, belong to the cap
            cap = attention.stage(last)
            for stage in self.pending:
                self.scale = self.scale / stage.more["by"] if stage.more.get("by") else self.scale
                cap.inputs = stage.inputs
                attention.stages.remove(stage)
            cap.parts, cap.more["by"] = part, by
            self.pending = None
            return last
        self.scale = self.scale * by if by is not None else math.nan
        return attention.add("scaled", "scale", "BHTS", part, node=node, inputs=[last], by=by,
                             how=node.op, number=number_of(other_operand(node, node.args[0]))).name

    def masked(self, node, before, part, layout, last):
        if node.op == "written" and self.attention.stages[-1].more.get("how") == "written":  # row by row, in a loop
            self.attention.stages[-1].parts = part
            return last
        mask = mask_of(node, before) if node.op in ("masked_fill", "where", "index_put") else None
        fill, means = filled_with(node, before, mask)
        if node.op == "scatter":
            mask, fill = all_but(node), same_number(node.args[0])
        more = {"mask": (mask, aligned(layout, mask))} if mask is not None else {}
        return self.attention.add("masked", "mask", "BHTS", part, node=node, inputs=[last], how=node.op, fill=fill, true_means=means,
                                  **more).name

    def added(self, node, before, part, layout, last):
        attention, other = self.attention, other_operand(node, before)
        for walk in self.others:
            if other in walk.layouts or before in walk.layouts and before not in self.layouts:
                term = attention.add("scores", "product", "BHTS", [(other, aligned(layout, other))], node=walk.product.node)
                return attention.add("masked", "add", "BHTS", part, node=node, inputs=[last, term.name]).name
        if node.op == "sub" and before is node.args[1]:  # something minus the scores
            return attention.add("other", "given", "BHTS", part, node=node, inputs=[last], called=node.op).name
        if _made_by(strip(other, ("view", "permute", "same", "broadcast", "cut")), "max", "amax"):
            return last
        how, factor = node.op, node.argument(2, "alpha", 1)
        if how == "sub" and before is node.args[0] and other.held() and other.dtype.startswith("float"):
            other, how, factor = multiplied(other, -factor), "add", 1
        elif factor != 1 and other is node.args[1] and other.held() and other.dtype.startswith("float"):
            other = multiplied(other, factor)
        name, what = mask_or_bias(other)
        return attention.add(name, what, "BHTS", part, node=node, inputs=[last], how=how, mask=(other, aligned(layout, other))).name


def multiplied(value, factor):
    """What was added to a map with a factor."""
    return Value(value.number, None, value.shape, value.dtype, data=np.multiply(value.read(), factor, dtype=value.read().dtype))


class Behind:
    """What follows the context: views that join heads, the concatenation, and the linear map behind it."""

    def __init__(self, atoms, product, starts=None):
        self.atoms, self.concat, self.out, self.crossing = atoms, None, None, None
        self.known, self.came = dict(starts) if starts else {product.result: product.out_layout}, {}
        self.layouts = list(self.known.values())
        sweep(list(self.known), self.visit, 60)

    def visit(self, node):
        known = [value for value in node.inputs() if value in self.known]
        if not known or self.out is not None:
            return ()
        value = known[0]
        product = product_of(node)
        if product is not None:
            weight = product.b if value is product.a else product.a
            if node.kind == "product" and is_constant(weight) and (value is product.a or value is product.b):
                self.concat = (value, self.known[value])
                self.out = self.linear(node, product, value)
            return ()
        dead = node.kind == "elementwise" and any(each is not value and not is_constant(each) and each.dtype != "bool"
                                                  and each.maker is not None and each.maker.op not in RANDOM for each in node.inputs())
        if node.kind not in CARRIED or node.kind == "placed" or dead and node.op in ("add", "sub"):
            return ()
        found = []
        for result in node.results:
            layout = self.known[value]
            carried = carry(self.atoms, node, value, layout, result) if layout is not None else None
            if layout is not None and carried is None and node.kind == "view":
                self.crossing = node
            self.known[result], self.came[result] = carried, (node, value)
            self.layouts.append(carried)
            found.append(result)
        return found

    def joined(self, attention):
        """The first value whose last axis holds several heads."""
        return next(((value, layout) for value, layout in self.known.items() if self.joins(value, attention)), None)

    def joins(self, value, attention):
        layout, e = self.known[value], set(attention.roles["E"]) | set(attention.roles["D"])
        last = set(self.atoms.axis(layout[-1])) if layout else set()
        return bool(last & set(attention.roles["H"]) and last & e)

    def linear(self, node, product, value):
        """(value, layout, node, parameters) of the output: the product, or the bias that is added to it."""
        weight = product.b if value is product.a else product.a
        names = [strip(each).parameter for each in (weight, product.bias) if type(each) is Value]
        result, layout, last = product.result, self.known[value], node
        if layout is not None:
            last = [self.atoms.new(result.shape[-1])]
            layout = layout[:-1] + last if value is product.a and len(layout) == len(result.shape) else None
        result, layout, last = self.with_bias(result, layout, node, names)
        return result, layout, last, [name for name in names if name]


    def with_bias(self, result, layout, node, names):
        """Through the view that gives the batch axis back, and the addition of a bias."""
        for kinds in (("view",), ("add",), ("view",)):
            users = [user for user in result.users if (user.kind if kinds[0] == "view" else user.op) in kinds]
            if not users or kinds[0] == "view" and not len(result.shape) == 2:
                continue
            user = users[0]
            if kinds[0] == "add":
                other = other_operand(user, result)
                if type(other) is not Value or not is_parameter(other):
                    continue
                names.append(strip(other).parameter)
                node = user
            layout = carry(self.atoms, user, result, layout, user.results[0]) if layout is not None else None
            result = user.results[0]
        return result, layout, node


def is_rms(node):
    """x * rsqrt(mean(x^2) + eps), or that times a parameter."""
    if node.op != "mul" or not all(type(each) is Value for each in node.args[:2]):
        return False
    a, b = node.args[:2]
    weight = next((each for each in (a, b) if is_parameter(each)), None)
    other = b if weight is a else a
    return weight is not None and is_rms_core(strip(other))


def is_rms_core(value):
    return value.maker is not None and value.maker.op == "mul" and any(
        _made_by(strip(each), "rsqrt") for each in value.maker.inputs())


def norm_input(node):
    if node.kind == "norm":
        return node.args[0]
    core = next(strip(each) for each in node.args[:2] if not is_parameter(each))
    return next(each for each in core.maker.inputs() if not _made_by(strip(each), "rsqrt"))


def norm_parameters(node):
    return [strip(each).parameter for each in node.inputs() if is_parameter(each)]


def norm_eps(node):
    """What is added to the variance, if it is a number."""
    if node.kind == "norm":
        return number_of(node.argument({"native_layer_norm": 4, "native_group_norm": 7, "native_batch_norm": 7}.get(node.op, 3), "eps"))
    core = next(strip(each) for each in node.args[:2] if not is_parameter(each))
    root = next(strip(each) for each in core.maker.inputs() if _made_by(strip(each), "rsqrt"))
    inside = root.maker.args[0]
    return number_of(inside.maker.args[1]) if _made_by(inside, "add") else None


def chain_stages(attention, name, chain, letters):
    """q, q_normed, q_rotated: from the linear map to the product, in the order of the code."""
    suffix = {"rotate": "_rotated", "norm": "_normed", None: ""}
    inputs = []
    for index, (_, value, layout) in enumerate(reversed(chain.steps)):
        kind = chain.steps[len(chain.steps) - 1 - index][0]
        node = value.maker
        linear = linear_of(value) if kind is None else None
        op = {"rotate": "rotate", "norm": "norm", None: "linear" if linear else "given"}[kind]
        more = {"parameters": linear[1], "source": linear[0]} if linear else {}
        if kind == "norm" and (node.kind == "norm" or is_rms(node)):
            more = {"parameters": [each for each in norm_parameters(node) if each], "eps": norm_eps(node)}
        stage = attention.add(name + suffix[kind], op, letters, [(value, layout)], node=linear[2] if linear else node, inputs=inputs,
                              **more)
        if kind is None and node is None:
            stage.more["called"] = "given"
        inputs = [stage.name]
    attention.operands[name] = inputs[0]


def context_stages(attention, node, parts, behind):
    e = "E" if attention.sizes["E"] != attention.sizes["D"] else "D"
    attention.add("context", "product", "BHT" + e, parts, node=node, inputs=[attention.last_map, attention.operands["v"]])
    (concat, concat_layout), inputs = behind.concat or (None, None), ["context"]
    rows = [atom for axis in attention.atoms.layout(concat_layout or []) for atom in axis if atom in attention.roles["T"]]
    if behind.out is None or concat_layout is not None and attention.atoms.length(rows) != attention.sizes["T"]:
        joined = behind.joined(attention)  # what follows, if anything, reads some of the queries only
        if joined is not None:
            attention.add("concat", "concat", "BTC", [joined], node=joined[0].maker, inputs=inputs)
        return
    value, layout, last, names = behind.out
    for changed, before, result in path_to(behind.came, concat, parts[0][0]):
        if changed.kind == "elementwise":  # a gate: what it gets and what it makes
            if attention.stage("concat") is None and behind.joins(before, attention):
                inputs = [attention.add("concat", "concat", "BTC", [(before, behind.known[before])], node=before.maker, inputs=inputs).name]
            letters = "BTC" if attention.stage("concat") is not None else "BHT" + e
            inputs = [attention.add("other", "given", letters, [(result, behind.known[result])], node=changed, inputs=inputs,
                                    called=changed.op).name]
    if attention.stage("concat") is None:
        inputs = [attention.add("concat", "concat", "BTC", [(concat, concat_layout)], node=concat.maker or node, inputs=inputs).name]
    attention.add("attention_out", "linear", "BTC", [(value, layout)], node=last, inputs=inputs, parameters=names)


def kind_of(q, k, sizes):
    """"self" if q and k come from one tensor, "cross" if from two; by lengths where that is not known."""
    def sources(value):
        """(what linear maps read, other beginnings) behind a value."""
        mapped, found, todo, steps = set(), set(), [value], 0
        while todo and steps < 60:
            steps += 1
            value = strip(todo.pop(), ("view", "permute", "same", "cut"))
            linear = linear_of(value)
            if linear is not None:
                mapped.add(before_norms(linear[0]).number)
            elif value.maker is None:
                found.add(value.number)
            elif value.maker.kind not in ("product", "embedding", "softmax"):
                todo += [each for each in value.maker.inputs() if not is_parameter(each)]
        return mapped, found
    (mine, my_others), (theirs, their_others) = sources(q), sources(k)
    if mine and theirs:  # what else they were made of, such as rotary positions, they may share
        return "self" if mine & theirs else "cross"
    return "self" if (mine | my_others) & (theirs | their_others) or sizes["T"] == sizes["S"] else "cross"


def cuts_positions(value):
    """Does a reshape of the linear map's result, before anything is transposed, cut positions as if they were channels?"""
    seen = None
    while value.maker is not None and value.maker.kind in ("view", "permute", "same", "cut") and type(value.maker.args[0]) is Value:
        kind = value.maker.kind
        if kind == "cut" and value.maker.args[0].shape[-1] != value.shape[-1] and _is_cut(seen, value):  # q of one map for all
            return linear_of(value) is not None and strip(value, ("same", "cut")).maker.kind in ("view", "product", "elementwise")
        seen = value.shape if kind == "view" and seen is None else None if kind in ("permute", "cut") else seen
        value = value.maker.args[0]
    return value.maker is not None and value.maker.kind in ("product", "elementwise") and _is_cut(seen, value)


def _is_cut(shape, value):
    """Does a view to this shape cut through the rows of a matrix?"""
    return shape is not None and math.prod(value.shape[:-1]) not in itertools.accumulate(shape, operator.mul, initial=1)


def reshaped_instead(value):
    """The result of a reshape that swaps the sizes of the last two axes, where a transpose swaps the axes; None if there is none."""
    while value.maker is not None and value.maker.kind in ("view", "permute", "same") and type(value.maker.args[0]) is Value:
        before, after = value.maker.args[0].shape, value.shape
        if value.maker.kind == "view" and before[:-2] == after[:-2] and before[-2:] == after[:-3:-1] and 1 < before[-1] != before[-2] > 1:
            return value
        value = value.maker.args[0]
    return None


def sums_over_keys(attention, q, k):
    """Do the scores sum the channels of the queries with the positions of the keys? That fits only if there are as many."""
    linears = [linear_of(chain.value) for chain in (q, k)]
    if None in linears or not attention.roles["T"] or any(linear[2].kind != "product" for linear in linears):
        return False
    if strip(linears[0][0]) is not strip(linears[1][0]):
        return False
    layouts = [chain.steps[-1][2] for chain in (q, k)]
    of_q, of_k = (set(attention.atoms.axis(layout[-1])) if layout else set() for layout in layouts)
    keys, channels = set(attention.roles["S"]), set(attention.roles["D"])
    return bool(of_k & keys) and not of_k & channels and bool(of_q & channels)


def crossing_facts(attention, chains, behind):
    """Heads that were split or joined without a transpose: positions stand in the axis of channels. `chains`: of q, k and v."""
    roles, atoms = attention.roles, attention.atoms

    def crosses(step, channels, positions):
        _, value, layout = step
        return linear_of(value) is not None and layout is not None and (cuts_positions(value) or any(
            set(axis) & set(roles[channels]) and set(axis) & set(roles[positions]) for axis in atoms.layout(layout)))

    crossing = [name for name, chain, letters in zip("qkv", chains, ("DT", "DS", "ES")) if crosses(chain.steps[-1], *letters)]
    reshaped = reshaped_instead(chains[1].start)
    if reshaped is not None and ("k" in crossing or chains[1].value is reshaped):
        attention.facts.append({"what": "keys_reshaped"})
        crossing = [name for name in crossing if name != "k"]
    if crossing:
        attention.facts.append({"what": "heads_split_without_transpose", "name": crossing[0]})
    if sums_over_keys(attention, *chains[:2]):
        attention.facts.append({"what": "keys_not_transposed"})
    after = [axis for layout in behind.layouts if layout is not None for axis in atoms.layout(layout)]
    mixed = [axis for axis in after if set(axis) & set(roles["E"]) and set(axis) & set(roles["T"])]
    flat = set(atoms.axis(roles["T"]))  # a row of all positions, one after another, mixes nothing
    if behind.crossing is not None or any(set(axis[:len(flat)]) != flat for axis in mixed):
        attention.facts.append({"what": "heads_joined_without_transpose"})


# ---------------------------------------------------------------------------------------------------------------------------------------
# Analysis 5: other ways: additive scores, keys in blocks, fused kernels
# ---------------------------------------------------------------------------------------------------------------------------------------

def additive_product(node):
    """Additive scores: a sum over channels, weighted by one vector, of a function of q + k. q and k are the operands of the addition."""
    product = product_of(node)
    if product is None:
        return None
    value, vector = with_vector(product, of_heads=product.node.op == "sum")
    if vector is None:
        return None
    steps = 0
    while value.maker is not None and steps < 6 and (value.maker.kind in ("view", "same") or value.maker.op in ACTIVATION):
        value, steps = value.maker.args[0], steps + 1
    add = value.maker
    if add is None or add.op != "add" or not all(type(each) is Value for each in add.args[:2]):
        return None
    for _ in range(2):  # a bias may have been added last
        parts = [each for each in add.args[:2] if not is_parameter(each)]
        if len(parts) == 1 and _made_by(strip(parts[0]), "add"):
            add = strip(parts[0]).maker
    a, b = map(before_repeating, add.args[:2])
    if type(b) is not Value or a.shape == b.shape or any(is_constant(each) and len(strip(each).shape) < 3 for each in (a, b)):
        return None
    found = Product(node, a, b)
    axes = found.arrange_sum(add.results[0].shape)
    found.summed = axes[-1]
    found.out_layout = found.atoms.regroup(axes[:-1], found.result.shape)
    return found if found.out_layout is not None else None


def with_vector(product, of_heads=False):
    """(the other operand, vector) of a product with a learned vector, or with one for each head, or (None, None)."""
    for value, vector in ((product.a, product.b), (product.b, product.a)):
        one = vector.size == (math.prod(vector.shape[-2:]) if of_heads else max(vector.shape, default=0))
        if one and vector.size > 1 and value.size > vector.size and is_constant(vector):
            return value, vector
    return None, None


def pooling_product(node):
    """Scores by a learned vector: one query for all, of which no activation is made."""
    product = product_of(node)
    value, _ = with_vector(product)
    if value is None or not product.arrange():
        return None
    product.pooled = True
    return product


def outer_sum(node):
    """Additive scores of graphs: a number of each query plus a number of each key, both by learned vectors."""
    a, b = node.args[:2] if node.op == "add" and len(node.args) > 1 else (None, None)
    if type(a) is not Value or type(b) is not Value or node.results[0].size <= max(a.size, b.size):
        return None
    for each in (a, b):
        maker = strip(each).maker
        product = product_of(maker) if maker is not None else None
        if product is None or not is_constant(product.a) and not is_constant(product.b):
            return None
    found = Product(node, a, b)
    found.out_layout, found.summed = found.arrange_sum(node.results[0].shape), []
    return found


def block_attentions(graph, walks):
    """Keys in blocks with a running maximum: products whose powers meet v first and are divided by their common sum last."""
    groups = {}
    for walk in walks:
        for product, power in walk.loose:
            value = power
            while value in walk.powers:
                node, value = walk.came[value]
            after = After(walk, power, walk.layouts[power], free_atoms(walk))
            if after.product is None or after.map is not power:
                continue
            final = final_division(walk, after)
            if final is not None:
                softmax = Softmax(node, walk.before_maximum(value), power, summed_axis(product, power))
                groups.setdefault(final[0], []).append((walk, softmax, after, final))
    found = []
    for division, blocks in groups.items():
        parts = [Builder(graph, walk, softmax, after, ()).build() for walk, softmax, after, _ in blocks]
        found.append(join_blocks(parts, division, blocks))
    return found


def free_atoms(walk):
    """The atoms of a map that only one of both operands has: those of queries and of keys."""
    product, atoms = walk.product, walk.atoms
    a, b = ({atom for axis in layout for atom in atoms.axis(axis)} for layout in (product.a_layout, product.b_layout))
    return [atom for atom in (a ^ b) if atom not in atoms.axis(product.summed)]


def final_division(walk, after):
    """(node, value, layout) of the division of a sum of blocks by the sum of all powers, or None."""
    layouts, found = {after.product.result: after.product.out_layout}, []

    def visit(node):
        known = [value for value in node.inputs() if value in layouts]
        if found or not known or node.kind not in ("elementwise", "view", "permute", "same"):
            return ()
        value = max(known, key=lambda each: each.number)
        result = node.results[0]
        carried = carry(walk.atoms, node, value, layouts[value], result) if layouts[value] is not None else None
        other = other_operand(node, value) if node.op in ("div", "mul") else None
        if type(other) is Value and other in walk.sums and (node.op == "div") == (other not in walk.inverse):
            if result.size == value.size and not (node.op == "mul"and other not in walk.inverse):
                found.append((node, result, carried))
        layouts[result] = carried
        return [result]

    sweep([after.product.result], visit)
    return found[0] if found else None


def join_blocks(parts, division, blocks):
    """One attention of several blocks: keys, values and maps side by side."""
    main = parts[0]
    keep = [stage for stage in main.stages if stage.name not in ("softmax", "weights", "dropped", "context", "concat", "attention_out")]
    for stage in keep:
        if "S" in stage.letters:
            others = [(each, each.stage(stage.name)) for each in parts[1:]]
            if all(other is not None for _, other in others):
                stage.owners = [main] + [each for each, _ in others]
                stage.parts = [stage.parts[0]] + [other.parts[0] for _, other in others] if stage.parts else []
            if len(parts) > 1:
                stage.more.pop("mask", None)
    main.sizes["S"] = sum(part.sizes["S"] for part in parts)
    main.stages = keep
    main.blocks = len(parts)
    main.add("weights", "softmax", "BHTS", node=division, inputs=[keep[-1].name], have="follows", over="S")
    main.last_map = "weights"
    _, value, layout = blocks[0][3]
    behind = Behind(main.atoms, None, {value: layout})
    main.concat, main.out = behind.concat, behind.out
    context_stages(main, division, [(value, layout)], behind)
    return main


class _Fused:
    """Arguments of a fused kernel by name, whatever its order."""
    ORDERS = {
        "_scaled_dot_product_flash_attention_for_cpu": "dropout_p is_causal",
        "_scaled_dot_product_flash_attention": "dropout_p is_causal return_debug_mask",
        "_scaled_dot_product_efficient_attention": "attn_bias compute_log_sumexp dropout_p is_causal",
        "_scaled_dot_product_cudnn_attention": "attn_bias compute_log_sumexp dropout_p is_causal",
        "_scaled_dot_product_fused_attention_overrideable": "attn_bias dropout_p is_causal",
        "scaled_dot_product_attention": "attn_mask dropout_p is_causal",
        "flex_attention": "score_mod block_mask scale enable_gqa",
    }

    def __init__(self, node):
        given = dict(zip(self.ORDERS[node.op].split(), node.args[3:]), **node.kwargs)
        self.mask = next((given[name] for name in ("attn_mask", "attn_bias") if type(given.get(name)) is Value), None)
        self.causal, self.dropout = bool(given.get("is_causal")), given.get("dropout_p") or 0.0
        self.scale, self.bias, self.unknown = given.get("scale"), None, []
        if node.op == "flex_attention":
            self.bias, self.mask = (each if type(each) is Value else None for each in node.args[3:5])
            self.unknown = [name for name, each in zip(("score_mod", "block_mask"), node.args[3:5]) if each == UNKNOWN]


def fused_attention(node):
    """An attention whose scores and weights stay inside a kernel: they follow from q, k, v and the mask."""
    q, k, v = node.args[:3]
    result, atoms, fused = node.results[0], Atoms(), _Fused(node)
    if not all(type(each) is Value and len(each.shape) >= 2 for each in (q, k, v)):
        return None
    attention = Attention(atoms, node)
    lifted = _made_by(q, "unsqueeze", "view") and len(q.maker.args[0].shape) == 3 and q.shape[0] == 1
    split = len(q.shape) > 3 and (not lifted or heads_are_channels(q))
    (t, d), (s, e), heads = q.shape[-2:], v.shape[-2:], q.shape[-3] if split else 1
    T, S, D, E = (atoms.new(size) for size in (t, s, d, e))
    batch = [atoms.new(size) for size in (q.shape[:-3] if split else q.shape[:-2])]
    groups = k.shape[-3] if split else 1
    G, R = atoms.new(groups), atoms.new(heads // max(groups, 1))
    H, attention.repeat = G + R, heads // max(groups, 1)

    def layout_of(value, heads, *last):
        lead = batch + ([heads] if split else [])
        return [axis if size > 1 else [] for axis, size in zip(lead, value.shape[:-2])] + list(last)

    layouts = [layout_of(q, H, T, D), layout_of(k, G, S, D), layout_of(v, G, S, E)]
    out_layout = layout_of(result, H, T, E)
    product = Product(node, q, k)
    product.out_layout, product.result, product.atoms = out_layout, result, atoms
    chains = [Chain(atoms, value, layout) for value, layout in zip((q, k, v), layouts)]
    behind = Behind(atoms, product)
    attention.roles = {"B": [a for axis in batch for a in atoms.axis(axis)], "H": atoms.axis(H), "T": atoms.family(T),
                       "S": atoms.family(S), "D": atoms.family(D), "E": atoms.family(E) - atoms.family(D)}
    of_both = shared_by_both(atoms, chains[1], chains[2], attention.roles["H"])
    attention.repeat *= math.prod(atoms.sizes[a] for a in of_both)
    attention.shared = list(of_both | set(atoms.axis(chains[1].shared + chains[2].shared)) - set(attention.roles["H"])) + atoms.axis(R)
    attention.groups = [atom for atom in attention.roles["H"] if atom not in attention.shared]
    attention.sizes = {"B": math.prod(atoms.sizes[a] for a in attention.roles["B"]), "H": heads, "T": t, "S": s, "D": d, "E": e}
    attention.sizes["G"] = heads // attention.repeat
    attention.q_linear, attention.k_linear, attention.v_linear = (linear_of(chain.value) for chain in chains)
    attention.kind = kind_of(chains[0].value, k, attention.sizes)
    attention.context, attention.concat, attention.out = product, behind.concat, behind.out
    crossing_facts(attention, chains, behind)
    g, wide = "G" if attention.sizes["G"] != attention.sizes["H"] else "H", "E" if e != d else "D"
    for name, chain, letters in zip("qkv", chains, ("BHTD", f"B{g}SD", f"B{g}S{wide}")):
        chain_stages(attention, name, chain, letters)
    if wide == "D":
        attention.roles["D"] = attention.roles["D"] | attention.roles["E"]
    before = math.prod(factor for chain in chains[:2] for _, factor, _, _ in chain.factors)
    follow_stages(attention, node, (fused.scale or 1 / math.sqrt(d or 1)) * before, fused, layout_of(result, H, T, S))
    context_stages(attention, node, [(result, out_layout)], behind)
    if node.op.startswith("_scaled_dot_product") and _empty_rows_are_zero():
        attention.stage("weights").more["empty_is_zero"] = True
    if node.op == "flex_attention":
        for name in fused.unknown:
            attention.unfollowed.append({"what": f"flex_attention: {name}", "do": "give the scores to attnscope.save"})
            weights = attention.stage("weights")
            weights.op, weights.have, weights.more = "given", "no", {"called": name, "reason": f"{name} of flex_attention cannot be followed"}
    return attention


def heads_are_channels(q):
    """Of [1,N,T,D]: were the N parts of one axis with D before? Then they are heads of one text, else texts."""
    atoms = Atoms()
    heads, width = atoms.new(q.shape[1]), atoms.new(q.shape[3])
    chain = Chain(atoms, q, [[], heads, atoms.new(q.shape[2]), width])
    return any(set(axis) & set(atoms.axis(heads)) and set(axis) & set(atoms.axis(width))
               for layout in chain.layouts if layout is not None for axis in atoms.layout(layout))


def _empty_rows_are_zero():
    """Do fused kernels make rows without a key 0? (PyTorch before 2.5: NaN.)"""
    import torch
    return tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2]) >= (2, 5)


def follow_stages(attention, node, scale, fused=None, layout=None):
    """The stages inside a kernel, which follow. `layout`: that of the map."""
    mask, causal, dropout = (fused.mask, fused.causal, fused.dropout) if fused is not None else (None, False, 0.0)
    attention.scale = scale
    attention.add("scores", "product", "BHTS", node=node, inputs=[attention.operands[name] for name in "qk"], have="follows")
    last = attention.add("scaled", "scale", "BHTS", node=node, inputs=["scores"], have="follows", by=scale).name
    if causal:
        last = attention.add("masked", "mask", "BHTS", node=node, inputs=[last], have="follows", causal=True).name
    for added in filter(None, (fused.bias if fused is not None else None, mask if mask is not None and mask.dtype != "bool" else None)):
        last = attention.add(*mask_or_bias(added), "BHTS", node=node, inputs=[last], have="follows", how="add",
                             mask=(added, aligned(layout, added))).name
    if mask is not None and mask.dtype == "bool":
        last = attention.add("masked", "mask", "BHTS", node=node, inputs=[last], have="follows", how="masked_fill", fill=-math.inf,
                             true_means="kept", mask=(mask, aligned(layout, mask))).name
    last = attention.add("weights", "softmax", "BHTS", node=node, inputs=[last], have="follows", over="S").name
    if dropout:
        last = attention.add("dropped", "dropout", "BHTS", node=node, inputs=[last], have="no", rate=dropout,
                             reason="the kernel draws its own random numbers").name
    attention.last_map = last


def layer_attention(node):
    """PyTorch's fast path, where one kernel is a whole attention or encoder layer: what lies between follows from its parameters."""
    whole = node.op == "_transformer_encoder_layer_fwd"
    x, width, heads = node.args[0], node.args[1 if whole else 3], node.args[2 if whole else 4]
    weights = [strip(each).parameter if type(each) is Value else None for each in node.args[3 if whole else 5:][:4]]
    attention, result = Attention(Atoms(), node), node.results[0]
    if len(x.shape) != 3:
        return None
    batch, length = x.shape[:2]
    s = x.shape[1] if whole else node.args[1].shape[1]
    d = width // heads
    atoms = attention.atoms
    B, T, C, S, H = (atoms.new(size) for size in (batch, length, width, s, heads))
    attention.roles = {"B": B, "H": H, "T": set(T), "S": set(S), "D": set(), "E": set()}
    attention.sizes = {"B": batch, "H": heads, "G": heads, "T": length, "S": s, "D": d, "E": d}
    attention.kind = "self" if whole or node.args[0] is node.args[1] else "cross"
    attention.softmax_over = "S"
    attention.q_linear = attention.k_linear = attention.v_linear = (x, [n for n in weights[:2] if n], node)
    sources = [x] * 3 if whole else node.args[:3]
    norm_first = whole and bool(node.args[8])
    for name, source, letters in zip("qkv", sources, ("BHTD", "BHSD", "BHSD")):
        attention.add(name, "linear", letters, node=node, have="follows", parameters=[n for n in weights[:2] if n], inside=True,
                      source=source)
    mask, layout = layer_mask(node, whole, B, H, T, S)
    follow_stages(attention, node, 1 / math.sqrt(d))
    if mask is not None:
        last = attention.stages.pop()
        last.inputs = [attention.add("masked", "mask", "BHTS", node=node, inputs=["scaled"], have="follows", how="fill",
                                     fill=-math.inf, true_means="hidden", mask=(mask, layout)).name]
        attention.stages.append(last)
    if not whole and len(node.results) > 1 and len(node.results[1].shape) == 4:
        stage = attention.stage("weights")
        stage.parts, stage.have = [(node.results[1], [B, H, T, S])], "recorded"
    attention.add("context", "product", "BHTD", node=node, inputs=["weights", "v"], have="follows")
    attention.add("concat", "concat", "BTC", node=node, inputs=["context"], have="follows", layout=[["B"], ["T"], ["H", "D"]])
    out = attention.add("attention_out", "linear", "BTC", node=node, inputs=["concat"], parameters=[n for n in weights[2:] if n],
                        have="follows", inside=True)
    if not whole:
        out.parts, out.have = [(result, [B, T, C])], "recorded"
    else:
        attention.layer_result, attention.layer_source = (result, [B, T, C]), x
        attention.norm_first = norm_first
        attention.layer_parameters = [strip(each).parameter for each in node.args[10:18] if type(each) is Value]
    return attention


def layer_mask(node, whole, B, H, T, S):
    """(mask, layout) that such a kernel got: over queries and keys (kind 0), keys only (1), or everything (2); (None, None) without."""
    mask, kind = node.argument(18 if whole else 9, "mask"), node.argument(19 if whole else 12, "mask_type")
    if type(mask) is not Value and isinstance(node.args[0].buffer, Nested):  # texts of different lengths: keys end with them
        hidden = node.args[0].buffer.behind()
        mask, kind = Value(node.args[0].number, None, hidden.shape, "bool", data=hidden), 1
    if type(mask) is not Value:
        return None, None
    if mask.dtype != "bool" and mask.held():  # the kernel hides where there is anything but 0
        cells = mask.read() & 0x7FFF if mask.dtype == "bfloat16" else mask.read()
        mask = Value(mask.number, None, mask.shape, "bool", data=cells != 0)
    layout = {2: [B, S] if kind == 1 else [T, S], 4: [B, H, T, S]}.get(len(mask.shape))
    return mask, aligned(layout, mask)


def find_attentions(graph, failed=None):
    """All attentions of a graph, in the order of the code. One that cannot be analysed does not take the others away: its operation and
    the error are put into `failed`."""
    graph.link()
    found, walks, by_softmax = [], [], {}

    def attempt(analyse, node, *given):
        try:
            return analyse(*given)
        except Exception as error:
            if failed is None:
                raise
            failed.append((node, error))
            return None

    attempt(pass_by_writes, None, graph)
    attempt(Loops(graph).replace, None)
    for node in graph.nodes:
        if node.kind in ("fused", "layer"):
            found.append(attempt(fused_attention if node.kind == "fused" else layer_attention, node, node))
            continue
        walk = attempt(walk_from, node, node)
        if walk is not None:
            walks.append(walk)
            for softmax in walk.softmaxes:
                by_softmax.setdefault(softmax.node, []).append((walk, softmax))
    found += [attempt(build_from, node, graph, candidates) for node, candidates in by_softmax.items()]
    found += attempt(block_attentions, None, graph, walks) or []
    found = sorted(filter(None, found), key=lambda each: each.node.number)
    begins = {linear[2] for each in found for linear in (each.q_linear, each.k_linear, each.v_linear) if linear}
    for each in found:
        if each.out is not None and each.out[2] in begins:  # the next attention's own map
            each.stages = [stage for stage in each.stages if stage.name != "attention_out"]
    return found


def pass_by_writes(graph):
    """Pieces of a tensor of which a part was written over are pieces of what was written, or of what it was before."""
    for node in list(graph.nodes):
        if node.kind != "cut" or not node.results or type(node.args[0]) is not Value:
            continue
        for index, result in enumerate(node.results):
            base, place, number = node.args[0], piece_of(result), node.number + (index + 1) / 1024  # between this operation and the next
            while _made_by(base, "written") and type(base.maker.args[0]) is Value and place is not None:
                old, part = base.maker.args
                if part.buffer is not None and result.buffer is not None and same_place(result, part):
                    result.maker = Node(number, "alias", [part], {}, node.where, node.call)
                    break
                if not apart(result, part):
                    break
                base = old
                _, axis, first = place
                dropped = len(result.shape) < len(base.shape)
                given = [base, axis, first] if dropped else [base, axis, first, first + result.shape[axis]]
                result.maker = Node(number, "select" if dropped else "slice", given, {}, node.where, node.call)
        changed = [result for result in node.results if result.maker is not node]
        if changed:
            for result in changed:
                result.maker.results = [result]
            node.results = [result for result in node.results if result.maker is node]
            place = graph.nodes.index(node)
            graph.nodes[place:place + 1] = [node] * bool(node.results) + [result.maker for result in changed]
            graph.replaced += [] if node.results else [node]
    graph.link()


def same_place(one, other):
    return (one.offset, one.shape, one.strides) == (other.offset, other.shape, other.strides)


def walk_from(node):
    """The walk from a node, if it is a product that may be the scores of an attention."""
    product = product_of(node)
    if product is None:
        product = outer_sum(node)
        return Walk(product) if product is not None else None
    try:
        learned = additive_product(node) or pooling_product(node)
        if learned is not None:
            return Walk(learned)
        if is_parameter(product.a) or is_parameter(product.b):
            return walk_of_learned_queries(product) if goes_into_softmax(product.result) else None
        if product.a.size == product.b.size == 1:
            return None
        return Walk(product) if product.arrange() else None
    except ValueError:  # shapes that do not go together, in a graph that was written by hand
        return None


def goes_into_softmax(value, steps=6):
    """Is a softmax the next that happens to a value, but for views, factors and masks?"""
    def leads_on(user):
        if user.op in ("mul", "div", "add", "sub"):
            return all(each is value or each.size == 1 or is_constant(each) for each in user.inputs())
        return user.kind in ("view", "permute", "same") or user.op in ("masked_fill", "where")

    return steps > 0 and any(user.kind == "softmax" or leads_on(user) and goes_into_softmax(user.results[0], steps - 1)
                             for user in value.users or ())


def walk_of_learned_queries(product):
    """The walk from a product with a learned matrix whose rows are queries; None if the softmax runs over these rows, as it does over
    experts or words."""
    learned, other = (product.a, product.b) if is_parameter(product.a) else (product.b, product.a)
    if is_parameter(other) or product.node.kind != "product" or 1 in learned.shape[-2:] or not product.arrange():
        return None
    atoms, layouts = product.atoms, [product.a_layout, product.b_layout]
    mine, theirs = ({atom for axis in layout for atom in axis} for layout in (layouts if learned is product.a else layouts[::-1]))
    rows = mine - theirs
    walk, product.learned = Walk(product), True
    walk.softmaxes = [each for each in walk.softmaxes if walk.layouts.get(each.source) is not None and not (
        rows & set(atoms.axis(walk.layouts[each.source][each.axis])))]
    return walk if walk.softmaxes else None


def build_from(graph, candidates):
    """The attention of one softmax, from all products that lead to it; None if nothing follows."""
    straight = [(walk, softmax) for walk, softmax in candidates if softmax.source not in walk.bent]
    builders = []
    for walk, softmax in straight:
        layout = walk.layouts.get(softmax.source)
        if layout is None or softmax.result.shape != softmax.source.shape and len(softmax.result.shape) != len(layout):
            continue
        after = After(walk, softmax.result, layout, free_atoms(walk))
        if after.product is not None:
            builders.append(Builder(graph, walk, softmax, after, [other for other, _ in candidates if other is not walk]))
    if not builders:
        return None
    # Further terms of the scores may be products with a learned vector, or with positions, in which batches and heads are the rows.
    builder = min(builders, key=lambda each: (each.product.pooled, each.has_rows_in_values()))
    attention = builder.build()
    # Of a single query, a softmax over something else than keys, but not over all texts, is a routing between what the keys belong to.
    over = set(attention.atoms.axis(builder.walk.layouts[builder.softmax.source][builder.softmax.axis]))
    over_texts = attention.softmax_over == "B" and over == set(attention.atoms.axis(attention.roles["B"]))
    return attention if attention.sizes["T"] > 1 or attention.softmax_over in ("S", "1") or over_texts else None


# ---------------------------------------------------------------------------------------------------------------------------------------
# Analysis 6: what stands around the attentions, and their names
# ---------------------------------------------------------------------------------------------------------------------------------------

class Names:
    """Paths of modules, and names of parameters, of the modules that ran."""

    def __init__(self):
        self.modules, self.parameters, self.classes, self.owners = {}, {}, {}, {}  # id -> path; name -> tensor; path -> class, id
        self.layers = {}

    def path(self, call):
        return self.modules.get(id(call.module), "") if call is not None else ""

    def layer_of(self, path):
        """The outermost module on a path that has siblings of its class, and its number; ("", -1) if there is none."""
        if path not in self.layers:
            self.layers[path] = self.find_layer(path.split(".") if path else [])
        return self.layers[path]

    def find_layer(self, parts):
        for length in range(1, len(parts) + 1):
            here, parent = ".".join(parts[:length]), ".".join(parts[:length - 1])
            if parts[length - 1].isdigit():
                return here, int(parts[length - 1])
            mine = self.classes.get(here)
            siblings = [each for each, kind in self.classes.items() if kind == mine and each.rpartition(".")[0] == parent]
            if mine is not None and len(siblings) > 1 and mine not in ("Linear", "LayerNorm", "Dropout", "Embedding"):
                return here, siblings.index(here)
        return "", -1


def clean(name):
    """A name as the file may have it."""
    name = re.sub(r"[^\w.#<>:+-]", "_", name).replace("..", "_").strip("/") or "attention"
    return name[:200]


def name_attentions(attentions, names):
    """Gives names (module path, or function and line), calls and layers."""
    seen, calls, in_call = set(), {}, {}
    for attention in attentions:
        path, call = names.path(attention.call), attention.call
        if call is not None and not path:
            path = type(call.module).__name__
        if not path and attention.q_linear is not None and attention.q_linear[1]:
            path = attention.q_linear[1][0].rpartition(".")[0].rpartition(".")[0]
        where = Place(attention.node.where)
        name = clean(path or where.function or where.line or "attention")
        attention.layer_name, attention.layer = names.layer_of(path)
        number = call.number if call is not None else None
        if number is None:
            number = calls[name] = calls.get(name, 0) + 1
        calls[name] = max(calls.get(name, 0), number)
        index = in_call[name, number] = in_call.get((name, number), -1) + 1
        unique = name + (f"#{number}" if number > 1 else "") + (f".{index}" if index else "")
        while unique in seen:
            unique += "+"
        seen.add(unique)
        attention.base, attention.name, attention.number = name, unique, number
    for attention in attentions:
        attention.calls = calls[attention.base]


class Place:
    """A line of the source."""

    def __init__(self, where):
        self.file = self.function = self.line = None
        self.row, self.of_library = 0, False
        if where is None:
            return
        if isinstance(where, str):
            self.line = where
            return
        code, instruction, self.of_library = where
        self.file, self.row = code.co_filename, _row(code, instruction)
        self.function = None if code.co_name in ("<module>", "<lambda>") or code.co_name.startswith("<") else code.co_name
        self.line = f"{short_file(self.file)}:{self.row}"


_rows = {}


def _row(code, instruction):
    """The line of an instruction."""
    key = (code, instruction)
    if key not in _rows:
        if hasattr(code, "co_lines"):
            rows = [row for start, end, row in code.co_lines() if start <= instruction < end and row is not None]
        else:
            import dis
            rows = [row for start, row in dis.findlinestarts(code) if start <= instruction][-1:]
        _rows[key] = rows[0] if rows else code.co_firstlineno
    return _rows[key]


def short_file(name):
    """A file's name without its folder; a notebook's cell is called so."""
    if "ipykernel" in name or name.startswith("<ipython"):
        return "cell " + (re.findall(r"\d+", name) or ["?"])[-1]
    return os.path.basename(name)


class Around:
    """Linear maps, norms, residual additions, feed-forward, embeddings, logits and loss of the layers that hold the attentions."""

    def __init__(self, graph, attentions, names):
        self.graph, self.attentions, self.names = graph, attentions, names
        self.entries, self.by_name, self.named, self.counts = [], {}, {}, {}
        for attention in attentions:
            for stage in attention.stages:
                for value, _ in stage.parts:
                    self.named.setdefault(value, (attention, stage))
        self.inside = {value for value in self.named}

    def find(self):
        """The entries, in the order of the code."""
        for node in self.graph.nodes:
            self.visit(node)
        self.last_linear_is_logits()
        self.name_beginnings()
        return self.entries

    def name_beginnings(self):
        """What the first sum or norm of a stream reads, such as patches of an image, although no table or linear map made it."""
        for entry in [each for each in self.entries if each["op"] in ("add", "norm")]:
            for value in entry["inputs"]:
                made_here = value.maker is not None and value.shape == entry["value"].shape and value.held()
                if made_here and self.name_of(value) is None and value.maker.kind in ("elementwise", "join"):
                    self.entry("embedding", "given", value.maker, value, called=value.maker.op)
        self.entries.sort(key=lambda each: each["node"].number)

    def visit(self, node):
        if not node.results or node.results[0] in self.inside:
            return
        result = node.results[0]
        if node.kind == "embedding":
            self.entry(self.embedding_name(node, result), "embedding", node, result, parameters=self.parameters(node))
        elif node.kind == "norm" or is_rms(node):
            self.entry("norm", "norm", node, result, inputs=[norm_input(node)], parameters=norm_parameters(node),
                       eps=norm_eps(node))
        elif node.kind in ("product", "conv") and linear_of(result) is not None and linear_of(result)[2] is node:
            self.linear(node, result)
        elif node.op == "mul" and self.gate_of(node) is not None:
            gate, hidden, called = self.gate_of(node)
            self.entry("ffn_activation", "activation", node, result, inputs=[gate, hidden], called=called, gated=True)
        elif node.op in ACTIVATION and self.behind_linear(node.args[0]) and not self.gates(result) and not any(
                self.written_out(user) for user in result.users or ()):
            self.entry("ffn_activation", "activation", node, result, inputs=[node.args[0]], called=node.op)
        elif self.written_out(node) is not None:
            bent, called = self.written_out(node)
            self.entry("ffn_activation", "activation", node, result, inputs=[bent], called=called)
        elif node.op == "add" and all(type(each) is Value for each in node.args[:2]):
            self.addition(node, result)
        elif node.op == "mul" and self.embedded(result) is not None:
            self.entry("scaled_embedding", "scale", node, result, inputs=[self.embedded(result)], by=factor_of(node, node.args[0]))
        elif node.op in ("nll_loss_forward", "mse_loss", "binary_cross_entropy_with_logits", "nll_loss2d_forward"):
            self.entry("loss", "given", node, result, inputs=node.inputs()[:1], called=node.op)

    def embedding_name(self, node, result):
        if not any(user.op == "add" for user in result.users or ()):
            return "embedding"
        table = "".join(name for name in self.parameters(node) if name).lower()
        if "type" in table or "segment" in table:
            return "type_embedding"
        first = "token_embedding" + self.layer(node)[1] not in self.counts
        return "token_embedding" if first and "pos" not in table else "position_embedding"

    def layer(self, node):
        """(the layer that an operation belongs to, "#2" for its second call), or ("", that of the outermost module)."""
        number, outermost = 1, 1
        layer = ""
        for call in node.call.chain() if node.call is not None else ():
            path = self.names.path(call)
            outermost = call.number
            if not layer:
                layer, _ = self.names.layer_of(path)
            if layer and path == layer:
                number = call.number
        number = number if layer else outermost
        return layer, f"#{number}" if number > 1 else ""

    def entry(self, name, op, node, result, inputs=(), parameters=(), **more):
        layer, call = self.layer(node)
        prefix, suffix = (layer + call + "/", "") if layer else ("", call)
        if name == "norm":
            name = self.norm_name(layer, prefix, suffix)
        if name.startswith("residual"):
            self.counts["residuals" + ("" if layer else suffix)] = 1
        count = self.counts[prefix + name + suffix] = self.counts.get(prefix + name + suffix, -1) + 1
        full = prefix + name + suffix + (f".{count}" if count else "")
        self.entries.append({"name": full, "op": op, "node": node, "value": result, "inputs": list(inputs),
                             "parameters": [each for each in parameters if each], **more})
        self.named[result], self.by_name[full] = (None, full), self.entries[-1]
        return full

    def norm_name(self, layer, prefix, suffix):
        if not layer and self.counts.get("residuals"):
            return "final_norm"
        return next((name for name in ("norm_1", "norm_2") if prefix + name + suffix not in self.counts), "norm")

    def parameters(self, node):
        return [strip(each).parameter for each in node.inputs()]

    def linear(self, node, result):
        source, parameters, _ = linear_of(result)
        users = [user for user in result.users or () if user.op == "add"]
        for user in users:  # the bias, where it is an operation of its own
            other = other_operand(user, result)
            if type(other) is Value and is_parameter(other):
                parameters, result = parameters + [strip(other).parameter], user.results[0]
        if result in self.inside:
            return
        view = next((user for user in result.users or () if user.kind == "view"), None) if is_rows(result) else None
        if view is not None:
            result = view.results[0]
        if result in self.inside:
            return
        if not parameters and self.name_of(source) is None:
            return
        gate = any(user.op in ACTIVATION and self.gates(user.results[0]) for user in result.users or ())
        name = "ffn_out" if self.behind_activation(source) else "ffn_gate" if gate else "ffn_hidden" if self.before_activation(
            result) else "linear"
        self.entry(name, "linear", node, result, inputs=[source], parameters=parameters)

    def gates(self, value):
        """Is this activation one factor of a gate?"""
        return any(user.op == "mul" and self.gate_of(user) is not None for user in value.users or ())

    def gate_of(self, node):
        """(gate, hidden, activation) of a product of two linear maps of one input, of which one went through an activation."""
        if not all(type(each) is Value for each in node.args[:2]):
            return None
        for one, other in (node.args[:2], node.args[1::-1]):
            if _made_by(one, *ACTIVATION):
                gate, hidden = linear_of(one.maker.args[0]), linear_of(other)
                if gate and hidden and strip(one.maker.args[0]) is not strip(other) and strip(gate[0]) is strip(hidden[0]):
                    return one.maker.args[0], other, one.maker.op
        return None

    def written_out(self, node):
        """(x, name) of an activation of a linear map that is written out: x/2 * (1 + tanh(...)) or erf, and x * sigmoid(...)."""
        if node.op != "mul" or not all(type(each) is Value for each in node.args[:2]):
            return None
        for x, factor in (node.args[:2], node.args[1::-1]):
            called = "silu" if _made_by(factor, "sigmoid") else None
            if _made_by(factor, "add") and _made_by(factor.maker.args[0], "tanh", "erf") and _made_by(x, "mul") and factor_of(
                    x.maker, x.maker.args[0]) == 0.5:
                x, called = x.maker.args[0], "gelu"
            if called and self.behind_linear(x) and bends_only(factor, x):
                return x, called
        return None

    def behind_linear(self, value):
        return type(value) is Value and linear_of(value) is not None

    def behind_activation(self, value):
        """Does an activation, perhaps with a gate, lead here through views and dropout?"""
        for _ in range(8):
            if value.maker is None:
                return False
            if value.maker.op in ACTIVATION or self.written_out(value.maker) is not None or value.maker.op == "mul" and any(
                    _made_by(strip(each), *ACTIVATION) for each in value.maker.inputs()):
                return True
            value = passed(value)
            if value is None:
                return False
        return False

    def before_activation(self, value):
        for _ in range(3):
            users = value.users or ()
            if any(user.op in ACTIVATION or user.op == "mul" for user in users):
                return True
            value = next((user.results[0] for user in users if user.kind in ("view", "same", "cut")), None)
            if value is None:
                return False
        return False

    def addition(self, node, result):
        """A residual: one operand is an ancestor of the other."""
        a, b = node.args[:2]
        rows = next((each for each in (a, b) if self.embedded(each) is not None), None)
        other = b if rows is a else a
        if rows is not None and (a.shape != b.shape or comes_from_outside(other) or self.embedded(other) is not None):
            if comes_from_outside(other):
                self.entry("position_embedding", "given", node, other, parameters=[strip(other, OUTSIDE).parameter])
            self.entry("embedding", "add", node, result, inputs=[a, b])
            return
        if a.shape != b.shape or is_parameter(a) or is_parameter(b):
            return
        early, late = (a, b) if a.number < b.number else (b, a)
        if descends(late, early) and not bends_only(late, early):
            added = self.named.get(self.nearest(late))
            if added is not None and added[0] is None:  # a norm may stand between
                norm = self.by_name.get(added[1])
                added = self.named.get(self.nearest(norm["inputs"][0])) if norm is not None and norm["op"] == "norm" else added
            number = 1 if added is not None and added[0] is not None else 2
            self.entry(f"residual_{number}", "add", node, result, inputs=[a, b])

    def embedded(self, value):
        """The embedding that a value is, or is a multiple of."""
        value = strip(value)
        if _made_by(value, "mul") and type(value.maker.args[0]) is Value and factor_of(value.maker, value.maker.args[0]) is not None:
            value = strip(value.maker.args[0])
        return value if _made_by(value, "embedding") else None

    def last_linear_is_logits(self):
        """The last linear map gives logits if its width is that of an embedding, or if its result enters a loss."""
        by_call = {self.layer(entry["node"])[1]: entry for entry in self.entries if entry["op"] == "linear" and "/" not in entry["name"]}
        for call, entry in by_call.items():
            self.make_logits(call, entry)

    def make_logits(self, call, last):
        widths = {entry["node"].args[0].shape[0] for entry in self.entries if entry["op"] == "embedding"}
        value = last["value"]
        losses = any(descends(entry["value"], value) for entry in self.entries if entry["name"].startswith("loss"))
        if value.shape and value.shape[-1] in widths or losses:
            last["name"] = "logits" + call
            self.named[value] = (None, last["name"])
            changed = next((user for user in value.users or () if user.kind == "elementwise" and user.call is not None), None)
            if changed is not None:
                self.entry("changed_logits", "given", changed, changed.results[0], inputs=[value], called=changed.op)

    def nearest(self, value):
        """The stage that a value is, seen through views, copies and dropout; None if it is none."""
        for _ in range(12):
            if value is None or value in self.named:
                return value
            value = passed(value)
        return None

    def name_of(self, value, attention=None):
        """The name of that stage."""
        owner, stage = self.named.get(self.nearest(value), (None, None))
        if owner is None:
            return stage
        return stage.name if owner is attention else f"{owner.name}/{stage.name}"


def passed(value):
    """What a view, a copy or a dropout was made of; None for the result of another operation."""
    node = value.maker
    if node is None or not node.args or type(node.args[0]) is not Value:
        return None
    if node.kind in ("view", "permute", "same", "cut") or is_dropout(node, node.args[0]):
        return node.args[0]
    return None


def bends_only(late, early, depth=8):
    """Is each number of one value made of the same number of another, and of nothing else?"""
    late = strip(late)
    if late is strip(early):
        return True
    inputs = late.maker.inputs() if late.maker is not None and late.maker.kind == "elementwise" else []
    return depth > 0 and bool(inputs) and all(bends_only(each, early, depth - 1) for each in inputs)


def descends(late, early, stop=None, limit=300):
    """Is one value made of another?"""
    todo, seen = [late], set()
    while todo and limit:
        limit -= 1
        value = todo.pop()
        if value is early:
            return True
        if value is stop or value.maker is None or value.number in seen or value.number < early.number:
            continue
        seen.add(value.number)
        todo += value.maker.inputs()
    return False


def group_attentions(attentions):
    """Attentions whose contexts meet in one `cat`: heads in a list, or chunks of queries."""
    groups = {}
    for attention in attentions:
        if attention.context is None:
            continue
        value = attention.context.result if attention.stage("context") is None else attention.stage("context").parts[0][0]
        for _ in range(6):
            users = value.users or []
            user = next((each for each in users if each.op in ("cat", "stack")), None)
            if user is not None:
                groups.setdefault(user, []).append(attention)
                break
            value = next((each.results[0] for each in users if each.kind in ("view", "permute", "same")), None)
            if value is None:
                break
    for index, (node, members) in enumerate(groups.items()):
        if len(members) > 1:
            along = node.argument(1, "dim", 0) % len(node.results[0].shape)
            letters = members[0].letters_of(_context_axis(members[0], node, along))
            of_one_query = all(member.sizes["T"] == 1 for member in members)
            grows = len({member.sizes["S"] for member in members}) > 1
            by = "T" if letters == ["T"] or of_one_query and (grows or node.op == "cat" and not {*letters} & {"D", "E"}) else "H"
            for member in members:
                member.group, member.group_by = f"group {index + 1}", by
            maps = [linear for member in members for linear in (member.q_linear, member.k_linear)]
            if by == "H" and None not in maps and len({linear[2] for linear in maps[::2]}) == len(members) and all(
                    len({(strip(linear[0]), *linear[1]) for linear in own}) == 1 and own[0][1] for own in (maps[::2], maps[1::2])):
                members[0].facts.append({"what": "same_heads"})


def _context_axis(attention, node, along):
    """The axis of the context that a `cat` joins."""
    value, layout = attention.stage("context").parts[0]
    if layout is None:
        return []
    for _ in range(6):
        if value in node.inputs():
            return layout[along] if node.op == "cat" else []
        user = next((each for each in value.users if each.kind in ("view", "permute", "same")), None)
        if user is None:
            return []
        layout = carry(attention.atoms, user, value, layout, user.results[0])
        if layout is None:
            return []
        value = user.results[0]
    return []


# ---------------------------------------------------------------------------------------------------------------------------------------
# Analysis 7: mistakes that only the code shows
# ---------------------------------------------------------------------------------------------------------------------------------------

def nodes_by_call(graph):
    """The operations that ran in each call of a module."""
    found = {}
    for node in graph.nodes:
        for call in node.call.chain() if node.call is not None else ():
            found.setdefault(call, []).append(node)
    return found


def position_facts(attention, chain):
    """Positions that differ from head to head or from text to text, but not from query to query. `chain`: of q."""
    atoms = attention.atoms.copy()  # what is before q may split axes that the stages know as one
    _, value, layout = chain.steps[-1]
    added = added_positions(atoms, *before_linear(atoms, value, layout))
    queries, heads, texts = (set(atoms.axis(attention.roles[letter])) for letter in "THB")
    if not queries:
        return
    turned, added = ([{atom for axis in atoms.layout(layout) for atom in axis} for layout in layouts if layout is not None]
                     for layouts in (chain.angles, added))
    if any(each & (heads | texts) for each in turned) and not any(each & queries for each in turned):
        attention.facts.append({"what": "rotated_by", "name": "head" if any(each & heads for each in turned) else "text"})
    if texts and any(texts <= each for each in added) and not any(each & queries for each in added):
        attention.facts.append({"what": "positions_of_texts"})


def before_linear(atoms, value, layout):
    """(input, its layout) of the linear map that made a value; the layout is None if it is not known."""
    linear = linear_of(value)
    if linear is None or linear[2].kind != "product":
        return value, None
    while value is not linear[2].results[0] and layout is not None:
        source = next(each for each in value.maker.inputs() if not is_constant(each))
        layout = carry_back(atoms, value.maker, value, layout, source)
        value = source
    given = linear[0]
    if layout is None or len(layout) != len(given.shape):
        return given, None
    return given, layout[:-1] + [atoms.new(given.shape[-1])]


def added_positions(atoms, value, layout, limit=40):
    """The layouts of parameters, constants and looked up numbers 0, 1, 2, … that are added on the way to a value."""
    found, todo = [], [(value, layout)]
    while todo and limit:
        limit -= 1
        value, layout = todo.pop()
        node = value.maker
        if node is None or layout is None:
            continue
        if node.kind in ("view", "permute", "same", "norm"):
            source = node.inputs()[0]
            todo.append((source, layout if node.kind == "norm" else carry_back(atoms, node, value, layout, source)))
        elif node.kind == "elementwise":
            for each in node.inputs():
                if node.op == "add" and are_positions(each):
                    found.append(aligned(layout, each))
                elif each.shape == value.shape:
                    todo.append((each, layout))
    return found


def are_positions(value):
    """A parameter or constant, or rows of a table in order."""
    base = strip(value, OUTSIDE)
    if _made_by(base, "embedding"):
        return _made_by(strip(base.maker.args[1], OUTSIDE), "arange")
    return base.parameter is not None or len(base.shape) > 1 and base.maker is not None and is_constant(value)


def operand_facts(attention):
    """Cross-attention whose operands come from the wrong side, where both sides have the same length."""
    linears = attention.q_linear, attention.k_linear, attention.v_linear
    if attention.kind != "cross" or None in linears:
        return
    q, k, v = (before_norms(linear[0]) for linear in linears)
    if len(q.shape) != len(k.shape):  # weights that are computed
        return
    if v is q and v is not k:
        attention.facts.append({"what": "values_of_queries"})
    partner = added_to(attention.out[0] if attention.out is not None else attention.context.result)
    if partner is not None and k is v is not q and before_norms(partner) is k:
        attention.facts.append({"what": "added_to_memory"})


def before_norms(value):
    value = strip(value)
    while value.maker is not None and value.maker.kind == "norm":
        value = strip(value.maker.args[0])
    return value


def added_to(value, steps=12):
    """The other operand of the addition that a value goes into, through views and dropout; None if it goes elsewhere."""
    for _ in range(steps):
        users = value.users or ()
        adds = [user for user in users if user.op == "add" and type(other_operand(user, value)) is Value]
        if adds:
            return other_operand(adds[0], value)
        value = next((user.results[0] for user in users if user.results and passed(user.results[0]) is value), None)
        if value is None:
            return None
    return None


def unadded(entries, names):
    """Layers of a stack in which something is added to the attention's result, but nothing to that of the feed-forward network."""
    by_name = {entry["name"]: entry for entry in entries}
    found = []
    for name, entry in by_name.items():
        layer, _, own = name.rpartition("/")
        if layer and own == "ffn_out" and layer + "/residual_1" in by_name and layer + "/residual_2" not in by_name:
            own = entry["node"].call.chain()
            call = next((each for each in own if names.path(each) == layer.partition("#")[0]), None)
            first = by_name[layer + "/residual_1"]
            if first["node"].number < entry["node"].number and first["value"].shape[-1] == entry["value"].shape[-1] and not is_added(
                    entry["value"], call):
                found.append(layer)
    return found


def is_added(value, call):
    """Does a value go into a sum with something else than constants, before a call ends or anything but norms and factors changes it?"""
    def visit(node):
        if node.call is None or call not in node.call.chain():
            return ()
        if node.kind in ("view", "permute", "same", "cut", "norm") or node.kind == "elementwise" and node.op not in ("add", "sub"):
            return node.results
        others = [each for each in node.inputs() if not is_constant(each)]
        if node.op in ("add", "sub") and len(others) < 2:
            return node.results
        if node.kind in ("elementwise", "join", "sum", "placed"):
            added.append(node)
        return ()

    added = []
    sweep([value], visit, 60)
    return bool(added)


def left_on(graph):
    """Lines at which dropout changes what is no attention, although the module is in evaluation."""
    found = {}
    for node in graph.nodes:
        if node.call is None or node.call.training or not node.inputs() or not is_dropout(node, node.inputs()[0]):
            continue
        place = Place(node.where)
        rate = dropout_rate(node)
        if rate and not place.of_library and "training=True" not in linecache.getline(place.file, place.row):
            found.setdefault(place.line, node)
    return found


_CHANGING = frozenset("masked_fill where transpose permute view reshape unsqueeze squeeze softmax dropout layer_norm add sub mul div tril "
                      "triu relu gelu repeat_interleave expand normalize matmul flatten contiguous swapaxes".split())
_statements = {}


def thrown_away(graph, calls):
    """Facts of operations and calls of modules in functions of the user whose results reach nothing, because the statement does not keep
    them, or gives them a name that is never read. `calls`: the operations of each call."""
    found, texts = {}, {}
    for node in graph.nodes:
        if not node.results or not node.inputs() or any(value.users for value in node.results):
            continue
        places = [(node.where, None)] if any(user.number > node.number for user in node.inputs()[0].users) else []
        for call in node.call.chain() if node.call is not None else ():
            if calls[call][-1] is node and call.outer is not None and not leaves_something(call, calls[call]):
                places.insert(0, (call.site or node.where, call))
        for where, call in places:
            key = where, call.module if call is not None else None
            if key not in texts:
                texts[key] = statement_without_use(Place(where), call)
            if texts[key] is not None:
                found[node] = {"what": "thrown_away", "name": texts[key], "are": node.op, "line": Place(where).line}
                break
    return found


def leaves_something(call, nodes):
    """Does something outside of a call use what was made in it, or may its module keep something?"""
    if any(True for _ in call.module.buffers()) or any(each._forward_hooks for each in call.module.modules()):
        return True
    mine = set(nodes)
    return any(user not in mine for node in nodes for value in node.results for user in value.users or ())


def statement_without_use(place, call):
    """The source of a call or a calculation whose result is not kept, or never read; None if it is."""
    if place.function is None or place.of_library:
        return None
    for statement, parts in statements_of(place.file):
        if statement.lineno <= place.row <= statement.end_lineno:
            names = {each.id for each in getattr(statement, "targets", ())}
            if names & names_read(parts, statement) and not is_overwritten(parts, statement):
                continue
            function = getattr(statement.value, "func", None)
            name = function.attr if type(function) is ast.Attribute else getattr(function, "id", "")
            own = getattr(call.outer.module, name, None) is call.module if call is not None else name in _CHANGING or function is None
            return ast.unparse(statement)[:80] if own else None
    return None


def statements_of(file):
    """The statements of a file's functions that are a call or a calculation, or give such a thing a name; each with all that its
    function is made of."""
    if file not in _statements:
        try:
            tree = ast.parse("".join(linecache.getlines(file)))
        except (SyntaxError, ValueError, RecursionError):
            tree = ast.Module([], [])
        found = {}
        for function in ast.walk(tree):
            if type(function) is not ast.FunctionDef:
                continue
            parts = list(ast.walk(function))
            for each in parts:
                target = each.targets[0] if type(each) is ast.Assign and len(each.targets) == 1 else None
                named = type(target) is ast.Name and not target.id.startswith("_")
                if (named or type(each) is ast.Expr) and type(each.value) in (ast.Call, ast.BinOp):
                    found.setdefault(each, (each, parts))  # of nested functions the outer one, which may read it as well
        _statements[file] = list(found.values())
    return _statements[file]


def is_overwritten(parts, statement):
    """Does a later statement of the same block give the name another value before anything reads it?"""
    name = statement.targets[0].id
    blocks = [block for part in parts for block in (getattr(part, "body", None), getattr(part, "orelse", None)) if type(block) is list]
    for block in blocks:
        if statement in block:
            for later in block[block.index(statement) + 1:]:
                uses = [each for each in ast.walk(later) if type(each) is ast.Name and each.id == name]
                if uses:
                    return type(later) is ast.Assign and all(type(each.ctx) is ast.Store for each in uses)
    return False


def names_read(parts, statement):
    """The names that a function reads, but for those that it reads in branches that exclude the one with the statement."""
    excluded = set()
    for branch in parts:
        if type(branch) is ast.If:
            halves = [[each for part in half for each in ast.walk(part)] for half in (branch.body, branch.orelse)]
            for mine, other in (halves, halves[::-1]):
                if statement in mine:
                    excluded.update(other)
    return {each.id for each in parts if type(each) is ast.Name and type(each.ctx) is ast.Load and each not in excluded}


def no_residual(attention, nodes, unused, names):
    """The call of a block with an attention and more whose result gets nothing of its input but through the attention, or None."""
    if attention.context is None or attention.call is None:
        return None
    own = {linear[2] for linear in (attention.q_linear, attention.k_linear, attention.v_linear) if linear}
    context = attention.context.result
    for call in attention.call.chain():
        path = names.path(call)
        maps = [node for node in nodes[call] if node.kind == "product" and node not in own and any(map(is_parameter, node.inputs()))]
        behind = (node.number for node in maps if node.number > attention.node.number and descends(node.results[0], context))
        end = attention.out[2].number if attention.out is not None else next(behind, attention.node.number)
        more = any(node.number > end for node in maps)
        norms = any(name.startswith(path + ".") and re.search(r"norm|\bln", name) for name in unused)
        if (more or norms) and is_added_back(attention):
            return None
        if more or norms:
            # An attention with a norm of its own that is not used may still have the sum around it.
            calls = [call] if more or call.outer is None else [call, call.outer]
            return call if all(_only_through(context, nodes[each]) for each in calls) else None
    return None


def is_added_back(attention):
    """Does what the context becomes go into a sum with something that the queries are made of?"""
    sources = attention.sources or (None, None)
    learned = sources[0] is not None and is_parameter(sources[0])  # queries without an input
    linear = attention.k_linear if learned else attention.q_linear
    found, given = [], linear[0] if linear else sources[int(learned)]
    if given is None:
        return False

    def visit(node):
        if node.op == "add":
            others = [each for each in node.inputs() if not is_parameter(each) and not descends(each, attention.context.result)]
            found.extend(each for each in others if strip(each) is strip(given) or descends(given, strip(each)))
        return () if found else node.results

    sweep([attention.context.result], visit, 120)
    return bool(found)


def _only_through(context, nodes):
    """Does everything that goes from the first input of some operations to their last result of that shape pass the context?"""
    inside = {value for node in nodes for value in node.results}
    first = next((value for node in nodes for value in node.inputs() if value not in inside and not is_parameter(value)
                  and value.dtype.startswith(("float", "bfloat"))), None)
    if first is None:
        return False
    # A view that an earlier call took of the input is not taken again: what it is a view of counts, too.
    starts = [first]
    while starts[-1].maker is not None and starts[-1].maker.kind in ("view", "permute"):
        starts.append(starts[-1].maker.args[0])
    shapes = {start.shape for start in starts}
    last = [value for node in nodes for value in node.results if value.shape in shapes]
    return bool(last) and descends(last[-1], first) and not any(descends(last[-1], start, context) for start in starts)


def graph_facts(graph, attentions):
    """What only the graph as a whole shows: weights that reach nothing, and targets that are the inputs."""
    facts, found = [], {attention.softmax for attention in attentions if attention.softmax is not None}
    inside = {stage.node for attention in attentions for stage in attention.stages}
    for walk in filter(None, map(walk_from, graph.nodes)):
        facts += [{"what": "weights_unused", "line": Place(softmax.node.where).line} for softmax in walk.softmaxes
                  if softmax.node not in found and softmax.node.kind != "log_softmax" and not softmax.result.users]
    tables = [node for node in graph.nodes if node.kind == "embedding" and len(node.args) > 1 and type(node.args[1]) is Value]
    facts += table_facts(tables)
    for node in graph.nodes:
        targets = targets_of(node)
        ids = ids_behind(node.args[0] if node.op != "scatter" else None, tables) if targets is not None else None
        if ids is not None and targets is not None and ids.held() and targets.held():
            facts += compare_targets(ids.read(), targets.read(), Place(node.where).line)
        if node.op == "nll_loss2d_forward":
            maker = strip(node.args[0]).maker
            if maker is not None and maker.kind == "log_softmax" and reshaped_instead(maker.args[0]) is not None:
                facts.append({"what": "logits_reshaped", "line": Place(maker.where).line})
        if node.kind == "log_softmax" and _made_by(strip(node.args[0]), "_softmax", "softmax") and any(
                user.op.startswith("nll_loss") for user in after_views(node.results[0])):
            facts.append({"what": "softmax_before_loss", "line": Place(node.where).line})
    facts += [{"what": "dropout_left_on", "line": line, "name": f"{dropout_rate(node):g}"} for line, node in left_on(graph).items()
              if node not in inside]
    return facts


def ids_behind(value, tables):
    """The ids that a value was looked up by; of several texts those that lead to it."""
    if value is not None and len({strip(table.args[1]) for table in tables}) > 1:
        tables = [table for table in tables if descends(value, table.results[0], limit=4000)]
    return tables[0].args[1] if tables else None


def table_facts(tables):
    """A table of positions that is looked up by the ids of words, or at one place for all positions."""
    found = []
    for node in tables:
        name, ids = strip(node.args[0]).parameter or "", node.args[1]
        if "pos" not in name.rpartition(".")[0].lower().rpartition(".")[2] and not name.lower().startswith("pos"):
            continue
        line = Place(node.where).line
        if any(other is not node and strip(other.args[1]) is strip(ids) and strip(other.args[0]).parameter != name for other in tables):
            found.append({"what": "positions_of_words", "name": name, "line": line})
        sums = [user for user in after_views(node.results[0]) if user.op == "add" and user.results[0].shape[-2:-1] > (1,)]
        if sums and ids.held() and ids.size and (ids.read() == ids.read().flat[0]).all():
            found.append({"what": "one_position", "name": name, "are": str(ids.read().flat[0]), "line": line})
    return found


def targets_of(node):
    """What a loss compares with, or what takes the probability of each target out of all."""
    if node.op in ("nll_loss_forward", "nll_loss2d_forward"):
        targets = node.args[1]
    elif node.op == "gather":
        targets = node.args[2]
    elif node.op == "index":
        targets = node.args[1][-1] if type(node.args[1]) is list and node.args[1] else None
    elif node.op == "scatter":  # one of all, to multiply with
        return node.args[2] if type(node.args[2]) is Value and node.args[2].size > 1 and any(
            each.kind == "log_softmax" for user in after_views(node.results[0]) for value in user.inputs() for each in [strip(
                value, PROBABILITY).maker] if each is not None) else None
    else:
        return None
    if type(targets) is not Value or not targets.dtype.startswith("int"):
        return None
    if node.op in ("gather", "index"):
        maker = strip(node.args[0], PROBABILITY).maker
        return targets if maker is not None and maker.kind in ("softmax", "log_softmax") else None
    return targets


def is_memory_of(attention, other):
    """Do the keys of another attention come from this one, and its queries not?"""
    if attention.context is None or other.sources is None or other is attention:
        return False
    queries, keys = other.sources
    return descends(keys, attention.context.result) and not descends(queries, attention.context.result)


PROBABILITY = ("view", "permute", "same", "cut", "elementwise")


def after_views(value):
    """The operations that use a value, or a view or a copy of it."""
    found = []

    def visit(node):
        if node.kind in ("view", "permute", "same"):
            return node.results
        found.append(node)
        return ()

    sweep([value], visit, 20)
    return found


def compare_targets(ids, targets, line):
    """Are the targets the inputs at the same places, or the next or previous ones?"""
    if ids.ndim != 2:
        return []
    for width in (ids.shape[1], ids.shape[1] - 1):
        if width > 0 and targets.size == ids.shape[0] * width:
            targets = targets.reshape(-1, width)
            whole = width == ids.shape[1]
            following = targets[:, :-1] == ids[:, 1:width] if whole else targets == ids[:, 1:]
            before = targets[:, 1:] == ids[:, :width - 1] if whole else targets == ids[:, :-1]
            for are, equal in (("inputs", targets == ids[:, :width]), ("next inputs", following), ("previous inputs", before)):
                if equal.size and np.mean(equal) >= 0.99:
                    return [{"what": "targets", "are": are, "line": line}]
    return []


def unused_results(nodes):
    """Names of the weights of linear maps whose results reach nothing, not even through views."""
    def reaches_nothing(value):
        return all(user.kind in ("view", "permute", "same") and all(map(reaches_nothing, user.results)) for user in value.users or ())

    products = [(node, strip(each).parameter) for node in nodes if node.kind == "product" for each in node.inputs() if is_parameter(each)]
    unused = [(name, all(map(reaches_nothing, node.results))) for node, name in products if name and name.endswith("weight")]
    return sorted({name for name, _ in unused} - {name for name, nothing in unused if not nothing})


def unused_parameters(graph, names):
    """Names of parameters whose module, or the module around it, ran, but which no operation used, though no argument left them out."""
    used = {each.parameter for node in graph.nodes for value in node.inputs() for each in (value, strip(value))}
    ran = {names.modules.get(id(call.module)): call.module for node in graph.nodes if node.call is not None for call in node.call.chain()}
    found, optional = [], {}
    if not used & names.parameters.keys():  # all were lent to the modules, for a call
        return []
    for name in names.parameters:
        owner = name.rpartition(".")[0]
        while owner and (names.classes.get(around := owner.rpartition(".")[0]) == "Sequential" or names.classes.get(around) in (
                "ModuleList", "ModuleDict") and not any(path and path.startswith(around + ".") for path in ran)):
            owner = around
        if name not in used and (owner in ran or owner.rpartition(".")[0] in ran and owner):
            part = name
            while part.rpartition(".")[0] not in ran:
                part = part.rpartition(".")[0]
            module = ran[part.rpartition(".")[0]]
            if type(module) not in optional:
                optional[type(module)] = optional_parts(type(module))
            if part.rpartition(".")[2] not in optional[type(module)]:
                found.append(name)
    return found


def optional_parts(kind):
    """The attributes of a module that its code uses only under a condition, and those of a class whose `forward` it does not have."""
    methods, sometimes = {}, set()
    runs = next((each for each in kind.__mro__ if "forward" in vars(each)), None)
    for each in kind.__mro__[:-1]:
        if each.__module__.startswith("torch."):
            break
        for function in filter(inspect.isfunction, vars(each).values()):
            try:
                tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
            except (OSError, SyntaxError, TypeError, ValueError, IndexError):
                continue
            if type(tree) is ast.FunctionDef and tree.name == "__init__" and each is not runs:
                sometimes.update(part.attr for part in ast.walk(tree) if type(part) is ast.Attribute and type(part.ctx) is ast.Store)
            if type(tree) is ast.FunctionDef and tree.name not in methods and tree.name != "__init__" and tree.args.args:
                own, *others = (argument.arg for argument in tree.args.posonlyargs + tree.args.args + tree.args.kwonlyargs)
                methods[tree.name] = set()
                note_parts(tree.body, own, set(others), methods[tree.name], sometimes)
    always, todo = set(), ["forward"]
    while todo:  # what a method uses that is called under no condition
        used = methods.pop(todo.pop(), set()) - always
        always |= used
        todo += used
    return sometimes.union(*methods.values()) - always


def note_parts(statements, own, arguments, always, sometimes):
    """Sorts the attributes of `own` that some code uses by whether a condition on an argument stands before them. What is made of
    arguments is added to them."""
    def reads_argument(tree):
        return any(type(each) is ast.Name and each.id in arguments for each in ast.walk(tree))

    def note(tree, found):
        if type(tree) is ast.Attribute and type(tree.value) is ast.Name and tree.value.id == own:
            found.add(tree.attr)
        depends = type(tree) is ast.IfExp
        for each in ast.iter_child_nodes(tree):
            note(each, sometimes if depends and each is not tree.test else found)

    for statement in statements:
        inner = [each for each in ast.iter_child_nodes(statement) if isinstance(each, ast.stmt)]
        depends = type(statement) is ast.If
        for each in ast.iter_child_nodes(statement):
            if each not in inner:
                note(each, always)
        note_parts(inner, own, arguments, sometimes if depends else always, sometimes)
        if type(statement) is ast.Assign and reads_argument(statement.value):
            arguments.update(target.id for target in statement.targets if type(target) is ast.Name)
        if depends and reads_argument(statement.test) and any(type(each) in (ast.Return, ast.Continue) for each in inner):
            always = sometimes  # only some calls reach what follows


# ---------------------------------------------------------------------------------------------------------------------------------------
# The recorder: makes a graph of what PyTorch does
# ---------------------------------------------------------------------------------------------------------------------------------------

_OVERWRITES = frozenset("copy fill zero normal uniform random exponential".split())
UNKNOWN = "unknown"
MOST_CELLS = 1 << 24  # of a map that a function given to `flex_attention` is looked at for
_NOTHING = {}  # the named arguments of most operations
_SIMPLE = frozenset((int, float, bool, str, type(None)))
_SKIPPED = frozenset("is_same_size _local_scalar_dense equal _has_compatible_shallow_copy_type set_data size stride numel dim "
                     "is_nonzero item sym_size sym_stride sym_numel".split())


class Buffer:
    """A storage between two writes. `alias` holds its numbers while they may be needed; it is a tensor of our own over the storage."""
    __slots__ = ("key", "bytes", "values", "alias", "kept", "outside", "version", "last", "before")

    def __init__(self, key, size, outside):
        self.key, self.bytes, self.outside = key, size, outside
        self.values, self.alias, self.kept, self.version, self.last, self.before = {}, None, False, None, None, None

    def tensor(self, value):
        """The tensor that a value of this storage is."""
        alias = self.alias
        if str(alias.dtype)[6:] != value.dtype:  # the halves of complex numbers
            import torch
            alias = torch.view_as_real(self.whole()) if alias.is_complex() else self.whole().view(getattr(torch, value.dtype))
        return alias.as_strided(value.shape, value.strides, value.offset)

    def read(self, value):
        return to_numpy(self.tensor(value))

    def whole(self):
        """The storage from its beginning to its end, as a flat tensor."""
        return self.alias.as_strided((self.bytes // self.alias.element_size(),), (1,), 0)

    def forget(self):
        """No tensor is looked up in this storage any more. (Values know their buffers, so this frees both without a garbage collection.)"""
        self.values, self.before, self.last = {}, None, None

    def drop(self):
        self.alias = None

    def rescue(self):
        """Copies the numbers before they are written over."""
        self.alias = self.whole().clone()


def to_numpy(tensor):
    """A tensor's numbers; bfloat16 as bits, because NumPy does not have it."""
    import torch
    tensor = tensor.detach().cpu()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.contiguous().view(torch.int16)
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    return tensor.numpy()


class Fact:
    """What is known of an operation: name, class, which arguments it writes, how it is called."""
    __slots__ = ("function", "op", "kind", "writes", "outs", "composite", "call", "skip", "foreign")


class Recorder:
    """Notes what runs in this thread while it is on. Only `note` and what it calls run once per operation."""

    def __init__(self, limit, roots=(), gradients=False, waiting=None):
        import torch
        self.torch, self.limit, self.gradients, self.waiting = torch, limit, gradients, waiting or (lambda: 0)
        self.tensor, self.plain = torch.Tensor, {torch.Tensor, torch.nn.Parameter, getattr(torch.nn, "Buffer", torch.nn.Parameter)}
        self.plain = {each for each in self.plain if isinstance(each, type)}
        self.storage = torch.Tensor.untyped_storage if hasattr(torch.Tensor, "untyped_storage") else torch.Tensor._storage
        self.task = getattr(torch._C, "_current_graph_task_id", self.task_by_frames)
        self.facts, self.names, self.roots, self.parameters, self.given = {}, Names(), [], {}, list(roots)
        self.thread, self.on, self.entered, self.failed = threading.get_ident(), False, False, None
        self.hooks, self.unfollowed = [], {}
        self.dtypes, self.renamed, self.places = {}, {}, {}
        self.mode = _mode_class()(self)
        self.clear()
        for root in roots:
            self.register(root)

    def clear(self):
        """Forgets everything of the last step."""
        self.release()
        if getattr(self, "graph", None) is not None:
            self.graph.forget()
        self.graph, self.buffers, self.weak, self.others = Graph(), {}, [], {}
        self.stack, self.counts = [], {}
        self.short = getattr(self, "lost", False)  # what did not fit into the last step's window will not fit into this one's
        self.window, self.window_bytes, self.kept_bytes, self.lost, self.full, self.parameter_bytes = collections.deque(), 0, 0, False, 0, 0
        self.parameters_lost = False

    def release(self):
        """Lets go of storages and hooks of tensors."""
        for weak in getattr(self, "weak", ()):
            self.torch.UntypedStorage._free_weak_ref(weak)
        self.weak = []
        for hook in getattr(self, "tensor_hooks", ()):
            hook.remove()
        self.tensor_hooks = []
        for buffer in getattr(self, "buffers", {}).values():
            buffer.forget()

    # --- on and off

    def start(self):
        from torch.nn.modules import module
        self.thread, self.on = threading.get_ident(), True
        self.hooks = [module.register_module_forward_pre_hook(self.enter_module)]
        try:
            self.hooks.append(module.register_module_forward_hook(self.leave_module, always_call=True))
            self.tracks_errors = True
        except TypeError:  # PyTorch before 2.1 does not call it when a module raises
            self.hooks.append(module.register_module_forward_hook(self.leave_module))
            self.tracks_errors = False
        self.mode.__enter__()
        self.entered = True

    def stop(self):
        self.on = False
        for hook in self.hooks:
            hook.remove()
        self.hooks = []
        if self.entered and threading.get_ident() == self.thread:
            self.entered = False
            _leave(self.mode)
        self.stack = []

    # --- modules

    def register(self, root):
        """Learns the names of a module's parts. A larger module takes over the names that its parts were given before."""
        if any(root is each for each in self.roots):
            return
        names, kind = self.names, type(root).__name__
        mine = {id(parameter) for parameter in root.parameters()}
        taken = {name for name, owner in names.parameters.items() if id(owner) not in mine}
        paths = {path for path, _ in root.named_modules()}
        prefix, count = "", 1
        while any(prefix + name in taken for name, _ in root.named_parameters()) or any(
                (prefix + path).rstrip(".") in names.classes and names.owners[(prefix + path).rstrip(".")] not in map(id, root.modules())
                for path in paths if path):
            prefix, count = f"{kind}." if count == 1 else f"{kind}{count}.", count + 1
        self.roots.append(root)
        for path, module in root.named_modules():
            full = (prefix + path).rstrip(".")
            names.modules[id(module)], names.owners[full] = full, id(module)
            names.classes[full] = type(module).__name__
        modules = dict(root.named_modules())
        for name, parameter in root.named_parameters():
            owner, _, own = name.rpartition(".")
            if not isinstance(parameter, self.torch.nn.Parameter) or getattr(modules.get(owner), own, parameter) is not parameter:
                continue  # for one call, another tensor was lent to the module
            old = self.parameters.get(id(parameter))
            if old is not None:
                names.parameters.pop(old, None)
                self.renamed[old] = prefix + name
            self.parameters[id(parameter)] = prefix + name
            names.parameters[prefix + name] = parameter

    def enter_module(self, module, _):
        if not self.on:
            return
        try:
            if threading.get_ident() != self.thread:
                if self.thread_is_new(module):
                    self.cannot_follow(f"thread {threading.current_thread().name}: {type(module).__name__}", self.where(),
                                       "call attnscope.record in that thread")
                return
            if self.task() != -1:
                return
            stack, identity, depth = self.stack, id(module), 0
            if not self.tracks_errors:  # a call that ended with an error is still on the stack
                frame = sys._getframe(1)
                while frame is not None:
                    if frame.f_code.co_name == "_checkpoint_without_reentrant":
                        self.cannot_follow("checkpoint(use_reentrant=False) of PyTorch 1", self.where(), "record with use_reentrant=True")
                        self.stop()  # its backward pass would fail under any mode
                        return
                    depth, frame = depth + 1, frame.f_back
                while stack and stack[-1].depth >= depth:
                    stack.pop()
            if not stack:
                self.enter_root(module)
            number = self.counts[identity] = self.counts.get(identity, 0) + 1
            outer, of_torch = stack[-1] if stack else None, type(module).__module__.startswith("torch.nn.modules")
            stack.append(Call(module, number, outer, module.training, depth, None if of_torch else self.site(), of_torch))
        except Exception:
            self.fail()

    def site(self):
        """The user's line that calls a module; None if a library calls it."""
        frame, kind = sys._getframe(2), 0
        while frame is not None and kind != 1:
            code = frame.f_code
            kind = (_KINDS.get(id(code)) or _kind_of_code(code))[0]
            if kind == 2:
                return self.place(code, frame.f_lasti, False)
            frame = frame.f_back
        return None

    def enter_root(self, module):
        if id(module) not in self.names.modules:
            self.register(module)
        if type(module).__name__ == "OptimizedModule":
            self.cannot_follow("compiled code", self.where(), "record without torch.compile")

    def leave_module(self, module, *_):
        stack = self.stack
        if not stack or threading.get_ident() != self.thread:
            return
        if stack[-1].module is module and self.task() == -1:
            stack.pop()
        elif any(call.module is module for call in stack) and self.task() == -1:
            while stack.pop().module is not module:
                pass

    def thread_is_new(self, module):
        frame = sys._getframe(2)
        while frame is not None:  # only the outermost module of a thread is worth naming
            if frame.f_code.co_name in ("_call_impl", "_wrapped_call_impl") and frame.f_locals.get("self") is not module:
                return False
            frame = frame.f_back
        return True

    # --- one operation

    def dispatch(self, function, args, kwargs):
        if not self.on or self.task() != -1:
            return function(*args, **kwargs)
        fact = self.facts.get(id(function)) or self.learn(function)
        if fact.skip:
            return fact.call(*args, **kwargs)
        if fact.composite and self.all_plain(args):
            with self.mode:
                return fact.composite(*args, **kwargs)
        noted = None
        try:
            noted = self.before(fact, args, kwargs)
        except Exception:
            self.fail()
        result = fact.call(*args, **kwargs)
        if noted is not None:
            try:
                self.after(fact, noted, args, kwargs, result)
            except Exception:
                self.fail()
        return result

    def task_by_frames(self):
        """Does the engine of autograd run? (-1: no. PyTorch before 2 does not say so: its file stands between us and the user's code.)
        What it computes, and what a checkpoint computes again, is not recorded."""
        frame, outermost = sys._getframe(1), not self.stack
        while frame is not None:
            code = frame.f_code
            kind = _KINDS.get(id(code)) or _kind_of_code(code)
            if kind[0] == 3:
                return 0
            if kind[0] == 2 and not outermost:
                return -1
            frame = frame.f_back
        return -1

    def learn(self, function):
        """Looks an operation up, once."""
        fact = self.facts[id(function)] = Fact()
        fact.function, fact.call, fact.composite, fact.foreign = function, function, None, False
        schema = getattr(function, "_schema", None)
        if schema is None:  # a higher-order operator
            fact.op = getattr(function, "__name__", str(function)).strip("_") if not hasattr(function, "name") else str(function.name())
            fact.op = "flex_attention" if "flex_attention" in fact.op and "backward" not in fact.op else fact.op
            fact.kind, fact.writes, fact.outs, fact.skip = CLASS_OF.get(fact.op, "other"), (), (), False
            return fact
        space, _, name = schema.name.partition("::")
        fact.op = name[:-1] if name.endswith("_") and not name.endswith("__") else name
        fact.kind, fact.skip = CLASS_OF.get(fact.op, "other"), fact.op in _SKIPPED
        fact.foreign = space not in ("aten", "prim", "prims", "profiler", "c10d", "_c10d_functional", "inductor")
        if fact.foreign and space == "mkldnn" or space == "quantized":
            fact.foreign = False
        writes = [(place, argument.name) for place, argument in enumerate(schema.arguments)
                  if argument.alias_info is not None and argument.alias_info.is_write]
        outs = [argument.name for argument in schema.arguments if getattr(argument, "is_out", False) or argument.kwarg_only]
        fact.writes = tuple(place for place, name in writes if name not in outs)
        fact.outs = tuple(name for _, name in writes if name in outs)
        if type(function).__name__ == "OpOverload":
            fact.call = getattr(function, "_op", function)
            fact.composite = _composite(self.torch, function) if fact.op != "_to_copy" else None
        return fact

    def all_plain(self, args):
        for each in args:
            if isinstance(each, (list, tuple)):
                if not self.all_plain(each):
                    return False
            elif isinstance(each, self.tensor):
                if type(each) not in self.plain or each.is_nested or each.layout is not self.torch.strided:
                    return False
        return True

    def before(self, fact, args, kwargs):
        """(arguments as values, named arguments, pairs of value and tensor); what is about to be written over is copied."""
        plain, value_of, pairs, noted, named = self.plain, self.value_of, [], [], {} if kwargs else _NOTHING
        for each in args:
            kind = type(each)
            if kind in plain:
                value = value_of(each)
                noted.append(value)
                pairs.append((value, each))
            elif kind in _SIMPLE:
                noted.append(each)
            else:
                noted.append(self.note_other(each, pairs))
        for name, each in kwargs.items():
            if name not in fact.outs:
                named[name] = each if type(each) in _SIMPLE else self.note_other(each, pairs)
        if fact.writes or fact.outs:
            self.about_to_write(self.written(fact, args, kwargs))
        return noted, named, pairs

    def note_other(self, argument, pairs):
        if isinstance(argument, self.tensor):
            value = self.value_of(argument)
            pairs.append((value, argument))
            return value
        if isinstance(argument, (list, tuple)):
            return [each if type(each) in _SIMPLE else self.note_other(each, pairs) for each in argument]
        return type(argument).__name__

    def written(self, fact, args, kwargs):
        """The tensors that an operation writes to."""
        return [args[place] for place in fact.writes if place < len(args)] + [kwargs.get(name) for name in fact.outs]

    def about_to_write(self, written):
        for each in written:
            if isinstance(each, (list, tuple)):
                self.about_to_write(each)
            elif isinstance(each, self.tensor) and type(each) in self.plain:
                buffer = self.buffers.get(self.storage(each)._cdata)
                if buffer is not None and buffer.alias is not None:
                    buffer.rescue() if buffer.kept or not buffer.outside else buffer.drop()

    def after(self, fact, noted, args, kwargs, result):
        """Makes the node, and decides what is held."""
        noted, named, pairs = noted
        graph = self.graph
        graph.count += 1
        node = Node(graph.count, fact.op, noted, named, self.where(), self.stack[-1] if self.stack else None)
        if fact.writes or fact.outs:
            self.was_written(self.written(fact, args, kwargs))
            if fact.op in _OVERWRITES and noted:
                node.args = noted[1:] if fact.op == "copy" else [None] + noted[1:]
                pairs = pairs[1:]
            elif fact.op.startswith(("_foreach", "_fused_")):
                return
        made, results = [], node.results
        for each in result if isinstance(result, (list, tuple)) else (result,):
            if isinstance(each, self.tensor):
                value = self.result_of(node, each)
                results.append(value)
                if value.maker is node:
                    made.append((value, each))
        if not made:
            return
        graph.nodes.append(node)
        if len(graph.nodes) >= MOST_NODES:
            self.on = False
            self.cannot_follow(f"more than {MOST_NODES} operations in one step", node.where, "call run.step() between steps")
        self.hold(fact, pairs, made)
        if fact.foreign:
            self.cannot_follow(f"operation {fact.function}", node.where, "its result is recorded, but not how it came about")
        elif fact.op == "flex_attention":
            node.args[3:5] = self.functions_of_flex(args)

    def functions_of_flex(self, args):
        """[bias, mask] that the functions given to `flex_attention` come to; None: it does nothing, UNKNOWN: it is neither. Both were
        turned into graphs of elementwise operations by the library, which take whole axes of numbers as well as single ones."""
        try:
            (batch, heads, length, _), keys = args[0].shape, args[1].shape[2]
            places = [self.torch.arange(size).view([size if axis == i else 1 for i in range(4)])
                      for axis, size in enumerate((batch, heads, length, keys))]
            with self.torch.no_grad():
                mask = args[4][-1](*places, *args[8])
                bias = self.bias_of_flex(lambda score: args[3](self.torch.full((1, 1, 1, 1), score), *places, *args[7]))
                return [bias, UNKNOWN if mask.numel() > MOST_CELLS else self.made_of_flex(mask, "bool", bool(mask.all()))]
        except Exception:
            return [UNKNOWN, UNKNOWN]

    def bias_of_flex(self, function):
        """What a function of scores adds to every score, if that is all that it does."""
        zero = function(0.0).float()
        finite = zero.isfinite()
        if zero.numel() > MOST_CELLS or not finite.any() or zero.isnan().any():
            return UNKNOWN
        allowed = 1e-5 * (1 + zero[finite].abs().max())
        for score in (1.0, -3.5, 0.37, 7.25, -21.0, 60.0):
            other = function(score).float()
            if not (other[~finite] == zero[~finite]).all() or not ((other - zero)[finite] - score).abs().max() <= allowed * (1 + abs(score)):
                return UNKNOWN
        return self.made_of_flex(zero, "float32", not bool(zero.any()))

    def made_of_flex(self, tensor, dtype, nothing):
        self.graph.count += 1
        while tensor.dim() < 4:
            tensor = tensor[None]
        return None if nothing else Value(self.graph.count, None, tuple(tensor.shape), dtype, data=tensor.cpu().numpy())

    # --- identity

    def value_of(self, tensor):
        """The value that a tensor is."""
        try:
            storage = self.storage(tensor)
        except Exception:  # sparse tensors and others have none
            return self.odd_value(tensor)
        if tensor.is_nested or type(tensor) not in self.plain:
            return self.odd_value(tensor)
        buffer = self.buffers.get(storage._cdata)
        if buffer is None:
            buffer = self.new_buffer(storage, storage._cdata, True)
        key = (tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype)
        value = buffer.values.get(key)
        if value is None:
            value = self.unseen(buffer, tensor, key)
        elif not value.parameter and type(tensor) is not self.tensor:  # made in this block, and perhaps not named yet
            value.parameter = self.parameters.get(id(tensor), "") if value.parameter == "" else self.name_of_parameter(tensor)
        if self.gradients and not value.hooked and tensor.requires_grad:
            self.hook(value, tensor)
        return value

    def new_buffer(self, storage, key, outside):
        buffer = self.buffers[key] = Buffer(key, storage.nbytes(), outside)
        self.weak.append(storage._weak_ref())  # while this exists, no other storage gets the same address
        return buffer

    def new_value(self, maker, key, buffer):
        graph = self.graph
        graph.count += 1
        dtype = self.dtypes.get(key[3])
        if dtype is None:
            dtype = self.dtypes[key[3]] = str(key[3])[6:]
        value = Value(graph.count, maker, key[1], dtype)
        value.buffer, value.offset, value.strides = buffer, key[0], key[2]
        buffer.values[key] = value
        return value

    def unseen(self, buffer, tensor, key):
        """A tensor that no operation made before our eyes: from outside, another view of a known storage, or what a write left."""
        name = self.name_of_parameter(tensor)
        if buffer.last is not None:
            return self.left_by_write(buffer, tensor, key)
        if buffer.values:
            base = next(reversed(buffer.values.values()))
            value = self.derived(buffer, tensor, key, "same_storage", [base])
            value.parameter = name if name is not None else base.parameter
            value.active = base.active
            return value
        value = self.new_value(None, key, buffer)
        value.parameter = name
        return value

    def left_by_write(self, buffer, tensor, key):
        old, part = buffer.before.get(key), buffer.last
        if old is not None and apart(old, part):
            value = self.derived(buffer, tensor, key, "alias", [old])
            value.parameter, value.active = old.parameter, old.active
            return value
        if old is not None and part.size == old.size and tensor.is_contiguous() and _contiguous(part):
            value = self.derived(buffer, tensor, key, "view", [part])
        elif old is not None:
            value = self.derived(buffer, tensor, key, "written", [old, part])
            value.parameter = old.parameter
        else:
            value = self.derived(buffer, tensor, key, "same_storage", [part])
        value.active = part.active or old is not None and old.active
        return value

    def derived(self, buffer, tensor, key, op, args):
        self.graph.count += 1
        maker = args[-1].maker
        node = Node(self.graph.count, op, args, {}, maker.where if maker is not None else None, self.stack[-1] if self.stack else None)
        value = self.new_value(node, key, buffer)
        node.results = [value]
        self.graph.nodes.append(node)
        return value

    def end_writes(self):
        """A tensor that was filled part by part, and then read by no operation, is a value, too."""
        for buffer in list(self.buffers.values()):
            last, before = buffer.last, buffer.before or {}
            key = next((key for key, value in before.items() if last is not None and value.size > last.size and _contiguous(value)), None)
            if key is not None and key not in buffer.values and last.maker is not None:
                self.derived(buffer, None, key, "written", [before[key], last]).maker.call = last.maker.call

    def was_written(self, written):
        """A new generation of the storages that were written."""
        for each in written:
            if isinstance(each, (list, tuple)):
                self.was_written(each)
            elif isinstance(each, self.tensor) and type(each) in self.plain:
                storage = self.storage(each)
                old = self.buffers.get(storage._cdata)
                if old is None:
                    self.new_buffer(storage, storage._cdata, False)
                    continue
                new = self.buffers[old.key] = Buffer(old.key, storage.nbytes(), old.outside)
                new.before = old.values or old.before or {}
                key = (each.storage_offset(), each.shape, each.stride(), each.dtype)
                before = old.values.get(key)
                if before is not None and before.parameter is not None:
                    self.new_value(before.maker, key, new).parameter = before.parameter
                    new.before = None

    def result_of(self, node, tensor):
        """The value that a result is: new, or that of an argument which it shares its storage with."""
        try:
            storage = self.storage(tensor)
        except Exception:
            return self.odd_value(tensor, node)
        if tensor.is_nested or type(tensor) not in self.plain:
            return self.odd_value(tensor, node)
        identity = storage._cdata
        key = (tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype)
        buffer = self.buffers.get(identity)
        if buffer is None:
            buffer = self.new_buffer(storage, identity, False)
        else:
            value = buffer.values.get(key)
            if value is not None:
                return value
        value = self.new_value(node, key, buffer)
        if buffer.before is not None and buffer.last is None:
            buffer.last = value
        first = node.args[0] if node.args else None
        if type(first) is Value and first.buffer is buffer and first.parameter is not None:
            value.parameter = first.parameter
        return value

    def odd_value(self, tensor, node=None):
        """A value of a tensor without a storage of its own (nested, sparse, a subclass): known by its object."""
        reference, value = self.others.get(id(tensor), (None, None))
        if reference is not None and reference() is tensor:
            return value
        dtype = str(tensor.dtype)[6:]
        shape = self.padded_shape(tensor) if tensor.is_nested else tuple(tensor.shape)
        self.graph.count += 1
        value = Value(self.graph.count, node, shape, dtype, self.parameters.get(id(tensor)))
        if type(tensor) in self.plain and tensor.is_nested and tensor.layout is self.torch.strided:
            value.buffer = Nested(tensor.detach())
        elif type(tensor) not in self.plain and not tensor.is_nested:
            self.cannot_follow(f"tensors of the class {type(tensor).__name__}", self.where(), "give plain tensors to the code")
        self.others[id(tensor)] = (weakref.ref(tensor), value)
        return value

    def padded_shape(self, tensor):
        try:
            rows = [row.shape for row in tensor.detach().unbind()]
            return (len(rows), *(max(sizes) for sizes in zip(*rows)))
        except Exception:
            return ()

    def name_of_parameter(self, tensor):
        """The name of a parameter ("" if it is not known), None for another tensor."""
        name = self.parameters.get(id(tensor))
        if name is None and isinstance(tensor, self.torch.nn.Parameter):
            name = self.name_by_frames(tensor)
        return name

    def name_by_frames(self, parameter):
        """The name of a parameter whose module was not called as one (`attn.forward(x)`): modules are found in the frames."""
        frame, found = sys._getframe(1), None
        while frame is not None:
            if _kind_of_code(frame.f_code)[0] == 2:
                owner = frame.f_locals.get("self")
                if isinstance(owner, self.torch.nn.Module) and any(each is parameter for each in owner.parameters()):
                    found = owner
            frame = frame.f_back
        if found is not None:
            self.register(found)
        return self.parameters.get(id(parameter), "")

    # --- what is held

    def hold(self, fact, pairs, made):
        """Holds what can be a stage: operands and results of products without parameters, and what is made of them until the next
        product. Everything else waits in a window, from which the oldest is let go. `active` is 2 for what comes from such a product,
        1 for a linear map of it."""
        kind, level, parameters = fact.kind, 0, False
        for value, tensor in pairs:
            if value.parameter is not None:
                parameters = True
                self.keep_parameter(value, tensor)
            elif value.buffer is not None and value.buffer.alias is None and (value.buffer.outside or value.buffer.bytes <= 8):
                value.buffer.alias = tensor.detach()  # costs no memory: it exists anyway, or is a number
            elif value.active > level:
                level = value.active
        if kind == "product":
            self.hold_product(pairs, made, level)
        elif kind == "fused" or kind == "layer":
            self.keep_operands(pairs, made)
        elif level == 2 and kind != "embedding":
            if len(pairs) > 1:
                for value, tensor in pairs:
                    if not value.active:
                        self.keep(value, tensor)
            for value, tensor in made:
                value.active = 2
                self.keep(value, tensor)
        elif level == 1 and parameters and fact.op == "add":
            for value, tensor in made:
                self.keep(value, tensor)
        elif fact.op == "mul" and len(pairs) == 2 and made[0][0].size > max(pairs[0][0].size, pairs[1][0].size) > 1:
            self.keep_operands(pairs, made)  # the first half of a product that is written with a sum
        else:
            level = 1 if level == 1 and kind in ("view", "same") else 0
            for value, tensor in made:
                value.active = level
                self.pass_by(value, tensor)

    def hold_product(self, pairs, made, level):
        operands = pairs[-2:]
        if all(value.parameter is None for value, _ in operands):
            self.keep_operands(pairs, made)
            return
        for value, tensor in operands:
            if value.active:
                self.keep(value, tensor)
        for value, tensor in made:
            value.active = 1 if level == 2 else 0
            self.keep(value, tensor) if level == 2 else self.pass_by(value, tensor)

    def keep_operands(self, pairs, made):
        for value, tensor in pairs:
            self.keep(value, tensor)
            self.keep_sources(value)
        for value, tensor in made:
            value.active = 2
            self.keep(value, tensor)

    def pass_by(self, value, tensor):
        """Holds a value until the window is full."""
        buffer = value.buffer
        if buffer is None or buffer.alias is not None or buffer.outside:
            return
        buffer.alias = tensor.detach()
        self.window.append(buffer)
        self.window_bytes += buffer.bytes
        while len(self.window) > 16 and self.window_bytes > (self.limit // 32 if self.lost or self.short else self.limit // 4):
            old = self.window.popleft()
            if not old.kept:
                old.alias = None
                self.window_bytes -= old.bytes
                self.lost = True

    def keep(self, value, tensor):
        buffer = value.buffer
        if buffer is None or buffer.kept or value.parameter is not None:
            return
        if self.kept_bytes + buffer.bytes + self.waiting() > self.limit:
            self.full += 1
            return
        if buffer.alias is None:
            buffer.alias = tensor.detach()
        elif not buffer.outside:
            self.window_bytes -= buffer.bytes
        buffer.kept = True
        self.kept_bytes += buffer.bytes

    def keep_parameter(self, value, tensor):
        buffer = value.buffer
        if buffer is None or buffer.kept or self.parameters_lost:
            return
        self.parameter_bytes += buffer.bytes
        if self.parameter_bytes > self.limit // 4:
            self.parameters_lost = True
            for other in self.buffers.values():
                if any(each.parameter is not None for each in other.values.values()):
                    other.alias, other.kept = None, False
            return
        buffer.alias, buffer.kept = tensor.detach(), True

    def keep_sources(self, value, steps=24):
        """What an operand of a product was made of, back to its linear map: q before its rotation."""
        todo = [value]
        while todo and steps:
            steps -= 1
            node = todo.pop().maker
            if node is None or node.kind not in CARRIED and node.kind not in ("norm", "complex"):
                continue
            for each in node.inputs():
                buffer = each.buffer
                if buffer is not None and buffer.alias is not None and not buffer.kept and each.parameter is None and (
                        buffer.outside or self.kept_bytes + buffer.bytes + self.waiting() <= self.limit):
                    buffer.kept = True
                    if not buffer.outside:
                        self.kept_bytes += buffer.bytes
                        self.window_bytes -= buffer.bytes
                todo.append(each)

    def hook(self, value, tensor):
        """Takes the gradient of a value as it passes."""
        if tensor.grad_fn is None or value.buffer is None or not (value.active or value.buffer.kept):
            return
        value.hooked = True

        def take(gradient):
            if self.on and type(gradient) in self.plain:
                value.grad = gradient.detach().clone()

        self.tensor_hooks.append(tensor.register_hook(take))

    # --- what is said

    def where(self):
        """The line outside of PyTorch: (code, instruction, whether a library's); the user's own if a library called PyTorch. What a module
        of PyTorch's computes has the line of its call."""
        call = self.stack[-1] if self.stack else None
        if call is not None and call.of_torch and call.site is not None:
            return call.site
        found = self.walk()
        if call is not None and call.of_torch:
            call.site = found
        return found

    def walk(self):
        frame, first = sys._getframe(3), None
        while frame is not None:
            code = frame.f_code
            kind = (_KINDS.get(id(code)) or _kind_of_code(code))[0]
            if kind == 2:
                return self.place(code, frame.f_lasti, first is not None)
            if kind == 1 and first is None:
                first = self.place(code, frame.f_lasti, True)
            elif kind == 4 and first is not None and self.stack:  # a library's module: who called it is looked up once a call
                return self.caller(self.stack[-1], frame.f_back) or first
            frame = frame.f_back
        return first

    def caller(self, call, frame):
        """Where a module was called: the user's line, or what the module around it was called by."""
        while call.place is None and frame is not None:
            code = frame.f_code
            kind = (_KINDS.get(id(code)) or _kind_of_code(code))[0]
            if kind == 2:
                call.place = self.place(code, frame.f_lasti, True)
            elif kind == 4 and call.outer is not None:
                call.place = self.caller(call.outer, frame.f_back)
                break
            frame = frame.f_back
        return call.place

    def place(self, code, instruction, library):
        """One tuple for each place, however often it is come by."""
        key = id(code), instruction, library
        return self.places.get(key) or self.places.setdefault(key, (code, instruction, library))

    def cannot_follow(self, what, where, do):
        self.unfollowed.setdefault(what, {"what": what, "line": Place(where).line, "do": do})

    def fail(self):
        """An error of our own ends the recording, not the program."""
        error = sys.exc_info()[1]
        self.on = False
        if self.failed is None:
            self.failed = f"{type(error).__name__}: {error}"
            _warn(f"the recording stopped because of an error in attnscope: {self.failed}")

    def finish(self, copy):
        """Ends the step and returns it. `copy`: the program goes on while it is written, so what the program may write to is copied."""
        self.end_writes()
        for buffer in self.buffers.values():
            if buffer.alias is not None:
                if buffer.outside and copy:
                    buffer.rescue()
                else:
                    buffer.version = None if self.torch.is_inference(buffer.alias) else buffer.alias._version
        step = Step(self.graph, self.names, self.lost, self.full, self.kept_bytes, self.unfollowed, self.parameters_lost)
        self.graph = None
        step.modules = list(self.given)
        step.rename(self.renamed)
        self.clear()
        return step


class Step:
    """What was noted in one step."""

    def __init__(self, graph, names, lost, full, size, unfollowed, parameters_lost):
        self.graph, self.names, self.lost, self.full, self.bytes, self.unfollowed = graph, names, lost, full, size, dict(unfollowed)
        self.parameters_lost = parameters_lost
        self.number, self.error, self.modules = 0, None, []

    def rename(self, renamed):
        """Parameters that got a longer name when the module around theirs was called."""
        for node in self.graph.nodes if renamed else ():
            for value in (*node.inputs(), *node.results):
                while value.parameter in renamed:
                    value.parameter = renamed[value.parameter]


class _Whole:
    is_meta = False


class Nested:
    """Stands for the storage of a nested tensor: its rows are read when the step is written, padded with zeros."""
    alias, kept, outside, bytes, version = _Whole, True, False, 0, None

    def __init__(self, tensor):
        self.nested = tensor

    def behind(self):
        """Of each text, the positions after its end."""
        lengths = np.array([len(row) for row in self.nested.unbind()])
        return np.arange(lengths.max(initial=0)) >= lengths[:, None]

    def read(self, value):
        rows = [to_numpy(row) for row in self.nested.unbind()]
        result = np.zeros(value.shape, rows[0].dtype)
        for place, row in zip(result, rows):
            place[tuple(slice(size) for size in row.shape)] = row
        return result


def apart(one, other):
    """Do two values of one storage have no number in common? (False if that is not easily told.)"""
    if one.strides is None or other.strides is None or not one.size or not other.size:
        return False
    first, second = sorted((one, other), key=lambda each: each.offset)
    if first.offset + sum((size - 1) * step for size, step in zip(first.shape, first.strides)) < second.offset:
        return True
    inner, period = zip(*map(_rows_of, (one, other)))
    period = math.gcd(*period)
    begins = [each.offset % period if period else 0 for each in (one, other)]
    if not period or any(begin + size > period for begin, size in zip(begins, inner)):
        return False
    return begins[0] + inner[0] <= begins[1] or begins[1] + inner[1] <= begins[0]


def _rows_of(value):
    """(how many numbers stand side by side, the distance between such rows)."""
    inner, period = 1, 0
    for step, size in sorted((step, size) for size, step in zip(value.shape, value.strides) if size > 1):
        if step == inner and not period:
            inner *= size
        else:
            period = math.gcd(period, step)
    return inner, period


def _contiguous(value):
    stride = 1
    for size, step in zip(reversed(value.shape), reversed(value.strides)):
        if size > 1 and step != stride:
            return False
        stride *= size
    return True


_KINDS = {}
_TORCH, _INSTALLED = [], []


def _kind_of_code(code):
    """(0: PyTorch and this file; 1: an installed package or Python's own library; 2: the user's; 3: the call of autograd's engine;
    4: the call of a module), and the code, which has to live on as it is known by its address."""
    kind = _KINDS.get(id(code))
    if kind is None:
        if not _TORCH:
            import torch
            _TORCH.append(os.path.dirname(os.path.abspath(torch.__file__)) + os.sep)
            _INSTALLED.extend({sysconfig.get_paths()[name] + os.sep for name in ("stdlib", "purelib", "platlib")})
        name = code.co_filename
        installed = any(part in name for part in ("site-packages", "dist-packages")) or any(name.startswith(each) for each in _INSTALLED)
        number = 0 if name == __file__ or name.startswith(_TORCH[0]) else 1 if installed or name.startswith("<frozen") else 2
        if name.startswith("<eval_with_key>"):  # what PyTorch's compiler wrote
            number = 0
        if code.co_name in ("backward", "grad") and name.endswith(os.path.join("torch", "autograd", "__init__.py")):
            number = 3
        if code.co_name == "_call_impl" and name.endswith(os.path.join("nn", "modules", "module.py")):
            number = 4
        kind = _KINDS[id(code)] = (number, code)
    return kind


def _composite(torch, function):
    """What an operation that is made of others runs, or None. Only under inference_mode does a mode see such operations. (Its `decompose`
    prefers what is written in Python for the compiler, which computes other bits.)"""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    try:
        known = torch._C._dispatch_has_kernel_for_dispatch_key(function.name(), "CompositeImplicitAutograd")
        return functools.partial(function._op_dk, key) if known else None
    except Exception:
        return None


_made = []


def _mode_class():
    """The dispatch mode, made when PyTorch is there."""
    if not _made:
        from torch.utils._python_dispatch import TorchDispatchMode

        class AttnscopeMode(TorchDispatchMode):
            supports_higher_order_operators = True

            @classmethod
            def ignore_compile_internals(cls):
                return True

            def __init__(self, recorder):
                super().__init__()
                self.recorder = recorder

            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                try:
                    return self.recorder.dispatch(func, args, kwargs or {})
                except RuntimeError:
                    tensors = _numbers_as_tensors(func, args)
                    if tensors is None:
                        raise
                return self.recorder.dispatch(func, tensors, kwargs or {})

        _made.append(AttnscopeMode)
    return _made[0]


def _numbers_as_tensors(function, args):
    """The arguments with tensors where the operation wants them; None if it has them. While code is traced, PyTorch hands a mode its
    constants as numbers, and its operations do not take these back."""
    import torch
    wanted = [type(each) in (bool, int, float) and str(argument.type) == "Tensor"
              for each, argument in zip(args, getattr(getattr(function, "_schema", None), "arguments", ()))]
    if not any(wanted):
        return None
    types = {bool: torch.bool, int: torch.int64, float: torch.float64}
    return [torch.tensor(each, dtype=types[type(each)]) if want else each for each, want in itertools.zip_longest(args, wanted)]


def _leave(mode):
    """Leaves a mode, if it is the innermost one. One that was entered later and is still there would be left in its place."""
    import torch.utils._python_dispatch as dispatch
    current = getattr(dispatch, "_get_current_dispatch_mode", None)
    if current is None or current() is mode:
        mode.__exit__(None, None, None)


def _warn(text):
    try:
        warnings.warn("attnscope: " + text, RuntimeWarning, stacklevel=2)
    except Exception:  # warnings are errors here; they must not end the program
        print("attnscope: " + text, file=sys.stderr)


# ---------------------------------------------------------------------------------------------------------------------------------------
# Writing: the description of a step, and its files
# ---------------------------------------------------------------------------------------------------------------------------------------

_DTYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32", "int16": "I16",
           "int8": "I8", "uint8": "U8", "bool": "BOOL"}
_SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
MOST_ATTENTIONS = 10_000
MOST_NODES = 2_000_000


class Tensor:
    """A tensor of a file: its name, dtype and shape, and how its numbers are read."""

    def __init__(self, name, dtype, shape, read, values=()):
        self.name, self.dtype, self.shape, self.read, self.values = name, dtype, list(shape), read, values

    @property
    def bytes(self):
        return math.prod(self.shape) * _SIZES[self.dtype]

    def unchanged(self):
        """Is what we hold still what the code had? Another thread, or code that ran after the block, may have written to it."""
        return all(value.buffer is None or value.buffer.version is None or value.buffer.alias._version == value.buffer.version
                   for value in self.values)


def write_safetensors(path, tensors, metadata):
    """Writes a file under another name, and renames it. What cannot be read, or changed meanwhile, is left out."""
    tensors = [each for each in tensors if each.unchanged()]
    temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.tmp")
    while True:
        header, end = {"__metadata__": metadata}, 0
        for each in tensors:
            header[each.name] = {"dtype": each.dtype, "shape": each.shape, "data_offsets": [end, end + each.bytes]}
            end += each.bytes
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        failed = None
        with io.open(temporary, "wb") as file:
            file.write(len(text).to_bytes(8, "little"))
            file.write(text)
            for each in tensors:
                try:
                    array = np.ascontiguousarray(each.read())
                except (RuntimeError, ValueError, TypeError, NotImplementedError):
                    failed = each
                    break
                if array.nbytes != each.bytes or not each.unchanged():
                    failed = each
                    break
                file.write(memoryview(array).cast("B") if array.nbytes else b"")
        if failed is None:
            os.replace(temporary, path)
            return [each.name for each in tensors]
        tensors.remove(failed)


def write_json(path, content):
    """Writes JSON under another name, and renames it. Numbers that JSON does not have become text ("-inf")."""
    temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.tmp")
    with io.open(temporary, "w", encoding="utf-8") as file:
        json.dump(plain(content), file, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    os.replace(temporary, path)


def plain(content):
    if isinstance(content, dict):
        return {str(name): plain(each) for name, each in content.items()}
    if isinstance(content, (list, tuple)):
        return [plain(each) for each in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None if math.isnan(content) else "inf" if content > 0 else "-inf"
    if isinstance(content, str):
        return content.encode("utf-8", "replace").decode()
    return content if content is None or isinstance(content, (bool, int, float)) else None


def puts_time_first(attention):
    """Do positions come before texts in what the linear map of an attention's queries reads: [T,B,C]?"""
    stage = attention.stage("q")
    if stage is None or not stage.parts or stage.parts[0][1] is None:
        return False
    axes = [attention.letters_of(axis) for axis in stage.parts[0][1]]
    return len(axes) > 2 and axes[0] == ["T"] and axes[1] in ([], ["B"])


def reads_without_permuting(attention):
    """Does an attention read the axes of what stands around it as they are?"""
    source = attention.q_linear[0] if attention.q_linear is not None else None
    return source is not None and strip(source) is strip(source, ("view", "same"))


class Description:
    """Turns a step's graph into what the files say: `graph` for recording.json, and the tensors of the step."""

    def __init__(self, step, stages=None, layers=None, heads=None, parameters=True, dtype=None):
        self.step, self.stages, self.layers, self.heads, self.dtype = step, stages, layers, heads, dtype
        self.tensors, self.files, self.inputs, self.used_parameters = [], {}, {}, set()
        failed = []
        attentions = find_attentions(step.graph, failed)
        name_attentions(attentions, step.names)
        attentions = [each for each in attentions if self.wanted(each)]
        self.unfollowed = list(step.unfollowed.values())
        for node, error in failed:
            self.unfollowed.append({"what": f"an attention, because of an error in attnscope: {type(error).__name__}: {error}",
                                    "line": Place(node.where).line if node is not None else None, "do": "look at the others"})
        if len(attentions) > MOST_ATTENTIONS:
            self.unfollowed.append({"what": f"{len(attentions)} attentions", "line": None,
                                    "do": f"the first {MOST_ATTENTIONS} were written; record fewer steps"})
            attentions = attentions[:MOST_ATTENTIONS]
        group_attentions(attentions)
        self.around = Around(step.graph, attentions, step.names)
        self.entries = self.around.find() if attentions else []
        self.given = []
        self.time_first = any(puts_time_first(each) and reads_without_permuting(each) for each in attentions)
        unused = self.safely([], unused_parameters, step.graph, step.names)
        self.nodes, self.told = nodes_by_call(step.graph), set()
        facts = self.safely([], graph_facts, step.graph, attentions)
        self.asks_for_next = any(fact.get("are") == "next inputs" for fact in facts)
        self.unadded = self.safely([], unadded, self.entries, step.names)
        self.thrown_away = self.safely({}, thrown_away, step.graph, self.nodes)
        described = [self.attention(each, unused, attentions) for each in attentions]
        facts += {(fact["line"], fact["name"]): fact for fact in self.thrown_away.values()}.values()
        facts += [{"what": "unused_parameter", "name": name} for name in unused if name not in self.told]
        around = self.given + [self.entry(each) for each in self.entries]
        self.graph = {"attentions": described, "around": around, "facts": facts}
        if parameters:
            self.add_parameters()
        if step.full:
            short = sum(any(stage.get("reason", "").startswith("memory") for stage in each["stages"]) for each in described)
            self.unfollowed.append({"what": f"memory full, {len(described) - short} of {len(described)} attentions whole", "line": None,
                                    "do": "give memory=BYTES to attnscope.record"})

    def safely(self, otherwise, look, *given):
        """What looks for mistakes, or `otherwise`: an error of ours in it takes no numbers away."""
        try:
            return look(*given)
        except Exception as error:
            self.unfollowed.append({"what": f"{look.__name__}, because of an error in attnscope: {type(error).__name__}: {error}", "line": None,
                                    "do": "look at the numbers"})
            return otherwise

    def wanted(self, attention):
        if self.layers is not None and attention.layer not in self.layers:
            return False
        if not self.step.modules:
            return True
        inside = any(any(call.module is each for each in self.step.modules_below) for call in (
            attention.call.chain() if attention.call is not None else ()))
        linears = [linear[1] for linear in (attention.q_linear, attention.k_linear, attention.v_linear) if linear]
        return inside or any(name in self.step.names_below for names in linears for name in names)

    def attention(self, attention, unused, attentions):
        """One attention as recording.json has it."""
        where = Place(attention.node.where)
        sizes, layer = attention.sizes, attention.layer_name
        axes = {letter: sizes[letter] for letter in "BHGTSD"}
        if sizes["E"] != sizes["D"]:
            axes["E"] = sizes["E"]
        repeat, chosen = attention.repeat, {}
        if self.heads is not None:
            chosen = {"heads_written": self.heads_of(attention), "heads_of": sizes["H"]}
            axes["H"] = axes["G"] = len(chosen["heads_written"])
            repeat = 1
        for fact in attention.facts:
            fact.setdefault("line", where.line)
        scope = layer or ([self.step.names.path(call) for call in attention.call.chain()] if attention.call is not None else [None])[-1]
        near = [name for name in unused if scope is not None and (not scope or name.startswith(scope + "."))]
        self.told.update(near)
        facts = attention.facts + [{"what": "unused_parameter", "name": name} for name in near]
        block = self.safely(None, no_residual, attention, self.nodes, unused, self.step.names)
        if block is not None:
            facts.append({"what": "no_residual", "class": type(block.module).__name__, "name": self.step.names.path(block)})
        if layer in self.unadded:
            facts.append({"what": "feed_forward_replaces", "class": self.step.names.classes.get(layer), "name": layer})
        parts = {value for stage in attention.stages for value, _ in stage.parts}
        facts += [self.thrown_away.pop(node) for node in list(self.thrown_away) if node.inputs()[0] in parts]
        if self.asks_for_next and any(is_memory_of(attention, each) for each in attentions):
            facts.append({"what": "memory"})
        if attention.context is not None:
            before = [node for node in self.nodes.get(attention.call, ()) if node.number < attention.context.node.number]
            facts += [{"what": "unused_result", "name": name} for name in unused_results(before)]
        stages = [self.stage(attention, stage) for stage in attention.stages]
        if getattr(attention, "layer_result", None) is not None:
            self.given += self.layer(attention, stages)
        call = attention.call
        drops = any(stage.op == "dropout" and stage.node.call is not None and stage.node.call.training for stage in attention.stages)
        return {"name": attention.name, "class": type(call.module).__name__ if call is not None else None,
                "training": call.training or drops if call is not None else None,
                "source": where.line, "call": attention.number, "calls": attention.calls, "group": attention.group,
                **({"group_by": attention.group_by} if attention.group else {}),
                "layer": attention.layer, "kind": attention.kind, "axes": axes, "heads": attention.heads, "repeat": repeat, **chosen,
                "softmax_over": attention.softmax_over, "scale": attention.scale, "library": where.of_library, "stages": stages,
                "facts": facts, "unfollowed": attention.unfollowed}

    def layer(self, attention, stages):
        """What a kernel that is a whole encoder layer computes around its attention, as entries of `around`: all of it follows from the
        parameters, and the result was recorded."""
        (value, layout), arguments = attention.layer_result, attention.node.args
        base, names, first = attention.layer_name or attention.name, attention.layer_parameters, attention.norm_first
        x, entries = next(stage["inputs"] for stage in stages if stage["name"] == "q")[0], []

        def add(name, op, *inputs, parameters=(), **more):
            self.used_parameters.update(filter(None, parameters))
            entries.append({"name": f"{base}/{name}", "op": op, "inputs": list(inputs), "parameters": [each for each in parameters if each],
                            "axes": "BTC", "have": "follows", "kernel": attention.name, **more})
            return entries[-1]["name"]

        def norm(number, source):
            return add(f"norm_{number}", "norm", source, parameters=names[2 * number - 2:2 * number], eps=arguments[9])

        out = f"{attention.name}/attention_out"
        if first:
            before = norm(1, x)
            for stage in stages:
                stage["inputs"] = [before] if stage["name"] in ("q", "k", "v") else stage["inputs"]
            middle = add("residual_1", "add", x, out)
            before = norm(2, middle)
        else:
            before = middle = norm(1, add("residual_1", "add", x, out))
        hidden = add("ffn_hidden", "linear", before, parameters=names[4:6])
        hidden = add("ffn_activation", "activation", hidden, called="gelu" if arguments[7] else "relu")
        last = add("residual_2", "add", middle, add("ffn_out", "linear", hidden, parameters=names[6:8]))
        if not first:
            norm(2, last)
        entries[-1]["have"] = "recorded" if value.held() else "no"
        if isinstance(value.buffer, Nested):
            entries[-1]["padded"] = True
        self.tensor(entries[-1]["name"], [(attention, value, layout)], "BTC", value)
        self.around.named[value] = (None, entries[-1]["name"])  # the next layer reads it
        return entries

    def stage(self, attention, stage):
        """One stage as recording.json has it; its tensor is put on the list."""
        line = Place(stage.node.where if stage.node is not None else None)
        self.quote(line)
        axes = stage.letters.replace("G", "H") if self.heads is not None else stage.letters
        entry = {"name": stage.name, "op": stage.op, "inputs": list(stage.inputs), "axes": axes, "line": line.line,
                 "have": stage.have}
        more = dict(stage.more)
        source, mask = more.pop("source", None), more.pop("mask", None)
        if source is not None:
            entry["inputs"] = [self.source(source, attention)]
        if more.pop("inside", False):
            entry["kernel"] = attention.name
        for name in more.get("parameters", ()):
            self.used_parameters.add(name)
        if mask is not None:
            entry["with"] = self.mask(attention, *mask, stage.op)
            if entry["with"] is None:
                del entry["with"]
        entry.update({name: each for name, each in more.items() if each is not None})
        if stage.op == "given" and not entry["inputs"] and "called" not in entry:
            maker = stage.parts[0][0].maker if stage.parts else None
            entry["called"] = maker.op if maker is not None else "given"
        if stage.have == "recorded":
            self.record(attention, stage, entry)
        return entry

    def record(self, attention, stage, entry):
        owners = getattr(stage, "owners", [attention] * len(stage.parts))
        parts = [(owner, *part) for owner, part in zip(owners, stage.parts)]
        first = parts[0][1]
        entry["dtype"] = _DTYPES.get(first.dtype, first.dtype)
        layout = parts[0][2]
        if layout is not None:
            entry["layout"] = [attention.letters_of(axis) for axis in layout]
        if self.stages is not None and stage.name.partition(".")[0] not in self.stages:
            entry["have"], entry["reason"] = "no", "not asked for"
        elif not all(value.held() for _, value, _ in parts):
            entry["have"], entry["reason"] = "no", "memory full" if self.step.full else "let go to save memory; give memory=BYTES"
        elif first.dtype not in _DTYPES:
            entry["have"], entry["reason"] = "no", f"{first.dtype} cannot be written"
        elif not self.tensor(f"{attention.name}/{stage.name}", parts, stage.letters, first):
            entry["have"], entry["reason"] = "no", "its axes are not known"
        if first.grad is not None and len(parts) == 1 and entry["have"] == "recorded":
            place = attention.place(layout, stage.letters) if layout is not None else None
            if place is not None:
                self.tensors.append(Tensor(f"{attention.name}/{stage.name}.grad", entry["dtype"], place[2],
                                           lambda: arrange(to_numpy(first.grad), place)))

    def tensor(self, name, parts, letters, first):
        """Puts a tensor in canonical axes on the list."""
        dtype, attention, placed = _DTYPES[first.dtype], parts[0][0], []
        for owner, value, layout in parts:
            place = owner.place(layout, letters) if layout is not None else None
            placed.append((value, place))
        shape = list(first.shape) if placed[0][1] is None else list(placed[0][1][2])
        if letters == "BTC" and len(shape) == 2:  # the rows of what was joined in another order than that of positions
            shape = [attention.sizes["B"], attention.sizes["T"], first.size // max(1, attention.sizes["B"] * attention.sizes["T"])]
        if len(shape) != len(letters) or math.prod(shape) != first.size and (placed[0][1] is None or not first.size):
            return False
        join = letters.index("S") if len(parts) > 1 else None
        if join is not None:
            shape[join] = sum(place[2][join] for _, place in placed)
        head = next((letters.index(letter) for letter in "HG" if letter in letters), None) if placed[0][1] is not None else None
        heads = self.heads_of(attention) if self.heads is not None and head is not None and shape[head] > 1 else None
        if heads is not None:
            heads = [each * shape[head] // attention.sizes["H"] for each in heads]  # of keys: the head that the query's head uses
            shape[head] = len(heads)

        def read():
            arrays = [value.read().reshape(shape) if place is None else arrange(value.read(), place) for value, place in placed]
            array = arrays[0] if len(arrays) == 1 else np.concatenate(arrays, join)
            return array if heads is None else array.take(heads, head)

        self.append(name, dtype, shape, read, [value for value, _ in placed])
        return True

    def heads_of(self, attention):
        """The heads to write."""
        return [each for each in self.heads if 0 <= each < attention.sizes["H"]]

    def append(self, name, dtype, shape, read, values):
        wanted = {"float16": "F16", "float32": "F32"}.get(str(self.dtype).rpartition(".")[2])
        if wanted is not None and dtype in ("F64", "F32", "BF16", "F16") and dtype != wanted:
            inner, kind = read, np.float16 if wanted == "F16" else np.float32
            widen = dtype == "BF16"
            dtype = wanted

            def read():
                array = inner()
                return (widen_bfloat16(array) if widen else array).astype(kind)

        self.tensors.append(Tensor(name, dtype, shape, read, values))

    def mask(self, attention, value, layout, op):
        """The mask or bias of a stage: written once, whoever uses it."""
        if value in self.inputs:
            return self.inputs[value]
        if not value.held() or layout is None or _DTYPES.get(value.dtype) is None:
            return None
        atoms = {atom for axis in attention.atoms.layout(layout) for atom in axis}
        letters = "".join(letter for letter in "BHTS" if atoms & set(attention.roles[letter]))
        if attention.place(layout, letters) is None:
            return None
        place = attention.place(layout, letters)
        mark = (letters, value.dtype, hashlib.blake2b(arrange(value.read(), place).tobytes(), digest_size=16).digest())
        if mark in self.inputs:
            return self.inputs.setdefault(value, self.inputs[mark])
        name = f"inputs/{'bias' if op == 'bias' else 'mask'}"
        count = len({each for each in self.inputs.values() if each.split(".")[0] == name})
        name += f".{count}" if count else ""
        self.inputs[value] = self.inputs[mark] = name
        self.tensor(name, [(attention, value, layout)], letters, value)
        self.given.append({"name": name, "op": "given", "called": "bias" if op == "bias" else "mask", "inputs": [], "axes": letters,
                           "have": "recorded"})
        return name

    def source(self, value, attention):
        """The stage that a linear map reads; a tensor from outside becomes one."""
        return self.around.name_of(value, attention) or self.given_as(value, puts_time_first(attention))

    def given_as(self, value, time_first):
        """The name of what nothing that was recorded made; it is recorded under that name. `time_first`: as it is read, [T,B,C]."""
        given = strip(value)
        while value is not given:
            time_first ^= value.maker.kind == "permute"
            value = value.maker.args[0]
        name, count = "embedding", sum(each["name"].split(".")[0] == "embedding" for each in self.given + self.entries)
        name += f".{count}" if count else ""
        self.around.named[value] = (None, name)
        self.given.append({"name": name, "op": "given", "called": value.maker.op if value.maker else "given", "inputs": [],
                           **self.raw(name, value, time_first)})
        return name

    def outside(self, value):
        """The name of what a stage reads, if it is what the code was given."""
        given = strip(value)
        is_given = given.maker is None and given.parameter is None and given.dtype.startswith(("float", "bfloat"))
        return self.given_as(value, self.time_first) if is_given else None

    def raw(self, name, value, time_first):
        """A tensor of `around`, as the code has it; positions that come before the texts follow them."""
        letters = {2: "TC", 3: "BTC"}.get(len(value.shape))
        entry = {"axes": letters} if letters and value.dtype.startswith(("float", "bfloat")) else {}
        base = re.split(r"[.#]", name.rpartition("/")[2])[0]
        if not value.held() or self.step.lost or value.dtype not in _DTYPES:
            return {**entry, "have": "no", "reason": "let go to save memory; give memory=BYTES"}
        if self.stages is not None and base not in self.stages:
            return {**entry, "have": "no", "reason": "not asked for"}
        shape, read = value.shape, value.read
        if time_first and letters == "BTC":
            shape = (shape[1], shape[0], shape[2])

            def read():
                return value.read().swapaxes(0, 1)

        self.append(name, _DTYPES[value.dtype], shape, read, [value])
        return {**entry, "have": "recorded"}

    def entry(self, entry):
        """One stage of `around`."""
        line = Place(entry["node"].where)
        self.used_parameters.update(entry["parameters"])
        inputs = [self.around.name_of(each) or self.outside(each) for each in entry["inputs"]]
        described = {"name": entry["name"], "op": entry["op"], "inputs": [each for each in inputs if each and each != entry["name"]],
                     "parameters": entry["parameters"], "line": line.line}
        described.update({name: entry[name] for name in ("called", "gated", "eps", "by") if entry.get(name) is not None})
        return {**described, **self.raw(entry["name"], entry["value"], self.time_first)}

    def add_parameters(self):
        """The parameters that the stages name."""
        if self.step.parameters_lost:
            self.unfollowed.append({"what": "parameters", "line": None, "do": "give memory=BYTES to attnscope.record to have them written"})
            return
        seen = set()
        for node in self.step.graph.nodes:
            for value in node.inputs():
                name = value.parameter
                if name and name in self.used_parameters and name not in seen and value.held() and value.dtype in _DTYPES:
                    seen.add(name)
                    value = strip(value)
                    self.tensors.append(Tensor(f"parameters/{name}", _DTYPES[value.dtype], value.shape, value.read, [value]))

    def quote(self, place):
        """Remembers the lines around a stage's line."""
        if place.file is None or place.of_library:
            return
        file = self.files.setdefault(short_file(place.file), {"name": place.file, "rows": set()})
        file["rows"].update(range(max(place.row - 4, 1), place.row + 5))

    def quoted(self):
        """The quoted lines of each file: the first line's number, and the lines up to the last."""
        result = {}
        for short, file in self.files.items():
            lines = linecache.getlines(file["name"])
            rows = [row for row in file["rows"] if row <= len(lines)]
            if rows:
                first, last = min(rows), min(max(rows), min(rows) + 400)
                result[short] = {"first": first, "lines": [line.rstrip("\n") for line in lines[first - 1:last]]}
        return result


def widen_bfloat16(bits):
    """bfloat16 as float32."""
    return (bits.astype(np.uint16).astype(np.uint32) << 16).view(np.float32)


# ---------------------------------------------------------------------------------------------------------------------------------------
# The run: steps, files, and the functions that you call
# ---------------------------------------------------------------------------------------------------------------------------------------

_runs = weakref.WeakSet()
_newest = {}
_lock = threading.Lock()


class Run:
    """A recording while it is made. `record` and `watch` return it."""

    def __init__(self, path, modules, tokens, every, stages, layers, heads, parameters, gradients, dtype, memory):
        self.path, self.modules, self.every, self.memory = os.fspath(path), list(modules), max(int(every), 1), memory
        self.tokens, self.source_tokens = split_tokens(tokens)
        self.options = {"stages": _names(stages), "layers": layers and set(layers) if layers is not None else None,
                        "heads": list(heads) if heads is not None else None, "parameters": parameters, "dtype": dtype}
        self.gradients, self.process, self.recorder, self.thread = gradients, os.getpid(), None, None
        self.number, self.graphs, self.unfollowed, self.files, self.error = 0, [], {}, {}, None
        self.finished, self.open, self.dead, self.waiting, self.written = False, False, False, 0, {}
        self.counting = threading.Lock()  # for `waiting`
        self.queue, self.started, self.streams, self.flushed = queue.SimpleQueue(), None, {}, 0.0
        self.rank, self.ranks = _rank()
        _runs.add(self)

    # --- in the user's thread

    def __enter__(self):
        self.begin()
        return self

    def __exit__(self, kind, error, trace):
        self.end(error)

    def begin(self):
        """Takes the folder and starts to record."""
        try:
            self.claim()
            self.open = True
            import torch  # noqa: F401
            keep_freed_memory(2 * self.memory)
            self.recorder = Recorder(self.memory, self.modules, self.gradients, lambda: self.waiting)
            self.recorder.start()
        except Exception as error:
            self.fail(error)

    def claim(self):
        """The number of this run; what was recorded here before gets a name of its own."""
        os.makedirs(self.path, exist_ok=True)
        self.started = _now()
        with _lock:
            numbers = [0]
            for name in os.listdir(self.path):
                match = re.match(r"(?:\.?run|curves-run|recording\.|recording-rank%d\.)(\d+)" % self.rank, name)
                if match and (not name.startswith("run") or f"-rank{self.rank}." in name):
                    numbers.append(int(match.group(1)))
            newest = os.path.join(self.path, self.json_name())
            before = _run_of(newest)
            if before is not None:
                os.replace(newest, os.path.join(self.path, self.json_name(before)))
                numbers.append(before)
            self.run = max(numbers) + 1
            _newest[os.path.abspath(self.path), self.rank] = self.run
            self.write_recording()

    def step(self, **logged):
        """Ends a step: logs the numbers, and records the next step if it is its turn."""
        if self.dead or os.getpid() != self.process or not self.open:
            return
        try:
            if logged:
                self.append("curves", {"step": self.number, "time": round(time.time(), 3), **{k: _number(v) for k, v in logged.items()}})
            if self.recorder is not None and self.recorder.graph.nodes:
                self.recorder.stop()
                self.send(self.recorder.finish(copy=True))
            self.number += 1
            if self.recorder is not None and self.recorder.failed is None and self.number % self.every == 0:
                self.recorder.start()
        except Exception as error:
            self.fail(error)

    def text(self, *texts, **named):
        """Keeps texts (samples of a language model, for instance) beside the step."""
        if self.dead or os.getpid() != self.process or not self.open:
            return
        try:
            self.append("texts", {"step": self.number, "texts": [str(each) for each in texts],
                                  **{name: str(each) for name, each in named.items()}})
        except Exception as error:
            self.fail(error)

    def close(self):
        """Ends the run, and waits until everything is written."""
        self.end(None)

    def end(self, error):
        if not self.open:
            if self.recorder is not None:
                self.recorder.stop()
            return
        self.open = False
        recorder, self.recorder = self.recorder, None
        if os.getpid() != self.process:
            if recorder is not None:
                recorder.stop()
            return
        try:
            if error is not None:
                self.error = _describe_error(error)
            if recorder is not None:
                recorder.stop()
                step = recorder.finish(copy=False)
                if step.graph.nodes:
                    step.error = self.error or recorder.failed
                    self.send(step)
                self.unfollowed.update(recorder.unfollowed)
            self.finished = True
            if self.thread is not None:
                self.queue.put(None)
                self.thread.join()
            self.write_recording()
            for stream in self.streams.values():
                stream.close()
        except Exception as failure:
            self.fail(failure)
        finally:
            self.modules = []

    def send(self, step):
        """Hands a step to the thread that writes."""
        step.number = self.number
        step.names_below, step.modules_below = set(), []
        for root in step.modules:
            step.modules_below += list(root.modules())
            path = step.names.modules.get(id(root), "")
            step.names_below |= {name for name in step.names.parameters if not path or name.startswith(path + ".")}
        with self.counting:
            self.waiting += step.bytes
        if self.thread is None:
            self.thread = threading.Thread(target=self.write_all, name="attnscope", daemon=True)
            self.thread.start()
        self.queue.put(step)

    def append(self, kind, content):
        if kind not in self.streams:
            self.streams[kind] = io.open(os.path.join(self.path, f"{kind}-run{self.run}-rank{self.rank}.jsonl"), "a", encoding="utf-8")
        stream = self.streams[kind]
        stream.write(json.dumps(plain(content), ensure_ascii=False, allow_nan=False) + "\n")
        if time.monotonic() > self.flushed + 0.2:
            for each in self.streams.values():
                each.flush()
            self.flushed = time.monotonic()

    def fail(self, error):
        """Something of ours went wrong: one warning, and the program goes on without."""
        if not self.dead:
            self.dead = True
            _warn(f"nothing more is recorded in {self.path}: {type(error).__name__}: {error}")
        if self.recorder is not None:
            self.recorder.stop()

    # --- in the thread that writes

    def write_all(self):
        while True:
            step = self.queue.get()
            if step is None:
                return
            try:
                self.write_step(step)
            except Exception as error:
                if not self.dead:
                    self.dead = True
                    _warn(f"nothing more is recorded in {self.path}: {type(error).__name__}: {error}")
            finally:
                with self.counting:
                    self.waiting -= step.bytes
                step.graph.forget()
                step = None

    def write_step(self, step):
        described = Description(step, **self.options)
        graph = json.dumps(plain(described.graph), sort_keys=True)
        known = [each for each, _ in self.graphs]
        new = graph not in known
        if new:
            self.graphs.append((graph, described.graph))
        for each in described.unfollowed:
            self.unfollowed.setdefault(each["what"], each)
        self.files.update(described.quoted())
        tensors, marks = self.changed_parameters(described.tensors)
        metadata = {"format": FORMAT, "run": str(self.run), "step": str(step.number), "rank": str(self.rank),
                    "graph": str(([each for each, _ in self.graphs]).index(graph)), "complete": "no" if step.error else "yes"}
        name = f"run{self.run}-step{step.number:08d}-rank{self.rank}.safetensors"
        if new:
            self.write_recording()
        written = write_safetensors(os.path.join(self.path, name), tensors, metadata)
        self.written.update((each, marks[each]) for each in written if each in marks)

    def changed_parameters(self, tensors):
        """The tensors to write, and marks of the parameters among them: these are written again only when they changed."""
        kept, marks = [], {}
        for each in tensors:
            if each.name.startswith("parameters/"):
                try:
                    mark = hashlib.blake2b(np.ascontiguousarray(each.read()).tobytes(), digest_size=16).digest()
                except (RuntimeError, ValueError, TypeError, NotImplementedError):
                    continue
                if self.written.get(each.name) == mark:
                    continue
                marks[each.name] = mark
            kept.append(each)
        return kept, marks

    def json_name(self, number=None):
        rank = f"-rank{self.rank}" if self.rank else ""
        return f"recording{rank}.{number}.json" if number is not None else f"recording{rank}.json"

    def write_recording(self):
        torch = sys.modules.get("torch")
        name = self.json_name(None if _newest.get((os.path.abspath(self.path), self.rank), 0) <= self.run else self.run)
        write_json(os.path.join(self.path, name), {
            "format": FORMAT, "run": self.run, "rank": self.rank, "ranks": self.ranks, "writer": f"attnscope.py {__version__}",
            "library": f"torch {torch.__version__}" if torch is not None else f"numpy {np.__version__}", "process": self.process,
            "started": self.started, "finished": self.finished, "ended": _now() if self.finished else None, "error": self.error,
            "every": self.every, "tokens": self.tokens, "source_tokens": self.source_tokens,
            "graphs": [graph for _, graph in self.graphs], "files": self.files, "unfollowed": list(self.unfollowed.values())})


def keep_freed_memory(size):
    """Tells glibc to keep as much of what is freed for what comes next. To give the memory of a step back to the system, and to get it anew
    for the next one, costs more than to record it."""
    try:
        import ctypes
        mallopt, most = ctypes.CDLL(None).mallopt, (1 << 31) - 1
    except (ImportError, AttributeError, OSError, TypeError):  # another C library
        return
    trim_threshold, mmap_threshold = -1, -3
    mallopt(mmap_threshold, 32 * MIB)  # what glibc itself goes up to
    mallopt(trim_threshold, min(size, most))


def _now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _names(names):
    return None if names is None else {names} if isinstance(names, str) else set(names)


def _number(value):
    try:
        return float(value.detach() if hasattr(value, "detach") else value)
    except (TypeError, ValueError, RuntimeError):
        return str(value)


def _rank():
    """(rank, number of ranks) of this process in its job."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    try:
        return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    except ValueError:
        return 0, 1


def _run_of(path):
    """The number of a run that was recorded before; 0 if the file cannot be read, None if there is none."""
    try:
        with io.open(path, encoding="utf-8") as file:
            return int(json.load(file).get("run", 0))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError, TypeError):
        return 0


def _describe_error(error):
    """Type, text and line of an error that ended the block."""
    trace, line = error.__traceback__, None
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename != __file__ and ("torch" not in sys.modules or _kind_of_code(code)[0] == 2):
            line = f"{short_file(code.co_filename)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return {"type": type(error).__name__, "text": str(error)[:2000], "line": line}


def split_tokens(tokens):
    """(tokens, source tokens), each as a list of rows of words; a pair (source, target) is a tuple of two lists."""
    def rows(words):
        words = list(words)
        return [[str(word) for word in row] for row in words] if words and not isinstance(words[0], str) and hasattr(
            words[0], "__iter__") else [[str(word) for word in words]]
    if tokens is None:
        return None, None
    if isinstance(tokens, str):
        tokens = tokens.split()
    if isinstance(tokens, tuple) and len(tokens) == 2 and not any(isinstance(each, str) for each in tokens):
        return rows(tokens[1]), rows(tokens[0])
    return rows(tokens), None


def _in_child():
    """A forked process records nothing, and waits for no thread that it does not have."""
    for run in list(_runs):
        run.dead = True
        if run.recorder is not None:
            run.recorder.on = False


def _at_exit():
    for run in list(_runs):
        if run.open and run.process == os.getpid():
            run.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
atexit.register(_at_exit)


def record(path, *modules, tokens=None, every=1, stages=None, layers=None, heads=None, parameters=True, gradients=False, dtype=None,
           memory=256 * MIB):
    """Records the attentions that run inside a `with` block, whoever wrote them, into the folder `path`.

        with attnscope.record("run.attn", tokens=["the", "cat", "sat"]):
            model(x)

    modules     record only what runs inside these, and take names from them; without, everything is recorded
    tokens      the words of a text, one list for each of several texts, or a pair (source, target) for cross-attention
    every       with `run.step()` in the block: record every n-th step
    stages      names of the stages to write ("weights", or a list of names); without, all
    layers      numbers of the layers to write
    heads       numbers of the heads to write
    parameters  write the parameters of the recorded stages
    gradients   write the gradients of the recorded stages, if backward runs in the block
    dtype       "float16" or "float32" to write numbers in that format; without, as the code has them
    memory      bytes that may be held at most until they are written; on Linux, up to twice as many stay with the process afterwards
    """
    return Run(path, modules, tokens, every, stages, layers, heads, parameters, gradients, dtype, memory)


def watch(model, path, every=50, **options):
    """Records a training loop: the first step, then every n-th. A step ends with `run.step(loss=..., anything=...)`, and the run
    with `run.close()`, with the end of a `with` block, or with the program. Takes the options of `record`, too."""
    names = ("tokens", "stages", "layers", "heads", "parameters", "gradients", "dtype", "memory")
    unknown = set(options) - set(names)
    if unknown:
        raise TypeError(f"watch() got an unexpected argument {sorted(unknown)[0]!r}")
    given = {"tokens": None, "stages": None, "layers": None, "heads": None, "parameters": True, "gradients": False, "dtype": None,
             "memory": 256 * MIB, **options}
    run = _Watch(path, [model] if model is not None else [], every=every, **given)
    run.begin()
    return run


class _Watch(Run):
    """A run that has begun already when a `with` block begins."""

    def __enter__(self):
        return self


# Axes of the names that `save` knows.
_AXES = {"q": "BHTD", "k": "BHSD", "v": "BHSD", "context": "BHTD", "concat": "BTC", "attention_out": "BTC",
         **{name: "BHTS" for name in ("scores", "scaled", "capped", "masked", "softmax", "weights", "dropped")}}


def save(path, tokens=None, name="attention", **arrays):
    """Writes arrays as a recording of one step: attnscope.save("run.attn", q=q, k=k, scores=s, weights=w, tokens=words).

    Arrays may be of NumPy, PyTorch or JAX, or lists. Names of stages (q k v scores scaled capped masked softmax weights dropped context
    concat attention_out) are brought to axes batch, head, query, key: with two axes there is one head and one batch, the third is the
    batch, the fourth stands before the heads, the fifth (windows) belongs to the batch. Everything else is kept as it is, and shown as
    matrices under its name. A path that ends in .safetensors becomes a single file."""
    single = os.fspath(path).endswith(".safetensors")
    tensors = _tensors_of(arrays, name)
    if single:
        write_safetensors(os.fspath(path), tensors, _metadata_of(tokens, 0))
        return
    run = Run(path, (), tokens, 1, None, None, None, False, False, None, 0)
    run.claim()
    metadata = {"format": FORMAT, "step": "0", "complete": "yes", "run": str(run.run), "rank": str(run.rank)}
    write_safetensors(os.path.join(run.path, f"run{run.run}-step00000000-rank{run.rank}.safetensors"), tensors, metadata)
    run.finished = True
    run.write_recording()


class _Window:
    """The window that `show` has opened, and the folder that it follows."""
    folder, steps, process = None, 0, None


def show(tokens=None, name="attention", **arrays):
    """Shows arrays in a window: attnscope.show(q=q, k=k, scores=s, weights=w, tokens=words), or attnscope.show(x=matrix).

    Takes what `save` takes. The first call opens the window; each later one is a further step in it, and opens it again if it was
    closed. The program is `attnscope` on the PATH, or what the environment variable ATTNSCOPE says. Returns the folder with the steps."""
    if _Window.folder is None or not os.path.isdir(_Window.folder):
        _Window.folder, _Window.steps = tempfile.mkdtemp(prefix="attnscope-"), 0
    file = os.path.join(_Window.folder, f"run1-step{_Window.steps:08}-rank0.safetensors")
    write_safetensors(file, _tensors_of(arrays, name), {**_metadata_of(tokens, _Window.steps), "run": "1", "rank": "0"})
    _Window.steps += 1
    if _Window.process is None or _Window.process.poll() is not None:
        _Window.process = subprocess.Popen([_program(f"open {_Window.folder} with it"), _Window.folder], stdin=subprocess.DEVNULL)
    return _Window.folder


def _program(otherwise):
    program = os.environ.get("ATTNSCOPE") or shutil.which("attnscope")
    if not program:
        raise FileNotFoundError("there is no program attnscope on the PATH; set ATTNSCOPE to it, or " + otherwise)
    return program


def open(module, path, *inputs, words=None):
    """Writes a PyTorch module as a model that attnscope runs: attnscope.open(model, "my-model"), then `attnscope my-model`.

    The module runs once, in evaluation, on `inputs`: ids of tokens, or vectors [B,T,C] of a layer or an attention. Without them, a module
    with an embedding gets the first ids, any other one random vectors, for each argument that it needs. `words`, a list or dictionary with
    the text of every id, lets one speak to the model in words or characters instead of ids. Raises RuntimeError with the reason if no
    model of attnscope computes what the module computes. The program is found as by `show`. Returns the folder."""
    import torch
    program = _program("record it, and open it as a model there")
    inputs = inputs or _first_inputs(module)
    training = [each for each in module.modules() if each.training]
    with tempfile.TemporaryDirectory(prefix="attnscope-") as folder:
        try:
            module.eval()
            with torch.enable_grad(), record(os.path.join(folder, "run.attn"), module):  # without gradients, layers run as one operation
                module(*inputs)
        finally:
            for each in training:
                each.training = True
        command = [program, "recording", os.path.join(folder, "run.attn"), "--model", os.fspath(path)]
        if words is not None:
            with io.open(os.path.join(folder, "words.json"), "w", encoding="utf-8") as file:
                json.dump([str(words[i]) for i in range(len(words))], file)
            command += ["--words", file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return os.fspath(path)


def _first_inputs(module):
    """Something that a module can read for each argument that it needs: as many ids as all its embeddings have, or vectors of the width of
    its first linear map."""
    import torch
    needed = [each for each in inspect.signature(module.forward).parameters.values() if each.default is each.empty and each.kind in (
        each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    sizes = [each.num_embeddings for each in module.modules() if isinstance(each, torch.nn.Embedding)]
    if sizes:
        return [torch.arange(min(sizes + [8]))[None]] * max(len(needed), 1)
    linear = next(each for each in module.modules() if isinstance(each, (torch.nn.Linear, torch.nn.MultiheadAttention)))
    width = linear.embed_dim if isinstance(linear, torch.nn.MultiheadAttention) else linear.in_features
    random = torch.Generator().manual_seed(0)
    time_first = any(not getattr(each, "batch_first", True) for each in module.modules())
    inputs = [torch.randn(*((8, 1) if time_first else (1, 8)), width, generator=random) for _ in range(max(len(needed), 1))]
    return inputs[:1] * len(inputs) if isinstance(module, torch.nn.MultiheadAttention) else inputs


def _metadata_of(tokens, step):
    """Of a file that stands for itself."""
    words, source = split_tokens(tokens)
    metadata = {"format": FORMAT, "step": str(step), "complete": "yes"}
    if words is not None:
        metadata["tokens"] = json.dumps(words, ensure_ascii=False)
    if source is not None:
        metadata["source_tokens"] = json.dumps(source, ensure_ascii=False)
    return metadata


def _tensors_of(arrays, name):
    """Arrays by the names of their stages, with canonical axes."""
    tensors = []
    order = [*_AXES, *arrays]
    for stage in sorted(arrays, key=order.index):
        array, dtype = _array(arrays[stage])
        axes = _AXES.get(stage.rstrip("_"))
        shape = _canonical_shape(array.shape, axes) if axes else None
        array = array if shape is None else array.reshape(shape)
        own = re.sub(r"[^\w.-]", "_", stage)
        full = f"{clean(name)}/{own}" if axes or name != "attention" else own  # what is no stage belongs to no attention
        tensors.append(Tensor(full, dtype, array.shape, lambda array=array: array))
    return tensors


def _array(given):
    """(NumPy array, name of its dtype in a file) of anything that is an array."""
    if hasattr(given, "detach") and hasattr(given, "is_nested"):
        array, bits = to_numpy(given), str(given.dtype) == "torch.bfloat16"
    else:
        array, bits = np.asarray(given), False
        if array.dtype.name == "bfloat16":
            array, bits = array.view(np.int16), True
    dtype = "BF16" if bits else _DTYPES.get(array.dtype.name)
    if dtype is None:
        raise TypeError(f"an array of {array.dtype} cannot be saved")
    return np.ascontiguousarray(array), dtype


def _canonical_shape(shape, axes):
    """The shape with all of a stage's axes, or None where it has too few or too many."""
    if len(axes) == 3:  # [B,T,C]
        return {2: (1, *shape), 3: shape}.get(len(shape))
    return {2: (1, 1, *shape), 3: (shape[0], 1, *shape[1:]), 4: shape,
            5: (shape[0] * shape[1], *shape[2:]) if len(shape) == 5 else None}.get(len(shape))
