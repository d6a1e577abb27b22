#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares lexformer's WordPiece tokenizer with PyPI `tokenizers` (the reference), and writes the golden file of its tests.

    python3 tests/oracles/check_tokenizer.py --vocab vocab.txt [--texts pairs.tsv ...] [--random 100000] [--golden]

Needs `pip install tokenizers==0.23.3` and g++. Not part of the tests: they compare with tests/golden/tokenizer_codepoints.txt, which
--golden writes from the reference only. Prints one line per comparison; exit code 1 if anything differs.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile
import zlib

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
import tokenizers

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
EVERYTHING = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
SPECIAL = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']
failures = 0


def oracle(vocab, lowercase=True, strip=None, chinese=True, clean=True, special=True):
    t = Tokenizer(models.WordPiece.from_file(vocab, unk_token='[UNK]', max_input_chars_per_word=100))
    t.normalizer = normalizers.BertNormalizer(clean_text=clean, handle_chinese_chars=chinese, strip_accents=strip, lowercase=lowercase)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if special:
        t.add_special_tokens(SPECIAL)
    ids = {s: t.token_to_id(s) for s in SPECIAL}
    t.post_processor = processors.TemplateProcessing(
        single='[CLS]:0 $A:0 [SEP]:0', pair='[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1', special_tokens=[(s, ids[s]) for s in ('[CLS]', '[SEP]')])
    return t


def spell(encoding):
    lists = [encoding.ids, encoding.type_ids, [-1 if w is None else w for w in encoding.word_ids],
             [a for a, _ in encoding.offsets], [b for _, b in encoding.offsets]]
    return ''.join(' '.join(map(str, values)) + '|' for values in lists)


def ours(program, vocab, records, lowercase=True, strip=None, chinese=True, clean=True, special=True):
    flag = lambda name, v: '%s=%s' % (name, 'none' if v is None else int(v))
    command = [program, vocab, flag('lowercase', lowercase), flag('strip', strip), flag('chinese', chinese), flag('clean', clean), flag('special', special)]
    out = []
    for length, left, right in records:
        a, b = left.encode(), b'' if right is None else right.encode()
        out.append(b'%d %d %d\n%s%s\n' % (length, len(a), -1 if right is None else len(b), a, b))
    return subprocess.run(command, input=b''.join(out), stdout=subprocess.PIPE, check=True).stdout.decode().split('\n')[:-1]


def compare(title, program, vocab, records, **flags):
    """records: (max_length, left, right or None)"""
    global failures
    t = oracle(vocab, **flags)
    got = ours(program, vocab, records, **flags)
    assert len(got) == len(records), (len(got), len(records))
    differences, last = 0, None
    for record, line in zip(records, got):
        length, left, right = record
        if length != last:
            t.enable_truncation(length, strategy='longest_first')
            last = length
        want = spell(t.encode(left) if right is None else t.encode(left, right))
        if want != line:
            differences += 1
            if differences <= 3:
                print('  DIFFERENT', ascii(record), '\n    want', want, '\n    got ', line)
    failures += differences
    print('%-70s %8d texts, %d different' % (title, len(records), differences), flush=True)


ALPHABETS = [
    'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', '0123456789', '.,-/()[]"\'#$+^~|!?:;&%@_', '  \t\n\r\v\f\u00a0\u2003\u3000\u2028\u0085',
    'àéîõüçñøåßẞſÀÉÎÕÜÇÑØÅİıœæŒÆḀṩǻǅ', 'αβγδεζησςΑΒΓΣάέήϊΐΆΈᾳᾼ', 'абвгдйёїАБВГДЙЁЇ', '漢字仮名交文中国銀行𠀀𪜀𫠠𬺡豈更\U0002F800\U0002F804', 'ひらがなカタカナガギグゲゴﾊﾟ',
    '한국어조선글각힣', '\u1100\u1161\u11a8\u1112\u1175', 'हिन्दी नमस्ते क़ड़', 'ไทยสวัสดีน้ำ', 'עברית שָׁלוֹם', 'العَرَبِيَّة لا', 'தமிழ் ௐ', '😀👨\u200d👩\u200d👧🇩🇪☺\ufe0f👍🏽',
    '\u0300\u0301\u0307\u0308\u0323\u0327\u0345\u0315\u0334\u20d0\u302e\u302f\U0001d165\U0001d16d\U0001d167\u08d4\U0001e000\u11442\u0344\u0f73\u0f75\u0f81',
    '\u0000\ufffd\u00ad\u200b\u200d\ufeff\u0001\u007f\u001c\ue000', '€©×½²™°′″“”‘’…–—«»¿¡', '\U0001d400\U0001d7ff\u2126\u212a\u212b\ufb01\ufb1d\ufb2c\u1e9b\u0958\u0344',
]


