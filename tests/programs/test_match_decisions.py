# SPDX-License-Identifier: MIT
"""How match decides: thresholds, probabilities and the cascade from validation pairs; the words that it shows. Needs the built programs (LEXFORMER_BIN) and Python's standard
library."""
import csv
import json
import math
import random
import struct
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import BIN, BRANDS, KINDS, Refusals, program


def write(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def pair(row):
    return row["left_id"], row["right_id"]


def solve(matrix, vector):
    """Gauss-Jordan elimination."""
    rows = [[*row, value] for row, value in zip(matrix, vector)]
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(len(rows)):
            if k != i:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [x - factor * y for x, y in zip(rows[k], rows[i])]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


class Decisions(Refusals, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = folder = Path(tempfile.mkdtemp(prefix="lexformer-"))
        rng = random.Random(3)
        cls.count = count = 80
        names = [f"{rng.choice(BRANDS)} {rng.choice(KINDS)} {rng.choice('abcdk')}{rng.randrange(1000, 9999)}" for _ in range(count)]

        def typo(text):
            at = rng.randrange(1, len(text) - 6)
            return text[:at] + text[at + 1 :]

        cls.a, cls.b = folder / "a.csv", folder / "b.csv"
        write(cls.a, ("id", "name"), [(f"a{i}", name) for i, name in enumerate(names)])
        write(cls.b, ("id", "name"), [(f"b{i}", typo(name)) for i, name in enumerate(names)] + [(f"c{i}", f"case for {typo(name)}") for i, name in enumerate(names)])
        order = list(range(count))
        rng.shuffle(order)
        for part, places in (("train", order[:30]), ("valid", order[30:60]), ("test", order[60:])):
            rows = [(f"a{i}", f"b{i}", 1) for i in places]
            rows += [(f"a{i}", f"c{k}", 0) for i in places for k in (i, rng.randrange(count))]  # what a small model can learn
            rows += [(f"a{i}", f"b{k}", 0) for i in places for k in (rng.randrange(count),) if k != i and k % 2 == 0]
            write(folder / f"{part}.csv", ("ltable_id", "rtable_id", "label"), rows)
        cls.valid = folder / "valid.csv"
        config = folder / "config.json"
        config.write_text('{"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 64}')
        done = program("make_model", "--text", cls.a, cls.b, "--vocab-size", 200, "--model-config", config, "--out", folder / "start.lxf")
        assert done.returncode == 0, done.stderr
        cls.tables = ("--left", cls.a, "--right", cls.b)
        cls.trained = folder / "trained"
        done = program("train_matcher", "--model", folder / "start.lxf", "--train", folder / "train.csv", "--valid", cls.valid, *cls.tables, "--attention", "lea", "--lr", "0.002", "--out", cls.trained, "--max-steps", 100,
                       "--batch", 16, "--quiet")
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def ok(self, name, *arguments):
        done = program(name, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def command(self, out, *more):
        return (self.a, self.b, "--model", self.trained, "--out", out, "--candidates", 6, *more)

    def match(self, name, *more):
        done = self.ok("match", *self.command(self.folder / name, *more))
        return read(self.folder / name), done.stderr

    def labels(self, file):
        return {(r["ltable_id"], r["rtable_id"]): int(r["label"]) for r in read(file)}

    def scores(self, file):
        """The scores and labels of labelled pairs."""
        self.ok("evaluate", "--model", self.trained, "--test", file, *self.tables, "--output", self.folder / "scores.json", "--scores")
        test = json.loads((self.folder / "scores.json").read_text())["test"][0]
        return list(zip(test["scores"], test["labels"]))

    def test_the_threshold_has_the_wanted_precision_or_recall(self):
        labels = self.labels(self.valid)
        model, _ = self.match("model.csv")
        scored = sorted(((float(row["score"]), labels[pair(row)]) for row in model if pair(row) in labels), reverse=True)  # the candidates
        positives = sum(labels.values())

        def at(threshold):
            found = [label for score, label in scored if score >= threshold]
            return sum(found) / len(found), sum(found) / positives

        for option, which in (("--min-precision", 0), ("--min-recall", 1)):
            for wanted in (0.5, 0.7):
                rows, said = self.match("p.csv", "--validation", self.valid, option, wanted, "--no-cascade", "--model-alone")
                reached = re.search(r"valid.csv: ([0-9.]+) % precision and ([0-9.]+) % recall at threshold ([-0-9.e]+)\n", said)
                threshold = float(reached[3])
                self.assertGreaterEqual(at(threshold)[which], wanted)
                for k in (0, 1):
                    self.assertAlmostEqual(float(reached[1 + k]), 100 * at(threshold)[k], delta=0.051)
                others = [score for score, _ in scored if score < threshold] if which == 0 else [score for score, _ in scored if score > threshold + 1e-5]
                if which == 0:  # no lower one has it with more matches
                    self.assertFalse([s for s in others if at(s)[0] >= wanted and at(s)[1] > at(threshold)[1]])
                else:  # no higher one has it
                    self.assertLess(at(sorted(others)[1])[1], wanted)
                for row in rows:
                    if abs(float(row["score"]) - threshold) > 1e-5:
                        self.assertEqual(row["match"], str(int(float(row["score"]) >= threshold)))

    def test_without_validation_probabilities_are_those_of_the_model(self):
        with open(self.trained / "model.lxf", "rb") as file:
            metadata = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))["__metadata__"]
        platt = json.loads(metadata["lexformer.calibration"])
        self.assertEqual((platt["kind"], platt["odds"]), ("platt", True))
        done = self.ok("evaluate", "--model", self.trained, "--test", self.folder / "test.csv", *self.tables, "--valid", self.valid, "--calibration", self.folder / "again.json")
        again = json.loads((self.folder / "again.json").read_text())["calibration"]
        for key in ("slope", "offset"):  # the pairs that train_matcher --valid had
            self.assertAlmostEqual(platt[key], again[key], delta=1e-3 * max(1, abs(again[key])), msg=done.stderr)
        rows, _ = self.match("of-model.csv")
        self.assertEqual(list(rows[0]), ["left_id", "right_id", "score", "probability", "match"])
        for row in rows:
            score = float(row["score"])
            self.assertAlmostEqual(float(row["probability"]), 1 / (1 + math.exp(-platt["slope"] * math.log(score / (1 - score)) - platt["offset"])), delta=1e-4)
            self.assertEqual(row["match"], str(int(score >= float(metadata["lexformer.threshold"]))))
        saved = self.folder / "other.json"
        saved.write_text(json.dumps({"calibration": {"kind": "isotonic", "scores": [0, 1], "probabilities": [0.25, 0.25]}}))
        self.assertEqual({float(row["probability"]) for row in self.match("other.csv", "--calibration", saved)[0]}, {0.25})

    def test_probabilities_are_those_of_the_saved_calibration(self):
        labelled = self.folder / "candidates.csv"  # the labelled pairs among the candidates
        known = {pair(row) for row in self.match("all.csv")[0]}
        write(labelled, ("ltable_id", "rtable_id", "label"), [(*ids, label) for ids, label in self.labels(self.valid).items() if ids in known])
        rows, said = self.match("v.csv", "--validation", labelled, "--no-cascade", "--model-alone")
        self.assertEqual(list(rows[0])[:4], ["left_id", "right_id", "score", "probability"])
        self.assertRegex(said, r"candidates.csv: \d+ pairs; calibration error [0-9.]+ % before, [0-9.]+ % after platt \(cross-fitted\)\n")
        saved, result = self.folder / "calibration.json", self.folder / "result.json"
        done = self.ok("evaluate", "--model", self.trained, "--test", self.folder / "test.csv", *self.tables, "--valid", labelled, "--calibration", saved, "--output", result, "--min-precision", 0.6)
        platt, threshold = (json.loads(saved.read_text())[key] for key in ("calibration", "threshold"))
        again, _ = self.match("w.csv", "--calibration", saved)
        for row, other in zip(rows, again):
            score = float(row["score"])
            odds = math.log(score / (1 - score))
            self.assertAlmostEqual(float(row["probability"]), 1 / (1 + math.exp(-platt["slope"] * odds - platt["offset"])), delta=1e-4)
            self.assertAlmostEqual(float(other["probability"]), float(row["probability"]), delta=1e-6)
            self.assertEqual(other["match"], str(int(float(other["score"]) >= threshold)))
        # evaluate: the same measures as from the scores
        test = self.scores(self.folder / "test.csv")
        files = json.loads(result.read_text())["calibrated"]["files"]
        self.assertAlmostEqual(files[1]["brier"], sum((s - label) ** 2 for s, label in test) / len(test), delta=1e-9)
        probability = lambda s: 1 / (1 + math.exp(-platt["slope"] * math.log(s / (1 - s)) - platt["offset"]))
        self.assertAlmostEqual(files[1]["brier_after"], sum((probability(s) - label) ** 2 for s, label in test) / len(test), delta=1e-9)
        found = [label for s, label in test if s >= threshold]
        self.assertAlmostEqual(files[1]["precision"], sum(found) / len(found), delta=1e-9)
        self.assertRegex(done.stdout, r"calibration: platt +error, % +after +Brier +after +precision +recall\n\S*candidates.csv, cross-fitted .*\n\S*test.csv .*\nthreshold for 60.0 % precision: ")

    def test_isotonic_probabilities_rise_with_the_score(self):
        self.ok("match", *self.command(self.folder / "i.jsonl", "--validation", self.valid, "--calibrate", "isotonic", "--no-cascade", "--quiet"))
        rows = sorted((row["score"], row["probability"]) for row in map(json.loads, (self.folder / "i.jsonl").read_text().splitlines()))
        self.assertEqual([p for _, p in rows], sorted(p for _, p in rows))
        self.assertGreater(len({p for _, p in rows}), 2)

    def test_the_same_bytes_from_shards_threads_and_a_resumed_run(self):
        more = ("--validation", self.valid, "--min-recall", 0.8, "--quiet")
        self.match("whole.csv", *more, "--threads", 1)
        whole = (self.folder / "whole.csv").read_bytes()
        self.match("threads.csv", *more, "--threads", 3)
        self.assertEqual((self.folder / "threads.csv").read_bytes(), whole)
        parts = []
        for i in (1, 2, 3):
            self.match("part.csv", *more, "--shard", f"{i}/3")
            parts += (self.folder / "part.csv").read_bytes().splitlines()[1:]
        self.assertEqual(sorted(parts), sorted(whole.splitlines()[1:]))
        out = self.folder / "resumed.csv"
        process = subprocess.Popen([str(x) for x in (BIN / "lexformer", "match", *self.command(out, *more, "--threads", 1))], stderr=subprocess.DEVNULL)
        while not (self.folder / "resumed.csv.part.json").exists() and process.poll() is None:
            pass
        process.kill()
        process.wait()
        self.match("resumed.csv", *more, "--resume")
        self.assertEqual(out.read_bytes(), whole)

    def test_the_cascade_keeps_the_decisions_on_validation_pairs(self):
        labels = self.labels(self.valid)
        for more in ((), ("--min-recall", 0.9), ("--blocking", "all")):
            rows, said = self.match("cascade.csv", "--validation", self.valid, *more)
            plain, said_plain = self.match("plain.csv", "--validation", self.valid, *more, "--no-cascade")
            self.assertEqual(list(rows[0]), ["left_id", "right_id", "score", "model", "probability", "match", "by"])
            self.assertEqual(list(plain[0]), ["left_id", "right_id", "score", "model", "probability", "match"])
            self.assertNotIn("cascade", said_plain)
            alone = {pair(row): row for row in plain}
            self.assertEqual({pair(row) for row in rows}, set(alone))
            by = {who: [row for row in rows if row["by"] == who] for who in ("cascade", "model")}
            self.assertTrue(by["cascade"] and by["model"])
            for row in by["model"]:
                self.assertAlmostEqual(float(row["score"]), float(alone[pair(row)]["score"]), delta=1e-5)
            for row in by["cascade"]:
                self.assertEqual(row["score"], row["probability"])
                self.assertEqual(row["model"], "")
            clear = {match: [float(row["score"]) for row in by["cascade"] if row["match"] == match] for match in "01"}
            self.assertLess(max(clear["0"], default=0), min(clear["1"], default=1))
            told = re.search(r"cascade: decides ([0-9.]+) % of the candidates; of (\d+) validation pairs with (\d+) matches ([0-9.]+) %, where recall (falls|rises) by ([0-9.]+) and precision (falls|rises) by ([0-9.]+) points(; on new pairs recall may fall by up to ([0-9.]+) \(95 % confidence\))?\n", said)
            if told[9]:
                self.assertAlmostEqual(float(told[10]), 300 / int(told[3]), delta=0.051)
            self.assertAlmostEqual(float(told[1]), 100 * len(by["cascade"]) / len(rows), delta=0.051)
            known = [row for row in rows if pair(row) in labels]
            self.assertEqual([int(told[2]), int(told[3])], [len(known), sum(labels[pair(row)] for row in known)])
            self.assertAlmostEqual(float(told[4]), 100 * sum(row["by"] == "cascade" for row in known) / len(known), delta=0.051)

            def recall_and_precision(of):
                found = [labels[pair(row)] for row in known if of(row) == "1"]
                return sum(found) / int(told[3]), sum(found) / max(1, len(found))

            for with_cascade, without, said_loss in zip(recall_and_precision(lambda r: r["match"]), recall_and_precision(lambda r: alone[pair(r)]["match"]), ((told[5], told[6]), (told[7], told[8]))):
                self.assertLessEqual(without - with_cascade, 0.001)
                self.assertAlmostEqual(100 * (without - with_cascade), float(said_loss[1]) * (1 if said_loss[0] == "falls" else -1), delta=0.051)

    def test_the_model_alone_decides_without_a_cascade(self):
        alone, said = self.match("model-alone.csv", "--validation", self.valid, "--model-alone")
        self.assertNotIn("cascade", said)
        self.assertEqual(list(alone[0]), ["left_id", "right_id", "score", "probability", "match"])
        model, _ = self.match("model-itself.csv")
        self.assertEqual({pair(row): (row["score"], row["match"]) for row in alone}, {pair(row): (row["score"], row["match"]) for row in model})

    def test_matches_that_are_no_candidates_count_as_missed(self):
        """Each of three matches among the labels is of two records that have nothing in common."""
        labels = self.labels(self.valid)
        lost = {(f"a{i}", f"b{(i + 40) % 80}"): 1 for i in range(3) if (f"a{i}", f"b{(i + 40) % 80}") not in labels}
        found = {pair(row) for row in self.match("candidates.csv")[0]}
        lost = {ids: 1 for ids in lost if ids not in found}
        self.assertTrue(lost)
        more = self.folder / "more.csv"
        write(more, ("ltable_id", "rtable_id", "label"), [(*ids, y) for ids, y in {**labels, **lost}.items()])
        figures = []
        for file, extra in ((self.valid, {}), (more, lost)):
            rows, said = self.match("lost.csv", "--validation", file, "--no-cascade")
            known = {**labels, **extra}
            missing = sum(y for ids, y in known.items() if ids not in found)
            told = re.search(r": (\d+) of (\d+) labelled matches (?:is not a candidate; recall and F1 count it|are not candidates; recall and F1 count them) as missed\n", said)
            self.assertEqual((int(told[1]), int(told[2])) if told else (0, sum(known.values())), (missing, sum(known.values())))
            scored = sorted(((float(row["model"]), known[pair(row)]) for row in rows if pair(row) in known), reverse=True)
            positives, right, best = sum(y for _, y in scored), 0, (0, 0)
            for predicted, (_, y) in enumerate(scored, 1):
                right += y
                best = max(best, (2 * right / (positives + predicted), 2 * right / (positives + missing + predicted)))
            self.assertAlmostEqual(float(re.search(r"([0-9.]+) % by the model alone", said)[1]), 100 * best[1], delta=0.051)
            figures.append(best[1])
        self.assertLess(figures[1], figures[0])

    def test_a_column_that_tells_the_labels_is_named(self):
        labels = self.labels(self.valid)
        partner = {left: right for (left, right), y in labels.items() if y == 1}
        tables = []
        for name, table, cluster in (("a", self.a, {l: i for i, l in enumerate(partner)}), ("b", self.b, {r: i for i, r in enumerate(partner.values())})):
            path = self.folder / f"cluster-{name}.csv"
            write(path, ("id", "name", "cluster_id"), [(row["id"], row["name"], cluster.get(row["id"], "")) for row in read(table)])
            tables.append(path)
        match = lambda validation, *more: self.ok("match", *tables, "--out", self.folder / "cluster.csv", "--validation", validation, "--quiet", *more).stderr
        others = len(labels) - len(partner)
        self.assertEqual(match(self.valid), f"warning: the column 'cluster_id' agrees on all {len(partner)} labelled matches and on none of the {others} other pairs; if it holds the answer, as the number of a cluster, leave it out by --columns\n")
        self.assertEqual(match(self.valid, "--columns", "name,cluster_id"), "")  # somebody has chosen it
        few = self.folder / "cluster-few.csv"
        write(few, ("ltable_id", "rtable_id", "label"), [(*ids, y) for ids, y in labels.items() if y == 0 or int(ids[0][1:]) in sorted(int(l[1:]) for l in partner)[:9]])
        self.assertEqual(match(few), "")
        one = next(ids for ids, y in labels.items() if y == 0)
        write(few, ("ltable_id", "rtable_id", "label"), [(*ids, 1 if ids == one else y) for ids, y in labels.items()])
        self.assertEqual(match(few), "")  # one match disagrees

    def test_the_score_combines_the_model_with_the_evidence(self):
        labels = self.labels(self.valid)
        alone, said_alone = self.match("alone.csv", "--validation", self.valid, "--no-cascade", "--model-alone")
        rows, said = self.match("combined.csv", "--validation", self.valid, "--no-cascade")
        scores = {pair(row): float(row["score"]) for row in alone}
        self.assertEqual({pair(row) for row in rows}, set(scores))
        for row in rows:
            self.assertAlmostEqual(float(row["model"]), scores[pair(row)], delta=1e-6)
        self.assertNotIn("evidence", said_alone)
        told = re.search(r"valid.csv: best F1 ([0-9.]+) % with the evidence of the candidate search \(cross-fitted\), ([0-9.]+) % by the model alone\n", said)

        def best_f1(scored):
            scored = sorted(scored, reverse=True)
            positives, found, best = sum(labels.values()), 0, 0
            for predicted, (_, label) in enumerate(scored, 1):
                found += label
                best = max(best, 2 * found / (positives + predicted))
            return 100 * best

        known = [row for row in rows if pair(row) in labels]
        self.assertAlmostEqual(float(told[1]), best_f1([(float(row["score"]), labels[pair(row)]) for row in known]), delta=5)  # of fits to all pairs
        self.assertAlmostEqual(float(told[2]), best_f1([(float(row["model"]), labels[pair(row)]) for row in known]), delta=0.051)
        self.assertGreater(float(told[1]), float(told[2]) + 1)  # a weak model, and names that stand out
        # log odds = w m + a similarity + b lead + c: linear in the model's log odds for pairs of equal evidence, so it rises with the model
        similar = {}
        self.ok("candidates", self.a, self.b, "--top", 6, "--columns", "name", "--out", self.folder / "c.csv")
        for row in read(self.folder / "c.csv"):
            similar[pair(row)] = float(row["score"])
        features = []
        for row in rows:
            left, right = pair(row)
            others = [s for (i, j), s in similar.items() if (i == left) != (j == right)]
            odds = lambda p: math.log(p / (1 - p))
            features.append((odds(float(row["model"])), similar[left, right], similar[left, right] - max(others, default=0), 1.0, odds(float(row["score"]))))
        weights = solve([f[:4] for f in features[:4]], [f[4] for f in features[:4]])
        for f in features:
            self.assertAlmostEqual(sum(w * x for w, x in zip(weights, f)), f[4], delta=0.02)

    def test_few_matches_make_no_cascade(self):
        few, rows = self.folder / "few.csv", read(self.valid)
        matches = [row for row in rows if row["label"] == "1"][:5]
        write(few, rows[0].keys(), [row.values() for row in rows if row["label"] == "0" or row in matches])
        decided, said = self.match("few-decided.csv", "--validation", few)
        self.assertIn("few.csv: only 5 matches among the candidates: threshold and probabilities are rough", said)
        self.assertIn("no cascade: it needs 30 validation matches, which bound the recall that it may lose; there are 5, so the model scores all %d candidates\n" % len(decided), said)
        self.assertNotIn("by", decided[0])
        _, said = self.match("all-decided.csv", "--validation", self.valid)
        self.assertNotIn("rough", said)

    def test_no_cascade_without_evidence(self):
        rows, said = self.match("none.csv", "--validation", self.valid, "--blocking", "none", "--top", 1)
        self.assertIn("no cascade: it would decide no validation pair\n", said)
        self.assertNotIn("by", rows[0])
        rows, _ = self.match("stored.csv")
        self.assertEqual(list(rows[0]), ["left_id", "right_id", "score", "probability", "match"])

    def test_words(self):
        rows, _ = self.match("words.csv", "--words", 2, "--text", "--quiet")
        self.assertEqual(list(rows[0]), ["left_id", "right_id", "score", "probability", "match", "words", "left", "right"])
        shown = 0
        for row in rows:
            left, right = row["left"].split(), row["right"].split()
            words = [pair.split("~") for pair in row["words"].split("; ")] if row["words"] else []
            self.assertLessEqual(len(words), 2)
            for a, b in words:
                shown += 1
                self.assertIn(a, left)
                self.assertIn(b, right)
                self.assertNotIn(a, right)
                self.assertNotIn(b, left)
        self.assertGreater(shown, len(rows) // 4)
        self.ok("match", *self.command(self.folder / "words.jsonl", "--words", 2, "--quiet"))
        lines = [json.loads(line) for line in (self.folder / "words.jsonl").read_text().splitlines()]
        self.assertEqual(["; ".join(f"{w['left']}~{w['right']}" for w in line["words"]) for line in lines], [row["words"] for row in rows])
        for line in lines:
            similarities = [w["similarity"] for w in line["words"]]
            self.assertEqual(similarities, sorted(similarities, reverse=True))
            for w in line["words"]:  # LEA's Jaccard similarity of the sets of characters
                a, b = set(w["left"]), set(w["right"])
                self.assertAlmostEqual(w["similarity"], len(a & b) / len(a | b), delta=1e-4)

    def test_words_by_attention(self):
        """The attention between two words, from the probabilities that report writes (the model has one layer)."""
        self.ok("match", *self.command(self.folder / "attended.jsonl", "--words", 3, "--words-by", "attention", "--text", "--quiet"))
        lines = [json.loads(line) for line in (self.folder / "attended.jsonl").read_text().splitlines()]
        equal = 0
        for number, line in enumerate(lines):
            weights = [w["similarity"] * w["attention"] for w in line["words"]]
            self.assertLessEqual(len(weights), 3)
            for more, less in zip(weights, weights[1:]):
                self.assertGreaterEqual(more, less * 0.999)
            for side in ("left", "right"):
                shown = [w[side] for w in line["words"]]
                self.assertEqual(len(set(shown)), len(weights))
                self.assertLessEqual(set(shown), set(line[side].split()))
            equal += sum(w["left"] == w["right"] for w in line["words"])
            if number % 40:
                continue
            self.ok("report", "--model", f"lea={self.trained}", "--pair", line["left"], line["right"], "--out", self.folder / "pair")
            cells = [row for row in read(self.folder / "pair/attention.csv") if row["panel"] == "lea"]
            attention = {(int(row["row"]), int(row["column"])): float(row["value"]) for row in cells}
            tokens = [row["column_token"] for row in cells if row["row"] == "0"]
            words, text = {}, 0
            for place, token in enumerate(tokens):
                if token == "[SEP]":
                    text += 1
                elif token.startswith("##"):
                    words[text, last + token[2:]] = [*words.pop((text, last)), place]
                    last += token[2:]
                elif token != "[CLS]":
                    words[text, token], last = [place], token
            for w in line["words"]:
                a, b = words[0, w["left"]], words[1, w["right"]]
                expected = (sum(attention[i, j] for i in a for j in b) / len(a) + sum(attention[j, i] for i in a for j in b) / len(b)) / 2
                self.assertAlmostEqual(w["attention"], expected, delta=2e-3 * expected)
        self.assertGreater(equal, len(lines))
        # A short word does not hide a longer one that contains it.
        write(self.folder / "short.csv", ("id", "name"), [("1", "a camera case")])
        self.ok("match", self.folder / "short.csv", self.folder / "short.csv", "--model", self.trained, "--blocking", "none", "--words", 9, "--words-by", "attention", "--quiet", "--out", self.folder / "short.jsonl")
        words = json.loads((self.folder / "short.jsonl").read_text())["words"]
        self.assertEqual({(w["left"], w["right"]) for w in words}, {(w, w) for w in ("a", "camera", "case")})

    def test_report_draws_the_reliability(self):
        self.ok("report", "--model", self.trained, "--test", self.folder / "test.csv", *self.tables, "--out", self.folder / "report")
        page = (self.folder / "report" / "index.html").read_text()
        self.assertIn("Brier score", page)
        self.assertTrue((self.folder / "report" / "reliability.svg").exists())
        self.assertIn("Platt", (self.folder / "report" / "reliability.csv").read_text())

    def test_refusals(self):
        out = self.folder / "r.csv"
        match = lambda *more: program("match", *self.command(out, "--quiet", *more))
        self.refused(2, match("--min-precision", 0.9), "--min-precision: needs --validation")
        self.refused(2, match("--validation", self.valid, "--min-precision", 0.9, "--threshold", 0.5), "--min-precision: cannot be used with --threshold")
        self.refused(2, match("--validation", self.valid, "--min-precision", 1.5), "--min-precision: ", "1.5")
        self.refused(2, match("--validation", self.valid, "--calibrate", "plat"), "platt")
        self.refused(2, match("--no-cascade"), "--no-cascade: needs --validation")
        self.refused(2, match("--model-alone"), "--model-alone: needs --validation")
        without_model = ("match", self.a, self.b, "--out", out, "--validation", self.valid, "--model-alone")
        self.refused(2, program(*without_model), "--model-alone: needs --model")
        rows = read(self.valid)
        bad = self.folder / "bad.csv"
        write(bad, rows[0].keys(), [(r["ltable_id"], r["rtable_id"], 1 - int(r["label"])) for r in rows])
        self.refused(3, match("--validation", bad, "--min-precision", 1, "--model-alone"), "no threshold has 100.0 % precision on these ", " pairs; the largest is ")
        write(bad, rows[0].keys(), [r.values() for r in rows if r["label"] == "1"])
        self.refused(3, match("--validation", bad), "bad.csv: all 30 pairs have the same label; validation needs matches and other pairs")
        write(bad, rows[0].keys(), [("a0", "b99", 1)])
        self.refused(3, match("--validation", bad), "bad.csv: line 2: there is no record with the id 'b99' in")
        write(bad, rows[0].keys(), [("a0", "b0", 1), ("a1", "b0", 0), ("a0", "b0", 1)])
        other = self.folder / "other-labels.csv"
        write(other, rows[0].keys(), [("a0", "b0", 0)])
        self.refused(3, match("--validation", bad, other), "other-labels.csv: line 2: the pair 'a0', 'b0' has the label '0', but '1' in ", "bad.csv: line 2; keep one of them")
        write(bad, rows[0].keys(), [("a0", "b0", 1)])
        self.refused(3, match("--validation", bad), "bad.csv: the only pair has one label; validation needs matches and other pairs")
        saved = self.folder / "bad.json"
        saved.write_text("{}")
        self.refused(3, match("--calibration", saved), "bad.json: has no key 'calibration'; evaluate --calibration writes it")
        saved.write_text('{"calibration": {"kind": "platt"}}')
        self.refused(3, match("--calibration", saved), "bad.json: calibration: the key 'odds' is missing")
        self.refused(2, program("evaluate", "--model", self.trained, "--test", self.valid, *self.tables, "--calibration", saved), "--calibration: needs --valid")
        self.refused(2, program("evaluate", "--model", self.trained, "--test", self.valid, *self.tables, "--valid", self.valid, "--calibration", self.valid), "is also an input")
        self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main(verbosity=1)
