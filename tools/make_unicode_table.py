#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes include/lexformer/text/unicode_table.hpp: the character tables of the BERT tokenizer.

    python3 tools/make_unicode_table.py            (Python 3.11: unicodedata 14.0; nothing else is needed)

The reference is the fast tokenizer of PyPI `tokenizers` 0.23.3. It mixes three Unicode versions: character categories of Unicode 8.0,
decompositions and combining classes of Unicode 9.0, lowercase of Unicode 17. The tables are therefore Python's
(14.0) with the corrections below. Each correction was found by comparing every code point with the reference;
tests/oracles/check_tokenizer.py repeats that comparison with the finished C++ code.
"""
import os
import sys
import unicodedata


def code_points(text):
    """'41-43 61' -> {0x41, 0x42, 0x43, 0x61}"""
    result = set()
    for part in text.split():
        first, _, last = part.partition('-')
        result.update(range(int(first, 16), int(last or first, 16) + 1))
    return result


# Characters newer than Unicode 8.0 have no category in the reference, so they are neither punctuation nor stripped marks nor dropped.
NO_PUNCTUATION = code_points('''
    61D 9FD A76 C77 C84 1B7D-1B7E 2E43-2E4F 2E52-2E5D 10EAD 10F55-10F59 10F86-10F89 1144B-1144F 1145A-1145B 1145D 11660-1166C 116B9
    1183B 11944-11946 119E2 11A3F-11A46 11A9A-11A9C 11A9E-11AA2 11C41-11C45 11C70-11C71 11EF7-11EF8 11FFF 12FF1-12FF2 16E97-16E9A
    16FE2 1E95E-1E95F''')
NO_NONSPACING_MARK = code_points('''
    7FD 898-89F 8CA-8E1 9FE AFA-AFF B55 C04 C3C D00 D3B-D3C D81 EBA 180F 1885-1886 1ABF-1ACE 1DF6-1DFB A82C A8C5 A8FF A9BD 10D24-10D27
    10EAB-10EAC 10F46-10F50 10F82-10F85 11070 11073-11074 110C2 111C9 111CF 1123E 1133B 11438-1143F 11442-11444 11446 1145E 1182F-11837
    11839-1183A 1193B-1193C 1193E 11943 119D4-119D7 119DA-119DB 119E0 11A01-11A0A 11A33-11A38 11A3B-11A3E 11A47 11A51-11A56 11A59-11A5B
    11A8A-11A96 11A98-11A99 11C30-11C36 11C38-11C3D 11C3F 11C92-11CA7 11CAA-11CB0 11CB2-11CB3 11CB5-11CB6 11D31-11D36 11D3A 11D3C-11D3D
    11D3F-11D45 11D47 11D90-11D91 11D95 11D97 11EF3-11EF4 16F4F 16FE4 1CF00-1CF2D 1CF30-1CF46 1E000-1E006 1E008-1E018 1E01B-1E021
    1E023-1E024 1E026-1E02A 1E130-1E136 1E2AE 1E2EC-1E2EF 1E944-1E94A''')
NOT_DROPPED = code_points('890-891 8E2 110CD 13430-13438') | code_points('9-A D')  # TAB, LF, CR become a space instead
# Characters whose category has changed since Unicode 8.0.
MORE_PUNCTUATION = code_points('166D 111C9')
MORE_NONSPACING_MARK = code_points('1734')
MORE_DROPPED = code_points('FFFD')  # a rule of the normalizer, not a category
# Newer than Unicode 9.0: combining class 0, no decomposition.
NO_COMBINING_CLASS = code_points('''
    7FD 898-89F 8CA-8D3 9FE C3C D3B-D3C EBA 1715 1ABF-1ACE 1DF6-1DFA A82C 10D24-10D27 10EAB-10EAC 10F46-10F50 10F82-10F85 11070 1133B 1145E
    11839-1183A 1193D-1193E 11943 119E0 11A34 11A47 11A99 11D42 11D44-11D45 11D97 16FF0-16FF1 1E130-1E136 1E2AE 1E2EC-1E2EF''')
NO_DECOMPOSITION = code_points('11938')
# Capital letters newer than Unicode 14.0.
MORE_LOWERCASE = {0x1C89: 0x1C8A, 0xA7CB: 0x264, 0xA7CC: 0xA7CD, 0xA7CE: 0xA7CF, 0xA7D2: 0xA7D3, 0xA7D4: 0xA7D5, 0xA7DA: 0xA7DB, 0xA7DC: 0x19B}
MORE_LOWERCASE.update({c: c + 0x20 for c in range(0x10D50, 0x10D66)})
MORE_LOWERCASE.update({c: c + 0x1B for c in range(0x16EA0, 0x16EB9)})
# What \w is in the regular expressions of Rust and not in a category below: circled letters, and characters newer than Unicode 14.0.
MORE_REGEX_WORD = code_points('''
    897 CF3 ECE 1C89-1C8A 24B6-24E9 A7CB-A7CD A7DA-A7DC 105C0-105F3 10D40-10D65 10D69-10D6D 10D6F-10D85 10EC2-10EC4 10EFC-10EFF
    1123F-11241 11380-11389 1138B 1138E 11390-113B5 113B7-113C0 113C2 113C5 113C7-113CA 113CC-113D3 113E1-113E2 116D0-116E3
    11BC0-11BE0 11BF0-11BF9 11F00-11F10 11F12-11F3A 11F3E-11F42 11F50-11F5A 1342F 13440-13455 13460-143FA 16100-16139 16D40-16D6C
    16D70-16D79 18CFF 1B132 1B155 1CCF0-1CCF9 1DF25-1DF2A 1E030-1E06D 1E08F 1E4D0-1E4F9 1E5D0-1E5FA 1F130-1F149 1F150-1F169
    1F170-1F189 2B739 2EBF0-2EE5D 31350-323AF''')
# The CJK blocks as in the reference, which has 2B920 instead of 2B820.
CHINESE = code_points('3400-4DBF 4E00-9FFF F900-FAFF 20000-2A6DF 2A700-2B73F 2B740-2B81F 2B920-2CEAF 2F800-2FA1F')
ASCII_PUNCTUATION = code_points('21-2F 3A-40 5B-60 7B-7E')


def ranges(members):
    """Sorted set -> list of (first, last)."""
    result = []
    for c in sorted(members):
        if result and result[-1][1] == c - 1:
            result[-1][1] = c
        else:
            result.append([c, c])
    return [(a, b) for a, b in result]


def case_ranges(lower):
    """{capital: small} -> list of (first, last, step, small - capital), step 1 or 2 (Latin capitals alternate with small letters)."""
    result = []
    for c in sorted(lower):
        delta = lower[c] - c
        if result:
            first, last, step, d = result[-1]
            gap = c - last
            if d == delta and (gap == step or (first == last and gap <= 2)):
                result[-1] = (first, c, gap, d)
                continue
        result.append((c, c, 1, delta))
    return result


def class_ranges(classes):
    result = []
    for c in sorted(classes):
        if result and result[-1][1] == c - 1 and result[-1][2] == classes[c]:
            result[-1] = (result[-1][0], c, classes[c])
        else:
            result.append((c, c, classes[c]))
    return result


def tables():
    everything = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    category = {c: unicodedata.category(chr(c)) for c in everything}
    of = lambda *names: {c for c in everything if category[c] in names}

    punctuation = (of('Pc', 'Pd', 'Pe', 'Pf', 'Pi', 'Po', 'Ps') | ASCII_PUNCTUATION | MORE_PUNCTUATION) - NO_PUNCTUATION
    marks = (of('Mn') | MORE_NONSPACING_MARK) - NO_NONSPACING_MARK
    dropped = (of('Cc', 'Cf', 'Co') | MORE_DROPPED) - NOT_DROPPED
    word = {c for c in everything if chr(c).isalnum()}
    regex_word = of('Lu', 'Ll', 'Lt', 'Lm', 'Lo', 'Mn', 'Mc', 'Me', 'Nd', 'Nl', 'Pc') | code_points('200C-200D') | MORE_REGEX_WORD

    classes = {c: unicodedata.combining(chr(c)) for c in everything if unicodedata.combining(chr(c)) and c not in NO_COMBINING_CLASS}
    decompositions = []
    for c in everything:
        parts = unicodedata.decomposition(chr(c))
        if parts and not parts.startswith('<') and c not in NO_DECOMPOSITION:
            first, second = (parts.split() + ['0'])[:2]
            decompositions.append((c, int(first, 16), int(second, 16)))

    lower = {c: ord(chr(c).lower()) for c in everything if len(chr(c).lower()) == 1 and chr(c).lower() != chr(c)}
    lower.update(MORE_LOWERCASE)
    return [
        ('dropped', 'Range', 'Removed by clean_text: U+0000, U+FFFD and the categories Cc, Cf, Co, without TAB, LF, CR.', ranges(dropped)),
        ('chinese', 'Range', 'Surrounded by spaces.', ranges(CHINESE)),
        ('nonspacing_marks', 'Range', 'Category Mn: removed by strip_accents.', ranges(marks)),
        ('punctuation', 'Range', 'ASCII punctuation and the categories P*: each is a word of its own.', ranges(punctuation)),
        ('alphanumeric', 'Range', 'Letters and numbers (Unicode 14.0, with the underscore what regular expressions call \\w).', ranges(word)),
        ('regex_word', 'Range', 'What the regular expressions of the reference call \\w: with marks, without fractions.', ranges(regex_word)),
        ('combining_classes', 'ClassRange', 'Canonical combining class where it is not 0.', class_ranges(classes)),
        ('lowercase', 'CaseRange', 'Small letter = capital + delta. U+0130 (i and a dot) is missing: it has two.', case_ranges(lower)),
        ('decompositions', 'Decomposition', 'One step of the canonical decomposition; second = 0: one character. Hangul is missing: it is computed.',
         decompositions),
    ]


def spell(entry):
    numbers = [('0x%X' % v if v >= 10 or v < -9 else '%d' % v) if v >= 0 else '-0x%X' % -v for v in entry]
    return '{' + ', '.join(numbers) + '}'


HEAD = '''// SPDX-License-Identifier: MIT
// Made by tools/make_unicode_table.py, which says where every value comes from. Do not edit.
#pragma once

#include <cstdint>

namespace lexformer::unicode_table {

struct Range {
  char32_t first, last;
};
struct ClassRange {
  char32_t first, last;
  std::uint8_t combining_class;
};
struct CaseRange {
  char32_t first, last, step;
  std::int32_t delta;
};
struct Decomposition {
  char32_t from, first, second;
};

// clang-format off
'''


def main():
    if unicodedata.unidata_version != '14.0.0':
        sys.exit('make_unicode_table.py: the corrections are against Unicode 14.0.0 (Python 3.11), this Python has '
                 + unicodedata.unidata_version + '; run it with Python 3.11')
    out = [HEAD]
    for name, kind, comment, entries in tables():
        out.append('/// %s\ninline constexpr %s %s[] = {\n' % (comment, kind, name))
        line = '   '
        for entry in entries:
            text = ' ' + spell(entry) + ','
            if len(line) + len(text) > 138:
                out.append(line + '\n')
                line = '   '
            line += text
        out.append(line + '\n};\n\n')
    out.append('// clang-format on\n\n}  // namespace lexformer::unicode_table\n')
    text = ''.join(out)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'include', 'lexformer', 'text', 'unicode_table.hpp')
    with open(path, 'w', encoding='ascii', newline='\n') as file:
        file.write(text)
    print('%d bytes' % len(text), ', '.join('%s %d' % (name, len(entries)) for name, _, _, entries in tables()))


if __name__ == '__main__':
    main()
