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
