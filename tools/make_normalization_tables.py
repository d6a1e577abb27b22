#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes include/lexformer/text/normalization_table.hpp and grapheme_table.hpp: what the normalizers know about characters.

    python3 tools/make_normalization_tables.py            (Python 3.11; needs `pip install tokenizers==0.23.3`)

Every value is found by asking PyPI `tokenizers` for each code point: StripAccents which characters are marks, NFC which canonical
decompositions are composed, NFKD the compatibility decompositions (all of Unicode 9.0), Precompiled the classes of grapheme clusters
(Unicode 17.0; see grapheme_classes). The canonical decompositions and combining classes are in unicode_table.hpp.
tests/oracles/check_normalizers.py compares the finished C++ code with the reference.
"""
import os
import struct
import sys

from tokenizers import normalizers
import tokenizers

import make_unicode_table as unicode_table

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'include', 'lexformer', 'text')
EVERYTHING = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


# ---- grapheme clusters

def charsmap_of_everything():
    """A charsmap that replaces every character by Y. Precompiled replaces a grapheme cluster of less than six bytes as a whole, so the
    number of Y tells whether characters are one cluster. The blocks of the double array are shared: one for all last bytes."""
    root, last, middle, first, value = 256, 512, 768, 1024, 1280
    units = [0] * 1536
    units[0] = root << 10
    units[value] = 1 << 31
    for block, low, high, target in ((root, 0x01, 0x7F, value), (root, 0xC2, 0xDF, last), (root, 0xE0, 0xEF, middle), (root, 0xF0, 0xF4, first),
                                     (last, 0x80, 0xBF, value), (middle, 0x80, 0xBF, last), (first, 0x80, 0xBF, middle)):
        for byte in range(low, high + 1):
            position = block ^ byte
            units[position] = byte | (target == value) << 8 | (position ^ target) << 10
    return struct.pack('<%dI' % (len(units) + 1), 4 * len(units), *units) + b'Y\0'


def replacements_of(classes):
    """The number of Y that Precompiled makes of characters [(class, conjunct, bytes)] by the rules of UAX #29; conjunct is 'consonant',
    'linker', 'extend' or None."""
    hangul = {'L': ('L', 'V', 'LV', 'LVT'), 'LV': ('V', 'T'), 'V': ('V', 'T'), 'LVT': ('T',), 'T': ('T',)}
    clusters, emoji, linked, before = [], 0, 0, None
    for kind, conjunct, size in classes:
        joined = before not in (None, 'control') and kind != 'control' and (
            kind in ('extend', 'joiner', 'spacing_mark') or before == 'prepend' or kind in hangul.get(before, ())
            or conjunct == 'consonant' and linked == 2 or kind == 'pictograph' and emoji == 2)
        if joined:
            clusters[-1].append(size)
        else:
            clusters.append([size])
        emoji = 1 if kind == 'pictograph' or kind == 'extend' and emoji == 1 else 2 if kind == 'joiner' and emoji == 1 else 0
        linked = 1 if conjunct == 'consonant' else 2 if conjunct == 'linker' and linked else linked if conjunct == 'extend' else 0
        before = kind
    return sum(1 if sum(sizes) < 6 else len(sizes) for sizes in clusters)


KNOWN = {'a': ('other', None), '\u0301': ('extend', 'extend'), '\u200d': ('joiner', 'extend'), '\u263a': ('pictograph', None),
         '\u1100': ('L', None), '\u1160': ('V', None), '\u11a8': ('T', None), '\u0915': ('other', 'consonant'), '\u094d': ('extend', 'linker')}
PROBES = ['a?', '?a', '?\u0301\u0301', '\u263a?\u200d\u263a\u0301', '?\u200d\u263a\u0301', '\u263a\u200d?\u0301', '?\u1100\u0301', '?\u1160\u0301', '?\u11a8\u0301',
          '\u1100?\u0301', '\u1160?\u0301', '\u11a8?\u0301', '?\u094d\u0915\u0301', '\u0915\u094d?\u0301', '\u0915?\u0915\u0301', '\u0915\u094d?\u0915\u0301']
CANDIDATES = [('other', None), ('control', None), ('extend', 'extend'), ('extend', 'linker'), ('extend', None), ('joiner', 'extend'), ('spacing_mark', None),
              ('spacing_mark', 'extend'), ('prepend', None), ('pictograph', None), ('L', None), ('V', None), ('T', None), ('LV', None), ('LVT', None),
              ('other', 'consonant')]


def grapheme_classes():
    """{code point: candidate}: the first candidate whose clusters are the reference's in all PROBES. What no probe shows cannot change a
    result: clusters of six bytes and more are replaced character by character."""
    ask = normalizers.Precompiled(charsmap_of_everything()).normalize_str
    expected = {}
    for size in (1, 2, 3, 4):
        for candidate in CANDIDATES:
            counts = tuple(replacements_of([(*candidate, size) if c == '?' else (*KNOWN[c], len(c.encode())) for c in probe]) for probe in PROBES)
            expected.setdefault((size, counts), candidate)
    result = {}
    for c in EVERYTHING:
        counts = tuple(len(ask(probe.replace('?', chr(c)))) for probe in PROBES)
        candidate = expected.get((len(chr(c).encode()), counts))
        if candidate is None:
            sys.exit('U+%04X is of no known class: %s' % (c, counts))
        if candidate != ('other', None):
            result[c] = candidate
    return result


def grapheme_tables():
    classes = grapheme_classes()
    hangul = {c for c, (kind, _) in classes.items() if kind in ('LV', 'LVT')}
    assert hangul == set(range(0xAC00, 0xD7A4)) and all((classes[c][0] == 'LV') == ((c - 0xAC00) % 28 == 0) for c in hangul)
    names = {('other', 'consonant'): 'consonant', ('extend', 'linker'): 'linker', ('extend', None): 'extend_only', ('L', None): 'leading',
             ('V', None): 'vowel', ('T', None): 'trailing'}
    runs = []
    for c in sorted(set(classes) - hangul):
        name = names.get(classes[c], classes[c][0])
        if runs and runs[-1][1] == c - 1 and runs[-1][2] == name:
            runs[-1][1] = c
        else:
            runs.append([c, c, name])
    return [('grapheme_classes', 'GraphemeRange', 'Every character that is neither of class other nor a Hangul syllable.',
             ['{%s, %s, %s}' % (hexadecimal(a), hexadecimal(b), name) for a, b, name in runs])]


# ---- normalization forms

def hexadecimal(c):
    return '0x%X' % c if c >= 10 else '%d' % c


def literal(text):
    return 'U"' + ''.join('\\' + c if c in '"\\' else c if ' ' <= c <= '~' else '\\u%04X' % ord(c) for c in text) + '"'


def normalization_tables():
    nfc, nfd, nfkd = (n().normalize_str for n in (normalizers.NFC, normalizers.NFD, normalizers.NFKD))
    strip = normalizers.StripAccents().normalize_str
    marks = {c for c in EVERYTHING if strip('a' + chr(c)) == 'a'}

    entries = {name: entries for name, _, _, entries in unicode_table.tables()}
    never = {c for c, first, second in entries['decompositions'] if second and nfc(chr(first) + chr(second)) != chr(c)}
    unstable = {c for c in EVERYTHING if nfc(chr(c)) != chr(c)} | {second for c, _, second in entries['decompositions'] if second and c not in never}
    unstable |= {c for first, last, _ in entries['combining_classes'] for c in range(first, last + 1)}
    unstable |= {c for c in EVERYTHING for starter in '\u1100\uac00' if len(nfc(starter + chr(c))) == 1}  # Hangul

    single, several = [], []
    for c in EVERYTHING:
        to = nfkd(chr(c))
        if to == nfd(chr(c)):
            continue
        if len(to) > 1:
            several.append((c, to))
        elif single and single[-1][1] == c - 1 and ord(to) - c == single[-1][2] - single[-1][0]:
            single[-1][1] = c
        else:
            single.append([c, c, ord(to)])
    return [
        ('combining_marks', 'Range', 'Categories Mn, Mc and Me: removed by StripAccents.', list(map(unicode_table.spell, unicode_table.ranges(marks)))),
        ('never_composed', 'Range', 'Characters with a canonical decomposition into two that NFC leaves decomposed.',
         list(map(unicode_table.spell, unicode_table.ranges(never)))),
        ('nfc_unstable', 'Range', 'Characters that NFC may change, join to the one before or move: a text without them is in NFC.',
         list(map(unicode_table.spell, unicode_table.ranges(unstable)))),
        ('compatible_characters', 'CompatibleRange', 'Compatibility decompositions into one character: first is `to`, the next is to + 1.',
         list(map(unicode_table.spell, single))),
        ('compatible_texts', 'CompatibleText', 'Full compatibility decompositions into several characters.',
         ['{%s, %s}' % (hexadecimal(c), literal(to)) for c, to in several]),
    ]


# ---- files

HEAD = '''// SPDX-License-Identifier: MIT
// Made by tools/make_normalization_tables.py, which says where every value comes from. Do not edit.
#pragma once

'''
NORMALIZATION = HEAD + '''#include <string_view>

#include "lexformer/text/unicode_table.hpp"

namespace lexformer::unicode_table {

struct CompatibleRange {
  char32_t first, last, to;
};
struct CompatibleText {
  char32_t from;
  std::u32string_view to;
};

// clang-format off
'''
GRAPHEMES = HEAD + '''#include <cstdint>

namespace lexformer {

/// Classes of Unicode's rules for grapheme clusters (UAX #29). `linker` and `extend_only` are Grapheme_Extend as well: with
/// Indic_Conjunct_Break = Linker and None. `consonant` is Indic_Conjunct_Break = Consonant. `lv` and `lvt` are Hangul syllables.
enum class GraphemeClass : std::uint8_t {
  other, control, extend, linker, extend_only, joiner, spacing_mark, prepend, pictograph, leading, vowel, trailing, lv, lvt, consonant
};

namespace unicode_table {

struct GraphemeRange {
  char32_t first, last;
  GraphemeClass grapheme_class;
};

// clang-format off
using enum GraphemeClass;

'''


def write(name, head, tables, end):
    out = [head]
    for table, kind, comment, entries in tables:
        out.append('/// %s\ninline constexpr %s %s[] = {\n' % (comment, kind, table))
        line = '   '
        for entry in entries:
            if len(line) + len(entry) + 2 > 138:
                out.append(line + '\n')
                line = '   '
            line += ' ' + entry + ','
        out.append(line + '\n};\n\n')
    text = ''.join(out) + '// clang-format on\n\n' + end
    with open(os.path.join(FOLDER, name), 'w', encoding='ascii', newline='\n') as file:
        file.write(text)
    print('%s: %d bytes' % (name, len(text)), ', '.join('%s %d' % (table, len(entries)) for table, _, _, entries in tables))


def main():
    if tokenizers.__version__ != '0.23.3':
        sys.exit('make_normalization_tables.py: the reference is tokenizers 0.23.3, this is ' + tokenizers.__version__)
    write('normalization_table.hpp', NORMALIZATION, normalization_tables(), '}  // namespace lexformer::unicode_table\n')
    write('grapheme_table.hpp', GRAPHEMES, grapheme_tables(), '}  // namespace unicode_table\n}  // namespace lexformer\n')


if __name__ == '__main__':
    main()
