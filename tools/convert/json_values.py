# SPDX-License-Identifier: MIT
"""JSON as lexformer reads and writes it."""

import itertools
import json
import re

from .errors import check, shown, Stop
from .files import read_bytes

MAX_JSON = 32 << 20  # as in io/json.hpp
MAX_VALUES = 1000000  # keys, values and brackets: 2 bytes of text may need 100 bytes of memory
EVENT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[][{}]|[^]["{},:\s]+', re.DOTALL)


def parse_json(text, where, kind=dict, most=MAX_VALUES):
    def unique(pairs):
        keys = dict(pairs)
        check(len(keys) == len(pairs), where, "a key occurs twice in one object")
        return keys

    try:
        text = text.decode() if isinstance(text, bytes) else text
        events = sum(1 for _ in itertools.islice(EVENT.finditer(text), most + 1))
        check(events <= most, where, "has more than %d keys, values and brackets" % most)
        value = json.loads(text, object_pairs_hook=unique)
        dump_json(value).encode()  # fails for values that json.loads accepts but UTF-8 JSON cannot represent: NaN, 1e999, lone surrogates
    except (ValueError, RecursionError) as error:
        raise Stop(3, "%s: not JSON: %s" % (where, error))
    check(isinstance(value, kind), where, "is %s, expected %s" % (type(value).__name__, kind.__name__))
    return value


def read_json(path, kind=dict):
    return parse_json(read_bytes(path, MAX_JSON), path, kind)


def dump_json(value):
    """JSON as lexformer writes it: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def is_size(value, low=0, high=2**63):
    return type(value) is int and low <= value <= high


def is_text(value):
    """Whether the value is a string without lone surrogates, so that UTF-8 can encode it."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def get(config, key, kind, path, default=None):
    value = config.get(key)
    if value is None:
        return default
    check(type(value) is kind, path, "'%s' is %s, expected %s" % (key, shown(value), kind.__name__))
    return value
