# SPDX-License-Identifier: MIT
"""Files of the library sentencepiece: a ModelProto in the wire format of protocol buffers."""

import struct

from .errors import check, Stop
from .files import read_bytes
from .json_values import is_text

NORMAL, UNKNOWN, CONTROL, USER_DEFINED = 1, 2, 3, 4  # of ModelProto.SentencePiece.Type
MOST_BYTES, MOST_PIECES = 64 << 20, 1 << 20


def read_varint(data, at):
    value = shift = 0
    while shift < 64:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at
    raise ValueError("a number is too long")


def read_fields(data):
    """The fields of a message: (number, value); the value is an int, or the bytes of a text, a message or a float."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind in (1, 2, 5):
            size = {1: 8, 5: 4}.get(kind)
            if size is None:
                size, at = read_varint(data, at)
            if size > len(data) - at:
                raise ValueError("a field ends outside of the message")
            value, at = data[at:at + size], at + size
        else:
            raise ValueError("a field has the unknown wire type %d" % kind)
        yield tag >> 3, value


def read_pieces(path):
    """The pieces of a Unigram model, (text, score, type), and the precompiled map of its normalizer, maybe empty."""
    pieces, trainer, charsmap = [], {}, b""
    try:
        for number, value in read_fields(read_bytes(path, MOST_BYTES)):
            if number == 1:
                piece = dict(read_fields(value))
                pieces.append((piece.get(1, b"").decode(), struct.unpack("<f", piece.get(2, bytes(4)))[0], piece.get(3, NORMAL)))
                check(len(pieces) <= MOST_PIECES, path, "has more than %d pieces" % MOST_PIECES)
            elif number == 2:
                trainer = dict(read_fields(value))
            elif number == 3:
                charsmap = dict(read_fields(value)).get(2, b"")
    except (ValueError, IndexError, TypeError, AttributeError, struct.error) as error:
        raise Stop(3, "%s: is no model of sentencepiece, or is damaged: %s" % (path, error))
    check(all(text and is_text(text) for text, _, _ in pieces) and pieces, path, "is no model of sentencepiece: a piece is empty, or there is none")
    check(trainer.get(3, 1) == 1, path, "is a model of sentencepiece that is not Unigram, which is not supported")
    check(not trainer.get(24) and not trainer.get(35), path, "treats whitespace as a suffix, or falls back on bytes, which is not supported")
    return pieces, bytes(charsmap)
