# SPDX-License-Identifier: MIT
"""assign as a user runs it. Needs the built programs (LEXFORMER_BIN) and nothing but Python's standard library."""
import itertools
import random
import tempfile
import unittest
from pathlib import Path

from support import Refusals, program


class Assign(Refusals, unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)

    def pairs(self, name, rows):
        path = self.folder / name
        path.write_text("left_id,right_id,score,match\n" + "".join(f'{left},"{right}",{score},{int(score != "much" and score >= 0.5)}\n' for left, right, score in rows))
        return path

    def test_one_to_one_over_shards(self):
        rng = random.Random(1)
        rows = [(f"a{i}", f"b, {j}", round(rng.random(), 6)) for i in range(5) for j in range(5) if rng.random() < 0.7]
        files = [self.pairs("one.csv", rows[::2]), self.pairs("two.csv", rows[1::2])]
        out = self.folder / "out.csv"
        done = program("assign", *files, "--one-to-one", "--threshold", 0.3, "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        score = {(left, right): s for left, right, s in rows if s >= 0.3}
        best = max(sum(score.get((f"a{i}", f"b, {j}"), 0) for i, j in enumerate(order)) for order in itertools.permutations(range(5)))
        lines = out.read_text().splitlines()
        self.assertEqual(lines[0], "left_id,right_id,score,match")
        chosen = [(line.split(",")[0], line.split('"')[1], float(line.rsplit(",", 2)[1])) for line in lines[1:]]
        self.assertEqual(len({c[0] for c in chosen}), len(chosen))
        self.assertEqual(len({c[1] for c in chosen}), len(chosen))
        for left, right, s in chosen:
            self.assertEqual(score[left, right], s)
        self.assertAlmostEqual(sum(c[2] for c in chosen), best, places=5)

    def test_clusters(self):
        pairs = self.pairs("pairs.csv", [("x", "y", 0.9), ("y", "z", 0.6), ("u", "v", 0.2), ("z", "w", 0.8)])
        out = self.folder / "out.csv"
        for more, want in (((), {"x": 1, "y": 1, "z": 1, "w": 1, "u": 2, "v": 3}), (("--max-size", 2), {"x": 1, "y": 1, "z": 2, "w": 2, "u": 3, "v": 4})):
            done = program("assign", pairs, "--clusters", "--one-table", "--out", out, *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = [line.split(",") for line in out.read_text().splitlines()]
            self.assertEqual(rows[0], ["id", "cluster"])
            self.assertEqual({name: int(c) for name, c in rows[1:]}, want)
        lines = self.folder / "pairs.jsonl"
        lines.write_text('{"left_id":"x","right_id":"y","score":0.3,"match":true}\n{"left_id":"x","right_id":"z","score":0.2,"match":false}\n')
        done = program("assign", lines, "--one-to-one", "--out", out)
        self.assertEqual((done.returncode, out.read_text()), (0, "left_id,right_id,score,match\nx,y,0.3,1\n"), done.stderr)
        done = program("assign", pairs, "--clusters", "--out", out)
        self.assertEqual(out.read_text().splitlines()[:3], ["table,id,cluster", "left,x,1", "left,y,2"])
        self.assertIn("right,y,1", out.read_text())

    def test_bad_input(self):
        pairs, out = self.pairs("pairs.csv", [("x", "y", "much")]), self.folder / "out.csv"
        self.refused(3, program("assign", pairs, "--one-to-one", "--out", out), "pairs.csv: pair 1", "'much'", "a number")
        self.refused(2, program("assign", pairs, "--out", out), "--one-to-one", "--clusters")
        self.refused(2, program("assign", pairs, "--one-to-one", "--out", self.folder / "out.txt"), "--out", ".csv")
        self.refused(2, program("assign", pairs, "--one-to-one", "--out", pairs), "--out")
        self.refused(3, program("assign", self.folder / "none.csv", "--clusters", "--out", out), "none.csv")
        (self.folder / "other.csv").write_text("left,right\na,b\n")
        self.refused(3, program("assign", self.folder / "other.csv", "--clusters", "--out", out), "other.csv", "left_id")


if __name__ == "__main__":
    unittest.main()
