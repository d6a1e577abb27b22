# SPDX-License-Identifier: MIT
"""robustness: its numbers are those of evaluate on the same copies, for pairs, records, single texts, more classes and numbers; the same
bytes for any number of threads; refused input. And the sources of noise of add_typos. Needs the built programs (LEXFORMER_BIN) and
Python's standard library."""
import csv
import io
import json
import re
import shutil
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

from support import BIN, Refusals, pairs, program, start_model

NOISE = ["released", "printed", "love", "ocr", "keyboard", "homophones", "misspellings", "spaces", "abbreviations", "units", "casing", "lookalikes"]
SHARES = [0.1, 0.2, 0.4]


def changed_label(table, change):
    """A table of pairs with other labels: change(row number, label)."""
    rows = [line.split("\t") for line in table.splitlines()]
    return "".join("\t".join([*row[:-1], str(change(i, row[-1]))]) + "\n" for i, row in enumerate(rows))


class Robustness(Refusals, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="lexformer-"))
        for name, count, seed in (("train", 90, 1), ("valid", 40, 2), ("test", 40, 3)):
            (cls.folder / f"{name}.tsv").write_text(pairs(count, seed))
            (cls.folder / f"{name}3.tsv").write_text(changed_label(pairs(count, seed), lambda i, label: ("no", "may be", "yes")[i % 3]))
            (cls.folder / f"{name}-number.tsv").write_text(changed_label(pairs(count, seed), lambda i, label: float(label) + i % 5 / 10))
            texts = (line.split("\t")[0] + f"\t{i % 2}\n" for i, line in enumerate(pairs(count, seed).splitlines()))
            (cls.folder / f"{name}-text.tsv").write_text("".join(texts))
        cls.list = cls.folder / "misspellings.dat"
        cls.list.write_text("$camera\ncamra\ncamara 3\n$digital\ndigitle\n$phone\nfone\n")
        cls.start = start_model(cls.folder, cls.folder / "train.tsv")
        cls.model = cls.train("pairs")
        cls.other = cls.train("other", "--attention", "lea", "--augment")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def train(cls, out, *more, files="", name="train_matcher"):
        done = program(name, "--model", cls.start, "--train", cls.folder / f"train{files}.tsv", "--valid", cls.folder / f"valid{files}.tsv", "--out",
                       cls.folder / out, "--epochs", 2, "--batch", 8, "--lr", "3e-3", "--quiet", *more)
        assert done.returncode == 0, done.stderr
        return cls.folder / out

    def robustness(self, out, *more, model=None, test="test.tsv"):
        return program("robustness", "--model", model or self.model, "--test", self.folder / test, "--out", self.folder / out, "--resamples", 200, "--quiet", *more)

    def measured(self, out, *more, **options):
        done = self.robustness(out, *more, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads((self.folder / out / "robustness.json").read_text(encoding="utf-8")), done.stdout

    def evaluated(self, model, test, mode, share, *more):
        output = self.folder / "evaluated.json"
        done = program("evaluate", "--model", model, "--test", self.folder / test, "--test-typos", 2, "--typo-mode", mode, "--typo-share", share, "--output", output, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(output.read_text())["test"][0]

    def equals_evaluate(self, result, model, test, metric, *more):
        """Clean and noisy metrics are those of evaluate, and the scores are the primary one in percent."""
        self.assertEqual(result["settings"]["metric"], metric)
        for source in result["sources"]:
            lists = ("--misspellings", self.list) if source["noise"] == "misspellings" else ()
            for point in source["points"]:
                expected = self.evaluated(model, test, source["noise"], point["intensity"], *lists, *more)
                found = point["models"][0]
                for copy, other in zip(found["copies"], expected["typos"], strict=True):
                    self.assertEqual({k: v for k, v in copy.items() if k != "file"}, {k: v for k, v in other.items() if k != "file"})
                for value, copy in zip(found["values"], found["copies"], strict=True):
                    self.assertAlmostEqual(value, 100 * copy[metric], places=9)
                self.assertAlmostEqual(found["score"]["value"], 100 * expected["typos_mean"][metric], places=9)
                self.assertAlmostEqual(found["against_clean"]["value"], 100 * (expected["typos_mean"][metric] - expected[metric]), places=9)
                for key, value in result["models"][0]["clean"].items():
                    self.assertEqual(value, expected[key])

    def bounds(self, result):
        """Every interval of a score, and whether it is around the score."""
        for source in result["sources"]:
            for point in source["points"]:
                for model in point["models"]:
                    for key in ("score", "against_clean", "against_first_model"):
                        if key in model:
                            self.assertLessEqual(model[key]["low"], model[key]["high"])
                    yield model["score"]["low"], model["score"]["high"]
        for model in result["models"]:
            yield model["score"]["low"], model["score"]["high"]

    def test_pairs_are_measured_as_by_evaluate(self):
        result, _ = self.measured("all", "--repeats", 2, "--misspellings", self.list, "--intensity", "0.4,0,0.1,0.4")
        self.assertEqual([source["noise"] for source in result["sources"]], NOISE)
        self.assertEqual([p["intensity"] for p in result["sources"][0]["points"]], [0.1, 0.4])
        self.assertEqual((result["settings"]["examples"], result["settings"]["repeats"]), (40, 2))
        self.assertIn("crc32", result["settings"]["misspellings"])
        result["sources"] = [source for source in result["sources"] if source["noise"] in ("released", "ocr", "misspellings", "units")]
        self.equals_evaluate(result, self.model, "test.tsv", "f1")

    def test_tables_page_and_numbers_agree(self):
        result, tables = self.measured("two", "--model", f"lea={self.other}", "--noise", "keyboard,homophones", "--repeats", 2)
        blocks = re.findall(r"^Noise (\w+): (.*), %\n\n((?:\|.*\n)+)", tables, flags=re.M)
        self.assertEqual([(name, metric) for name, metric, _ in blocks], [("keyboard", "F1 at the stored threshold"), ("homophones", "F1 at the stored threshold")])
        for (_, _, table), source in zip(blocks, result["sources"], strict=True):
            rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
            self.assertEqual(rows[0], ["intensity", "words changed, %", "pairs", "pairs - clean", "lea", "lea - clean", "lea - pairs"])
            self.assertEqual([row[0] for row in rows[2:]], ["0", "0.1", "0.2", "0.4"])
            for row, point in zip(rows[3:], source["points"], strict=True):
                first, second = point["models"]
                shown = lambda b, sign="": f"{b['value']:{sign}.1f} [{b['low']:{sign}.1f}, {b['high']:{sign}.1f}]"
                self.assertEqual(row[1], f"{100 * first['changed_words'] / first['words']:.1f}")
                self.assertEqual(row[2:], [shown(first["score"]), shown(first["against_clean"], "+"), shown(second["score"]), shown(second["against_clean"], "+"),
                                           shown(second["against_first_model"], "+")])
                self.assertAlmostEqual(second["against_first_model"]["value"], second["score"]["value"] - first["score"]["value"], places=9)
                self.assertEqual((first["texts"], first["words"]), (2 * 2 * 40, second["words"]))
                self.assertLessEqual(first["changed_texts"], first["texts"])
        keyboard, homophones = ([p["models"][0]["changed_words"] / p["models"][0]["words"] for p in s["points"]] for s in result["sources"])
        for share, measured in zip(SHARES, keyboard):
            self.assertAlmostEqual(measured, share, delta=0.05)
        self.assertLess(max(homophones), 0.01)  # no word of these texts has one
        for low, high in self.bounds(result):
            self.assertTrue(0 <= low <= high <= 100)
        page = (self.folder / "two/index.html").read_text(encoding="utf-8")
        self.assertEqual(page.count("<figure>"), 2)
        self.assertIn("<td>" + f"{result['sources'][0]['points'][2]['models'][1]['score']['value']:.1f} [", page)
        for name in ("keyboard", "homophones"):
            root = ElementTree.fromstring((self.folder / f"two/{name}.svg").read_text(encoding="utf-8"))
            polygons = [p.get("points").split() for p in root.iter() if p.tag.endswith("polygon")]
            self.assertEqual(len(polygons), 2)  # a band for each model
            rows = list(csv.DictReader((self.folder / f"two/{name}.csv").read_text(encoding="utf-8").splitlines()))
            self.assertEqual([row["x"] for row in rows], ["0", "10", "20", "40"] * 2)
            self.assertTrue(all(0 <= float(row["low"]) <= float(row["y"]) <= float(row["high"]) <= 100 for row in rows))

    def test_same_bytes_for_any_number_of_threads_and_another_seed_is_another_noise(self):
        common = ("--noise", "keyboard,units", "--intensity", 0.3)
        runs = {}
        for threads in (1, 3):
            _, tables = self.measured(f"t{threads}", *common, "--threads", threads)
            files = {path.name: path.read_bytes() for path in (self.folder / f"t{threads}").iterdir() if path.name != "index.html"}
            page = (self.folder / f"t{threads}/index.html").read_text(encoding="utf-8")
            runs[threads] = (tables, files, page[:page.index("<footer>")])  # which has the command
        self.assertEqual(runs[1], runs[3])
        self.assertEqual(set(runs[1][1]), {"robustness.json", "keyboard.svg", "keyboard.csv", "units.svg", "units.csv"})
        values = [self.measured(f"s{seed}", *common, "--seed", seed)[0]["sources"][0]["points"][0]["models"][0]["copies"] for seed in (1, 2)]
        for copy in values[1]:
            self.assertNotIn(copy["loss"], [other["loss"] for other in values[0]])

    def test_more_classes_numbers_and_single_texts(self):
        for files, options, name, metric, least in (("3", ("--labels", "no,may be,yes"), "train_matcher", "accuracy", 0),
                                                    ("-number", ("--task", "regression"), "train_matcher", "spearman", -100),
                                                    ("-text", (), "train_text", "accuracy", 0)):
            with self.subTest(files=files):
                model = self.train("model" + files, *options, files=files, name=name)
                result, tables = self.measured("r" + files, "--noise", "casing,spaces", "--intensity", 0.5, "--repeats", 2, model=model, test=f"test{files}.tsv")
                self.equals_evaluate(result, model, f"test{files}.tsv", metric)
                title = {"3": "accuracy", "-number": "Spearman's correlation", "-text": "accuracy at argmax"}[files]
                self.assertIn(f"Noise casing: {title}, %", tables)
                self.assertEqual(result["sources"][0]["points"][0]["models"][0]["texts"], 80 if files == "-text" else 160)
                for low, high in self.bounds(result):
                    self.assertTrue(least <= low <= high <= 100)
                self.refused(2, self.robustness("no", "--model", model), "--model: ", "has another task, other classes or another number of texts than pairs")

    def test_records_and_pairs_of_ids(self):
        rows = [line.split("\t") for line in (self.folder / "test.tsv").read_text().splitlines()]
        for side, name in ((0, "a"), (1, "b")):
            out = io.StringIO()
            csv.writer(out).writerows([("id", "title"), *((f"{name}{i}", row[side]) for i, row in enumerate(rows))])
            (self.folder / f"{name}.csv").write_text(out.getvalue())
        (self.folder / "ids.csv").write_text("ltable_id,rtable_id,label\n" + "".join(f"a{i},b{i},{row[2]}\n" for i, row in enumerate(rows)))
        tables = ("--left", self.folder / "a.csv", "--right", self.folder / "b.csv")
        result, _ = self.measured("ids", *tables, "--noise", "spaces", "--intensity", 0.3, "--repeats", 2, test="ids.csv")
        self.equals_evaluate(result, self.model, "ids.csv", "f1", *tables)
        as_texts, _ = self.measured("texts", "--noise", "spaces", "--intensity", 0.3, "--repeats", 2)
        self.assertEqual(result["sources"][0]["points"][0]["models"][0]["score"], as_texts["sources"][0]["points"][0]["models"][0]["score"])

    def test_progress_unless_quiet(self):
        done = program("robustness", "--model", self.model, "--test", self.folder / "test.tsv", "--out", self.folder / "p", "--noise", "ocr,love", "--intensity", 0.2,
                       "--repeats", 1, "--resamples", 50)
        lines = done.stderr.splitlines()
        self.assertEqual(lines[0], "pairs: ocr, 1 of 2")
        self.assertRegex(lines[1], r"^pairs: love, 2 of 2, ETA \d+:\d\d$")
        self.assertEqual(lines[2], f"{self.folder}/p/index.html: written")

    def test_refused_input(self):
        for code, options, parts in (
                (2, ("--noise", "speling"), ("--noise: 'speling' is not known", "misspellings")),
                (2, ("--noise", "ocr,ocr"), ("--noise: ocr is given twice",)),
                (2, ("--noise", "misspellings"), ("--noise: misspellings needs a list of them: --misspellings F",)),
                (2, ("--noise", "ocr", "--misspellings", self.list), ("--misspellings: needs misspellings among --noise",)),
                (2, ("--intensity", "0.1,1.5"), ("--intensity: ", "1.5")),
                (2, ("--intensity", "0"), ("--intensity: names no share above 0",)),
                (2, ("--repeats", 0), ("--repeats",)),
                (2, ("--model", self.model), ("two are called 'pairs'", "NAME=M.lxf")),
                (2, ("--right", "b.csv"), ("--right: needs --left",)),
                (3, ("--model", "x=" + str(self.folder / "missing.lxf")), ("missing.lxf",)),
                (3, ("--misspellings", self.folder / "missing.dat"), ("missing.dat",)),
                (3, ("--columns", "1,2,9"), ("test.tsv", "column"))):
            with self.subTest(options=options):
                self.refused(code, self.robustness("bad", *options), *parts)
                self.assertFalse((self.folder / "bad").exists())
        bad = self.folder / "bad.dat"
        for text, part in (("$camera\n\n", "line 2"), ("camera camra\n", "line 1: expected a misspelling, the correct word"), ("$all_right\nalright\n", "has no misspelling of a single word")):
            bad.write_text(text)
            self.refused(3, self.robustness("bad", "--misspellings", bad), "bad.dat: " + part)
        self.refused(3, self.robustness("bad", test="missing.tsv"), "missing.tsv")
        inside = self.folder / "inside"
        inside.mkdir()
        (inside / "robustness.json").write_text("x")
        self.refused(2, self.robustness("inside", test="inside/robustness.json"), "--out")
        self.assertEqual((inside / "robustness.json").read_text(), "x")


class Noise(Refusals, unittest.TestCase):
    """The sources of noise in the other programs that list them."""

    def test_add_typos_has_them_all(self):
        text = "Their Digital camera, 16 GB until 1,000\tmore\n"
        listed = re.search(r"--mode .*?(?=\n  --)", program("add_typos", "--help").stdout, flags=re.S).group()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "list.tsv"
            path.write_text("untill\tuntil\nuntell\tuntil\n")
            for mode in NOISE:
                with self.subTest(mode=mode):
                    self.assertIn(mode, listed)
                    more = ("--misspellings", path) if mode == "misspellings" else ()
                    run = lambda *options: program("add_typos", "--mode", mode, "--columns", 1, *more, *options, text=text).stdout
                    self.assertNotEqual(run("--share", 1), text)
                    self.assertEqual(run("--share", 1), run("--share", 1))
                    self.assertEqual(run("--share", 0), text)
                    self.assertTrue(run("--share", 1).endswith("\tmore\n"))
            self.refused(2, program("add_typos", "--misspellings", path, text=text), "--misspellings: needs --mode misspellings")
            path.write_text("untill\tuntil\nx\n")
            self.refused(3, program("add_typos", "--mode", "misspellings", "--misspellings", path, text=text), "list.tsv: line 2: expected a misspelling")
        self.refused(2, program("add_typos", "--mode", "misspellings", text=text), "--mode: misspellings needs a list of them: --misspellings F")

    def test_other_programs_take_the_list(self):
        for name in ("evaluate", "train_matcher", "train_text", "train_text_cnn", "report", "candidates"):
            self.assertIn("--misspellings", program(name, "--help").stdout, name)


if __name__ == "__main__":
    unittest.main()
