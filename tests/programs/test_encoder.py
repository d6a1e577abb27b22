# SPDX-License-Identifier: MIT
"""train_encoder, and the programs that read its models: encode and rank; what is refused. Needs the built programs (LEXFORMER_BIN) and Python's
standard library."""
import csv
import json
import math
import shutil
import signal
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import BIN, Refusals, pairs, program, start_and_signal, start_model


def npy(path):
    """The rows of a .npy of float32."""
    data = path.read_bytes()
    shape = eval(data[10:10 + struct.unpack("<H", data[8:10])[0]].decode())["shape"]
    values = struct.unpack(f"<{shape[0] * shape[1]}f", data[len(data) - 4 * shape[0] * shape[1]:])
    return [values[i * shape[1]:(i + 1) * shape[1]] for i in range(shape[0])]


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


class Encoder(Refusals, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="lexformer-"))
        for name, count, seed in (("train", 90, 1), ("valid", 30, 2), ("test", 30, 3)):
            (cls.folder / f"{name}.tsv").write_text(pairs(count, seed))
            unlabelled = [line.rsplit("\t", 1)[0] for line in pairs(count, seed).splitlines() if line.endswith("1")]
            (cls.folder / f"{name}-pairs.tsv").write_text("".join(line + "\n" for line in unlabelled))
            with open(cls.folder / f"{name}-pairs.csv", "w", newline="") as file:
                csv.writer(file).writerows([("left", "right"), *(line.split("\t") for line in unlabelled)])
        cls.start = start_model(cls.folder, cls.folder / "train.tsv")
        cls.trained = cls.folder / "trained"
        done = cls.train(cls.trained, "--test", cls.folder / "test.tsv", "--dense", 8, "--normalize")
        assert done.returncode == 0, done.stderr
        cls.table = done.stdout

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def command(cls, out, *more, train="train.tsv", valid="valid.tsv", epochs=2, batch=8):
        return ["--model", cls.start, "--train", cls.folder / train, "--valid", cls.folder / valid, "--out", out, "--epochs", epochs, "--batch", batch, "--lr", "3e-3",
                "--logging-steps", 2, "--quiet", *more]

    @classmethod
    def train(cls, out, *more, **options):
        return program("train_encoder", *cls.command(out, *more, **options))

    def encode(self, model, text, *more, name="v.npy"):
        done = program("encode", "--model", model, "--output", self.folder / name, *more, text=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        return npy(self.folder / name) if name.endswith(".npy") else (self.folder / name).read_text()

    def test_training_learns_and_says_what_it_did(self):
        results = json.loads((self.trained / "all_results.json").read_text())
        self.assertEqual(results["train"]["pairs"], 30)  # those labelled 1
        self.assertEqual(results["size"], 8)
        self.assertGreater(results["test"][0]["average_precision"], 0.6)
        self.assertEqual(self.table.split()[:2], ["average_precision", "best_f1"])
        card = (self.trained / "README.md").read_text()
        for part in ("# A sentence encoder", "mean of its tokens' vectors, Dense modules, length 1", "encode --model model.lxf", "- dense/0: 8"):
            self.assertIn(part, card)
        log = [json.loads(line) for line in (self.trained / "log.jsonl").read_text().splitlines()]
        losses = [entry["loss"] for entry in log if "loss" in entry]
        self.assertLess(losses[-1], losses[0])
        again = self.folder / "again"
        options = ["--test", self.folder / "test.tsv", "--dense", 8, "--normalize", "--threads", 1, "--gradient-checkpointing"]
        self.assertEqual(self.train(again, *options).returncode, 0)
        self.assertEqual((again / "model.lxf").read_bytes(), (self.trained / "model.lxf").read_bytes())

    def test_losses_and_pairs_without_labels(self):
        for name, options, keys in (("cosine", {}, ("spearman", "pearson")), ("contrastive", {}, ("average_precision", "best_f1")),
                                    ("multiple-negatives", {"train": "train-pairs.tsv", "valid": "valid-pairs.tsv"}, ("mrr@10", "ndcg@10", "recall@10"))):
            out = self.folder / name
            done = self.train(out, "--loss", name, "--pool", "max", **options)
            self.assertEqual(done.returncode, 0, done.stderr)
            results = json.loads((out / "all_results.json").read_text())
            self.assertLessEqual(set(keys), set(results["valid"]))
            for key in keys:
                self.assertLessEqual(abs(results["valid"][key]), 1)
            self.assertEqual(results["settings"]["loss"], name)
            self.assertEqual(len(self.encode(out, "a tv\n")[0]), 16)

    def test_hard_negatives(self):
        rows = [line.split("\t") for line in (self.folder / "train-pairs.tsv").read_text().splitlines()]
        others = [right for _, right in rows[1:] + rows[:1]]
        for name, negatives in (("hard", others), ("some", others[:10] + [""] * (len(rows) - 10)), ("empty", [""] * len(rows))):
            with open(self.folder / f"{name}.csv", "w", newline="") as file:
                csv.writer(file).writerows([("left", "right", "negative"), *((*row, negative) for row, negative in zip(rows, negatives))])
        models = {}
        for name, more in (("hard", ("--negative", "negative")), ("some", ("--negative", "negative")), ("empty", ("--negative", "negative")), ("hard", ())):
            out = self.folder / f"out-{name}-{len(more)}"
            done = self.train(out, "--columns", "left,right", *more, train=f"{name}.csv", valid="valid-pairs.csv")
            self.assertEqual(done.returncode, 0, done.stderr)
            models[out.name] = (out / "model.lxf").read_bytes()
            results = json.loads((out / "all_results.json").read_text())
            self.assertEqual("negatives" in results["settings"], bool(more))
        self.assertEqual(models["out-empty-2"], models["out-hard-0"])  # no negatives
        self.assertEqual(len(set(models.values())), 3)
        self.refused(2, self.train(self.folder / "x", "--columns", "left,right,label", "--loss", "cosine", "--negative", "negative"), "--negative: is for --loss multiple-negatives")
        self.refused(3, self.train(self.folder / "x", "--columns", "left,right", "--negative", "negativ", train="hard.csv", valid="valid-pairs.csv"), "hard.csv", "negativ")

    def test_resume_gives_the_same_bytes(self):
        whole, cut = self.folder / "whole", self.folder / "cut"
        self.assertEqual(self.train(whole, epochs=3).returncode, 0)
        done = self.train(cut, "--save-steps", 2, epochs=3)
        self.assertEqual(done.returncode, 0, done.stderr)
        want = (whole / "model.lxf").read_bytes()
        self.assertEqual((cut / "model.lxf").read_bytes(), want)
        stopped = self.folder / "stopped"
        code = start_and_signal([BIN / "lexformer", "train_encoder", *self.command(stopped, "--save-steps", 1, epochs=3)], stopped / "log.jsonl", 0.05, signal.SIGINT)
        self.assertIn(code, (0, 130))
        done = self.train(stopped, "--save-steps", 1, "--resume", epochs=3)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((stopped / "model.lxf").read_bytes(), want)

    def test_encode_reads_columns_and_writes_json_lines(self):
        texts = ["halvek lcd tv a123", "tavion oven, \"new\"", "nordis phone"]
        rows = self.encode(self.trained, "".join(text + "\n" for text in texts))
        for row in rows:
            self.assertAlmostEqual(sum(x * x for x in row), 1, delta=1e-5)
        table = self.folder / "texts.csv"
        with open(table, "w", newline="") as file:
            csv.writer(file).writerows([("key", "title")] + [(f"k{i}", text) for i, text in enumerate(texts)])
        options = ("--input", table, "--columns", "title")
        self.assertEqual(self.encode(self.trained, "", *options), rows)
        piped = self.folder / "piped.tsv"
        script = f"{BIN}/lexformer encode --model {self.trained} --input <(cat {table}) --columns title --output {piped}"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(piped.read_text().splitlines()), len(texts))
        lines = [json.loads(line) for line in self.encode(self.trained, "", *options, "--id", "key", name="v.jsonl").splitlines()]
        self.assertEqual([line["id"] for line in lines], ["k0", "k1", "k2"])
        for line, row in zip(lines, rows):
            for a, b in zip(line["vector"], row):
                self.assertAlmostEqual(a, b, delta=1e-6)
        # With --pool the Dense modules are left out, and so are they for a plain model.
        self.assertEqual(len(self.encode(self.trained, "a tv\n", "--pool", "mean")[0]), 16)
        self.assertEqual(self.encode(self.start, "a tv\n"), self.encode(self.start, "a tv\n", "--pool", "mean"))
        out = ("--output", self.folder / "no.npy")
        self.refused(2, program("encode", "--model", self.trained, *out, "--pairs", text="a\tb\n"), "--pairs", "has Dense modules")
        self.refused(2, program("encode", "--model", self.trained, *out, "--layer", 1, text="a\n"), "--layer", "has Dense modules")
        self.refused(2, program("encode", "--model", self.trained, *out, "--columns", "title", text="a\n"), "--columns", "needs --input")
        self.refused(2, program("encode", "--model", self.trained, "--output", self.folder / "no.jsonl", "--pool", "none", text="a\n"), "--pool")
        self.refused(3, program("encode", "--model", self.trained, *out, "--input", self.folder / "none.csv"), "none.csv: cannot be opened")
        self.refused(3, program("encode", "--model", self.trained, *out, "--input", table, "--columns", "titel"), "texts.csv", "titel")

    def rank(self, *arguments):
        return program("rank", "--documents", self.documents, *arguments)

    def test_rank(self):
        titles = ["halvek lcd tv a123", "tavion microwave oven d555", "halvek lcd tv", "nordis cordless phone k900", "lumenor digital camera b100"]
        self.documents = self.folder / "documents.csv"
        with open(self.documents, "w", newline="") as file:
            csv.writer(file).writerows([("id", "text")] + [(f"d{i}", text) for i, text in enumerate(titles)])
        vectors = self.encode(self.trained, "".join(text + "\n" for text in ["halvek tv", *titles]))
        want = sorted(range(5), key=lambda i: -cosine(vectors[0], vectors[i + 1]))
        done = self.rank("--model", self.trained, "--query", "halvek tv", "--id", "id", "--top", 3)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = list(csv.DictReader(done.stdout.splitlines()))
        self.assertEqual([row["document_id"] for row in rows], [f"d{i}" for i in want[:3]])
        self.assertEqual([row["rank"] for row in rows], ["1", "2", "3"])
        self.assertEqual(rows[0]["document"], titles[want[0]])
        self.assertAlmostEqual(float(rows[0]["score"]), cosine(vectors[0], vectors[want[0] + 1]), delta=1e-5)

        script = f"{BIN}/lexformer rank --model {self.trained} --query 'halvek tv' --id id --top 3 --documents <(cat {self.documents})"
        piped = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
        self.assertEqual((piped.returncode, piped.stdout), (0, done.stdout), piped.stderr)

        # A cross-encoder ranks by the scores of pairs.
        matcher = self.folder / "matcher"
        done = program("train_matcher", "--model", self.start, "--train", self.folder / "train.tsv", "--valid", self.folder / "valid.tsv", "--out", matcher,
                       "--max-steps", 3, "--batch", 8, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        scores = program("score_pairs", "--model", matcher, text="".join(f"halvek tv\t{text}\n" for text in titles)).stdout.split()
        out = self.folder / "ranking.jsonl"
        self.assertEqual(self.rank("--model", matcher, "--query", "halvek tv", "--out", out).returncode, 0)
        found = [json.loads(line) for line in out.read_text().splitlines()]
        want = sorted(range(5), key=lambda i: -float(scores[i]))
        self.assertEqual([row["document_id"] for row in found], [str(i + 1) for i in want])
        for row, i in zip(found, want):
            self.assertAlmostEqual(row["score"], float(scores[i]), delta=1e-5)

        # Invalid UTF-8 is read as U+FFFD, and written so.
        latin = self.folder / "latin.txt"
        latin.write_bytes(b"halvek caf\xe9\nnordis\n")
        self.assertEqual(program("rank", "--model", matcher, "--query", "halvek", "--documents", latin, "--out", out).returncode, 0)
        self.assertIn("halvek caf\ufffd", [json.loads(line)["document"] for line in out.read_text().splitlines()])
        self.refused(2, self.rank("--model", self.trained, "--query", "x", "--vectors", latin), "--vectors: ", "has word embeddings of its own")

        # Metrics: computed again from the ranking.
        queries, labels = self.folder / "queries.txt", self.folder / "labels.tsv"
        queries.write_text("halvek tv\nnordis phone\nnothing\n")
        labels.write_text("1\td0\t2\n1\td2\t1\n2\td3\t1\n2\td4\t0\n")
        options = ("--model", self.trained, "--queries", queries, "--id", "id", "--top", 2)
        done = self.rank(*options, "--labels", labels, "--out", self.folder / "ranking.csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        relevance = {("1", "d0"): 2, ("1", "d2"): 1, ("2", "d3"): 1}
        rows = list(csv.DictReader((self.folder / "ranking.csv").read_text().splitlines()))
        mrr = ndcg = recall = 0
        for query, best in (("1", [2, 1]), ("2", [1])):
            gains = [relevance.get((row["query_id"], row["document_id"]), 0) for row in rows if row["query_id"] == query]
            self.assertEqual(len(gains), 2)
            mrr += next((1 / (i + 1) for i, g in enumerate(gains) if g), 0) / 2
            ndcg += sum(g / math.log2(i + 2) for i, g in enumerate(gains)) / sum(g / math.log2(i + 2) for i, g in enumerate(best)) / 2
            recall += sum(g > 0 for g in gains) / len(best) / 2
        self.assertEqual(done.stdout, f"2 queries with relevant documents (1 have none): MRR@2 {100 * mrr:.2f} %, NDCG@2 {100 * ndcg:.2f} %, recall@2 {100 * recall:.2f} %\n")

        self.refused(2, self.rank("--model", self.trained), "rank: command line: give either --query or --queries")
        self.refused(3, self.rank(*options[:-2], "--labels", self.write("bad.tsv", "1\td9\t1\n")), "bad.tsv: line 1", "'d9' is not in", "documents.csv")
        none = self.rank(*options[:-2], "--labels", self.write("bad.tsv", "1\td1\t-1\n"))  # below 0: not relevant
        self.assertEqual((none.returncode, none.stdout[:9]), (0, "0 queries"))
        self.documents = self.write("twice.csv", "id,text\na,x\na,y\n")
        self.refused(3, self.rank("--model", self.trained, "--query", "x", "--id", "id"), "twice.csv", "'a' is given twice")
        self.documents = self.write("empty.txt", "")
        self.refused(3, self.rank("--model", self.trained, "--query", "x"), "empty.txt: has no texts")

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def test_what_is_refused(self):
        out = self.folder / "refused"
        self.refused(2, self.train(out, batch=1), "--batch", "needs 2 pairs or more")
        self.refused(2, self.train(out, "--loss", "cosine", "--columns", "1,2"), "--columns", "needs left, right and label")
        self.refused(2, self.train(out, "--max-length", 2), "max_length 2 leaves no room for a text")
        self.write("two.tsv", "a\tb\t2\n" * 9)
        self.refused(3, self.train(out, "--loss", "cosine", train="two.tsv"), "two.tsv: line 1", "--loss cosine needs numbers from -1 to 1")
        self.refused(3, self.train(out, train="two.tsv"), "two.tsv: line 1", "label")
        self.write("none.tsv", "a\tb\t0\n" * 9)
        self.refused(3, self.train(out, train="none.tsv"), "none.tsv: has no pair labelled 1 to train on")
        self.refused(3, self.train(out, "--test", self.folder / "test-pairs.tsv"), "test-pairs.tsv: has no labels, ")
        self.refused(2, self.train(self.trained), "--overwrite")


if __name__ == "__main__":
    unittest.main()
