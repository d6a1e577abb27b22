#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares lexformer's normalizers with PyPI `tokenizers` (the reference), texts and offsets, and writes the golden file of its tests.

    python3 tests/oracles/check_normalizers.py [--models test_model.model ...] [--text botchan.txt] [--random 100000] [--only NAME] [--golden]

Needs `pip install tokenizers==0.23.3 sentencepiece` and g++. --models are SentencePiece models, whose charsmaps are compared; with --text,
models are trained besides with each normalization rule of sentencepiece. For each normalizer: every code point alone, between letters and
after a space, and random texts. Not part of the tests: they compare with tests/golden/normalizer_codepoints.txt, which --golden writes
from the reference only. Prints one line per comparison; exit code 1 if anything differs.
"""
import argparse
import io
import os
import random
import re
import subprocess
import sys
import tempfile
import zlib

os.environ['TOKENIZERS_PARALLELISM'] = 'false'
from tokenizers import Regex, Tokenizer, models, normalizers
import tokenizers

from check_pieces import charsmap_of
from check_tokenizer import ALPHABETS, EVERYTHING, ROOT

failures = 0


# ---- charsmaps

def trained(text, **rule):
    import sentencepiece
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(text), model_writer=model, vocab_size=300, minloglevel=2, hard_vocab_limit=False, **rule)
    return charsmap_of(model.getvalue())


def random_rules(path, rng):
    """Rules of which keys begin other keys, remove characters, or are clusters of every length."""
    letters = 'aeiouKÅ \t\r\n\u0301\u0308\u0327\u093f\u094d\u0915\u1100\u1161\u200d\u0600\u00a9漢\U0001f600'
    rules = {letter: '' for letter in '\u00ad\u0001\u0308'}
    rules.update({'e': 'E', 'e\u0301': 'é', '\r\n': 'N', 'o': 'two', 'u\u0301': '', '\u0915': 'ka', '©': '(c)', '\u0600': ''})
    for _ in range(150):
        key = ''.join(rng.choice(letters) for _ in range(rng.randint(1, 4)))
        rules.setdefault(key, ''.join(rng.choice('xyz\u0301漢') for _ in range(rng.randint(0, 4))))
    with open(path, 'w', encoding='utf-8', newline='\n') as file:
        for key, value in rules.items():
            file.write('%s\t%s\n' % tuple(' '.join('%X' % ord(c) for c in part) for part in (key, value)))


def charsmaps(args, folder):
    sys.path.insert(0, os.path.join(ROOT, 'tools'))
    from make_normalization_tables import charsmap_of_everything
    result = {'everything': charsmap_of_everything()}
    for path in args.models:
        with open(path, 'rb') as file:
            result[os.path.basename(path)] = charsmap_of(file.read())
    if args.text:
        with open(args.text, encoding='utf-8') as file:
            text = [line.strip() for line in file][:2000]
        for rule in ('nmt_nfkc', 'nfkc', 'nmt_nfkc_cf', 'nfkc_cf'):
            result[rule] = trained(text, normalization_rule_name=rule)
        for seed in range(3):
            path = os.path.join(folder, 'rules.tsv')
            random_rules(path, random.Random(seed))
            result['random rules %d' % seed] = trained(text, normalization_rule_tsv=path)
    return result


# ---- normalizers: name -> (the reference, arguments of normalize_stdin)

def text_argument(text):
    return text.encode().hex()


def replace(pattern, content, regex=False):
    return normalizers.Replace(Regex(pattern) if regex else pattern, content), 'replace:%d:%s:%s' % (regex, text_argument(pattern), text_argument(content))


def strip(left, right):
    return normalizers.Strip(left, right), 'strip:%d:%d' % (left, right)


def bert(clean, chinese, accents, lowercase):
    return (normalizers.BertNormalizer(clean, chinese, accents, lowercase),
            'bert:%d:%d:%s:%d' % (clean, chinese, 'none' if accents is None else int(accents), lowercase))


def all_normalizers(maps, folder):
    nfc, nfd, nfkc, nfkd = [(getattr(normalizers, name)(), name.lower()) for name in ('NFC', 'NFD', 'NFKC', 'NFKD')]
    lowercase, accents = (normalizers.Lowercase(), 'lowercase'), (normalizers.StripAccents(), 'strip_accents')
    spaces, lines = replace(' {2,}', ' ', True), replace(r'\s{2,}|[\n\r\t]', ' ', True)
    steps = {
        'NFC': [nfc], 'NFD': [nfd], 'NFKC': [nfkc], 'NFKD': [nfkd], 'Lowercase': [lowercase], 'StripAccents': [accents],
        'Strip': [strip(True, True)], 'Strip left': [strip(True, False)], 'Strip right': [strip(False, True)],
        'Replace string': [replace(' ', '\u2581')], 'Replace by more': [replace('a', '\u0301xy')], 'Replace by nothing': [replace('aa', '')],
        'Replace special characters': [replace('.*', '\\0$1')], 'Replace spaces': [spaces], 'Replace white space': [lines],
        'Replace white space by nothing': [replace(r'\s{2,}|[\n\r\t]', '', True)], 'Prepend': [(normalizers.Prepend('\u2581'), 'prepend:' + text_argument('\u2581'))],
        'Prepend more': [lowercase, (normalizers.Prepend('ab\u0301'), 'prepend:' + text_argument('ab\u0301')), nfc],
        'DeBERTa, transformers 5': [lines, nfc, strip(False, True)], 'several': [nfd, accents, bert(True, True, None, True), nfkc, nfd],
    }
    for settings in [(1, 1, None, 1), (1, 1, None, 0), (0, 1, True, 0), (1, 0, False, 1), (0, 0, None, 1)]:
        steps['Bert %s' % (settings,)] = [bert(*(value if value is None else bool(value) for value in settings))]
    for i, (name, blob) in enumerate(maps.items()):
        path = os.path.join(folder, 'map%d' % i)
        with open(path, 'wb') as file:
            file.write(blob)
        precompiled = (normalizers.Precompiled(blob), 'precompiled:' + path)
        steps['Precompiled ' + name] = [precompiled]
        if name in ('nmt_nfkc', 'random rules 0', 'test_model.model'):
            steps['XLM-R, ' + name] = [precompiled, spaces]
            steps['DeBERTa, ' + name] = [lowercase, strip(True, True), precompiled, spaces]
            steps['ALBERT, ' + name] = [replace('``', '"'), replace("''", '"'), nfkd, accents, lowercase, precompiled]
            steps['maps twice, ' + name] = [precompiled, nfkd, precompiled, nfkc]
    return {name: (normalizers.Sequence([n for n, _ in parts]), [a for _, a in parts]) for name, parts in steps.items()}


# ---- texts

CLUSTERS = ['\r\n', '\n', '\r', '\t', '  ', ' \u3000', '\u00a0 ', '\ufffd', '\ufffe', '\U0010ffff', '\u0000', '\u00ad', '\u200b', '\u0130', '\ufb01', '\u00bd', '\u00a8',
            '\u0344', '\u0385', '\u1e9b\u0323', '\u212b', '\ud55c', '\uac00\u11a8', '\u1100\u1161\u11a8', '\uac00\u11a7', '\u1100\u0301', '\U00016d63\U00016d67',
            '\u0915\u094d\u0937', '\u0915\u094d\u200d\u0937', '\u0915\u200c\u094d\u0937\u0301', '\u0915\u0301', '\u0b95\u0bcb', '\u0e19\u0e49\u0e33', '\u0600a', '\u0600\u0301', '\u00a9\u200d\u00ae\u0301',
            '\u263a\u200d\u263a\u0301', '\u263a\u0308\u200d\u263a\u0301', '\U0001f468\u200d\U0001f469\u200d\U0001f467', '\U0001f1e9\U0001f1ea\U0001f1eb\u0301', '\u200d', '\u0301',
            'e\u0301', 'e\u0301\u0327', 'A\u0302\u0300', 'o\u0308\u0304', 'u\u0301', '\u0f71\u0f72\u0f74', '\uff76\uff9e', '\u30ab\u3099', "''", '``', 'aa', 'aaa', '.*']


def random_text(rng):
    out = []
    for _ in range(rng.randint(0, 10)):
        kind = rng.random()
        if kind < 0.1:
            out.append(''.join(chr(rng.choice(EVERYTHING)) for _ in range(rng.randint(1, 4))))
        elif kind < 0.2:
            out.append(''.join(chr(rng.randrange(0x20, 0x3400)) for _ in range(rng.randint(1, 6))))
        elif kind < 0.5:
            out.append(''.join(rng.choice(CLUSTERS) for _ in range(rng.randint(1, 4))))
        else:
            alphabet = rng.choice(ALPHABETS)
            out.append(''.join(rng.choice(alphabet) for _ in range(rng.randint(1, 8))))
            if kind < 0.7:
                out.append(''.join(rng.choice(ALPHABETS[18]) for _ in range(rng.randint(1, 5))))
        if rng.random() < 0.3:
            out.append(' ' * rng.randint(1, 3))
    return ''.join(out)


def blocks(form, size=64):
    """Every code point in texts of `size` of them, each put into `form`."""
    return [''.join(form.replace('?', chr(c)) for c in EVERYTHING[i:i + size]) for i in range(0, len(EVERYTHING), size)]


def unknown_characters(normalizer):
    """A tokenizer for which all characters are unknown and one token each, so that the token's offsets are the character's."""
    tokenizer = Tokenizer(models.BPE(vocab={'?': 0}, merges=[], unk_token='?', fuse_unk=False))
    tokenizer.normalizer = normalizer
    return tokenizer


def compare(title, reference, program, arguments, texts):
    global failures
    characters = unknown_characters(reference)
    records = b''.join(b'%d\n%s' % (len(text), text) for text in (text.encode() for text in texts))
    found = subprocess.run([program, *arguments], input=records, stdout=subprocess.PIPE, check=True).stdout.decode().split('\n')[:-1]
    assert len(found) == len(texts), (len(found), len(texts))
    differences = 0
    for text, line in zip(texts, found):
        expected = '%s %s' % (reference.normalize_str(text).encode().hex(), characters.encode(text).offsets)
        if expected != line:
            differences += 1
            if differences <= 3:
                print('  DIFFERENT', ascii(text), '\n    expected', expected[:600], '\n    found   ', line[:600])
    failures += differences
    print('%-60s %8d texts, %d different' % (title, len(texts), differences), flush=True)


# Places of a character in which its combining class, and its class in grapheme clusters, change the result.
IN_FORMS = '?a\u0345?\u0334\u0301b'
IN_CLUSTERS = ('?a\n\u263a?\u200d\u263a\u0301\n\u263a\u200d?\u0301\n?\u1160\u0301\n?\u11a8\u0301\n\u1160?\u0301\n\u1100?\u0301\n?\u094d\u0915\u0301\n\u0915\u094d?\u0301\n'
               '\u0915?\u0915\u0301\n\u0915\u094d?\u0915\u0301\n?\u0301\u0301\na?')


def golden_lines(everything):
    """Per normalizer and block of code points: CRC-32 of the texts and offsets, '\\n' after each."""
    yield '# normalizer, first and last code point, CRC-32; made by tests/oracles/check_normalizers.py from tokenizers ' + tokenizers.__version__
    steps = [(name.lower(), IN_FORMS, getattr(normalizers, name)()) for name in ('NFC', 'NFD', 'NFKC', 'NFKD', 'Lowercase', 'StripAccents')]
    for name, form, normalizer in [*steps, ('precompiled', IN_CLUSTERS, normalizers.Precompiled(everything))]:
        characters = unknown_characters(normalizer)
        for first, last in ((0, 0x7FFF), (0x8000, 0xFFFF), (0x10000, 0x17FFF), (0x18000, 0x1FFFF), (0x2F800, 0x2FFFF), (0xE0000, 0xE0FFF)):
            texts = [form.replace('?', chr(c)) for c in range(first, last + 1) if not 0xD800 <= c < 0xE000]
            lines = ''.join('%s [%s]\n' % (normalizer.normalize_str(text), ', '.join('%d %d' % place for place in characters.encode(text).offsets))
                            for text in texts)
            yield '%s %X %X %08x' % (name, first, last, zlib.crc32(lines.encode()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--models', nargs='*', default=[])
    parser.add_argument('--text')
    parser.add_argument('--random', type=int, default=100000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', default='.', help='regular expression that the names of the normalizers begin with')
    parser.add_argument('--texts', choices=('all', 'code points', 'random'), default='all')
    parser.add_argument('--golden', action='store_true', help='write tests/golden/normalizer_codepoints.txt')
    args = parser.parse_args()
    print('tokenizers', tokenizers.__version__)
    rng = random.Random(args.seed)
    texts = {'every code point alone': [chr(c) for c in EVERYTHING], 'every code point between letters': blocks('a?b'),
             'every code point after a space': blocks(' ?'), 'every code point between marks': blocks('a\u0345?\u0334\u0301'),
             'random': [random_text(rng) for _ in range(args.random)]}
    if args.texts != 'all':
        texts = {kind: some for kind, some in texts.items() if (kind == 'random') == (args.texts == 'random')}
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, 'normalize_stdin')
        subprocess.run(['g++', '-std=c++20', '-O2', '-I' + os.path.join(ROOT, 'include'), os.path.join(ROOT, 'tests/support/normalize_stdin.cpp'),
                        '-o', program], check=True)
        maps = charsmaps(args, folder)
        for name, (reference, arguments) in all_normalizers(maps, folder).items():
            if re.match(args.only, name):
                for kind, some in texts.items():
                    compare('%s: %s' % (name, kind), reference, program, arguments, some)
    if args.golden:
        with open(os.path.join(ROOT, 'tests', 'golden', 'normalizer_codepoints.txt'), 'w', newline='\n') as file:
            file.writelines(line + '\n' for line in golden_lines(maps['everything']))
    print('all equal' if failures == 0 else '%d different' % failures)
    sys.exit(failures != 0)


if __name__ == '__main__':
    main()
