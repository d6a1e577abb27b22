# SPDX-License-Identifier: MIT
"""Tables of records: pairs of ids in train_matcher, score_pairs, evaluate and report; candidates; match. Needs the built programs
(LEXFORMER_BIN) and Python's standard library."""
import contextlib
import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from support import BIN, BRANDS, KINDS, Refusals, program, write


def products(count, seed):
    """Names, notes with a comma and a quote, prices."""
    rng = random.Random(seed)
    return [(f"{rng.choice(BRANDS)} {rng.choice(KINDS)} {rng.choice('abcdk')}-{rng.randrange(1000, 9999)}", f'for 13" screens, {rng.choice(KINDS)}', f"{rng.randrange(1, 9)},{rng.randrange(100, 999)}.00")
            for _ in range(count)]


def typo(text, rng):
    at = rng.randrange(1, len(text) - 1)
    return text[:at] + text[at + 1 :]


class Match(Refusals, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = folder = Path(tempfile.mkdtemp(prefix="lexformer-"))
        rng, items = random.Random(5), products(60, 1)
        cls.a, cls.b = folder / "a.csv", folder / "b.csv"
        write(cls.a, ("id", "name", "notes", "price"), [(f"a{i}", *item) for i, item in enumerate(items)])
        write(cls.b, ("price", "title", "key"), [(price.replace(",", ""), typo(name, rng).replace("-", ""), f"b{i}") for i, (name, _, price) in enumerate(items)])
        for name, seed in (("train", 1), ("valid", 2), ("test", 3)):
            rng = random.Random(seed)
            rows = [(f"a{i}", f"b{i if k == 0 else rng.randrange(60)}", int(k == 0)) for i in range(60) for k in range(2)]
            write(folder / f"{name}.csv", ("ltable_id", "rtable_id", "label"), [row for row in rows if row[2] == 1 or row[0][1:] != row[1][1:]])
        config = folder / "config.json"
        config.write_text('{"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 64}')
        cls.start = folder / "start.lxf"
        done = program("make_model", "--text", cls.a, cls.b, "--vocab-size", 300, "--model-config", config, "--out", cls.start)
        assert done.returncode == 0, done.stderr
        cls.tables = ("--left", cls.a, "--right", cls.b, "--id", "id=key")
        cls.texts = ("--columns", "name=title,price", "--column-words", "name=4", "--serialize", "columns", "--normalize-numbers")
        cls.trained = folder / "trained"
        done = program("train_matcher", "--model", cls.start, "--train", folder / "train.csv", "--valid", folder / "valid.csv", "--test", folder / "test.csv", *cls.tables, *cls.texts, "--attention", "lea",
                       "--out", cls.trained, "--max-steps", 4, "--batch", 8, "--quiet")
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def rows(self, path):
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def ok(self, name, *arguments, **options):
        done = program(name, *arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def match(self, out, *more, tables=None, **options):
        tables = tables or (self.a, self.b, "--id", "id=key")
        return self.ok("match", *tables, "--model", self.trained, "--out", out, "--candidates", 4, *more, **options)

    def test_embeddings(self):
        """--blocking embeddings against all cosines of the vectors that encode writes; with all, the other candidates beside them."""
        options = ("--id", "id=key", "--columns", "name=title,price")
        top = 3

        def found(name, *more):
            out = self.folder / name
            done = program("candidates", self.a, self.b, *options, "--top", top, *more, "--out", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(out, newline="", encoding="utf-8") as file:
                return {(row["left_id"], row["right_id"]): float(row["score"]) for row in csv.DictReader(file)}

        near = found("near.csv", "--blocking", "embeddings", "--encoder", self.start)
        self.assertEqual(found("one.csv", "--blocking", "embeddings", "--encoder", self.start, "--threads", 1), near)
        vectors = {}
        for side, path, columns in (("a", self.a, ("name", "price")), ("b", self.b, ("title", "price"))):
            with open(path, newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            out = self.folder / f"{side}.jsonl"
            done = program("encode", "--model", self.start, "--pool", "mean", "--output", out, text="".join(" ".join(" ".join(row[c].split()) for c in columns) + "\n" for row in rows))
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = [json.loads(line) for line in out.read_text().splitlines()]
            vectors[side] = {row["id" if side == "a" else "key"]: line["vector"] for row, line in zip(rows, lines)}

        def cosine(x, y):
            return sum(p * q for p, q in zip(x, y)) / (sum(p * p for p in x) * sum(q * q for q in y)) ** 0.5

        all_pairs = {(i, j): cosine(x, y) for i, x in vectors["a"].items() for j, y in vectors["b"].items()}
        for (i, j), score in near.items():
            self.assertAlmostEqual(score, all_pairs[i, j], places=4)
        for i in vectors["a"]:
            of_row = sorted((score for (k, _), score in all_pairs.items() if k == i), reverse=True)[:top]
            self.assertEqual(len([1 for (k, _), score in near.items() if k == i and score >= of_row[-1] - 1e-4]) >= top, True)
        int8 = found("int8.csv", "--blocking", "embeddings", "--encoder", self.start, "--encoder-precision", "int8")
        self.assertNotEqual(int8, near)
        for pair, score in int8.items():
            self.assertAlmostEqual(score, all_pairs[pair], delta=0.02)
        both = found("both.csv", "--blocking", "all", "--encoder", self.start)
        self.assertEqual(set(both), set(near) | set(found("texts.csv", "--blocking", "all")))
        approximate = ("--blocking", "embeddings", "--encoder", self.start, "--approximate")
        done = program("candidates", self.a, self.b, *options, "--top", top, *approximate, "--out", self.folder / "approximate.CSV")
        if "without hnswlib" in done.stderr:
            self.refused(2, done, "--approximate", "libhnswlib-dev")
        else:  # the tables are small, so nothing is missed
            scores = found("approximate.CSV", *approximate)
            self.assertEqual(set(scores), set(near))
            self.assertTrue(all(abs(scores[pair] - near[pair]) < 1e-5 for pair in near))
            self.assertEqual(found("one-thread.csv", *approximate, "--threads", 1), scores)
            one = ("candidates", self.a, "--id", "id", "--columns", "name", "--blocking", "embeddings", "--encoder", self.start, "--top", top, "--out")
            self.ok(*one, self.folder / "one.csv")
            self.ok(*one, self.folder / "one-approximate.csv", "--approximate")
            self.assertEqual(*(sorted((r["left_id"], r["right_id"]) for r in self.rows(self.folder / name)) for name in ("one.csv", "one-approximate.csv")))
        self.refused(2, program("candidates", self.a, self.b, *options, "--approximate", "--out", self.folder / "x.csv"), "--approximate: needs --encoder")
        shown = program("candidates", self.a, self.b, *options, "--blocking", "embeddings", "--encoder", self.start, "--explain", *max(near, key=near.get))
        self.assertIn("embeddings: cosine", shown.stdout)
        self.assertIn("a candidate within 10", shown.stdout)
        self.refused(2, program("candidates", self.a, self.b, *options, "--blocking", "embeddings", "--out", self.folder / "x.csv"), "needs --encoder")
        self.refused(2, program("candidates", self.a, self.b, *options, "--encoder", self.start, "--out", self.folder / "x.csv"), "needs --blocking embeddings or all")

    @unittest.skipIf(shutil.which("bash") is None, "no bash")
    def test_pipes(self):
        wanted, got = self.folder / "wanted.csv", self.folder / "got.csv"
        options = "--id id=key --columns name=title,price"
        self.assertEqual(program("candidates", self.a, self.b, *options.split(), "--out", wanted).returncode, 0)
        lines = self.folder / "b.lines"
        with open(self.b, newline="", encoding="utf-8") as file:
            lines.write_text("".join(json.dumps(row) + "\n" for row in csv.DictReader(file)))
        for right in (self.b, lines):
            done = subprocess.run(["bash", "-c", f"{BIN}/lexformer candidates <(cat {self.a}) <(cat {right}) {options} --out {got}"], capture_output=True, text=True)
            self.assertEqual((done.returncode, got.read_bytes()), (0, wanted.read_bytes()), done.stderr)

    def test_the_texts_of_records(self):
        done = self.ok("match", self.a, self.b, "--id", "id=key", "--model", self.trained, "--out", self.folder / "t.csv", "--candidates", 1, "--text", "--quiet")
        self.assertEqual(done.stderr, "")
        row = next(r for r in self.rows(self.folder / "t.csv") if r["left_id"] == "a0")
        name, _, price = products(60, 1)[0]
        self.assertEqual(row["left"], f"COL name VAL {' '.join(name.split()[:4])} COL price VAL {price.replace(',', '')[:-3]}")
        self.assertTrue(row["right"].startswith("COL name VAL "))

    def test_pairs_of_ids_give_what_pairs_of_texts_give(self):
        """The model keeps how records become texts; the same texts written as a table of pairs have the same scores."""
        self.match(self.folder / "all.jsonl", "--text", "--blocking", "none", "--quiet")
        texts = {(o["left_id"], o["right_id"]): (o["left"], o["right"]) for o in map(json.loads, (self.folder / "all.jsonl").read_text(encoding="utf-8").splitlines())}
        self.assertEqual(len(texts), 3600)
        test = self.rows(self.folder / "test.csv")
        table = self.folder / "texts.tsv"
        table.write_text("".join("\t".join((*texts[r["ltable_id"], r["rtable_id"]], r["label"])) + "\n" for r in test))
        by_ids = self.ok("evaluate", "--model", self.trained, "--test", self.folder / "test.csv", *self.tables, "--output", self.folder / "ids.json", "--scores", "--keep", "ltable_id")
        by_texts = self.ok("evaluate", "--model", self.trained, "--test", table, "--output", self.folder / "texts.json", "--scores")
        ids, plain = (json.loads((self.folder / f"{name}.json").read_text())["test"][0] for name in ("ids", "texts"))
        self.assertEqual(ids["scores"], plain["scores"])
        self.assertEqual(ids["columns"]["ltable_id"], [r["ltable_id"] for r in test])
        self.assertEqual(by_ids.stdout.split("\n")[1].split()[1:], by_texts.stdout.split("\n")[1].split()[1:])
        saved = json.loads((self.trained / "all_results.json").read_text())
        self.assertEqual(saved["test"][0]["f1"], ids["f1"])
        self.assertEqual(saved["settings"]["records"]["columns"], [["name", "title"], ["price", "price"]])
        # score_pairs: the ids come first
        lines = "ltable_id\trtable_id\n" + "".join(f"{r['ltable_id']}\t{r['rtable_id']}\n" for r in test)
        scored = [line.split("\t") for line in self.ok("score_pairs", "--model", self.trained, *self.tables, text=lines).stdout.splitlines()]
        self.assertEqual(scored[0], ["left_id", "right_id", "score"])
        self.assertEqual([row[:2] for row in scored[1:]], [[r["ltable_id"], r["rtable_id"]] for r in test])
        for row, score in zip(scored[1:], ids["scores"]):
            self.assertAlmostEqual(float(row[2]), score, delta=1e-5)
        # other options than the stored ones give other texts
        other = self.ok("evaluate", "--model", self.trained, "--test", self.folder / "test.csv", *self.tables, "--serialize", "plain", "--output", self.folder / "o.json", "--scores")
        self.assertEqual(other.stderr, "")
        self.assertNotEqual(json.loads((self.folder / "o.json").read_text())["test"][0]["scores"], ids["scores"])
        self.ok("report", "--model", self.trained, "--test", self.folder / "test.csv", *self.tables, "--out", self.folder / "report")
        self.assertIn("COL name VAL", (self.folder / "report" / "index.html").read_text())

    def test_lea_between_words_of_the_same_column(self):
        train = [*self.tables, "--model", self.start, "--train", self.folder / "train.csv", "--valid", self.folder / "test.csv", "--attention", "lea", "--max-steps", 3, "--augment", "--quiet"]
        scores = {}
        for columns in ("any", "same", "both"):
            out = self.folder / f"columns-{columns}"
            self.ok("train_matcher", *train, "--serialize", "columns", "--columns", "name=title,price", "--lea-columns", columns, "--out", out)
            self.ok("evaluate", "--model", out, "--test", self.folder / "test.csv", *self.tables, "--scores", "--output", self.folder / "r.json")
            scores[columns] = tuple(json.loads((self.folder / "r.json").read_text())["test"][0]["scores"])
        self.assertEqual(len(set(scores.values())), 3)
        refused = program("train_matcher", *train, "--columns", "name=title,price", "--lea-columns", "same", "--out", self.folder / "x")
        self.refused(2, refused, "--lea-columns: no text of", "train.csv", "--serialize columns")

    def test_losses_of_one_score(self):
        """--loss: binary scores are probabilities; of those that rank, MRR against the definition, from the scores of evaluate."""
        train = ["train_matcher", "--model", self.start, *self.tables, *self.texts, "--train", self.folder / "train.csv", "--valid", self.folder / "valid.csv", "--test", self.folder / "test.csv",
                 "--max-steps", 6, "--batch", 8, "--lr", "1e-3", "--quiet"]
        scores = {}
        for loss, more in (("binary", ()), ("margin", ("--margin", 0.3)), ("listwise", ("--negatives", 3, "--test-typos", 1))):
            out, found = self.folder / f"loss-{loss}", self.folder / "r.json"
            done = self.ok(*train, "--loss", loss, *more, "--out", out)
            saved = json.loads((out / "all_results.json").read_text())
            self.ok("evaluate", "--model", out, "--test", self.folder / "test.csv", *self.tables, "--scores", "--output", found)
            scores[loss] = json.loads(found.read_text())["test"][0]["scores"]
            self.assertEqual(saved["settings"]["loss"], loss)
            self.assertEqual(saved["train"]["pairs"], len(self.rows(self.folder / "train.csv")) + (180 if loss == "listwise" else 0))
            if loss == "binary":
                self.assertTrue(all(0 < score < 1 for score in scores[loss]))
                self.assertIn("spearman", saved["test"][0])
                continue
            queries = {}
            for row, score in zip(self.rows(self.folder / "test.csv"), scores[loss]):
                queries.setdefault(row["ltable_id"], []).append((-score, row["label"] == "1"))
            ranks = [[match for _, match in sorted(documents)].index(True) + 1 for documents in queries.values()]
            self.assertAlmostEqual(saved["test"][0]["mrr@10"], sum(1 / rank for rank in ranks) / len(ranks), places=9)
            self.assertIn("mrr@10", done.stdout)
            self.assertEqual("typos_mean" in saved["test"][0], loss == "listwise")
        self.assertEqual(len(set(map(tuple, scores.values()))), 3)
        resumed = self.ok(*train[:-3], "--lr", "1e-3", "--quiet", "--loss", "listwise", "--negatives", 3, "--test-typos", 1, "--out", self.folder / "loss-listwise", "--resume")
        self.assertIn("mrr@10", resumed.stdout)
        self.refused(2, program(*train, "--loss", "cross-entropy", "--task", "regression", "--out", self.folder / "x"), "--loss: cross-entropy is a loss of classes")
        bad = self.folder / "bad.csv"
        bad.write_text("ltable_id,rtable_id,label\na0,b0,2\n")
        train[train.index("--train") + 1] = bad
        self.refused(3, program(*train, "--loss", "binary", "--out", self.folder / "x"), "bad.csv: example 1 has the label 2", "from 0 to 1")

    def test_candidates(self):
        out, names = self.folder / "c.csv", ("--id", "id=key", "--columns", "name=title")
        done = self.ok("candidates", self.a, self.b, *names, "--top", 2, "--out", out, "--matches", self.folder / "train.csv", self.folder / "test.csv")
        rows = self.rows(out)
        self.assertRegex(done.stdout, rf"{len(rows)} candidates of 3600 pairs, reduction [0-9.]+ %\n60 of 60 matches among them, recall 100.00 %\n")
        self.assertEqual(list(rows[0]), ["left_id", "right_id", "score"])
        keys = [(int(r["left_id"][1:]), -float(r["score"])) for r in rows]
        self.assertEqual(keys, sorted(keys))
        for threads in (1, 3):
            self.ok("candidates", self.a, self.b, *names, "--top", 2, "--out", self.folder / "c1.csv", "--threads", threads)
            self.assertEqual((self.folder / "c1.csv").read_bytes(), out.read_bytes())
        self.ok("candidates", self.a, self.b, *names, "--top", 2, "--out", self.folder / "c.jsonl")
        self.assertEqual([json.loads(line)["left_id"] for line in (self.folder / "c.jsonl").read_text().splitlines()], [r["left_id"] for r in rows])
        # A list of a configuration file does not take the tables for its own.
        config = self.folder / "options.json"
        config.write_text(json.dumps({"id": "id=key", "columns": ["name=title"], "top": 2, "out": str(self.folder / "c2.csv")}))
        for arguments in ((self.a, self.b, "--config", config), ("--config", config, self.a, self.b), ("--config", config, "--", self.a, self.b)):
            (self.folder / "c2.csv").unlink(missing_ok=True)
            self.ok("candidates", *arguments)
            self.assertEqual((self.folder / "c2.csv").read_bytes(), out.read_bytes())
        # a share of the matches is lost if only one token in one order is looked at
        few = self.ok("candidates", self.a, self.b, *names, "--top", 1, "--blocking", "tokens", "--typo-share", 1, "--matches", self.folder / "train.csv").stdout
        self.assertRegex(few, r"\d+ of 60 matches")
        said = self.ok("candidates", self.a, self.b, *names, "--explain", "a3", "b3", "--blocking", "all").stdout
        self.assertIn("3-grams: cosine 0.", said)
        self.assertIn("b3 is number 1 for a3, a3 is number 1 for b3: a candidate within 10", said)
        self.assertIn("tokens: cosine 0.", said)

    def test_keys(self):
        """--same leaves out pairs whose columns differ, --also adds those whose columns agree."""
        rng, items = random.Random(3), products(40, 5)
        brand = lambda name: name.split()[0]
        left = [(i, name, brand(name) if i % 8 else "", f"{4000 + i}") for i, (name, _, _) in enumerate(items)]
        right = [(i, typo(name, rng), brand(name).upper() + ".", f"0{4000 + i}.0" if i % 2 else "n/a") for i, (name, _, _) in enumerate(items)]
        write(self.folder / "key-a.csv", ("id", "name", "brand", "ean"), left)
        write(self.folder / "key-b.csv", ("id", "name", "maker", "code"), right)
        write(self.folder / "key.csv", ("ltable_id", "rtable_id", "label"), [(i, i, 1) for i in range(40)])
        tables, out = (self.folder / "key-a.csv", self.folder / "key-b.csv", "--columns", "name"), self.folder / "key-out.csv"

        def candidates(*options):
            done = self.ok("candidates", *tables, "--top", 3, "--out", out, "--matches", self.folder / "key.csv", *options)
            return {(int(r["left_id"]), int(r["right_id"])): float(r["score"]) for r in self.rows(out)}, done

        brands = {i: (row[2], right[i][2].rstrip(".").lower()) for i, row in enumerate(left)}
        plain, _ = candidates()
        same, done = candidates("--same", "brand=maker")
        self.assertIn("same brand: 35 of 40 left and 40 of 40 right records have a value", done.stderr)
        self.assertIn("40 of 40 matches among them, recall 100.00 %", done.stdout)
        self.assertTrue(all(brands[a][0] in ("", brands[b][1]) for a, b in same))
        self.assertTrue(any(brands[a][0] not in ("", brands[b][1]) for a, b in plain))
        self.assertTrue(all(score == plain.get(pair, score) for pair, score in same.items()))
        known, done = candidates("--same", "brand=maker", "--missing-key", "none")
        self.assertEqual({a for a, _ in known}, {i for i in range(40) if i % 8})
        self.assertIn("35 of 40 matches among them", done.stdout)
        both, done = candidates("--same", "brand=maker", "--missing-key", "none", "--also", "ean=code")
        self.assertLessEqual(known.keys() | {(i, i) for i in range(1, 40, 2)}, both.keys())
        self.assertIn("also ean: 40 of 40 left and 40 of 40 right records have a value; 20 values are in both tables", done.stderr)
        other = next(i for i in range(0, 40, 2) if brands[i][1] != brands[1][1])
        said = self.ok("candidates", *tables, "--same", "brand=maker", "--also", "ean=code", "--explain", 1, other).stdout
        self.assertIn("differ: no candidate by its texts\nalso ean: '4001' and 'n/a': do not agree\n", said)
        self.assertIn("no candidate within 10", said)
        done = self.ok("match", *tables, "--same", "brand=maker", "--candidates", 3, "--out", self.folder / "key-m.csv")
        self.assertIn("same brand: 35 of 40", done.stderr)
        self.assertEqual({(int(r["left_id"]), int(r["right_id"])) for r in self.rows(self.folder / "key-m.csv")}, same.keys())
        for wrong, part in ((("--missing-key", "none"), "--missing-key: needs --same"), (("--same", "brand="), "--same: 'brand=' names no column"), (("--also", "name,name"), "--also: 'name=name' is named twice")):
            self.refused(2, program("candidates", *tables, "--out", out, *wrong), part)
        self.refused(3, program("candidates", *tables, "--out", out, "--same", "brand"), "key-b.csv: there is no column 'brand' among", "--same names others")

    def test_weights_of_columns(self):
        """Long texts that each table writes anew do not drown the names, unless the columns are named."""
        rng, items = random.Random(4), products(80, 9)
        words = ["".join(rng.choice("abcdefghik") for _ in range(6)) for _ in range(70)]
        long = lambda: " ".join(rng.choice(words) for _ in range(60)) if rng.random() < 0.75 else ""
        for table in "ab":
            write(self.folder / f"long-{table}.csv", ("id", "name", "text"), [(i, typo(name, rng), long()) for i, (name, _, _) in enumerate(items)])
        write(self.folder / "long.csv", ("ltable_id", "rtable_id", "label"), [(i, i, 1) for i in range(80)])
        both = (self.folder / "long-a.csv", self.folder / "long-b.csv")
        asked = ("candidates", *both, "--top", 2, "--matches", self.folder / "long.csv")
        recall = lambda done: float(re.search(r"recall ([0-9.]+)", done.stdout)[1])
        chosen, alike, typos = self.ok(*asked), self.ok(*asked, "--columns", "name,text"), self.ok(*asked, "--typo-share", 0.1)
        self.assertRegex(chosen.stderr, r"weights of the columns, by the data: name 1.00, text 0.\d\d")
        self.assertIn("weights of the columns, by the data", typos.stderr)
        self.assertEqual(alike.stderr, "")
        self.assertGreater(recall(chosen), 95)
        self.assertLess(recall(alike), 80)
        self.assertIn("3-grams: cosine 0.", self.ok("candidates", *both, "--explain", 3, 3).stdout)
        done = self.ok("match", *both, "--out", self.folder / "long-out.csv")
        self.assertIn("weights of the columns, by the data: name 1.00", done.stderr)

    def test_one_table(self):
        table = self.folder / "double.csv"
        items = products(20, 8)
        write(table, ("id", "name", "notes", "price"), [(f"{i}", *item) for i, item in enumerate(items + items[:5])])
        self.ok("candidates", table, "--top", 2, "--out", self.folder / "d.csv")
        rows = self.rows(self.folder / "d.csv")
        for row in rows:
            self.assertLess(int(row["left_id"]), int(row["right_id"]))
        self.assertEqual(len({(r["left_id"], r["right_id"]) for r in rows}), len(rows))
        same = {(r["left_id"], r["right_id"]) for r in rows if float(r["score"]) > 0.99999}
        self.assertEqual(same, {(str(i), str(20 + i)) for i in range(5)})
        self.ok("match", table, "--model", self.trained, "--columns", "name,price", "--out", self.folder / "d2.csv", "--candidates", 2, "--quiet")
        self.assertEqual({(r["left_id"], r["right_id"]) for r in self.rows(self.folder / "d2.csv")} & same, same)

    def test_match_writes_scores_and_decisions(self):
        out = self.folder / "m.csv"
        done = self.match(out)
        rows = self.rows(out)
        self.assertIn(f"{len(rows)} pairs scored", done.stderr)
        self.assertEqual(list(rows[0]), ["left_id", "right_id", "score", "probability", "match"])
        scores = sorted({float(r["score"]) for r in rows})
        threshold = (scores[len(scores) // 2] + scores[len(scores) // 2 + 1]) / 2
        self.match(self.folder / "m2.csv", "--threshold", threshold, "--threads", 1)
        again = self.rows(self.folder / "m2.csv")
        self.assertEqual([(r["left_id"], r["right_id"], r["score"]) for r in rows], [(r["left_id"], r["right_id"], r["score"]) for r in again])
        for row in again:
            self.assertEqual(row["match"], str(int(float(row["score"]) >= threshold)))
        self.match(self.folder / "m3.csv", "--threshold", threshold, "--top", 1, "--matches-only")
        best = {}
        for row in again:
            best.setdefault(row["left_id"], row)  # of a left record the largest score is first
        self.assertEqual(self.rows(self.folder / "m3.csv"), [row for row in best.values() if row["match"] == "1"])
        self.assertEqual([p.name for p in self.folder.glob("m*.part*")], [])
        for threads in (2, 3):
            self.match(self.folder / "m4.csv", "--threads", threads)
            self.assertEqual((self.folder / "m4.csv").read_bytes(), out.read_bytes())

    def on_a_terminal(self, *arguments):
        """What a command writes to standard error if that is a terminal."""
        reader, writer = os.openpty()
        self.addCleanup(os.close, reader)
        try:
            done = program(*arguments, stderr=writer)
        finally:
            os.close(writer)
        said = b""
        with contextlib.suppress(OSError):  # the end, on Linux
            while part := os.read(reader, 65536):
                said += part
        self.assertEqual(done.returncode, 0, said)
        return said.decode()

    def test_the_line_of_scores_is_shown_with_a_model_alone(self):
        options = ("match", self.a, self.b, "--id", "id=key", "--out", self.folder / "terminal.csv")
        said = self.on_a_terminal(*options, "--columns", "name=title,price")
        self.assertIn(" matches at threshold 0.5", said)
        self.assertNotIn("pairs/s", said)
        self.assertIn("pairs/s", self.on_a_terminal(*options, "--model", self.trained))

    def test_without_a_model(self):
        options = (self.a, self.b, "--id", "id=key", "--columns", "name=title,price")
        self.ok("candidates", *options, "--top", 4, "--out", self.folder / "c.csv")
        cosines = {(r["left_id"], r["right_id"]): float(r["score"]) for r in self.rows(self.folder / "c.csv")}
        done = self.ok("match", *options, "--candidates", 4, "--out", self.folder / "s.csv")
        rows = self.rows(self.folder / "s.csv")
        self.assertEqual({(r["left_id"], r["right_id"]) for r in rows}, set(cosines))
        for row in rows:
            a, b = row["left_id"], row["right_id"]
            other = max((s for (x, y), s in cosines.items() if (x == a) != (y == b)), default=0)
            self.assertAlmostEqual(float(row["score"]), cosines[a, b] / (cosines[a, b] + other), delta=2e-5)
            self.assertEqual(row["match"], str(int(float(row["score"]) >= 0.5)))
        matches = [row for row in rows if row["match"] == "1"]
        self.assertGreater(sum(row["left_id"][1:] == row["right_id"][1:] for row in matches), 50)
        self.assertIn(f"{len(matches)} matches at threshold 0.5", done.stderr)

        valid = ("--validation", self.folder / "valid.csv")
        done = self.ok("match", *options, "--candidates", 4, *valid, "--out", self.folder / "v.csv")
        self.assertEqual(list(self.rows(self.folder / "v.csv")[0]), ["left_id", "right_id", "score", "probability", "match"])
        self.assertRegex(done.stderr, r"[0-9.]+ % precision and [0-9.]+ % recall at threshold 0\.")
        self.assertNotIn("cascade", done.stderr)
        few = self.folder / "few.csv"  # three of ten matches are no candidates
        write(few, ("ltable_id", "rtable_id", "label"), [(f"a{i}", f"b{i}", 1) for i in range(7)] + [(*pair, int(k < 3)) for k, pair in enumerate(
            [(f"a{i}", f"b{j}") for i in range(8) for j in range(60) if (f"a{i}", f"b{j}") not in cosines and i != j][:3] + [p for p in cosines if p[0][1:] != p[1][1:]][:10])])
        lost = ("match", *options, "--candidates", 4, "--validation", few, "--out", self.folder / "v2.csv")
        said = self.ok(*lost).stderr
        self.assertIn(": 100.0 % precision and 70.0 % recall at threshold", said)
        self.assertIn("few.csv: 3 of 10 labelled matches are not candidates; recall and F1 count them as missed\n", said)
        self.assertIn(" 70.0 % recall at threshold", self.ok(*lost, "--min-recall", 0.65).stderr)
        self.refused(3, program(*lost, "--min-recall", 0.75, "--quiet"), "few.csv: only 70.0 % of the matches are candidates; more candidates of a record find more of them")
        write(few, ("ltable_id", "rtable_id", "label"), [(f"a{i}", f"b{i}", 1) for i in range(7)] + [(*next((f"a{i}", f"b{j}") for i in range(8) for j in range(60) if (f"a{i}", f"b{j}") not in cosines), 0)])
        self.refused(3, program(*lost, "--quiet"), "few.csv: of 8 pairs 7 are candidates, with 7 matches; validation needs matches and other pairs among the candidates")

        parts = []
        for i in (1, 2):
            self.ok("match", *options, "--candidates", 4, "--shard", f"{i}/2", "--out", self.folder / f"s{i}.csv")
            parts += self.rows(self.folder / f"s{i}.csv")
        self.assertEqual(sorted(map(str, parts)), sorted(map(str, rows)))

        one = ("match", self.a, "--columns", "name,price", "--out", self.folder / "o.csv")
        self.refused(2, program(*one), "--threshold: must be given, or validation pairs")
        self.ok(*one, "--threshold", 0.6)
        self.ok("candidates", self.a, "--columns", "name,price", "--out", self.folder / "c.csv")
        cosines = {(r["left_id"], r["right_id"]): float(r["score"]) for r in self.rows(self.folder / "c.csv")}
        for row in self.rows(self.folder / "o.csv"):
            self.assertAlmostEqual(float(row["score"]), cosines.pop((row["left_id"], row["right_id"])), delta=2e-6)
        self.assertEqual(cosines, {})
        items, copies = self.rows(self.a), self.folder / "copies.csv"
        write(copies, ("id", "name"), [(k + row["id"], row["name"]) for k in "xy" for row in items])
        self.ok("match", copies, "--threshold", 1, "--matches-only", "--out", self.folder / "o1.csv")
        equal = [(row["left_id"], row["right_id"], row["score"]) for row in self.rows(self.folder / "o1.csv")]
        self.assertLessEqual({(f"xa{i}", f"ya{i}", "1") for i in range(60)}, set(equal))
        self.assertEqual(set(score for *_, score in equal), {"1"})
        for wrong in (("--parses", self.a), ("--wordnet", self.folder), ("--love", self.a), ("--words", 3), ("--calibration", self.a), ("--blocking", "none")):
            self.refused(2, program("match", *options, "--out", self.folder / "x.csv", *wrong), "--model")

    def test_shards_are_the_whole(self):
        self.match(self.folder / "w.csv")
        whole = (self.folder / "w.csv").read_text().splitlines()
        running = [subprocess.Popen([str(x) for x in (BIN / "lexformer", "match", self.a, self.b, "--id", "id=key", "--model", self.trained, "--candidates", 4, "--quiet", "--shard", f"{i}/4", "--out", self.folder / f"w{i}.csv")])
                   for i in range(1, 5)]
        self.assertEqual([process.wait() for process in running], [0] * 4)
        parts = [(self.folder / f"w{i}.csv").read_text().splitlines() for i in range(1, 5)]
        self.assertTrue(all(len(part) > 1 for part in parts))
        self.assertEqual(sorted(whole[1:]), sorted(line for part in parts for line in part[1:]))
        self.assertEqual({whole[0]}, {part[0] for part in parts})

    def test_killed_runs_go_on_to_the_same_bytes(self):
        more = ("--blocking", "none", "--quiet", "--text", "--threads", 1)
        started = time.time()
        self.match(self.folder / "whole.csv", *more)
        duration = time.time() - started
        want, out, rng, met = (self.folder / "whole.csv").read_bytes(), self.folder / "killed.csv", random.Random(2), 0
        part, state = out.with_name("killed.csv.part"), out.with_name("killed.csv.part.json")
        for number in range(6):
            for file in (out, part, state):
                file.unlink(missing_ok=True)
            process = subprocess.Popen([str(x) for x in (BIN / "lexformer", "match", self.a, self.b, "--id", "id=key", "--model", self.trained, "--candidates", 4, "--out", out, *more)], stderr=subprocess.DEVNULL)
            if number == 0:
                deadline = time.time() + 60
                while not state.exists() and process.poll() is None and time.time() < deadline:
                    time.sleep(0.001)
            else:
                time.sleep(rng.random() * duration)
            process.send_signal(signal.SIGKILL if number % 2 == 0 else signal.SIGTERM)
            code = process.wait()
            self.assertIn(code, (0, -signal.SIGKILL, -signal.SIGTERM, 130))
            met += state.exists()
            if part.exists():
                with open(part, "a") as file:
                    file.write("half a li")  # as if it had been killed between text and state
            self.match(out, *more, "--resume")
            self.assertEqual(out.read_bytes(), want)
            self.assertFalse(part.exists() or state.exists())
        self.assertGreater(met, 0)
        # other options do not continue a run
        process = subprocess.Popen([str(x) for x in (BIN / "lexformer", "match", self.a, self.b, "--id", "id=key", "--model", self.trained, "--candidates", 4, "--out", out, *more)], stderr=subprocess.DEVNULL)
        while not state.exists() and process.poll() is None:
            time.sleep(0.001)
        process.kill()
        process.wait()
        if state.exists():
            done = program("match", self.a, self.b, "--id", "id=key", "--model", self.trained, "--candidates", 4, "--out", out, *more, "--resume", "--top", 1)
            self.refused(2, done, "--resume: ", "killed.csv.part was begun with other tables, options or another model (top differs)")
            written = state.read_bytes()
            again = ("match", self.a, self.b, "--id", "id=key", "--model", self.trained, "--candidates", 4, "--out", out, *more)
            self.refused(2, program(*again), "killed.csv.part: has results of an interrupted run; --resume continues it, --overwrite starts again")
            self.assertEqual(state.read_bytes(), written)
            state.write_text('{"done": 0, "bytes": 0}')
            self.refused(2, program(*again, "--resume"), "was begun with other tables, options or another model")
            self.assertEqual(program(*again, "--overwrite").returncode, 0)
            self.assertEqual(out.read_bytes(), want)

    def test_a_finished_run_is_not_repeated(self):
        out = self.folder / "f.csv"
        part = out.with_name("f.csv.part")
        self.match(out, "--resume")
        written, made = out.read_bytes(), out.stat().st_mtime_ns
        done = self.match(out, "--resume", "--threads", 1)
        self.assertEqual(done.stderr, f"{out}: already finished; without --resume it is made anew\n")
        self.assertEqual(self.match(out, "--resume", "--quiet").stderr, "")
        self.assertEqual((out.read_bytes(), out.stat().st_mtime_ns), (written, made))
        # Another option, or an input with other bytes: made anew.
        more, top = self.folder / "more.csv", ("--resume", "--top", 1)
        tables = (more, self.b, "--id", "id=key")
        more.write_bytes(self.a.read_bytes())
        self.match(out, "--resume", tables=tables)
        self.assertIn(f"{out}: was made with another --top, so it is made anew\n", self.match(out, *top, tables=tables).stderr)
        more.write_bytes(b"".join(more.read_bytes().splitlines(keepends=True)[:-1]))
        self.assertIn(f"{out}: was made with another {more}, so it is made anew\n", self.match(out, *top, tables=tables).stderr)
        self.assertIn("already finished", self.match(out, *top, tables=tables).stderr)
        self.refused(3, program("match", self.folder / "no.csv", self.b, "--out", out, "--resume", "--quiet"), "no.csv")
        self.match(out, tables=tables)  # without --resume nothing tells what the output was made from
        self.assertFalse(out.with_name("f.csv.origin.json").exists())
        self.assertNotIn("finished", self.match(out, "--resume", tables=tables).stderr)
        self.match(out, "--resume")
        # A run that was to replace it, and was killed in its search for candidates, has left an empty part.
        part.write_text("")
        self.match(out, "--resume", "--top", 1)
        self.assertNotEqual(out.read_bytes(), written)
        self.assertFalse(part.exists())
        self.match(out)
        self.assertEqual(out.read_bytes(), written)
        # A run that is refused leaves nothing, and keeps what an interrupted one has written.
        part.with_name("f.csv.part.json").write_text("{}")
        part.write_text("half")
        self.refused(3, program("match", self.folder / "no.csv", self.b, "--out", out, "--overwrite"), "no.csv")
        self.assertEqual((part.read_text(), part.with_name("f.csv.part.json").read_text()), ("half", "{}"))
        self.match(out, "--overwrite")
        self.assertEqual(out.read_bytes(), written)
        self.assertEqual([p.name for p in self.folder.glob("f.csv.*")], [])

    def test_refusals(self):
        out, model = self.folder / "r.csv", ("--model", self.trained)
        bad = self.folder / "bad.csv"

        def refused(code, table, *parts, arguments=()):
            bad.write_bytes(table)
            self.refused(code, program("candidates", bad, self.b, "--id", "id=key", "--columns", "name=title", "--out", out, *arguments), *parts)

        refused(3, b"id,name\n", "bad.csv: the table has no records")
        refused(3, b"id,name\n1,a\n1,b\n", "bad.csv: line 3: the id '1' is also in line 2")
        refused(3, b"id,name\n,a\n", "bad.csv: line 2: the id (column 'id') is empty")
        refused(3, b"id,name\n1,\xff\n", "bad.csv: line 2: byte 3 is not UTF-8")
        refused(3, b"id,nmae\n1,a\n", "bad.csv: there is no column 'name' among 'nmae'; did you mean 'nmae'?")
        refused(3, b"ids,name\n1,a\n", "bad.csv: line 1: there is no column 'id'", "did you mean 'ids'?")
        refused(2, b"id,name\n1,a\n", "--explain: needs 2 values, got 1", arguments=("--explain", "1"))
        refused(3, b"id,name\n1,a\n", "--explain: there is no record with the id '2' in", arguments=("--explain", "2", "b0"))
        self.refused(2, program("candidates", self.a, "--explain", "a1", "a1"), "candidates: --explain: 'a1' is there twice; give two records")
        # what needs no table is refused before one is read
        for wrong, part in ((("--blocking", "embeddings"), "--blocking: embeddings needs --encoder"), (("--encoder", self.start), "--encoder: needs --blocking embeddings or all"), (("--approximate",), "--approximate: needs --encoder"),
                            (("--encoder-precision", "int8"), "--encoder-precision: needs --encoder")):
            self.refused(2, program("candidates", self.folder / "no.csv", "--out", out, *wrong), part)
            self.refused(2, program("match", self.folder / "no.csv", self.b, "--threshold", 0.5, "--out", out, *wrong), part)
        self.refused(3, program("candidates", self.folder / "no.csv", "--out", self.folder / "no" / "r.csv"), "r.csv: cannot be written: there is no folder")
        self.refused(3, program("match", self.folder / "no.csv", self.b, "--out", self.folder / "no" / "r.csv"), "r.csv: cannot be written: there is no folder")
        for threshold in ("nan", "inf"):
            self.refused(2, program("match", self.a, self.b, "--id", "id=key", *model, "--out", out, "--threshold", threshold), f"--threshold: must be finite, got {threshold}")
        for more in (model, ()):
            self.refused(2, program("match", self.a, self.b, "--id", "id=key", *more, "--out", out, "--threshold", 2), "--threshold: is 2, but the scores are from 0 to 1")
        self.refused(2, program("match", self.a, self.b, "--id", "id=key", *model, "--out", out, "--precision", "0.98"), "--precision: '0.98' is not known", "; for a wanted precision: --min-precision")
        self.refused(3, program("candidates", self.a, self.b, "--id", "id=key", "--columns", "name=title", "--out", out, "--blocking", "embeddings", "--encoder", self.trained),
                     "model.lxf: the attention term 'lea' compares the words of two texts")
        self.refused(2, program("match", self.a, self.b, "--id", "id=key", *model, "--out", out, "--column-words", "x"), "--column-words: 'x' is not COLUMN=N")
        self.refused(2, program("candidates", self.a, self.b, "--id", "id=key", "--columns", "name=title"), "candidates: command line: nothing to do; give --out, --matches or --explain")
        self.refused(2, program("candidates", self.a, self.b, "--id", "id=key", "--columns", "name=title", "--out", self.folder / "x.txt"), "the ending says no format")
        self.refused(3, program("candidates", self.a, self.b, "--id", "id=key", "--out", out), "b.csv: has no column 'name' as ", "--columns NAME,LEFT=RIGHT")
        self.refused(2, program("candidates", self.a, self.b, "--id", "id=key", "--columns", "name=title", "--out", self.b), "is also an input")
        pairs = self.folder / "pairs.csv"
        pairs.write_text("ltable_id,rtable_id,label\na1,b1,1\na1,b99,0\n")
        said = "pairs.csv: line 3: there is no record with the id 'b99' in"
        self.refused(3, program("evaluate", *model, "--test", pairs, *self.tables), said)
        self.refused(3, program("candidates", self.a, self.b, "--id", "id=key", "--columns", "name=title", "--matches", pairs), said)
        done = program("train_matcher", "--model", self.start, "--train", pairs, "--valid", pairs, "--out", self.folder / "never", "--quiet", *self.tables, "--columns", "name=title")
        self.refused(3, done, said)
        done = program("score_pairs", *model, *self.tables, text="a1\tb1\nb1\ta1\n")
        self.refused(3, done, "standard input: line 2: there is no record with the id 'b1' in")
        self.refused(2, program("score_pairs", *model, "--serialize", "plain", text="a\tb\n"), "--serialize: needs --left")
        self.refused(2, program("score_pairs", *model, "--right", self.b, text="a\tb\n"), "--right: needs --left")
        for value in ("0/4", "5/4", "2", "a/b", "1/0"):
            self.refused(2, program("match", self.a, self.b, *model, "--id", "id=key", "--out", out, "--shard", value), f"--shard: '{value}' is not I/N")
        self.refused(3, program("match", self.a, self.b, "--id", "id=key", "--model", self.folder / "no.lxf", "--out", out), "no.lxf")
        self.refused(3, program("match", self.a, self.b, "--id", "id=key", *model, "--quiet", "--out", self.folder / "no" / "r.csv"), "r.csv: cannot be written")
        self.assertEqual([p.name for p in self.folder.glob("r.csv*")], [])


if __name__ == "__main__":
    unittest.main(verbosity=1)
