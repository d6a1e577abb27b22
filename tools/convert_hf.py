#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Converts a HuggingFace checkpoint to a .lxf file (docs/format.md), and back. convert/families.py has the model types.

    convert_hf.py FOLDER MODEL.lxf            config.json, the files of the tokenizer, tokenizer_config.json and the weights
                                              (model.safetensors or pytorch_model.bin, also sharded); a sentence-transformers
                                              folder too. Instead of FOLDER: one weight file; its folder has the rest.
    convert_hf.py MODEL.lxf --to-hf FOLDER    writes a new folder that transformers loads (also: MODEL.lxf FOLDER --to-hf);
                                              sentence-transformers loads a cross-encoder or a sentence encoder from it
    convert_hf.py MODEL.lxf SMALL.lxf --dtype BF16    the same model in another storage type
    convert_hf.py MODEL.lxf SMALL.lxf --dtype I8      for scoring alone: the encoder's linear layers in 8 bits, other tensors as they are

Needs Python 3.8 or later and nothing else. Executes no code from a checkpoint: the unpickler for .bin files accepts
only the names that tensors need. Exit codes: 0 success, 1 failure, 2 wrong usage, 3 bad file.
"""

import argparse
import os
import sys

from convert.errors import check, one_line, Stop
from convert.export import to_hf
from convert.files import files_read
from convert.lxf import lxf_to_lxf, to_lxf
from convert.tensor import FLOATS


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.error = lambda message: parser.exit(2, "%s: %s; --help shows the usage\n" % (parser.prog, message))
    parser.add_argument("source", help="a folder or a weight file; with --to-hf or --dtype a .lxf file")
    parser.add_argument("target", nargs="?", help="the .lxf file to write; with --to-hf the new folder")
    parser.add_argument("--to-hf", metavar="FOLDER", nargs="?", const="", help="export to this new folder, which may also be given as TARGET")
    parser.add_argument("--dtype", choices=(*FLOATS, "I8"), help="storage type of the tensors in the .lxf file (default: F32); I8: of the linear layers")
    parser.add_argument("--check", action="store_true", help="read the written .lxf file and compare it with the model")
    options = parser.parse_args(arguments)
    if options.to_hf == "":  # FOLDER is before the option
        options.to_hf, options.target = options.target, None
    if (options.target is None) == (options.to_hf is None):
        parser.error("name either the .lxf file to write or --to-hf FOLDER")
    if options.to_hf is not None and (options.dtype or options.check):
        parser.error("--dtype and --check do not go with --to-hf, which writes the tensors as they are")
    return options


def main(arguments=None):
    options = parse_arguments(arguments)
    files_read.clear()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # the terminal's encoding may lack characters of a name
    try:
        if sys.byteorder != "little":
            raise Stop(1, "convert_hf.py: needs a little-endian machine")
        if options.to_hf is not None:
            to_hf(options.source, options.to_hf)
        elif options.source.endswith(".lxf") and not os.path.isdir(options.source):
            check(options.dtype, options.source, "is a .lxf file already; --to-hf FOLDER turns it back, --dtype writes it in another type")
            lxf_to_lxf(options.source, options.target, options.dtype, options.check)
        else:
            to_lxf(options.source, options.target, options.dtype or "F32", options.check)
        return 0
    except Stop as stop:
        code, message = stop.args
    except OSError as error:  # staged() handles errors of written files: this is an input or the standard output
        code, message = (3, "%s: cannot be read: %s" % (error.filename, error.strerror)) if error.filename else (1, error)
    except MemoryError:
        code, message = 1, "%s: does not fit into memory" % options.source
    print(one_line(" ".join(str(message).split())), file=sys.stderr)  # one line, even if a file name has line breaks
    return code


if __name__ == "__main__":
    sys.exit(main())
