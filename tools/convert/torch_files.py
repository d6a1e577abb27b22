# SPDX-License-Identifier: MIT
"""The .bin files of torch.save: zip files, and what PyTorch before 1.6 wrote."""

import io
import itertools
import math
import struct
import zipfile

from .errors import check, one_line, shown, Stop
from .json_values import is_text
from .pickles import Later, MAX_PICKLE, unpickle
from .tensor import WIDTHS, Tensor


def read_zip(content, path):
    """What torch.save wrote since PyTorch 1.6, and key -> bytes of its storages."""
    def stored(name):
        check(name in entries, path, "the entry %s is missing" % shown(name))
        check(entries[name].compress_type == zipfile.ZIP_STORED, path, "the entry %s is compressed, which torch.save never does" % shown(name))
        return archive.read(name)

    def storage(dtype, key, count):
        if key not in data:
            data[key] = stored(root + "data/" + key)
        check(len(data[key]) == count * WIDTHS[dtype], path, "the storage %s has the wrong size" % shown(key))
        return dtype, key

    data = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        pickles = [name for name in entries if name.endswith("/data.pkl") and name.count("/") == 1]
        check(len(pickles) == 1, path, "holds no data.pkl; this is no file of torch.save")
        root = pickles[0][:-len("data.pkl")]
        check(root + "byteorder" not in entries or stored(root + "byteorder") == b"little", path, "is not little-endian")
        check(entries[pickles[0]].file_size <= MAX_PICKLE, path, "its pickle has more than the %d bytes that are read of one" % MAX_PICKLE)
        return unpickle(io.BytesIO(stored(pickles[0])), path, storage), data


CASTS = {1: "B", 2: "H", 4: "I", 8: "Q"}  # of a memoryview, by bytes of an element
OLD_FORMAT = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."  # the first of five pickles


def read_old(content, path):
    """What torch.save wrote before PyTorch 1.6: pickles of a magic number, a version, the machine's sizes, the object and the keys of its
    storages; then the storages, each after its number of elements."""
    stream, kinds, data = io.BytesIO(content), {}, {}

    def storage(dtype, key, count):
        check(kinds.setdefault(key, (dtype, count)) == (dtype, count), path, "the storage %s has two sizes" % shown(key))
        return dtype, key

    def no_storage(*_):
        raise Stop(3, "%s: is damaged: a storage is in the wrong place" % path)

    _, version, machine = [unpickle(stream, path, no_storage) for _ in range(3)]
    check(version == 1001, path, "its format of torch.save is %s, expected 1001" % shown(version))
    check(isinstance(machine, dict) and machine.get("little_endian") is True, path, "is not little-endian")
    value, keys = unpickle(stream, path, storage), unpickle(stream, path, no_storage)
    check(isinstance(keys, list) and len(set(map(str, keys))) == len(keys) and set(keys) == set(kinds), path, "is damaged: the list of storages does not fit")
    for key in keys:
        dtype, count = kinds[key]
        size = count * WIDTHS[dtype]
        check(stream.read(8) == struct.pack("<q", count), path, "the storage %s has the wrong size, or the file is cut off" % shown(key))
        data[key] = content[stream.tell():stream.tell() + size]
        check(stream.seek(size, 1) <= len(content), path, "the storage %s ends after the file; it is cut off" % shown(key))
    return value, data


def parse_bin(content, path):
    """The tensors of a file of torch.save, also within the checkpoint of a trainer: {"state_dict": tensors, ...}."""
    check(len(content) < 265 or content[257:262] != b"ustar", path, "is a tar file of PyTorch before 0.1.10; load and save it with a newer one")
    old = content.startswith(OLD_FORMAT)
    check(old or zipfile.is_zipfile(io.BytesIO(content)), path, "is no file of torch.save: neither a zip file nor the pickles of PyTorch before 1.6")
    try:
        tensors, data = (read_old if old else read_zip)(content, path)
        check(isinstance(tensors, dict), path, "holds no dictionary of tensors")
        for key in ("state_dict", "model_state_dict", "model"):
            if isinstance(tensors.get(key), dict):
                print("%s: took the tensors of %r" % (one_line(path), key))
                tensors = tensors[key]
                break
        tensors = dict(tensors.items())  # a pickle can give an OrderedDict other members
    except Stop:
        raise
    except Exception as error:  # a damaged pickle or zip raises almost anything
        raise Stop(3, "%s: is damaged: %s: %.200s" % (path, type(error).__name__, error))
    for name, tensor in tensors.items():
        check(is_text(name), path, "the name %s is no text in UTF-8" % shown(name))
        check(isinstance(tensor, Later), path, "%s is no tensor" % shown(name))
    total = sum(math.prod(tensor.shape) * WIDTHS[tensor.storage[0]] for tensor in tensors.values())
    outside = [name for name, tensor in tensors.items() if not lies_inside(tensor, data)]
    check(not outside, path, "a tensor lies outside its storage")
    check(total <= 4 * len(content), path, "its tensors would have %d bytes, the file has %d; many share a storage" % (total, len(content)))
    return {name: Tensor(t.storage[0], t.shape, gather(data[t.storage[1]], WIDTHS[t.storage[0]], t.offset, t.shape, t.stride)
                         if math.prod(t.shape) else b"") for name, t in tensors.items()}


def lies_inside(tensor, data):
    dtype, key = tensor.storage
    count, there = math.prod(tensor.shape), len(data[key]) // WIDTHS[dtype]
    last = tensor.offset + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride))
    return count == 0 or (count <= there and last < there)


def gather(data, width, offset, shape, stride):
    """The elements in C order."""
    axes, run = [axis for axis in zip(shape, stride) if axis[0] != 1], 1
    while axes and axes[-1][1] == run:  # the last axes are often contiguous, with `run` elements
        run *= axes.pop()[0]
    if not axes:
        return data[offset * width:(offset + run) * width]
    if run > 1:
        axes.append((run, 1))
    out = bytearray(math.prod(shape) * width)
    theirs, ours = memoryview(data).cast(CASTS[width]), memoryview(out).cast(CASTS[width])
    axes = [(size, step, math.prod(size for size, _ in axes[i + 1:])) for i, (size, step) in enumerate(axes)]
    size, step, place = axes.pop(axes.index(max(axes)))  # the longest axis is copied at once, for each index of the others
    for index in itertools.product(*(range(axis[0]) for axis in axes)):
        start, at = offset + sum(i * axis[1] for i, axis in zip(index, axes)), sum(i * axis[2] for i, axis in zip(index, axes))
        one = theirs[start:start + (size - 1) * step + 1:step] if step else memoryview(data[start * width:(start + 1) * width] * size).cast(CASTS[width])
        ours[at:at + (size - 1) * place + 1:place] = one
    return out
