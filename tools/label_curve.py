#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures F1 against the number of labels, for labels chosen at random and by suggest.

    python3 tools/label_curve.py --model START.lxf --tables DIR --columns name,description --out DIR [--labels 50,100,200,400] [--seeds 3]

DIR of --tables has tableA.csv, tableB.csv, train.csv and test.csv (ltable_id, rtable_id, label). The labels of train.csv stand for the
person who labels: only the labels of chosen pairs are used. Each step chooses pairs by the last model, adds their labels, and trains START anew
on all labels. There is no validation set: the labels themselves choose the epoch, and a pair matches if its probability is above 1/2. START
is a matcher, of other tables, say; 0 labels are START itself. The same command goes on with what an interrupted run lacks. Prints a
Markdown table.
"""
import argparse
import csv
import json
import statistics
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise SystemExit(f'{" ".join(map(str, command))}:\n{done.stderr}')
    return done.stdout


def rows_of(path):
    with open(path, newline='', encoding='utf-8') as file:
        return list(csv.DictReader(file))


def write(path, header, rows):
    with open(path, 'w', newline='', encoding='utf-8') as file:
        csv.writer(file, lineterminator='\n').writerows([header, *rows])


def compute(o):
    return ['--threads', o.threads, '--device', o.device]


def tables(o):
    return ['--left', o.tables / 'tableA.csv', '--right', o.tables / 'tableB.csv', '--columns', o.columns]


def score_pool(o, model, label, path):
    """Writes the model's scores of all training pairs."""
    ids = 'ltable_id,rtable_id\n' + ''.join('"%s","%s"\n' % tuple(i.replace('"', '""') for i in pair) for pair in label)
    scored = run([o.bin / 'lexformer', 'score_pairs', '--model', model, *tables(o), *compute(o), '--format', 'csv'], input=ids)
    scores = [line.split('\t')[-1] for line in scored.splitlines()[-len(label):]]
    write(path, ['left_id', 'right_id', 'score'], [[*pair, score] for pair, score in zip(label, scores)])


def evaluate(o, model, path):
    """F1 at 1/2 and average precision on the test pairs."""
    if not path.exists():
        run([o.bin / 'lexformer', 'evaluate', '--model', model, '--test', o.tables / 'test.csv', *tables(o), *compute(o), '--output', path])
    test = json.loads(path.read_text())['test'][0]
    return test['argmax_f1'], test['average_precision']


def curve(o, by, seed, label):
    """Matches among the labels, F1 and average precision for each number of labels. Begins with DIR/pool.csv, the scores of START."""
    folder = o.out / f'{by}-{seed}'
    folder.mkdir(exist_ok=True)
    pool, labels, known, points = o.out / 'pool.csv', folder / 'labels.csv', [], []
    for count in o.labels:
        step = folder / str(count)
        more = ['--labelled', labels] if known else []
        run([o.bin / 'lexformer', 'suggest', pool, *tables(o), '--by', by, '--threshold', 0.5, '--count', count - len(known), '--seed', seed, *more,
             '--out', folder / 'ask.csv'])
        known += [(r['left_id'], r['right_id']) for r in rows_of(folder / 'ask.csv')]
        if len(known) < count:
            raise SystemExit(f'label_curve.py: {o.tables}/train.csv has {len(known)} pairs, {count} labels are asked for')
        write(labels, ['ltable_id', 'rtable_id', 'label'], [[*pair, label[pair]] for pair in known])
        if not (step / 'all_results.json').exists():
            run([o.bin / 'lexformer', 'train_matcher', '--model', o.model, '--train', labels, '--valid', labels, *tables(o), '--attention', 'lea',
                 '--lea-words', 'both', '--epochs', o.epochs, '--batch', 16, '--lr', o.lr, '--seed', seed, *compute(o), '--quiet',
                 '--overwrite', '--out', step])
        points.append((sum(label[pair] == '1' for pair in known), *evaluate(o, step, step / 'test.json')))
        if by == 'uncertainty' and count != o.labels[-1]:
            pool = folder / 'pool.csv'
            score_pool(o, step, label, pool)
    return points


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--model', type=Path, required=True)
    parser.add_argument('--tables', type=Path, required=True)
    parser.add_argument('--columns', required=True)
    parser.add_argument('--out', type=Path, required=True)
    parser.add_argument('--labels', type=lambda text: [int(n) for n in text.split(',')], default=[50, 100, 200, 400])
    parser.add_argument('--seeds', type=int, default=3)
    parser.add_argument('--epochs', type=float, default=10)
    parser.add_argument('--lr', default='2e-4')
    parser.add_argument('--threads', default='1')
    parser.add_argument('--device', default='cpu')
    parser.add_argument('--jobs', type=int, default=1, help='curves at a time')
    parser.add_argument('--bin', type=Path, default=ROOT / 'build/release/bin')
    o = parser.parse_args()
    if o.labels[0] < 1 or any(a >= b for a, b in zip(o.labels, o.labels[1:])):
        parser.error(f'--labels: {",".join(map(str, o.labels))}, expected rising numbers from 1')
    o.out.mkdir(parents=True, exist_ok=True)
    options = ''.join(f'{name} {getattr(o, name)}\n' for name in ('model', 'tables', 'columns', 'labels', 'epochs', 'lr'))
    if (o.out / 'options').exists() and (o.out / 'options').read_text() != options:
        parser.error(f'--out: {o.out} holds runs with other options:\n{(o.out / "options").read_text()}')
    (o.out / 'options').write_text(options)
    print('| labels | chosen by | matches among them | F1 | average precision |\n| --- | --- | --- | --- | --- |')
    label = {(r['ltable_id'], r['rtable_id']): r['label'] for r in rows_of(o.tables / 'train.csv')}
    start = (0, *evaluate(o, o.model, o.out / 'start.json'))
    score_pool(o, o.model, label, o.out / 'pool.csv')
    with ThreadPoolExecutor(o.jobs) as executor:
        curves = {by: [executor.submit(curve, o, by, seed, label) for seed in range(1, o.seeds + 1)] for by in ('random', 'uncertainty')}
        try:
            table = {by: [[start, *curve.result()] for curve in of_seeds] for by, of_seeds in curves.items()}
        except BaseException:
            executor.shutdown(cancel_futures=True)
            raise
    for i, count in enumerate([0, *o.labels]):
        for by, runs in table.items():
            def cell(k, factor=1, digits=1):
                values = [factor * points[i][k] for points in runs]
                return f'{statistics.mean(values):.{digits}f}' + (f' ± {statistics.stdev(values):.1f}' if o.seeds > 1 else '')
            print(f'| {count} | {by} | {cell(0, 1, 0)} | {cell(1, 100)} | {cell(2, 100)} |')


if __name__ == '__main__':
    main()
