#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares whole folders of each family, as transformers saves them, with transformers: logits of pairs and mean vectors of texts, in float.

    python3 tests/oracles/check_families.py --program build/release/bin/lexformer --gpt2 FOLDER --spm test_model.model [--texts pairs.tsv]

Weights are random, of normal size. --gpt2, --spm: as tests/oracles/check_pipeline.py. Needs torch, transformers, tokenizers, numpy. Not part
of the tests. Prints the largest difference of each family; exit code 1 if one is above 4e-6 max(1, b).
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

import numpy
import torch
import transformers
from tokenizers import Tokenizer

from check_pipeline import byte_tokenizers, spm_tokenizers
from check_tokenizer import random_text

SIZES = dict(hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=96, max_position_embeddings=130)
WORDS = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', '<s>', '<pad>', '</s>', '<mask>'] + list('abcdefghijklmnopqrstuvwxyz0123456789.,-') + \
        ['##' + c for c in 'abcdefghijklmnopqrstuvwxyz0123456789'] + ['sony', 'camera', 'black', 'the', '##ing']


def word_piece(marks, double):
    ids = {word: i for i, word in enumerate(WORDS)}
    flags = dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
    cls, sep = marks
    special = lambda name, kind=0: {'SpecialToken': {'id': name, 'type_id': kind}}
    text = lambda name, kind=0: {'Sequence': {'id': name, 'type_id': kind}}
    return {'version': '1.0', 'truncation': None, 'padding': None, 'added_tokens': [dict(flags, id=ids[w], content=w) for w in WORDS[:9]],
            'normalizer': {'type': 'BertNormalizer', 'clean_text': True, 'handle_chinese_chars': True, 'strip_accents': None, 'lowercase': True},
            'pre_tokenizer': {'type': 'BertPreTokenizer'}, 'decoder': None,
            'post_processor': {'type': 'TemplateProcessing', 'single': [special(cls), text('A'), special(sep)],
                               'pair': [special(cls), text('A'), special(sep)] + [special(sep)] * double + [text('B', 1), special(sep, 1)],
                               'special_tokens': {name: {'id': name, 'ids': [ids[name]], 'tokens': [name]} for name in marks}},
            'model': {'type': 'WordPiece', 'unk_token': '[UNK]', 'continuing_subword_prefix': '##', 'max_input_chars_per_word': 100, 'vocab': ids}}


def families(gpt2, spm):
    byte, pieces = dict(byte_tokenizers(gpt2)), dict(spm_tokenizers(spm))
    distil = dict(dim=48, n_layers=3, n_heads=4, hidden_dim=96, max_position_embeddings=128)
    bert = word_piece(('[CLS]', '[SEP]'), 0)
    yield 'DistilBert', distil, bert, dict(pad_token='[PAD]', cls_token='[CLS]', sep_token='[SEP]', mask_token='[MASK]', unk_token='[UNK]')
    yield 'MPNet', dict(SIZES, pad_token_id=6), word_piece(('<s>', '</s>'), 1), dict(pad_token='<pad>', cls_token='<s>', sep_token='</s>',
                                                                                    mask_token='<mask>', unk_token='[UNK]')
    marks = dict(pad_token='<pad>', cls_token='<s>', sep_token='</s>', mask_token='<mask>', unk_token='<unk>')
    one = dict(SIZES, type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1)
    yield 'Roberta', one, byte['roberta, add_prefix_space False'], marks
    yield 'XLMRoberta', one, pieces['xlm-roberta'], marks
    yield 'Camembert', one, pieces['camembert, old form'], marks
    deberta = dict(SIZES, relative_attention=True, position_buckets=16, max_relative_positions=-1, norm_rel_ebd='layer_norm', share_att_key=True,
                   pos_att_type='p2c|c2p', position_biased_input=False, type_vocab_size=0, pad_token_id=0)
    yield 'DebertaV2', deberta, pieces['deberta-v3'], dict(pad_token='[PAD]', cls_token='[CLS]', sep_token='[SEP]', mask_token='[MASK]', unk_token='[UNK]')
    modern = dict(SIZES, max_position_embeddings=128, local_attention=16, num_hidden_layers=4, pad_token_id=0)
    yield 'ModernBert', modern, byte['modernbert'], dict(pad_token='[CLS]', cls_token='[CLS]', sep_token='[SEP]', mask_token='[MASK]')
    gpt = dict(n_embd=48, n_layer=3, n_head=4, n_positions=128, pad_token_id=None)
    yield 'GPT2', gpt, byte['gpt2'], dict(eos_token='<|endoftext|>', bos_token='<|endoftext|>', unk_token='<|endoftext|>')
    neo = dict(hidden_size=48, num_layers=4, num_heads=4, max_position_embeddings=128, attention_types=[[['global', 'local'], 2]], window_size=20)
    yield 'GPTNeo', neo, byte['gpt2'], dict(eos_token='<|endoftext|>')
    yield 'Bert', dict(SIZES, type_vocab_size=1), pieces['xlm-roberta'], marks  # as multilingual-e5-small


