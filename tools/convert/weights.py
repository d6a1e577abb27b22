# SPDX-License-Identifier: MIT
"""The weight file of a folder, or the files that an index lists."""

import hashlib
import os
import re

from .errors import check, shown
from .files import read_bytes
from .json_values import get, read_json
from .safetensors import parse_safetensors
from .torch_files import parse_bin

WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")


def weights_of(folder):
    """The weight file of a folder."""
    weights = next(filter(os.path.exists, (os.path.join(folder, name) for name in WEIGHTS)), None)
    check(weights is not None, folder, "there is neither model.safetensors nor pytorch_model.bin in this folder")
    return weights


def is_plain_name(name):
    return isinstance(name, str) and re.fullmatch(r"[^./\0][^/\0]*", name) is not None


def read_weights(path):
    """All tensors of a weight file, or of the files that an index lists, and the SHA-256 of the files."""
    folder, file = os.path.split(path)
    index, files = None, {file}
    if file.endswith(".json"):
        index = get(read_json(path), "weight_map", dict, path, {})
        check(index and all(map(is_plain_name, index.values())), path, "'weight_map' does not give a plain file name for each tensor")
        files = set(index.values())
    tensors, digest = {}, hashlib.sha256()
    for file in sorted(files):
        part = os.path.join(folder, file)
        content = read_bytes(part)
        digest.update(content)
        found = parse_safetensors(content, part)[0] if file.endswith(".safetensors") else parse_bin(content, part)
        for name in found:
            check(index is None or index.get(name) == file, path, "does not place tensor %s in %s, which holds it" % (shown(name), shown(file)))
        tensors.update(found)
    for name in index or ():
        check(name in tensors, path, "tensor %s is in none of the files" % shown(name))
    return tensors, digest.hexdigest()
