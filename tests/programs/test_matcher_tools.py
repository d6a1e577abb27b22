# SPDX-License-Identifier: MIT
"""tools/make_matcher_pairs.py and tools/label_curve.py on small tables. Needs the built programs (LEXFORMER_BIN) and Python's standard library."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import BIN, BRANDS, KINDS, pairs, program, write

TOOLS = Path(__file__).resolve().parents[2] / "tools"
SETS = {"abt-buy": "name,description,price", "walmart-amazon": "title,category,brand,modelno,price", "dblp-acm": "title,authors,venue,year"}


class MatcherTools(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def tool(self, name, *arguments):
        return subprocess.run([sys.executable, TOOLS / name, *map(str, arguments)], capture_output=True, text=True)

    def tables(self, folder, columns):
        """Two tables of 24 products, in the second one without a digit of the number; a third of the products in each file of pairs, each with six others."""
        items = [f"{brand} {kind} {i}{j}7" for i, brand in enumerate(BRANDS) for j, kind in enumerate(KINDS)]
        for name, cut in (("A", 0), ("B", 1)):
            rows = [[i, item[: len(item) - cut], *(f"{c}, {i % 3}" for c in columns[1:])] for i, item in enumerate(items)]
            if "description" in columns:
                rows[0][2] = " ".join(f"word{k}" for k in range(30))
                rows[3][1:] = ["", "", ""]  # no text
            write(folder / f"table{name}.csv", ["id", *columns], rows)
        for third, part in enumerate(("train", "valid", "test")):
            labelled = [[i, j % len(items), int(i == j)] for i in range(third, len(items), 3) for j in range(i, i + 7)]
            write(folder / f"{part}.csv", ["ltable_id", "rtable_id", "label"], labelled)

    def test_pairs(self):
        data = self.folder / "data"
        for name, columns in SETS.items():
            (data / "tables" / name).mkdir(parents=True)
            self.tables(data / "tables" / name, columns.split(","))
        for name, seed in (("amazon-google/train", 1), ("amazon-google/valid", 2), ("wdc-computers-small/train", 3), ("wdc-computers-small/valid", 4)):
            path = data / f"{name}.tsv"
            path.parent.mkdir(exist_ok=True)
            path.write_text(pairs(6, seed))
        (data / "wdc-computers-large").mkdir()
        (data / "wdc-computers-large/valid.tsv").write_text(pairs(6, 4) + pairs(3, 5))  # six of them validate
        out = self.folder / "pairs"
        done = self.tool("make_matcher_pairs.py", "--data", data, "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        read = lambda name: [line.split("\t") for line in (out / name).read_text().splitlines()]
        train, valid = read("train.tsv"), read("valid.tsv")
        self.assertEqual((len(train), len(valid)), (5 * 56 - 2 * 9 + 6 + 6 + 3, 5 * 56 - 2 * 2 + 6 + 6))
        self.assertIn(f"train.tsv: {len(train)} pairs, {sum(row[2] == '1' for row in train)} matches", done.stdout)
        self.assertIn(["halvek digital camera 007", "halvek digital camera 00", "1"], train)
        words = " ".join(f"word{k}" for k in range(24))
        self.assertIn([f"halvek digital camera 007 {words} price, 0", f"halvek digital camera 00 {words} price, 0", "1"], train)
        places = [i for i, row in enumerate(train) if "authors" in row[0]]  # of one set, among the others
        self.assertGreater(places[-1] - places[0] + 1, len(places))
        self.assertIn(["halvek digital camera 007 authors, 0 venue, 0 year, 0", "halvek digital camera 00 authors, 0 venue, 0 year, 0", "1"], train)
        before = (out / "train.tsv").read_bytes()
        again = self.folder / "again"
        self.assertEqual(self.tool("make_matcher_pairs.py", "--data", data, "--out", again).returncode, 0)
        self.assertEqual((again / "train.tsv").read_bytes(), before)
        demo = self.folder / "demo"
        self.assertEqual(self.tool("make_demo_data.py", "--out", demo, "--train", 10, "--valid", 4, "--test", 4, "--easy", 10).returncode, 0)
        self.assertEqual(self.tool("make_matcher_pairs.py", "--data", data, "--out", out, "--sets", "dblp-acm", "--demo", demo).returncode, 0)
        self.assertEqual(len(read("train.tsv")), 56 + 20)
        done = self.tool("make_matcher_pairs.py", "--data", data, "--out", out, "--sets", "dblp")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no set 'dblp', expected some of abt-buy, walmart-amazon", done.stderr)
        (data / "amazon-google/valid.tsv").write_text("a\tb\t1\na\tb\n")
        done = self.tool("make_matcher_pairs.py", "--data", data, "--out", out)
        self.assertEqual((done.returncode, done.stderr), (1, f"{data}/amazon-google/valid.tsv:2: 2 columns, expected left text, right text and label\n"))

    def test_label_curve(self):
        self.tables(self.folder, ["name", "note"])
        train, config = self.folder / "train.tsv", self.folder / "config.json"
        train.write_text(pairs(30, 1))
        config.write_text('{"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}')
        model, start = self.folder / "model.lxf", self.folder / "start"
        done = program("make_model", "--text", train, "--vocab-size", 200, "--model-config", config, "--out", model)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = program("train_matcher", "--model", model, "--train", train, "--valid", train, "--epochs", 1, "--threads", 1, "--attention", "lea", "--lea-layers", "0,1", "--lea-words", "both", "--out", start)
        self.assertEqual(done.returncode, 0, done.stderr)
        out = self.folder / "curve"
        command = ("label_curve.py", "--model", start, "--tables", self.folder, "--columns", "name,note", "--out", out, "--labels", "20,30", "--seeds", 2, "--epochs", 1, "--jobs", 2, "--bin", BIN.resolve())
        done = self.tool(*command)
        self.assertEqual(done.returncode, 0, done.stderr)
        table = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()]
        self.assertEqual([row[:2] for row in table[2:]], [[count, by] for count in ("0", "20", "30") for by in ("random", "uncertainty")])
        self.assertEqual(table[2][2:], table[3][2:])  # the start itself
        for by in ("random", "uncertainty"):
            for seed in (1, 2):
                labels = (out / f"{by}-{seed}/labels.csv").read_text().splitlines()[1:]
                self.assertEqual(len(set(labels)), 30)
                row = next(row for row in table if row[:2] == ["30", by])
                matches = [sum(line.endswith(",1") for line in (out / f"{by}-{s}/labels.csv").read_text().splitlines()) for s in (1, 2)]
                self.assertEqual(float(row[2].split()[0]), round(sum(matches) / 2))
                tests = [json.loads((out / f"{by}-{s}/30/test.json").read_text())["test"][0] for s in (1, 2)]
                for column, metric in ((3, "argmax_f1"), (4, "average_precision")):
                    self.assertAlmostEqual(float(row[column].split()[0]), 50 * sum(t[metric] for t in tests), delta=0.051)
        self.assertNotEqual((out / "random-1/labels.csv").read_text(), (out / "uncertainty-1/labels.csv").read_text())
        trained = (out / "random-1/30/model.lxf").stat().st_mtime_ns
        again = self.tool(*command)
        self.assertEqual((again.stdout, (out / "random-1/30/model.lxf").stat().st_mtime_ns), (done.stdout, trained))
        for more, message in ((("--labels", "30"), "holds runs with other options"), (("--labels", "30,20"), "expected rising numbers")):
            refused = self.tool(*command, *more)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(message, refused.stderr)
        refused = self.tool(*command, "--labels", "20,60", "--out", self.folder / "many")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("train.csv has 56 pairs, 60 labels are asked for", refused.stderr)


if __name__ == "__main__":
    unittest.main()