def compare(program, kind, sizes, tokenizer, marks, pairs):
    torch.manual_seed(1)
    fast = Tokenizer.from_str(json.dumps(tokenizer))
    config = getattr(transformers, kind + 'Config')(**sizes, vocab_size=fast.get_vocab_size(), num_labels=2)
    model = getattr(transformers, kind + 'ForSequenceClassification')(config).eval()
    for name, p in model.named_parameters():
        p.data = ((1.0 if 'norm.weight' in name.lower() else 0.0) + 0.1 * torch.randn(p.shape))
    # AutoModel drops the head, so its state is what AutoModelForSequenceClassification has.
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        hub = os.path.join(folder, 'hub')
        model.save_pretrained(hub)
        with open(os.path.join(hub, 'tokenizer.json'), 'w', encoding='utf-8') as out:
            json.dump(tokenizer, out, ensure_ascii=False)
        with open(os.path.join(hub, 'tokenizer_config.json'), 'w', encoding='utf-8') as out:
            json.dump(dict(marks, tokenizer_class='PreTrainedTokenizerFast', model_max_length=128), out)
        rows = os.path.join(folder, 'pairs.jsonl')
        with open(rows, 'w', encoding='utf-8') as out:
            out.writelines(json.dumps({'left': a, 'right': b}) + '\n' for a, b in pairs)
        vectors = os.path.join(folder, 'vectors.npy')
        run = lambda *command: subprocess.run([program, *command], check=True, stdin=open(rows), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        scores = run('score_pairs', '--model', hub, '--format', 'jsonl', '--logits').decode()
        less = {}
        for precision in ('bfloat16', 'int8'):
            text = run('score_pairs', '--model', hub, '--format', 'jsonl', '--logits', '--precision', precision).decode()
            less[precision] = [[float(x) for x in line.split('\t')] for line in text.split('\n')[:-1]]
        run('encode', '--model', hub, '--input', rows, '--columns', 'left', '--output', vectors)
        longest = getattr(config, 'n_positions', None) or config.max_position_embeddings - (2 if kind in ('MPNet', 'Roberta', 'XLMRoberta', 'Camembert') else 0)
        longest = 512 if kind == 'DebertaV2' else longest  # it has no positions, so lexformer's default holds
        means, found = numpy.load(vectors), [[float(x) for x in line.split('\t')] for line in scores.split('\n')[:-1]]
        fast.enable_truncation(longest)
        with torch.no_grad():
            for i, (a, b) in enumerate(pairs):
                e, one = fast.encode(a, b), fast.encode(a)
                types = dict(token_type_ids=torch.tensor([e.type_ids])) if kind == 'Bert' else {}
                theirs = model(input_ids=torch.tensor([e.ids]), **types).logits[0].numpy()
                errors.append(numpy.max(numpy.abs(found[i] - theirs) / numpy.maximum(1, numpy.abs(theirs))))
                hidden = model.base_model(input_ids=torch.tensor([one.ids])).last_hidden_state[0].mean(0).numpy()
                errors.append(numpy.max(numpy.abs(means[i] - hidden) / numpy.maximum(1, numpy.abs(hidden))))
    rounded = ', '.join('%s %.2g' % (name, numpy.max(numpy.abs(numpy.array(rows) - numpy.array(found)))) for name, rows in less.items())
    print('%-12s %d pairs, largest difference %.2g (between float32 and %s)' % (kind, len(pairs), max(errors), rounded), flush=True)
    return max(errors) <= 4e-6


def main():
    parser = argparse.ArgumentParser()
    for name in ('--program', '--gpt2', '--spm'):
        parser.add_argument(name, required=True)
    parser.add_argument('--texts')
    options = parser.parse_args()
    rng = random.Random(1)
    clean = lambda text: ' '.join(text.replace('\0', ' ').split()) or 'a'
    pairs = [(clean(random_text(rng)), clean(random_text(rng))) for _ in range(100)]
    if options.texts:
        pairs += [line.rstrip('\n').split('\t')[:2] for line in open(options.texts, encoding='utf-8')][:100]
    results = [compare(options.program, *family, pairs) for family in families(options.gpt2, options.spm)]
    sys.exit(not all(results))


if __name__ == '__main__':
    main()
