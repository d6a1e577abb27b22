#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares lexformer's WordNet and its UERBERT word similarity with PyPI's nltk on the same files, and writes the golden pairs.

    python3 tests/oracles/check_wordnet.py --texts sick/train.tsv ... [--wordnet /usr/share/wordnet] [--pairs 10000] [--golden]

Needs `pip install nltk==3.10.4`, g++, and Debian's packages wordnet-base and wordnet-sense-index, installed or unpacked with `dpkg -x` into
one folder. nltk also needs a file `lexnames` that the packages lack; the script makes one in a temporary folder beside copies of the others.
Not part of the tests: they compare with tests/golden/wordnet.txt, which --golden writes from nltk only. Prints one line per comparison;
exit code 1 if anything differs.
"""
import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

warnings.simplefilter('ignore')  # "multilingual functions are not available"
import nltk
import nltk.corpus

ROOT = Path(__file__).resolve().parents[2]
TOLERANCE = 1e-12  # the sums may be in another order
STOP_WORDS = set('a am an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was '
                 'will with'.split())
GOLDEN_NOTE = '''# UERBERT similarity of word pairs, computed with PyPI's nltk {} and Princeton WordNet 3.0; made by tests/oracles/check_wordnet.py.
# Holds words and computed numbers only, no contents of the database. WordNet 3.0 Copyright 2006 by Princeton University.
'''


def reader(folder, temporary):
    """nltk's WordNet of these files, from the folder where nltk looks for it."""
    target = temporary / 'corpora/wordnet'
    target.mkdir(parents=True)
    for path in Path(folder).iterdir():
        if path.is_file():
            shutil.copy(path, target)
    if not (target / 'lexnames').exists():
        # Number, name and part of speech of the 45 lexicographer files. No comparison uses the names, so they are placeholders.
        (target / 'lexnames').write_text(''.join(f'{i:02d}\tfile{i}\t1\n' for i in range(45)))
    nltk.data.path.insert(0, str(temporary))
    return nltk.corpus.wordnet


