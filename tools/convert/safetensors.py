# SPDX-License-Identifier: MIT
"""Safetensors files."""

import math
import struct
import zlib

from .errors import check, shown, Stop
from .files import check_start, write_bytes
from .json_values import dump_json, is_size, parse_json
from .tensor import WIDTHS, Tensor


def parse_safetensors(content, path):
    """Returns tensors and metadata; refuses anything but a valid safetensors file."""
    length = check_start(content[:9], len(content), path)
    header = parse_json(content[8:8 + length], path + ": header")
    data = memoryview(content)[8 + length:]
    metadata = header.pop("__metadata__", {})
    texts = isinstance(metadata, dict) and all(isinstance(text, str) for text in metadata.values())
    check(texts, path, "__metadata__ holds something other than texts")
    tensors, position = {}, 0
    try:
        for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            here, dtype, shape, offsets = "%s: tensor %s" % (path, shown(name)), entry["dtype"], entry["shape"], entry["data_offsets"]
            check(len(entry) == 3, here, "expected an object of dtype, shape and data_offsets, it has %d keys" % len(entry))
            check(isinstance(dtype, str) and dtype in WIDTHS, here, "unknown dtype %s" % shown(dtype))
            check(len(shape) <= 8 and all(map(is_size, shape)), here, "the shape %s is not possible" % shown(shape))
            end = position + math.prod(shape) * WIDTHS[dtype]
            check(offsets == [position, end] and all(map(is_size, offsets)), here,
                  "its data_offsets are %s, expected %s; the file is damaged" % (shown(offsets), shown([position, end])))
            check(end <= len(data), here, "it ends at byte %d of the data, but there are %d; the file is cut off" % (end, len(data)))
            tensors[name] = Tensor(dtype, tuple(shape), data[position:end])
            position = end
    except (KeyError, TypeError):
        raise Stop(3, "%s: the header is damaged: not every tensor has dtype, shape and data_offsets" % path)
    check(position == len(data), path, "%d bytes follow the last tensor; the file is damaged" % (len(data) - position))
    if "lexformer.crc32" in metadata:
        sums = parse_json(metadata["lexformer.crc32"], path + ": lexformer.crc32")
        for name, tensor in tensors.items():
            check(sums.get(name) == zlib.crc32(tensor.data), path, "tensor %s: its checksum does not fit; the file is damaged" % shown(name))
    return tensors, metadata


def write_safetensors(path, tensors, metadata):
    """Writes the same bytes as TensorFile::write in io/safetensors.hpp."""
    order = sorted(tensors, key=lambda name: (-WIDTHS[tensors[name].dtype], name))
    sums = {name: zlib.crc32(tensors[name].data) for name in order}
    text, position = '{"__metadata__":' + dump_json({**metadata, "format": "pt", "lexformer.crc32": dump_json(sums)}), 0
    for name in order:
        dtype, shape, data = tensors[name]
        text += ',%s:{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}' % (
            dump_json(name), dtype, dump_json(shape), position, position + len(data))
        position += len(data)
    header = (text + "}").encode()
    header += b" " * (-(len(header) + 8) % 64)
    write_bytes(path, struct.pack("<Q", len(header)), header, *(tensors[name].data for name in order))
