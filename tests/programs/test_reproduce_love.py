# SPDX-License-Identifier: MIT
"""tools/reproduce_love.sh on small data: what it trains, that it resumes, its tables, what it refuses. Needs bash and the built programs
(LEXFORMER_BIN)."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import BIN, BRANDS, KINDS, pairs, program

REPRODUCE = Path(__file__).resolve().parents[2] / "tools/reproduce_love.sh"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@unittest.skipIf(shutil.which("bash") is None, "no bash")
class ReproduceLove(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="lexformer-"))
        text, config = cls.folder / "text.tsv", cls.folder / "config.json"
        text.write_text(pairs(60, 1))
        config.write_text('{"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}')
        cls.model = cls.folder / "model.lxf"
        done = program("make_model", "--text", text, "--vocab-size", 200, "--model-config", config, "--out", cls.model)
        assert done.returncode == 0, done.stderr

        cls.data = cls.folder / "data"
        for name in ("love-vocab", "wordsim-love", "wordcluster", "sst2"):
            (cls.data / name).mkdir(parents=True)
        tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[SUB]", *LETTERS, *("##" + c for c in LETTERS)]
        (cls.data / "love-vocab/vocab.txt").write_text("\n".join(tokens) + "\n")
        words = BRANDS + " ".join(KINDS).split()
        for shift, name in enumerate(("rw", "men", "simLex", "rel353"), 1):
            rows = [f"{w}\t{words[(i + shift) % len(words)]}\t{i}\n" for i, w in enumerate(words)]
            (cls.data / f"wordsim-love/{name}.txt").write_text("".join(rows) + "halvekk\ttaviom\t3\n")
        for name in ("ap", "bless"):
            (cls.data / f"wordcluster/{name}.csv").write_text("category,word\n" + "".join(f"brand,{w}\n" for w in BRANDS) + "".join(f"kind,{w}\n" for w in words[len(BRANDS):]))
        for seed, name in enumerate(("train.tsv", "dev.tsv", "test.tsv", "typo_test_10.txt", "typo_test_90.txt")):
            (cls.data / "sst2" / name).write_text("".join(line.split("\t", 1)[0] + line[line.rindex("\t"):] for line in pairs(24, seed).splitlines(True)))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def reproduce(self, table, out, *more, data=None):
        command = ["bash", REPRODUCE, table, "--model", self.model, "--data", data or self.data, "--epochs", "0.5", "--task-epochs", "1", "--threads", "1", "--out", out, *more]
        return subprocess.run([str(c) for c in command], capture_output=True, text=True, env={**os.environ, "LEXFORMER_BIN": str(BIN.resolve())})

    def test_words(self):
        out = self.folder / "words"
        first = self.reproduce("inputs", out, "--seeds", "2", "--rows", "love,pieces")
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(first.stderr.count("===="), 4)
        lines = (out / "table-inputs.md").read_text().splitlines()
        self.assertEqual(first.stdout.splitlines(), lines)
        self.assertIn("0.5 epochs, 2 seeds", lines[0])
        table = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
        self.assertEqual(len(table), 2 + 1 + 2 * 3)
        self.assertEqual({len(row) for row in table[2:]}, {7})
        settings = json.loads((out / "love/pieces/seed-2/all_results.json").read_text())["settings"]
        self.assertEqual((settings["units"]["mode"], settings["seed"]), ("pieces", 2))
        # The mean of the seeds, in the column of men.
        alone = [json.loads((out / f"words/pieces-{seed}.json").read_text())["similarity"][1] for seed in (1, 2)]
        row = next(r for r in table if r[0] == "pieces, all words")
        self.assertEqual(row[2].split()[0], f"{sum(r['on_all']['spearman'] for r in alone) / 2:.1f}")
        self.assertNotEqual(alone[0]["on_all"], alone[0]["on_covered"])
        shutil.rmtree(out / "love/pieces/seed-2")  # interrupted: only the missing part is trained
        (out / "words/pieces-2.json").unlink()
        again = self.reproduce("inputs", out, "--seeds", "2", "--rows", "love,pieces")
        self.assertEqual((again.returncode, again.stdout), (0, first.stdout), again.stderr)
        self.assertEqual(again.stderr.count("===="), 1)
        shared = self.reproduce("intrinsic", out, "--seeds", "2")  # the default model is there
        self.assertEqual(shared.returncode, 0, shared.stderr)
        self.assertNotIn("====", shared.stderr)
        # All rows are commands that train_love takes.
        for table, rows in (("rivals", 4), ("structures", 1), ("encoders", 3), ("losses", 4), ("batches", 2), ("temperatures", 3)):
            done = self.reproduce(table, out, "--seeds", "1", "--jobs", "3")
            self.assertEqual((done.returncode, done.stderr.count("====")), (0, rows), done.stderr)
        done = self.reproduce("augmentations", out, "--seeds", "1", "--rows", "swap,drop+synonym")
        self.assertEqual((done.returncode, done.stderr.count("====")), (0, 2), done.stderr)
        settings = json.loads((out / "love/drop+synonym/seed-1/all_results.json").read_text())["settings"]
        self.assertEqual([settings["batches"][name] > 0 for name in ("swap", "drop", "insert", "keyboard", "synonym")], [False, True, False, False, True])
        self.assertEqual(json.loads((out / "love/temperature-0.3/seed-1/all_results.json").read_text())["settings"]["loss"]["temperature"], 0.3)
        for more in (("--epochs", "0.6"), ("--max-words", "9"), ("--batch", "8")):
            other = self.reproduce("intrinsic", out, *more)
            self.assertEqual(other.returncode, 2)
            self.assertIn("holds runs with other options: 0.5 epochs", other.stderr)

    def test_targets(self):
        """Vectors in a text file instead of a model; several runs at a time give the same table."""
        vectors, tables = self.folder / "vectors.txt", []
        words = BRANDS + " ".join(KINDS).split()
        vectors.write_text("".join(f"{w} {' '.join(str((i * 7 + k * k) % 11 - 5) for k in range(32))}\n" for i, w in enumerate(dict.fromkeys(words))))
        for name, more in (("one", ()), ("three", ("--jobs", "3"))):
            out = self.folder / name
            done = self.reproduce("losses", out, "--rows", "love,cosine", "--seeds", "2", "--model", "", "--targets", vectors, "--batch", "6", "--max-words", "10", *more)
            self.assertEqual((done.returncode, done.stderr.count("====")), (0, 4), done.stderr)
            tables.append(done.stdout)
            results = json.loads((out / "love/cosine/seed-2/all_results.json").read_text())
            self.assertEqual((results["settings"]["batches"]["batch"], results["settings"]["love"]["size"], results["train_samples"]), (6, 32, 10))
        self.assertEqual(*tables)
        shutil.rmtree(out / "love/cosine/seed-1")
        (out / "love/cosine/seed-1").write_text("no folder")  # a run that fails ends the command, after those that have begun
        (out / "words/love-1.json").unlink()
        failed = self.reproduce("losses", out, "--rows", "love,cosine", "--seeds", "2", "--targets", vectors, "--batch", "6", "--max-words", "10", "--jobs", "3")
        self.assertEqual(failed.returncode, 1, failed.stderr)
        self.assertIn("not all runs ended well", failed.stderr)
        self.assertTrue((out / "words/love-1.json").exists())

    def test_sst2(self):
        out = self.folder / "sst2"
        rows = "none,replace,linear-frozen,add-mean_norm-train"
        first = self.reproduce("sst2", out, "--seeds", "1", "--rows", rows)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(first.stderr.count("===="), 5)  # LOVE once
        table = [line.strip("| ").split(" | ") for line in first.stdout.splitlines() if line.startswith("|")]
        self.assertEqual(table[0], ["sst2: test", "sst2: typo_test_10", "sst2: typo_test_90"])
        self.assertEqual([row[0] for row in table[2:]], rows.split(","))
        settings = {row: json.loads((out / f"sst2/sst2/{row}/seed-1/lr-5e-5/all_results.json").read_text())["settings"] for row in rows.split(",")}
        self.assertNotIn("love", settings["none"])
        self.assertEqual([settings[row]["love"]["mode"] for row in rows.split(",")[1:]], ["replace", "linear", "add"])
        self.assertEqual([settings[row]["freeze"] for row in ("replace", "linear-frozen")], [[], ["embeddings.word_embeddings"]])
        self.assertEqual((settings["add-mean_norm-train"]["love"]["train"], settings["add-mean_norm-train"]["love"]["rescale"]), (True, "mean_norm"))
        measured = json.loads((out / "sst2/sst2/replace/seed-1/lr-5e-5/all_results.json").read_text())["test"]
        self.assertEqual(table[3][1:], [f"{100 * t['accuracy']:.1f}" for t in measured])
        shutil.rmtree(out / "sst2/sst2/none")
        again = self.reproduce("sst2", out, "--seeds", "1", "--rows", rows)
        self.assertEqual((again.returncode, again.stdout, again.stderr.count("====")), (0, first.stdout, 1), again.stderr)
        more = self.reproduce("sst2", out, "--seeds", "1", "--rows", "none", "--lr", "5e-5,1e-4", "--targets", self.model, "--jobs", "2")
        self.assertEqual((more.returncode, more.stderr.count("====")), (0, 1), more.stderr)
        model = self.folder / "another.lxf"
        model.write_bytes(self.model.read_bytes() + b" ")
        for options in (("--model", model, "--targets", self.model), ("--task-epochs", "2")):
            other = self.reproduce("sst2", out, *options)
            self.assertEqual(other.returncode, 2)
            self.assertIn("sst2' holds runs with other options: 1 epochs; checksums of the texts", other.stderr)

    def test_static(self):
        out, reviews = self.folder / "static", self.data / "mr"
        reviews.mkdir()
        for name, words in (("neg", KINDS), ("pos", BRANDS)):
            (reviews / f"rt-polarity.{name}").write_text("".join(f"{words[i % len(words)]} naïve {BRANDS[i % 5]} {i}\n" for i in range(20)), encoding="utf-8")
        fasttext = Path(__file__).resolve().parents[1] / "golden/fasttext.bin"
        rows = "none,edit_distance,love,bos-only,cnn-only,fasttext,fasttext-none"
        options = ("--seeds", "2", "--rows", rows, "--lr", "1e-3,3e-3", "--fasttext", fasttext)
        first = self.reproduce("static", out, *options)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(first.stderr.count("===="), 4 * 2 + 7 * 2 * 2 * 2)
        table = [line.strip("| ").split(" | ") for line in first.stdout.splitlines() if line.startswith("|")]
        self.assertEqual([row[0] for row in table[2:]], rows.split(","))
        self.assertEqual(table[0], ["sst2: test", "sst2: typo_test_10", "sst2: typo_test_90", "mr: mr-test", "mr: mr-typos"])
        self.assertEqual({len(row) for row in table[2:]}, {6})
        # The mean over the seeds of the rate that is better on dev, in the column of MR.
        runs = [[json.loads((out / f"static/mr/love/seed-{seed}/lr-{rate}/all_results.json").read_text()) for rate in ("1e-3", "3e-3")] for seed in (1, 2)]
        best = [max(of_seed, key=lambda r: r["valid"]["accuracy"])["test"][0]["accuracy"] for of_seed in runs]
        self.assertEqual(next(row for row in table if row[0] == "love")[4].split()[0], f"{50 * sum(best):.1f}")
        settings = {row: json.loads((out / f"static/sst2/{row}/seed-1/lr-1e-3/all_results.json").read_text())["settings"]["vectors"] for row in rows.split(",")}
        self.assertEqual(settings["love"].split("; others: imputed vectors of 32 numbers")[0], settings["none"])
        self.assertNotEqual(settings["love"], settings["none"])
        self.assertIn("imputed vectors of 32 numbers", settings["bos-only"])
        self.assertIn("words of 4 numbers", settings["fasttext"])
        parts = {name: (out / f"static/mr-{name}.tsv").read_text(encoding="utf-8").splitlines() for name in ("train", "dev", "test", "typos")}
        self.assertEqual([len(parts[name]) for name in ("train", "dev", "test", "typos")], [32, 4, 4, 4])
        self.assertEqual(len(set(parts["train"] + parts["dev"] + parts["test"])), 40)
        self.assertEqual([line[-1] for line in parts["typos"]], [line[-1] for line in parts["test"]])
        self.assertNotEqual(parts["typos"], parts["test"])
        again = self.reproduce("static", out, *options)
        self.assertEqual((again.returncode, again.stdout, again.stderr.count("====")), (0, first.stdout, 0), again.stderr)
        killed = out / "static/sst2/love/seed-1/lr-1e-3"  # a model is there, but no checkpoint yet
        (killed / "all_results.json").unlink()
        for checkpoint in killed.glob("checkpoint-*"):
            shutil.rmtree(checkpoint)
        again = self.reproduce("static", out, *options)
        self.assertEqual((again.returncode, again.stdout, again.stderr.count("====")), (0, first.stdout, 1), again.stderr)
        other = self.reproduce("static", out, *options[:-2], "--typo-mode", "ocr", "--rows", "none")
        self.assertEqual(other.returncode, 2)
        self.assertIn("; typos love; checksum of --fasttext", other.stderr)
        for more, message in ((("--rows", "edit_distance-only"), "edit distance needs the vectors of known words"), (("--rows", "swap"), "unknown row 'swap'"), (("--rows", "swop-only"), "unknown row 'swop'"), (("--rows", "fasttext"), "row fasttext needs a fastText model"),
                              (("--typo-mode", "released"), "expected love or ocr")):
            done = self.reproduce("static", self.folder / "nowhere", *more)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)

    def test_taggers(self):
        """Sentences of two sets; typos are added to the words, not to the tags."""
        out = self.folder / "taggers"
        names = {"wnut17": ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"), "bc2gm": ("train.tsv", "devel.tsv", "test.tsv")}
        for name, files in names.items():
            (self.data / name).mkdir()
            for shift, file in enumerate(files):
                lines = [f"the\tO\n{BRANDS[(i + shift) % len(BRANDS)]}\tB-brand\nruns\tO\n\n" for i in range(12)]
                (self.data / name / file).write_text("".join(lines))
        rows = "none,love,bos-only"
        first = self.reproduce("taggers", out, "--seeds", "2", "--rows", rows, "--jobs", "2")
        self.assertEqual((first.returncode, first.stderr.count("====")), (0, 4 + 12), first.stderr)
        table = [line.strip("| ").split(" | ") for line in first.stdout.splitlines() if line.startswith("|")]
        self.assertEqual(table[0], ["wnut17: emerging.test", "wnut17: wnut17-typos", "bc2gm: test", "bc2gm: bc2gm-typos"])
        runs = [json.loads((out / f"taggers/bc2gm/love/seed-{seed}/lr-2e-3/all_results.json").read_text())["test"] for seed in (1, 2)]
        self.assertEqual(table[3][3].split()[0], f"{50 * sum(run[0]['f1'] for run in runs):.1f}")
        plain, typos = ((path).read_text().splitlines() for path in (self.data / "bc2gm/test.tsv", out / "taggers/bc2gm-typos.tsv"))
        self.assertNotEqual(plain, typos)
        self.assertEqual([line.partition("\t")[2] for line in plain], [line.partition("\t")[2] for line in typos])

    def test_lea(self):
        out = self.folder / "lea"
        (self.data / "abt-buy").mkdir()
        for seed, name in enumerate(("train", "valid", "test"), 10):
            (self.data / f"abt-buy/{name}.tsv").write_text(pairs(24, seed))
        done = self.reproduce("lea", out, "--seeds", "1", "--jobs", "2")
        self.assertEqual((done.returncode, done.stderr.count("====")), (0, 1 + 4), done.stderr)
        table = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("|")]
        self.assertEqual(table[0], ["abt-buy: test", "abt-buy: test with typos"])
        self.assertEqual([row[0] for row in table[2:]], ["augment", "love", "lea", "lea-love"])
        results = {row[0]: json.loads((out / f"lea/abt-buy/{row[0]}/seed-1/lr-5e-5/all_results.json").read_text()) for row in table[2:]}
        self.assertEqual([("love" in r["settings"], "lea" in r["settings"]["attention"], r["settings"]["augment"] > 0) for r in results.values()],
                         [(False, False, True), (True, False, True), (False, True, True), (True, True, True)])
        test = results["lea-love"]["test"][0]
        self.assertEqual((len(test["typos"]), table[5][2]), (3, f"{100 * test['typos_mean']['f1']:.1f}"))

    def test_refusals(self):
        out = self.folder / "refused"
        for more, message in ((("nothing",), "unknown table 'nothing'"), (("inputs", "--rows", "love,letters"), "unknown row 'letters'"),
                              (("augmentations", "--rows", "swap+love"), "unknown row 'swap+love'"), (("augmentations", "--rows", "drop+swap"), "unknown row 'drop+swap'"),
                              (("sst2", "--rows", "none-train"), "unknown row 'none-train'"), (("sst2", "--seeds", "0"), "positive integer"),
                              (("sst2", "--data", self.folder), "there is no file"), (("sst2", "--model", "", "--targets", self.model), "--model: there is no file"),
                              (("lea", "--jobs", "0"), "--jobs: '0' must be a positive integer"), (("sst2", "--tau", "1"), "unknown option --tau")):
            table, *options = more
            done = self.reproduce(table, out, *options)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)
        self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
