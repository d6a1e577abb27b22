# SPDX-License-Identifier: MIT
"""A tensor and its element types."""

import array
import collections
import math
import struct

from .errors import check, Stop

WIDTHS = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2, "I8": 1, "U8": 1, "BOOL": 1}
FLOATS = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}  # with PyTorch's names
Tensor = collections.namedtuple("Tensor", "dtype shape data")  # data: bytes, little-endian, C order


def values(tensor):
    """The elements of a floating-point tensor."""
    if tensor.dtype == "F16":
        return array.array("f", struct.unpack("<%de" % (len(tensor.data) // 2), tensor.data))
    data = tensor.data
    if tensor.dtype == "BF16":  # the upper half of a float
        data = bytearray(2 * len(tensor.data))
        data[2::4], data[3::4] = tensor.data[0::2], tensor.data[1::2]
    numbers = array.array("d" if tensor.dtype == "F64" else "f")
    numbers.frombytes(data)
    return numbers


def transpose(tensor):
    """The transposed matrix."""
    rows, columns = tensor.shape
    elements = memoryview(bytes(tensor.data)).cast({8: "Q", 4: "I", 2: "H", 1: "B"}[WIDTHS[tensor.dtype]])
    return Tensor(tensor.dtype, (columns, rows), b"".join(elements[j::columns].tobytes() for j in range(columns)))


def split(tensor, count, where):
    """The tensor's rows, divided evenly among `count` tensors."""
    rows = tensor.shape[0] if tensor.shape else 0
    check(rows and rows % count == 0, where, "has the shape %s, expected rows of %d tensors" % (list(tensor.shape), count))
    part = len(tensor.data) // count
    return [Tensor(tensor.dtype, (rows // count, *tensor.shape[1:]), tensor.data[i * part:(i + 1) * part]) for i in range(count)]


def join(tensors):
    """The rows of all tensors in one."""
    first = tensors[0]
    return Tensor(first.dtype, (sum(tensor.shape[0] for tensor in tensors), *first.shape[1:]), b"".join(tensor.data for tensor in tensors))


def pair_rows(tensor, heads, where, back=False):
    """The rows of each head of width d in the order 0, d / 2, 1, d / 2 + 1, ...; back: from this order."""
    rows = tensor.shape[0] if tensor.shape else 0
    check(rows and rows % (2 * heads) == 0, where, "has the shape %s, expected an even number of rows for each of %d heads" % (list(tensor.shape), heads))
    d, width = rows // heads, len(tensor.data) // rows
    order = [h * d + t + half for h in range(heads) for t in range(d // 2) for half in (0, d // 2)]
    if back:
        order = sorted(range(len(order)), key=order.__getitem__)
    return Tensor(tensor.dtype, tensor.shape, b"".join(bytes(tensor.data[width * row:width * (row + 1)]) for row in order))


def is_finite(numbers):
    return math.isfinite(sum(numbers)) or all(map(math.isfinite, numbers))  # the sum may overflow, but is much faster


def to_int8(tensor, where):
    """The integers of a weight (out, in) and their scales (out): scale = max |w| / 127 in float, integer = w / scale, rounded to the
    nearest, ties to even. The same as quantize_rows in kernels/products/int8_weights.hpp."""
    numbers = array.array("f", values(tensor))
    check(is_finite(numbers), where, "holds NaN or infinite values; the model is broken")
    rows, columns = tensor.shape
    scales, integers = array.array("f"), array.array("b")
    for row in range(rows):
        part = numbers[row * columns:(row + 1) * columns]
        scales.append(max(map(abs, part), default=0.0) / 127)
        scale = scales[-1]
        integers.extend([max(-127, min(127, round(x / scale))) for x in part] if scale > 0 else [0] * columns)
    return Tensor("I8", tensor.shape, integers.tobytes()), Tensor("F32", (rows,), scales.tobytes())


def convert(tensor, dtype, where):
    """The tensor as `dtype`, rounded to the nearest, ties to even."""
    numbers = values(tensor)
    check(is_finite(numbers), where, "holds NaN or infinite values; the model is broken")
    if tensor.dtype == dtype:
        return tensor
    too_large = "a value is too large for %s; choose another --dtype" % dtype
    try:
        if dtype == "F16":
            data = struct.pack("<%de" % len(numbers), *numbers)
        else:
            data = array.array("d" if dtype == "F64" else "f", numbers).tobytes()
    except OverflowError:
        raise Stop(3, "%s: %s" % (where, too_large))
    if dtype == "BF16":
        data = array.array("H", ((w + 0x7FFF + ((w >> 16) & 1)) >> 16 for w in array.array("I", data))).tobytes()
    out = Tensor(dtype, tensor.shape, data)
    check(is_finite(values(out)), where, too_large)
    return out
