#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes include/lexformer/text/letters_table.hpp: what PyPI `tokenizers` takes for letters and numbers.

    python3 tools/make_letters_table.py            (needs tokenizers==0.23.3)

Every value is asked of the reference, code point by code point: \\p{L} and \\p{N} of its regular expressions (Unicode 16) by the
pre-tokenizer Split, and the numbers of its pre-tokenizer Digits, which knows some more (Unicode 17).
"""
import os
import sys

import tokenizers
from tokenizers import Regex, pre_tokenizers

from make_unicode_table import ranges, spell

EVERYTHING = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def members(pre_tokenizer, before, pieces):
    """The characters c for which before + c gives so many pieces."""
    return {c for c in EVERYTHING if len(pre_tokenizer.pre_tokenize_str(before + chr(c))) == pieces}


def tables():
    letters = members(pre_tokenizers.Split(Regex(r'\p{L}'), 'removed'), '', 0)
    numbers = members(pre_tokenizers.Split(Regex(r'\p{N}'), 'removed'), '', 0)
    digits = members(pre_tokenizers.Digits(individual_digits=True), 'a', 2)
    if not numbers <= digits:
        sys.exit('make_letters_table.py: Digits does not know all of \\p{N}')
    return [('letters', '`\\p{L}` of regular expressions.', ranges(letters)), ('numbers', '`\\p{N}` of regular expressions.', ranges(numbers)),
            ('newer_numbers', 'What the pre-tokenizer Digits takes for numbers besides.', ranges(digits - numbers))]


HEAD = '''// SPDX-License-Identifier: MIT
// Made by tools/make_letters_table.py, which says where every value comes from. Do not edit.
#pragma once

#include "lexformer/text/unicode_table.hpp"

namespace lexformer::unicode_table {

// clang-format off
'''


def main():
    if tokenizers.__version__ != '0.23.3':
        sys.exit('make_letters_table.py: the reference is tokenizers 0.23.3, here is ' + tokenizers.__version__)
    out = [HEAD]
    for name, comment, entries in tables():
        out.append('/// %s\ninline constexpr Range %s[] = {\n' % (comment, name))
        line = '   '
        for entry in entries:
            text = ' ' + spell(entry) + ','
            if len(line) + len(text) > 138:
                out.append(line + '\n')
                line = '   '
            line += text
        out.append(line + '\n};\n\n')
        print(name, len(entries), 'ranges')
    out.append('// clang-format on\n\n}  // namespace lexformer::unicode_table\n')
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'include', 'lexformer', 'text', 'letters_table.hpp')
    with open(path, 'w', encoding='ascii', newline='\n') as file:
        file.write(''.join(out))


if __name__ == '__main__':
    main()