class Uerbert:
    """The similarity by its definition, with nltk."""

    def __init__(self, wordnet):
        self.wordnet, self.words = wordnet, {}

    def word(self, text):
        if text not in self.words:
            synsets = self.wordnet.synsets(text)
            lemmas = [lemma for synset in synsets for lemma in synset.lemmas()]
            related = {lemma.name() for lemma in lemmas} | {lemma.antonyms()[0].name() for lemma in lemmas if lemma.antonyms()}
            self.words[text] = synsets, related
        return self.words[text]

    def __call__(self, a, b):
        a, b = a.lower(), b.lower()
        if a in STOP_WORDS or b in STOP_WORDS:
            return 0.0
        (left, near_left), (right, near_right) = self.word(a), self.word(b)
        if not left or not right:
            return float(a == b)
        if a in near_right or b in near_left:
            return 1.0
        values = [x.wup_similarity(y) for x in left for y in right] + [y.wup_similarity(x) for x in left for y in right]
        values = [value for value in values if value is not None]
        return sum(values) / len(values) if values else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--wordnet', default='/usr/share/wordnet', help='the folder of the files')
    parser.add_argument('--texts', nargs='*', default=[], help='files; half of the words of the pairs are drawn from each line')
    parser.add_argument('--pairs', type=int, default=10000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--golden', action='store_true', help='write tests/golden/wordnet.txt')
    args = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        wordnet = reader(args.wordnet, Path(folder) / 'nltk_data')
        uerbert = Uerbert(wordnet)
        print('nltk', nltk.__version__, 'WordNet', wordnet.get_version())
        program = Path(folder) / 'wordnet_stdin'
        subprocess.run(['g++', '-std=c++20', '-O2', f'-I{ROOT}/include', ROOT / 'tests/support/wordnet_stdin.cpp', '-o', program], check=True)

        def compare(title, questions, answers, same):
            nonlocal failures
            run = subprocess.run([program, args.wordnet], input=''.join(q + '\n' for q in questions), stdout=subprocess.PIPE, text=True, check=True)
            got = run.stdout.split('\n')[:-1]
            assert len(got) == len(questions) == len(answers), (len(got), len(questions), len(answers))
            wrong = [case for case in zip(questions, answers, got) if not same(*case[1:])]
            for question, want, ours in wrong[:3]:
                print(f'  DIFFERENT {question!r}\n    want {want}\n    got  {ours}')
            failures += len(wrong)
            print(f'{title:60} {len(questions):7}, {len(wrong)} different', flush=True)
            return got

        def near(want, got):
            return want is None if got == 'None' else want is not None and abs(want - float(got)) <= TOLERANCE

        rng = random.Random(args.seed)
        lines = [re.findall(r"[A-Za-z]+|[^\sA-Za-z]", line) for path in args.texts for line in Path(path).read_text(encoding='utf-8').split('\n')]
        lines = [line for line in lines if len(line) > 1]
        known = sorted(wordnet.all_lemma_names())
        simple = [word for word in known if word.isalpha()]

        # words: all lemmas and exceptions, regular forms, words of the texts
        forms = known + [line.split()[0] for name in ('noun', 'verb', 'adj', 'adv') for line in open(Path(args.wordnet) / f'{name}.exc')]
        forms += [word + end for word in rng.sample(simple, 5000) for end in ('s', 'es', 'ed', 'ing', 'er', 'est', 'ies', 'men')]
        forms += sorted({word for line in lines for word in line})
        depths = lambda synset: f'{synset.name()}:{synset.min_depth()}:{synset.max_depth()}'
        words = [' '.join(' '.join(['+', *wordnet._morphy(form.lower(), part)]) + ' ' for part in 'nvar').replace('  ', ' ') for form in forms]
        answers = [(bases + ' '.join(map(depths, wordnet.synsets(form)))).split() for form, bases in zip(forms, words)]
        compare('base forms, synsets and their depths, words', forms, answers, lambda want, got: want == got.split())

        # pairs of synsets of all kinds, and of the verbs and nouns near the roots, where ties are frequent
        synsets = sorted({s for s in wordnet.all_eng_synsets()}, key=lambda s: s.name())
        number = {synset.name(): i for i, synset in enumerate(synsets)}
        high = [s for s in synsets if s.pos() == 'v' and s.max_depth() < 3] + [s for s in synsets if s.pos() == 'n' and s.max_depth() < 5]
        pairs = [(rng.choice(synsets), rng.choice(synsets)) for _ in range(args.pairs)]
        pairs += [(rng.choice(high), rng.choice(high)) for _ in range(args.pairs)]
        for synset, _ in pairs[:args.pairs]:  # with a hypernym, and with one of its hyponyms
            above = [s for s in synset._iter_hypernym_lists()][-1][0]
            pairs += [(synset, above), (above, synset), (synset, rng.choice(above.hyponyms() or [above]))]
        for part in 'nv':  # with a near relative
            some = [s for s in synsets if s.pos() == part and s.hypernyms()]
            for synset in rng.sample(some, min(len(some), args.pairs // 2)):
                pairs += [(synset, other) for other in rng.choice(synset.hypernyms()).hyponyms()[:3]]
        compare('Wu-Palmer similarity, pairs of synsets', [f'= {number[a.name()]} {number[b.name()]}' for a, b in pairs],
                [a.wup_similarity(b) for a, b in pairs], near)

        if not lines:
            return failures
        # pairs of words: of neighbouring lines, and with a word of WordNet
        half = args.pairs // 2
        words = []
        for _ in range(half):
            i = rng.randrange(len(lines))
            words.append((rng.choice(lines[i]), rng.choice(lines[max(0, i - 1)])))
        words += [(rng.choice(simple), rng.choice(rng.choice([simple, rng.choice(lines)]))) for _ in range(args.pairs - half)]
        values = [uerbert(a, b) for a, b in words]
        got = compare('UERBERT similarity, pairs of words', [f'{a} {b}' for a, b in words], values, near)
        print('largest difference', max(abs(value - float(x)) for value, x in zip(values, got)), 'values 0:', values.count(0.0), '1:', values.count(1.0))

        if args.golden:
            chosen = [('dogs', 'dogs'), ('paris', 'Paris'), ('The', 'the'), ('I', 'i'), ('hot', 'cold'), ('leaves', 'leaf'), ('running', 'walks'),
                      ('geese', 'goose'), ('xyzzy', 'XYZZY'), ('xyzzy', 'dog'), ('.', '.'), ('break', 'run'), ('quickly', 'slow'), ('am', 'i')]
            chosen += words[:143] + words[half:half + 143]
            with open(ROOT / 'tests/golden/wordnet.txt', 'w', newline='\n') as file:
                file.write(GOLDEN_NOTE.format(nltk.__version__))
                file.writelines(f'{a} {b} {uerbert(a, b)!r}\n' for a, b in chosen)
    print('all equal' if failures == 0 else f'{failures} different')
    return failures


if __name__ == '__main__':
    sys.exit(main() != 0)