def random_text(rng):
    out = []
    for _ in range(rng.randint(0, 12)):
        kind = rng.random()
        if kind < 0.08:
            out.append(rng.choice(SPECIAL + ['[mask]', '[ MASK ]', '[[SEP]]', '[CL', '##ing', '##']))
        elif kind < 0.14:
            out.append(''.join(chr(rng.choice(EVERYTHING)) for _ in range(rng.randint(1, 4))))
        elif kind < 0.2:
            out.append(''.join(chr(rng.randrange(0x20, 0x3000)) for _ in range(rng.randint(1, 6))))
        elif kind < 0.21:
            out.append(rng.choice('aéb한') * rng.randint(45, 105))
        else:
            alphabet = rng.choice(ALPHABETS)
            out.append(''.join(rng.choice(alphabet) for _ in range(rng.randint(1, 8))))
            if kind < 0.5:
                out.append(''.join(rng.choice(ALPHABETS[18]) for _ in range(rng.randint(1, 4))))
        if rng.random() < 0.5:
            out.append(' ')
    return ''.join(out)


def golden_lines():
    """Per setting and block of 4096 code points: CRC-32 of the words of a<c>b, '\\n' after each word, '\\0' after each text."""
    yield '# settings, first code point, CRC-32; made by tests/oracles/check_tokenizer.py from tokenizers ' + tokenizers.__version__
    for lowercase in (True, False):
        for strip in (True, False):
            n = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=strip, lowercase=lowercase)
            p = pre_tokenizers.BertPreTokenizer()
            for block in range(0, 0x110000, 4096):
                crc = 0
                for c in range(block, block + 4096):
                    if 0xD800 <= c < 0xE000:
                        continue
                    words = [w for w, _ in p.pre_tokenize_str(n.normalize_str('a%sb' % chr(c)))]
                    crc = zlib.crc32((''.join(w + '\n' for w in words) + '\0').encode(), crc)
                yield '%s%s %X %08x' % ('lowercase' if lowercase else 'cased', '+strip' if strip else '', block, crc)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--vocab', required=True)
    parser.add_argument('--texts', nargs='*', default=[], help='files of left TAB right TAB ...')
    parser.add_argument('--random', type=int, default=100000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--golden', action='store_true', help='write tests/golden/tokenizer_codepoints.txt')
    args = parser.parse_args()
    print('tokenizers', tokenizers.__version__)
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, 'tokenize_stdin')
        subprocess.run(['g++', '-std=c++20', '-O2', '-I' + os.path.join(ROOT, 'include'), os.path.join(ROOT, 'tests/support/tokenize_stdin.cpp'),
                        '-o', program], check=True)
        variants = [dict(lowercase=low, strip=strip) for low in (True, False) for strip in (None, True, False)]
        variants += [dict(clean=False), dict(chinese=False), dict(clean=False, lowercase=False), dict(special=False)]
        for flags in variants:
            compare('every code point as a<c>b, %s' % flags, program, args.vocab, [(512, 'a%sb' % chr(c), None) for c in EVERYTHING], **flags)

        rng = random.Random(args.seed)
        # A model's vocabulary covers few scripts; one of single characters and some pairs avoids [UNK].
        letters = sorted({c for n in (lambda s: s, str.lower) for a in ALPHABETS for c in normalizers.NFD().normalize_str(n(a)) + n(a) if not c.isspace()})
        pairs = [rng.choice(letters) + rng.choice(letters) for _ in range(3000)]
        letter_vocab = os.path.join(folder, 'letters.txt')
        with open(letter_vocab, 'w', encoding='utf-8', newline='\n') as file:
            file.writelines(t + '\n' for t in SPECIAL + [h + t for t in letters + pairs for h in ('', '##')])
        for i, (vocab, flags) in enumerate([(v, f) for f in variants for v in (args.vocab, letter_vocab)]):
            part = args.random if i < 2 else args.random // 10
            records = []
            for length in [512, 64, 32, 17, 16, 9, 4, 3]:
                for _ in range(part // 8):
                    records.append((length, random_text(rng), random_text(rng) if length == 3 or rng.random() < 0.7 else None))
            compare('random mixed scripts, %s, %s' % ('letters' if vocab == letter_vocab else 'model', flags), program, vocab, records, **flags)

        for path in args.texts:
            with open(path, encoding='utf-8', newline='\n') as file:
                pairs = [line.rstrip('\n').split('\t')[:2] for line in file]
            for length in (512, 64, 31, 16):
                for flags in (dict(), dict(lowercase=False)):
                    compare('%s, max_length %d, %s' % (os.path.basename(os.path.dirname(path)) + '/' + os.path.basename(path), length, flags), program,
                            args.vocab, [(length, a, b) for a, b in pairs], **flags)
    if args.golden:
        with open(os.path.join(ROOT, 'tests', 'golden', 'tokenizer_codepoints.txt'), 'w', newline='\n') as file:
            file.writelines(line + '\n' for line in golden_lines())
    print('all equal' if failures == 0 else '%d different' % failures)
    sys.exit(failures != 0)


if __name__ == '__main__':
    main()
