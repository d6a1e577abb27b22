# SPDX-License-Identifier: MIT
"""match --update and assign --update, night after night. Needs the built programs (LEXFORMER_BIN) and nothing but Python's standard
library."""
import csv
import random
import shutil
import signal
import tempfile
import unittest
from pathlib import Path

from support import BRANDS, KINDS, PROGRAM, Refusals, pairs, program, start_and_signal, start_model, write


class Update(Refusals, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = folder = Path(tempfile.mkdtemp(prefix="lexformer-"))
        (folder / "pairs.tsv").write_text(pairs(90, 1))
        cls.model = folder / "model"
        done = program("train_matcher", "--model", start_model(folder, folder / "pairs.tsv"), "--train", folder / "pairs.tsv", "--valid", folder / "pairs.tsv", "--test", folder / "pairs.tsv", "--out", cls.model, "--max-steps", 4, "--batch", 8, "--quiet")
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def setUp(self):
        self.rng = random.Random(self.id())
        self.place = Path(tempfile.mkdtemp(dir=self.folder))

    def record(self, name):
        return name, f"{self.rng.choice(BRANDS)} {self.rng.choice(KINDS)} {self.rng.choice('abcdk')}-{self.rng.randrange(1000, 9999)}", f"{self.rng.choice(KINDS)} {self.rng.randrange(99)}"

    def tables(self, count):
        left = [self.record(f"a{i}") for i in range(count)]
        right = [(name.replace("a", "b"), title[1:], notes) for name, title, notes in left]
        return left, right

    def edited(self, rows, night, count):
        """As many rows are dropped, changed and added."""
        rows = list(rows)
        for k in range(count):
            del rows[self.rng.randrange(len(rows))]
            at = self.rng.randrange(len(rows))
            rows[at] = (rows[at][0], rows[at][1] + " set", rows[at][2])
            rows.insert(self.rng.randrange(len(rows)), self.record(f"{rows[0][0][0]}{night}n{k}"))
        return rows

    def put(self, name, rows):
        path = self.place / name
        write(path, ("id", "title", "notes", "shop")[: len(rows[0])], rows)
        return path

    def match(self, tables, out, *more):
        out = self.place / out
        done = program("match", *tables, "--out", out, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out, done.stderr

    def lines(self, path):
        return path.read_text().splitlines()

    def matches(self, path):
        with open(path, newline="", encoding="utf-8") as file:
            return {(row["left_id"], row["right_id"]) for row in csv.DictReader(file) if row["match"] == "1"}

    def test_nights(self):
        """An update has the bytes of a search for everything with the same weights: that is the update of a state of which one record of
        each table is left. Nothing changed: nothing is written anew. Everything changed: a full run."""
        for kind in (("two",), ("two", "--matches-only", "--blocking", "all"), ("one", "--threshold", 0.6), ("two", "--model", self.model, "--threshold", 0.5, "--candidates", 3)):
            with self.subTest(kind=kind):
                tables, options = kind[0], kind[1:]
                left, right = self.tables(50)
                place = lambda name, l, r: [self.put(name + "a.csv", l)] + ([self.put(name + "b.csv", r)] if tables == "two" else [])
                first, _ = self.match(place("0", left, right), "0.csv", *options, "--updatable")
                changes = self.place / "changes.csv"
                same, said = self.match(place("0", left, right), "same.csv", *options, "--update", first, "--changes", changes)
                self.assertEqual(same.read_bytes(), first.read_bytes())
                self.assertEqual(same.with_name("same.csv.state").read_bytes(), first.with_name("0.csv.state").read_bytes())
                self.assertEqual(changes.read_text(), "left_id,right_id,change,reason\n")
                self.assertIn("since " + str(first) + " 0 matches are new and 0 gone", said)
                before = first
                for night in (1, 2):
                    left, right = self.edited(left, night, 2), self.edited(right, night, 2)
                    now, said = self.match(place(str(night), left, right), f"{night}.csv", *options, "--update", before, "--changes", changes)
                    self.assertIn("records: 2 new, 2 changed, 2 gone", said)
                    new, gone = self.matches(now) - self.matches(before), self.matches(before) - self.matches(now)
                    with open(changes, newline="") as file:
                        rows = list(csv.DictReader(file))
                    self.assertEqual({(row["left_id"], row["right_id"]) for row in rows if row["change"] == "new"}, new)
                    self.assertEqual({(row["left_id"], row["right_id"]) for row in rows if row["change"] == "gone"}, gone)
                    self.assertTrue({row["reason"] for row in rows} <= {"new", "changed", "gone", "decision"}, rows)
                    before = now
                # Two unchanged records keep the weights; all else is searched.
                strange = lambda rows, count: rows[:count] + [self.record(f"{rows[0][0][0]}s{i}") for i in range(3)]
                bare, _ = self.match(place("bare", strange(left, 2), strange(right, 2)), "bare.csv", *options, "--update", before)
                whole, said = self.match(place("2", left, right), "whole.csv", *options, "--update", bare)
                if "--model" in options:  # up to the rounding of other batches
                    for a, b in zip(self.lines(whole)[1:], self.lines(now)[1:]):
                        (*ids, score, match), (*other_ids, other, other_match) = a.split(","), b.split(",")
                        self.assertEqual((ids, match), (other_ids, other_match))
                        self.assertAlmostEqual(float(score), float(other), delta=1e-5)
                    self.assertEqual(len(self.lines(whole)), len(self.lines(now)))
                else:
                    self.assertEqual(whole.read_bytes(), now.read_bytes())
                others = self.tables(40)
                renamed = [[(f"z{name}", *rest) for name, *rest in rows] for rows in others]
                update, said = self.match(place("z", *renamed), "z.csv", *options, "--update", now)
                self.assertIn("all was matched anew", said)
                full, _ = self.match(place("z", *renamed), "full.csv", *options)
                self.assertEqual(update.read_bytes(), full.read_bytes())

    def test_keys(self):
        """An update keeps to keys as a search for everything does. A record whose key alone has changed is a changed one."""
        for missing in ("any", "none"):
            with self.subTest(missing=missing):
                before = left, right = self.tables(60)
                shop = lambda number: "" if number % 7 == 0 else "ABC"[number % 3]
                keyed = lambda rows, moved: [(*row, shop(sum(map(ord, row[0])) + (row in moved))) for row in rows]
                place = lambda name, l, r, moved=(): [self.put(name + "a.csv", keyed(l, moved)), self.put(name + "b.csv", keyed(r, moved))]
                keys = ("--same", "shop", "--also", "notes", "--missing-key", missing)
                options = ("--columns", "title", *keys)
                first, said = self.match(place("0", left, right), "0.csv", *options, "--updatable")
                self.assertIn("also notes: 60 of 60", said)
                same, _ = self.match(place("0", left, right), "same.csv", *options, "--update", first)
                self.assertEqual(same.read_bytes(), first.read_bytes())
                left, right = self.edited(left, 1, 2), self.edited(right, 1, 2)
                moved = [next(row for row in rows[5:] if row in old) for rows, old in zip((left, right), before)]
                now, said = self.match(place("1", left, right, moved), "1.csv", *options, "--update", first)
                self.assertIn("left records: 2 new, 3 changed, 2 gone; right records: 2 new, 3 changed, 2 gone", said)
                strange = lambda rows: rows[:2] + [self.record(f"{rows[0][0][0]}s{i}") for i in range(3)]
                bare, _ = self.match(place("bare", strange(left), strange(right)), "bare.csv", *options, "--update", first)
                whole, _ = self.match(place("1", left, right, moved), "whole.csv", *options, "--update", bare)
                self.assertEqual(whole.read_bytes(), now.read_bytes())
                others, _ = self.match(place("2", left, right), "others.csv", *options, "--update", first)
                self.assertNotEqual(others.read_bytes(), now.read_bytes())
                out = self.place / "refused.csv"
                for fewer, option in ((keys[2:4], "--same"), (keys[:2], "--missing-key" if missing == "none" else "--also"), (keys[:2] + keys[4:], "--also")):
                    done = program("match", *place("2", left, right), "--out", out, "--columns", "title", *fewer, "--update", first)
                    self.refused(2, done, f"0.csv was made with another {option}; run match without --update")
                self.assertFalse(out.exists())

    def test_resumed(self):
        """An update that is killed goes on to the same bytes; a finished one does nothing."""
        left, right = self.tables(120)
        options = ("--model", self.model, "--threshold", 0.5, "--batch", 2)
        tables = [self.put("a.csv", left), self.put("b.csv", right)]
        first, _ = self.match(tables, "0.csv", *options, "--updatable")
        tables = [self.put("a.csv", self.edited(left, 1, 30)), self.put("b.csv", self.edited(right, 1, 30))]
        whole, _ = self.match(tables, "whole.csv", *options, "--update", first)
        out, changes = self.place / "out.csv", self.place / "changes.csv"
        more = (*options, "--update", first, "--changes", changes, "--resume")
        for seconds in (0, 0.01, 0.03):
            start_and_signal([PROGRAM, "match", *tables, "--out", out, *more], out.with_name("out.csv.part.json"), seconds, signal.SIGKILL)
        self.match(tables, "out.csv", *more)
        self.assertEqual(out.read_bytes(), whole.read_bytes())
        listed = changes.read_text()
        self.assertIn("already finished", self.match(tables, "out.csv", *more)[1])
        changes.unlink()
        self.assertNotIn("already finished", self.match(tables, "out.csv", *more)[1])
        self.assertEqual((out.read_bytes(), changes.read_text()), (whole.read_bytes(), listed))

    def test_what_does_not_fit_is_refused(self):
        left, right = self.tables(30)
        tables = [self.put("a.csv", left), self.put("b.csv", right)]
        labels, out = self.place / "labels.csv", self.place / "out.csv"
        write(labels, ("ltable_id", "rtable_id", "label"), [(f"a{i}", f"b{j}", int(i == j)) for i in range(25) for j in (i, i + 1)])
        plain, _ = self.match(tables, "plain.csv")
        first, _ = self.match(tables, "0.csv", "--updatable", "--validation", labels)

        def refused(code, *parts, update=first, more=("--validation", labels), files=tables):
            self.refused(code, program("match", *files, "--out", out, "--update", update, *more), *parts)

        refused(2, "--update: ", "plain.csv has no ", "plain.csv.state beside it; match --updatable writes it", update=plain)
        refused(2, "0.csv was made with another --candidates; run match without --update", more=("--validation", labels, "--candidates", 9))
        refused(2, "was made with another --validation", more=())
        refused(2, "was made with another --model", more=("--validation", labels, "--model", self.model))
        refused(2, "the earlier run had two tables", files=tables[:1])
        other = self.put("other.csv", left)
        other.write_text("id,title,notes,colour\n" + "".join(f"{i},{t},{n},red\n" for i, t, n in left))
        both = self.put("both.csv", right)
        both.write_text("id,title,notes,colour\n" + "".join(f"{i},{t},{n},red\n" for i, t, n in right))
        refused(2, "was made with other columns", files=[other, both])
        refused(2, "--update: cannot be used with --shard", more=("--shard", "1/2"))
        self.refused(2, program("match", *tables, "--out", first, "--update", first, "--validation", labels), "0.csv is also an input")
        refused(2, "no.csv has no ", update=self.place / "no.csv")
        text = labels.read_text()
        labels.write_text(text.replace("a0,b0,1\n", ""))
        refused(2, "was made with another ", "labels.csv")
        labels.write_text(text)
        state = first.with_name("0.csv.state")
        content = first.read_text()
        first.write_text(content + "a1,b9,0.1,0.1,0\n")
        refused(2, "0.csv is not the file that ", "0.csv.state was written for")
        first.write_text(content)
        whole = state.read_bytes()
        state.write_bytes(whole[:-20])
        refused(3, "0.csv.state: is damaged")
        state.write_bytes(whole)
        self.refused(2, program("match", *tables, "--out", out, "--changes", self.place / "c.csv"), "--changes: needs --update")
        self.assertFalse(out.exists())
        edited = [self.put("a.csv", self.edited(left, 1, 1)), tables[1]]  # labels of records that are gone do not matter
        self.match(edited, "out.csv", "--validation", labels, "--update", first)

    def clusters(self, name, pairs, out, *more):
        path = self.place / name
        path.write_text("left_id,right_id,score,match\n" + "".join(f"{a},{b},0.9,1\n" for a, b in pairs))
        done = program("assign", path, "--clusters", "--out", self.place / out, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line.split(",") for line in self.lines(self.place / out)[1:]], done.stderr

    def test_clusters(self):
        one = ("--one-table",)
        rows, _ = self.clusters("p0.csv", [("x", "y"), ("y", "z"), ("u", "v"), ("q", "r")], "0.csv", *one)
        self.assertEqual(dict(rows), {"x": "1", "y": "1", "z": "1", "u": "2", "v": "2", "q": "3", "r": "3"})
        changes = self.place / "changes.csv"
        rows, said = self.clusters("p1.csv", [("n", "m"), ("y", "z"), ("u", "x"), ("u", "v")], "1.csv", *one, "--update", self.place / "0.csv", "--changes", changes)
        # 1 is split: y and z keep it, x goes to 2. 3 is gone, and not given again.
        self.assertEqual(dict(rows), {"n": "4", "m": "4", "y": "1", "z": "1", "u": "2", "x": "2", "v": "2"})
        self.assertEqual(set(self.lines(changes)), {"id,old,new", "n,,4", "m,,4", "x,1,2", "q,3,", "r,3,"})
        self.assertIn(f"since {self.place / '0.csv'}: numbers new 1, gone 1; records with another number 5", said)
        rows, _ = self.clusters("p2.csv", [("y", "z")], "2.csv", *one, "--update", self.place / "1.csv")
        rows, _ = self.clusters("p3.csv", [("y", "z"), ("k", "l")], "3.csv", *one, "--update", self.place / "2.csv", "--changes", changes)
        self.assertEqual(dict(rows), {"y": "1", "z": "1", "k": "5", "l": "5"})
        rows, _ = self.clusters("p3.csv", [("y", "z"), ("k", "l")], "4.csv", *one, "--update", self.place / "3.csv", "--changes", changes)
        self.assertEqual((self.lines(self.place / "4.csv"), self.lines(changes)), (self.lines(self.place / "3.csv"), ["id,old,new"]))
        two, _ = self.clusters("t0.csv", [("x", "x"), ("y", "x")], "t0.csv.out.csv")
        rows, _ = self.clusters("t1.csv", [("y", "x"), ("z", "w")], "t1.csv.out.csv", "--update", self.place / "t0.csv.out.csv", "--changes", changes)
        self.assertEqual(rows, [["left", "y", "1"], ["left", "z", "2"], ["right", "x", "1"], ["right", "w", "2"]])
        self.assertEqual(self.lines(changes), ["table,id,old,new", "left,z,,2", "right,w,,2", "left,x,1,"])
        out = self.place / "bad.csv"
        refuse = lambda *more: program("assign", self.place / "p0.csv", "--out", out, *more)
        self.refused(3, refuse("--clusters", "--update", self.place / "3.csv"), "3.csv: line 1: there is no column 'table'")
        self.refused(3, refuse("--clusters", *one, "--update", self.place / "t0.csv.out.csv"), "the record 'x' is there twice; are these clusters of two tables, without --one-table?")
        (self.place / "zero.csv").write_text("id,cluster\nx,0\n")
        self.refused(3, refuse("--clusters", *one, "--update", self.place / "zero.csv"), "zero.csv: line 2: cluster is '0', expected a whole number from 1")
        self.refused(2, refuse("--one-to-one", "--update", self.place / "3.csv"), "--update: needs --clusters")
        self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
