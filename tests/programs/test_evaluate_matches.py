# SPDX-License-Identifier: MIT
"""evaluate_matches as a user runs it. Needs the built programs (LEXFORMER_BIN) and nothing but Python's standard library."""
import json
import random
import tempfile
import unittest
from pathlib import Path

from support import Refusals, program


class EvaluateMatches(Refusals, unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def evaluate(self, *arguments):
        out = self.folder / "out.json"
        done = program("evaluate_matches", *arguments, "--output", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(out.read_text()), done.stdout

    def test_counts_over_parts_and_files(self):
        rng = random.Random(2)
        scores = {(f"a{i}", f"b,{j}"): round(rng.random(), 3) for i in range(20) for j in range(20) if rng.random() < 0.5}
        label = {(f"a{i}", f"b,{j}"): int(rng.random() < 0.3) for i in range(20) for j in range(20) if rng.random() < 0.4}
        rows = [f'{a},"{b}",{s},{int(s >= 0.6)}\n' for (a, b), s in scores.items()]
        header = "left_id,right_id,score,match\n"
        parts = [self.write("one.csv", header + "".join(rows[::2])), self.write("two.csv", header + "".join(rows[1::2]))]
        names = ("ltable_id,rtable_id,label\n", "left_id,right_id,label\n")
        halves = [dict(list(label.items())[k::2]) for k in (0, 1)]
        files = [self.write(f"labels{k}.csv", names[k] + "".join(f'{a},"{b}",{y}\n' for (a, b), y in halves[k].items())) for k in (0, 1)]
        for options, threshold in (((), 0.6), (("--threshold", 0.3), 0.3)):
            result, shown = self.evaluate(*parts, "--pairs", *files, *options)
            matched = {pair for pair, s in scores.items() if s >= threshold}
            self.assertEqual((result["matches"], result["pairs"]), (len(matched), len(scores)))
            self.assertTrue(shown.startswith(f"{len(matched)} matches of {len(scores)} pairs\n"))
            for half, entry, line in zip(halves, result["files"], shown.splitlines()[2:]):
                right = sum(y for pair, y in half.items() if pair in matched)
                predicted, positives = sum(pair in matched for pair in half), sum(half.values())
                self.assertEqual((entry["labelled"], entry["matches"]), (len(half), positives))
                self.assertEqual(entry["absent"], sum(y for pair, y in half.items() if pair not in scores))
                values = (right / predicted, right / positives, 2 * right / (predicted + positives))
                for name, value, (low, high) in zip(("precision", "recall", "f1"), values, entry["intervals"]):
                    self.assertAlmostEqual(entry[name], value, places=12)
                    self.assertTrue(0 <= low < value < high <= 1)
                    self.assertIn(f"{100 * value:5.1f} [", line)

    def test_one_table_and_json_lines(self):
        matches = self.write("m.jsonl", "".join(json.dumps({"left_id": a, "right_id": b, "score": 1, "match": True}) + "\n" for a, b in (("x", "y"), ("z", "y"))))
        labels = self.write("l.csv", "left_id,right_id,label\ny,x,1\nx,z,1\ny,z,0\n")
        shown = self.evaluate(matches, "--pairs", labels)[0]["files"][0]
        self.assertEqual((shown["recall"], shown["absent"]), (0, 2))
        shown = self.evaluate(matches, "--pairs", labels, "--one-table")[0]["files"][0]
        self.assertEqual((shown["precision"], shown["recall"], shown["absent"]), (0.5, 0.5, 1))

    def test_decisions_as_other_programs_write_them(self):
        labels = self.write("l.csv", "left_id,right_id,label\na,b,1\nc,d,0\n")
        for yes, no in (("1", "0"), ("1.0", "0.0"), ("TRUE", "FALSE"), ("True", "False"), ("true", "false")):
            shown, text = self.evaluate(self.write("m.csv", f"left_id,right_id,score,match\na,b,0.9,{yes}\nc,d,0.1,{no}\n"), "--pairs", labels)
            self.assertEqual((shown["matches"], shown["files"][0]["f1"]), (1, 1))
            self.assertTrue(text.startswith("1 match of 2 pairs\n"))

    def test_a_pair_has_one_label(self):
        matches = self.write("m.csv", "left_id,right_id,score,match\nx1,1,1,1\n")
        labels = self.write("l.csv", "left_id,right_id,label\nx1,1,1\nx2,1,0\nx1,1,0\n")
        self.refused(3, program("evaluate_matches", matches, "--pairs", labels), "l.csv: line 4: the pair 'x1', '1' has the label '0', but '1' in ", "l.csv: line 2; keep one of them")
        labels.write_text("left_id,right_id,label\nx1,1,1\n1,x1,0\n")
        self.evaluate(matches, "--pairs", labels)
        self.refused(3, program("evaluate_matches", matches, "--pairs", labels, "--one-table"), "the pair '1', 'x1' has the label '0', but '1' in ")
        labels.write_text("left_id,right_id,label\nx1,1,1\nx1,1,1\n")
        self.assertEqual(self.evaluate(matches, "--pairs", labels)[0]["files"][0]["labelled"], 2)

    def test_refusals(self):
        good = self.write("good.csv", "left_id,right_id,score,match\na,b,1,1\n")
        labels = self.write("labels.csv", "ltable_id,rtable_id,label\na,b,1\n")
        bad = self.write("bad.csv", "left_id,right_id,score\na,b,1\n")
        self.refused(3, program("evaluate_matches", bad, "--pairs", labels), "bad.csv", "there is no column 'match'", "; give --threshold")
        self.refused(3, program("evaluate_matches", self.write("yes.csv", "left_id,right_id,score,match\na,b,1,yes\n"), "--pairs", labels), "yes.csv: line 2: match is 'yes', expected 0 or 1")
        self.refused(3, program("evaluate_matches", self.write("empty.csv", ""), "--pairs", labels), "empty.csv: is empty, expected a header")
        self.refused(3, program("evaluate_matches", self.folder / "none.csv", "--pairs", labels), "none.csv: cannot be opened: No such file or directory")
        self.refused(2, program("evaluate_matches", good, "--pairs", labels, "--threshold", "nan"), "--threshold: must be finite, got nan")
        self.refused(3, program("evaluate_matches", good, "--pairs", labels, "--output", self.folder / "no" / "o.json"), "o.json: cannot be written: there is no folder")
        self.refused(3, program("evaluate_matches", good, "--pairs", self.write("three.csv", "ltable_id,rtable_id,label\na,b,2\n")), "three.csv", "2")
        self.refused(3, program("evaluate_matches", good, "--pairs", self.write("names.csv", "left_key,right_key,label\na,b,1\n")), "names.csv", "ltable_id")
        self.refused(2, program("evaluate_matches", good, "--pairs", labels, "--output", labels), "--output")


if __name__ == "__main__":
    unittest.main()
