# SPDX-License-Identifier: MIT
"""suggest and label as a user runs them: from candidates to a file of labels. Needs the built programs (LEXFORMER_BIN) and Python's standard
library."""
import csv
import json
import os
import pty
import re
import select
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from support import BIN, BRANDS, KINDS, Refusals, program


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


class Label(Refusals, unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = folder = Path(temporary.name)
        self.a, self.b, self.candidates = folder / "a.csv", folder / "b.csv", folder / "candidates.csv"
        items = [f"{brand} {kind} {i}x{j}" for i, brand in enumerate(BRANDS) for j, kind in enumerate(KINDS)]
        self.a.write_text("id,name,note\n" + "".join(f'"a,{i}",{item},\n' for i, item in enumerate(items)))
        self.b.write_text("key,title,note\n" + "".join(f"b{i},{item.replace('camera', 'camra')},<new> \x1b[31m\n" for i, item in enumerate(items)))
        self.tables = ("--left", self.a, "--right", self.b, "--id", "id=key", "--columns", "name=title,note")
        done = program("candidates", self.a, self.b, "--id", "id=key", "--columns", "name=title,note", "--out", self.candidates)
        self.assertEqual(done.returncode, 0, done.stderr)

    def suggest(self, *more, pairs=None, name="ask.csv"):
        out = self.folder / name
        done = program("suggest", pairs or self.candidates, *self.tables, "--out", out, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return rows_of(out), done.stderr

    def test_suggest(self):
        known = {tuple(row) for row in rows_of(self.candidates)[1:]}
        chosen = {}
        for by in ("uncertainty", "spread", "random"):
            more = ("--by", by, "--count", 12, *(("--threshold", 0.6) if by == "uncertainty" else ()))
            rows, message = self.suggest(*more)
            self.assertEqual(rows[0], ["left_id", "right_id", "score", "chosen", "weight"])
            self.assertEqual({row[3] for row in rows[1:]}, {by})
            self.assertEqual({row[4] for row in rows[1:]}, {f"{len(known) / 12:.9g}" if by == "random" else ""})
            chosen[by] = [tuple(row[:2]) for row in rows[1:]]
            self.assertEqual(len(set(chosen[by])), 12)
            self.assertLessEqual({(left, right, f"{float(score):.6f}") for left, right, score, *_ in rows[1:]}, known)
            self.assertEqual(self.suggest(*more, "--threads", 1), (rows, message))
            self.assertNotEqual(self.suggest(*more, "--seed", 2)[0], rows)
            self.assertIn(f"12 of {len(known)} pairs to label, by {by}", message)
        self.assertEqual(len({left for left, _ in chosen["uncertainty"]}), 12)  # a record is asked for once
        # The threshold of match is between its decisions.
        matches = self.folder / "matches.csv"
        matches.write_text("left_id,right_id,score,match\n" + "".join(f'"{left}",{right},{score},{int(float(score) > 0.6)}\n' for left, right, score in sorted(known)))
        scores = [float(score) for _, _, score in known]
        middle = (min(s for s in scores if s > 0.6) + max(s for s in scores if s <= 0.6)) / 2
        self.assertAlmostEqual(float(self.suggest("--by", "uncertainty", "--count", 3, pairs=matches)[1].split("threshold ")[1]), middle, places=5)
        # Decisions of a cascade, which no threshold separates: the one with the best F1.
        matches.write_text("left_id,right_id,score,match\n" + "".join(f'"a,{i}",b{i},{score},{match}\n' for i, (score, match) in
                                                                     enumerate([(0.1, 0), (0.2, 1), (0.3, 0), (0.4, 0), (0.6, 1), (0.7, 1), (0.8, 1)])))
        self.assertIn("7 of 7 pairs to label, by uncertainty at threshold 0.5\n", self.suggest("--by", "uncertainty", "--count", 7, pairs=matches)[1])
        # Scores that are no probabilities have no uncertainty.
        other = self.folder / "numbers.csv"
        other.write_text("left_id,right_id,score,match\n" + "".join(f'"a,{i}",b{i},{i - 2.5},{int(i > 3)}\n' for i in range(7)))
        out = self.folder / "ask.csv"
        self.refused(2, program("suggest", other, *self.tables, "--by", "uncertainty", "--out", out), "--by: uncertainty needs probabilities, but the scores go from -2.5 to 3.5")
        self.assertEqual(len(self.suggest("--by", "spread", "--count", 7, pairs=other)[0]), 8)
        # What is labelled is not asked again.
        labels = self.folder / "labels.csv"
        labels.write_text("ltable_id,rtable_id,label\n" + "".join(f'"{left}",{right},1\n' for left, right in chosen["spread"]))
        rows, _ = self.suggest("--by", "spread", "--count", 100000, "--labelled", labels)
        self.assertEqual(len(rows) - 1, len(known) - 12)
        self.assertFalse({tuple(row[:2]) for row in rows} & set(chosen["spread"]))

    def test_label(self):
        rows, _ = self.suggest("--by", "spread", "--count", 6)
        out = self.folder / "labels.csv"
        label = lambda keys: program("label", self.folder / "ask.csv", *self.tables, "--out", out, text=keys)
        done = label("y\nn\nu\nx\nn\ns\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        header = ["ltable_id", "rtable_id", "label", "chosen", "weight"]
        self.assertEqual(rows_of(out), [header, [*rows[1][:2], "1", "spread", ""], [*rows[2][:2], "0", "spread", ""]])
        self.assertIn("labels.csv: 2 labels, 4 pairs without one", done.stderr)
        self.assertEqual(done.stdout.count("-- pair 2 of 6"), 2)
        self.assertNotIn("\x1b", done.stdout)  # no colours outside of a terminal, no escapes from the table
        self.assertIn("\\x1B[31m", done.stdout)
        again = label("u\ny\ny\ny\ny\n")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("no label of this run is left", again.stdout)
        self.assertNotIn("pair 1 of 6", again.stdout)
        self.assertIn("labels.csv: 6 labels, 0 pairs without one", again.stderr)
        self.assertEqual([row[2] for row in rows_of(out)], ["label", "1", "0", "1", "1", "1", "1"])
        # A file that a spreadsheet has saved is continued.
        saved = out.read_text()
        out.write_bytes(b"\xef\xbb\xbf" + saved.replace("\n", "\r\n").encode())
        self.assertIn("labels.csv: 6 labels", label("").stderr)
        out.write_text(saved.splitlines()[0].replace(",", ";") + "\n" + ";".join(f'"{cell}"' for cell in rows[1][:2]) + ";1.0;spread;\n")
        self.assertEqual(label("n\n").returncode, 0)
        self.assertEqual(rows_of(out), [header, [*rows[1][:2], "1", "spread", ""], [*rows[2][:2], "0", "spread", ""]])
        # A file of labels without these columns gets them for what is added.
        out.write_text("ltable_id,rtable_id,label\n" + ",".join(f'"{cell}"' for cell in rows[1][:2]) + ",1\n")
        self.assertEqual(label("n\n").returncode, 0)
        self.assertEqual(rows_of(out), [header, [*rows[1][:2], "1", "", ""], [*rows[2][:2], "0", "spread", ""]])
        out.write_text(saved)
        # The file is what train_matcher and candidates read.
        recall = program("candidates", self.a, self.b, "--id", "id=key", "--columns", "name=title,note", "--matches", out)
        self.assertIn("5 of 5 matches among them", recall.stdout)

    def test_from_tables_to_honest_numbers(self):
        """match, suggest, labels, match --validation, evaluate_matches: the figures are for all candidates, with intervals."""
        matches, out = self.folder / "matches.csv", self.folder / "again.csv"
        tables = (self.a, self.b, "--id", "id=key", "--columns", "name=title,note")
        done = program("match", *tables, "--out", matches)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"matches\.csv: a guess without labels: precision \d+ %, recall \d+ % of the matches among the candidates; `lexformer suggest`")
        rows = rows_of(matches)
        self.assertEqual(rows[0], ["left_id", "right_id", "score", "probability", "match"])
        by_score = sorted((float(score), float(p)) for _, _, score, p, _ in rows[1:])
        self.assertEqual([p for _, p in by_score], sorted(p for _, p in by_score))  # no probability falls where the score rises
        asked, message = self.suggest("--count", 40, pairs=matches)
        self.assertIn(f"40 of {len(rows) - 1} pairs to label, by sample\n", message)
        self.assertEqual({row[3] for row in asked[1:]}, {"sample"})
        # The weights estimate the number of pairs.
        self.assertAlmostEqual(sum(float(row[4]) for row in asked[1:]) / (len(rows) - 1), 1, delta=0.5)
        labels = self.folder / "labels.csv"
        write = lambda chosen: labels.write_text("ltable_id,rtable_id,label,chosen,weight\n" + "".join(
            f'"{left}",{right},{int(left[2:] == right[1:])},{chosen or by},{weight}\n' for left, right, _, by, weight in asked[1:]))
        write("")
        done = program("match", *tables, "--validation", labels, "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, rf"labels\.csv: threshold [\d.e-]+, by 40 labels of a sample and all {len(rows) - 1} candidates")
        figures = re.search(r"again\.csv: precision ([\d.]+) % \[([\d.]+), ([\d.]+)\], recall ([\d.]+) % \[([\d.]+), ([\d.]+)\] of the matches among the candidates, by 40 labels of a sample", done.stderr)
        self.assertIsNotNone(figures, done.stderr)
        decided = [(left[2:] == right[1:], match == "1") for left, right, _, _, match in rows_of(out)[1:]]
        right = sum(truth and match for truth, match in decided)
        for first, truth in ((1, right / sum(match for _, match in decided)), (4, right / sum(truth for truth, _ in decided))):
            value, low, high = (float(figures[k]) for k in range(first, first + 3))
            self.assertLessEqual(low - 0.1, 100 * truth)
            self.assertGreaterEqual(high + 0.1, 100 * truth)
            self.assertTrue(low <= value <= high)
        for option, share in (("--min-precision", 0.9), ("--min-recall", 0.9), ("--min-recall", 1)):
            wanted = program("match", *tables, "--validation", labels, option, share, "--out", out)
            self.assertEqual(wanted.returncode, 0, wanted.stderr)
        # A label that is given again counts once.
        twice = program("match", *tables, "--validation", labels, labels, "--out", out)
        self.assertIn("by 40 labels of a sample", twice.stderr)
        self.assertEqual(re.search("precision .*candidates", twice.stderr)[0], figures[0].split(": ", 1)[1].split(", by")[0])
        first = program("evaluate_matches", matches, "--pairs", labels).stdout.splitlines()[2].split(maxsplit=4)[4]
        self.folder.joinpath("again-labels.csv").write_text(labels.read_text() + "\n".join(labels.read_text().splitlines()[1:]) + "\n")
        self.assertEqual(program("evaluate_matches", matches, "--pairs", self.folder / "again-labels.csv").stdout.splitlines()[2].split(maxsplit=4)[4], first)
        # A file without all pairs says nothing of them.
        best = self.folder / "best.csv"
        self.assertEqual(program("match", *tables, "--matches-only", "--out", best).returncode, 0)
        done = program("evaluate_matches", best, "--pairs", labels, "--output", self.folder / "e.json")
        self.assertRegex(done.stderr, r"labels\.csv: the files do not have \d+ pairs of the sample with a probability")
        self.assertNotIn("estimated", json.loads((self.folder / "e.json").read_text())["files"][0])
        done = program("evaluate_matches", matches, "--pairs", labels, "--output", self.folder / "e.json")
        self.assertIn(f"labels.csv: estimated for all {len(rows) - 1} pairs, by 40 labels of a sample", done.stderr)
        entry = json.loads((self.folder / "e.json").read_text())["files"][0]
        self.assertTrue(entry["estimated"])
        self.assertTrue(entry["intervals"][0][0] <= entry["precision"] <= entry["intervals"][0][1])
        # Labels that were chosen by their score are never printed as quality.
        write("uncertainty")
        done = program("match", *tables, "--validation", labels, "--out", out)
        self.assertIn("labels.csv: 40 pairs were chosen by their score", done.stderr)
        self.assertNotRegex(done.stderr, r"% precision|precision \d")
        done = program("evaluate_matches", matches, "--pairs", labels)
        self.assertIn("labels.csv: 40 pairs were chosen by the score, not by chance, so these figures say nothing of other pairs", done.stderr)
        write("chance")
        self.refused(3, program("match", *tables, "--validation", labels, "--out", out), "labels.csv: line 2: 'chosen' is 'chance', expected sample, uncertainty, spread, random")

    def test_punctuation_is_not_marked(self):
        a, b, out = self.folder / "p.csv", self.folder / "q.csv", self.folder / "labels.csv"
        a.write_text('id,name\n1,"halvek, (HEPA) camra c++"\n')
        b.write_text('id,name\n1,"HALVEK hepa, camera c"\n')
        ask = self.folder / "ask.csv"
        ask.write_text("left_id,right_id\n1,1\n")
        shown = program("label", ask, "--left", a, "--right", b, "--out", out, text="y\n").stdout
        self.assertIn("halvek, (HEPA) ~camra~ *c++*", shown)
        self.assertIn("HALVEK hepa, ~camera~ *c*", shown)

    def test_terminal(self):
        self.suggest("--by", "spread", "--count", 3)
        out = self.folder / "labels.csv"
        terminal, inside = pty.openpty()
        process = subprocess.Popen([BIN / "lexformer", "label", self.folder / "ask.csv", *map(str, self.tables), "--out", out], stdin=inside, stdout=inside, stderr=subprocess.PIPE)
        os.close(inside)
        shown, keys, deadline = "", "ynq", time.time() + 60
        while time.time() < deadline and process.poll() is None:
            if not select.select([terminal], [], [], 0.1)[0]:
                continue
            try:
                shown += os.read(terminal, 4096).decode("utf-8", "replace")
            except OSError:
                break
            if keys and shown.count("[y/n/s/u/q]") > 3 - len(keys):  # a key, without a line end
                os.write(terminal, keys[0].encode())
                keys = keys[1:]
        os.close(terminal)
        message = process.communicate(timeout=60)[1].decode()
        self.assertEqual(process.returncode, 0, message)
        self.assertEqual([row[2] for row in rows_of(out)], ["label", "1", "0"])
        self.assertIn("\x1b[7m", shown)
        self.assertNotIn("\x1b[31m", shown)

    def test_page(self):
        self.suggest("--by", "spread", "--count", 5)
        page = self.folder / "page.html"
        done = program("label", self.folder / "ask.csv", *self.tables, "--html", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        html = page.read_text(encoding="utf-8")
        data = json.loads(re.search(r'id="pairs">(.*?)</script>', html, re.S).group(1))
        self.assertEqual(data["ids"], [row[:2] for row in rows_of(self.folder / "ask.csv")[1:]])
        self.assertEqual((data["header"], data["choices"]), ("ltable_id,rtable_id,label,chosen,weight\n", [",spread,"] * 5))
        self.assertEqual(html.count("<section>"), 5)
        self.assertIn("&lt;new&gt;", html)
        self.assertNotRegex(html, r'(?:src|href)="')  # loads nothing

    def test_bad_input(self):
        out, ask = self.folder / "out.csv", self.folder / "ask.csv"
        self.suggest("--by", "spread", "--count", 5)
        self.refused(2, program("suggest", self.candidates, "--out", out), "--left", "must be given")
        for by, advice in (("sample", "--by spread or --by random"), ("uncertainty", "--threshold, or --by spread")):
            self.refused(3, program("suggest", self.candidates, *self.tables, "--out", out, "--by", by), "there is no column 'match'", f"; give {advice}")
        for threshold in (1.5, 0):
            self.refused(2, program("suggest", self.candidates, *self.tables, "--by", "uncertainty", "--out", out, "--threshold", threshold), f"suggest: --threshold: is {threshold}, expected a number between 0 and 1")
        self.refused(3, program("suggest", self.candidates, *self.tables, "--out", out, "--threshold", 0.5), "candidates.csv: line 2: there is no probability", "--by spread")
        self.refused(2, program("suggest", self.candidates, *self.tables, "--out", out, "--threshold", "nan"), "--threshold: must be finite, got nan")
        self.refused(3, program("suggest", self.candidates, *self.tables, "--out", self.folder / "no" / "x.csv", "--by", "random"), "x.csv: cannot be written: there is no folder")
        self.refused(3, program("label", ask, *self.tables, "--out", self.folder / "no" / "x.csv"), "x.csv: cannot be written: there is no folder")
        self.refused(2, program("suggest", self.candidates, *self.tables, "--out", "out.jsonl", "--by", "random"), "must end in .csv")
        self.refused(2, program("suggest", self.candidates, *self.tables, "--out", self.candidates, "--by", "random"), "--out")
        mixed = self.folder / "mixed.csv"
        mixed.write_text('left_id,right_id,score\n"a,0",b77,0.2\n')
        self.refused(3, program("suggest", mixed, *self.tables, "--by", "random", "--out", out), "no record with the id 'b77'")
        self.refused(3, program("suggest", ask, *self.tables, "--by", "random", "--labelled", self.labelled(ask), "--out", out), "holds no pair that is not labelled")
        self.refused(2, program("label", ask, *self.tables), "label: command line: give --out LABELS.csv", "--html")
        self.refused(2, program("label", ask, "--out", out), "--left", "must be given")
        other = self.folder / "other.csv"
        other.write_text("left_id,right_id,label\n")
        self.refused(3, program("label", ask, *self.tables, "--out", other), "does not begin with the line ltable_id,rtable_id,label")
        other.write_text('ltable_id,rtable_id,label\n"a,0",b0,maybe\n')
        self.refused(3, program("label", ask, *self.tables, "--out", other), "other.csv:2", "'maybe'", "expected 0 or 1")
        self.assertFalse(out.exists())

    def labelled(self, ask):
        path = self.folder / "all.csv"
        path.write_text("ltable_id,rtable_id,label\n" + "".join(f'"{left}",{right},0\n' for left, right, *_ in rows_of(ask)[1:]))
        return path


if __name__ == "__main__":
    unittest.main()
