# SPDX-License-Identifier: MIT
"""What the programs refuse, each with the input that once did harm: one short line without control characters, the exit code that is
promised, and no file written over. Needs the built programs (LEXFORMER_BIN) and Python's standard library."""
import json
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from support import BIN, pairs, program

CONFIG = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "max_position_embeddings": 64}


def read_header(path):
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def write_model(path, header, data):
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class Refusals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        for name, count, seed in (("train", 40, 1), ("valid", 20, 2)):
            (cls.folder / f"{name}.tsv").write_text(pairs(count, seed))
        cls.texts = "".join(line.rsplit("\t", 1)[0] + "\n" for line in pairs(10, 3).splitlines())
        (cls.folder / "config.json").write_text(json.dumps(CONFIG))
        cls.encoder, cls.trained = cls.folder / "encoder.lxf", cls.folder / "trained"
        done = program("make_model", "--text", cls.folder / "train.tsv", "--vocab-size", 200, "--model-config", cls.folder / "config.json", "--out", cls.encoder)
        assert done.returncode == 0, done.stderr
        done = cls.train(cls.trained, "--attention", "lea", "--lea-alpha", "constant")
        assert done.returncode == 0, done.stderr
        cls.model = cls.trained / "model.lxf"

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def command(cls, out, *more, steps=2):
        return ["--model", cls.encoder, "--train", cls.folder / "train.tsv", "--valid", cls.folder / "valid.tsv", "--out", out, "--max-steps", steps, "--quiet", *more]

    @classmethod
    def train(cls, out, *more):
        return program("train_matcher", *cls.command(out, *more))

    def refused(self, code, done, *parts):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr[:-1].isprintable(), done.stderr)
        self.assertLess(len(done.stderr), 1500)
        for part in parts:
            self.assertIn(part, done.stderr)

    def changed_model(self, name, change, source=None):
        """A copy of the trained model (or of `source`) whose config was changed by `change`."""
        header, data = read_header(source or self.model)
        config = json.loads(header["__metadata__"]["lexformer.config"])
        change(config)
        header["__metadata__"]["lexformer.config"] = json.dumps(config)
        write_model(self.folder / name, header, data)
        return self.folder / name

    def test_names_of_options(self):
        self.refused(2, program("train_matcher", "--atention", "lea"), "--atention: there is no such option; did you mean '--attention'?")
        self.refused(2, program("train_matcher", "--learning-rate=1"), "--learning-rate: there is no such option; here it is called --lr")
        self.refused(2, program("train_matcher", "--seed"), "--seed: its value is missing (--help")
        self.refused(2, program("score_pairs", "--model", self.model, "--zzz"), "--zzz: there is no such option (--help")
        self.refused(2, program("score_pairs", "--model", self.model, "stray", "words"), "'stray' is neither an option nor the value of one")
        self.refused(2, self.train(self.folder / "no", "--schedule", "cosin"), "--schedule: 'cosin' is not known; use one of: ", "; did you mean 'cosine'?")
        self.refused(2, self.train(self.folder / "no", "--lr-decay", "0.9"), "--lr-decay: belongs to --schedule exponential, not cosine")
        self.refused(2, self.train(self.folder / "no", "--attention", "lae"), "--attention: 'lae' is not known; use one of: none, ", "; did you mean 'lea'?")
        self.assertFalse((self.folder / "no").exists())

    def test_names_in_config_files(self):
        file = self.folder / "options.json"
        for options, code, part in (({"lernrate": 1}, 2, "'lernrate': there is no such option"), ({"atention": "lea"}, 2, "did you mean '--attention'?"),
                                    ({"per_device_train_batch_size": 8}, 2, "'per_device_train_batch_size': there is no such option; here it is called --batch"),
                                    ({"learning_rate": 1e-4}, 2, "here it is called --lr"), ({"num_train_epochs": 1}, 2, "here it is called --epochs"),
                                    ({"warmup_ratio": 0.1}, 2, "here it is called --warmup-epochs"), ({"weight_decai": 0}, 2, "did you mean '--weight-decay'?"),
                                    ({"unknown": False}, 2, "there is no such option"), ({"batch": "many"}, 2, "'batch': "), ({"lr": -1}, 2, "'lr': "),
                                    ({"schedule": "cosin"}, 2, "'schedule': "), ({"lr": None}, 3, "'lr': the value is null"), ({"test": [["a"]]}, 3, "'test': the value is array")):
            file.write_text(json.dumps(options))
            self.refused(code, self.train(self.folder / "no", "--config", file), f"train_matcher: {file}: ", part)

    def test_config_without_a_file(self):
        for last in (["--config"], ["--config="], ["--config", ""]):
            self.refused(2, program("match", "a.csv", *last), "--config: needs the name of a JSON file")

    def test_names_that_are_empty_or_not_utf_8(self):
        for name, option, arguments in (("train_matcher", "--out", self.command("")), ("make_model", "--out", ["--text", self.folder / "train.tsv", "--out", ""]),
                                        ("encode", "--output", ["--model", self.encoder, "--output", ""]), ("score_pairs", "--model", ["--model", ""])):
            self.refused(2, program(name, *arguments), f"{option}: the name is empty")
        bad = os.fsencode(self.folder) + b"/\xff.tsv"
        shutil.copy(self.folder / "valid.tsv", bad)
        done = subprocess.run([BIN / "lexformer", "train_matcher", *map(str, self.command(self.folder / "latin")), "--test", bad], capture_output=True, encoding="utf-8")
        self.refused(2, done, "\\xFF.tsv' is not UTF-8")
        self.assertFalse((self.folder / "latin").exists())
        os.remove(bad)

    def test_messages_are_one_short_line(self):
        self.refused(3, program("score_pairs", "--model", "a\nb\x1b[31m.lxf"), "a\\nb\\x1B[31m.lxf: cannot be opened")
        label = "\x1b[2J" + "y" * 100000
        (self.folder / "labels.tsv").write_text(f"a\tb\t{label}\n")
        self.refused(3, program("evaluate", "--model", self.model, "--test", self.folder / "labels.tsv"), "unknown label")
        many = self.changed_model("many.lxf", lambda c: c["lexformer"].update(label_names=[f"name {i}" for i in range(60000)], labels=60000))
        self.refused(3, program("evaluate", "--model", many, "--test", self.folder / "valid.tsv"))
        wide = self.changed_model("wide.lxf", lambda c: c.update(hidden_act="\x1b" * 10**6))
        self.refused(3, program("score_pairs", "--model", wide))
        header, data = read_header(self.encoder)
        header["\x1b[31m\nred"] = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
        header["__metadata__"].pop("lexformer.crc32")
        write_model(self.folder / "red.lxf", header, data)
        done = program("train_matcher", "--model", self.folder / "red.lxf", *self.command(self.folder / "red")[2:-1])
        self.assertNotIn("\x1b", done.stderr)

    def test_what_is_no_model(self):
        self.refused(3, program("score_pairs", "--model", self.folder / "train.tsv"), "train.tsv: is a text, perhaps a table, and no model")
        self.refused(3, program("score_pairs", "--model", "sentence-transformers/all-MiniLM-L6-v2"), "nothing is downloaded", "name their folder")
        (self.folder / "no-model").mkdir()
        self.refused(3, program("report", "--model", self.folder / "no-model", "--pair", "a", "b", "--out", self.folder / "report"), "neither model.lxf nor")
        os.truncate(os.open(self.folder / "zeros.lxf", os.O_CREAT | os.O_WRONLY), 4 << 30)
        start = time.time()
        self.refused(3, program("score_pairs", "--model", self.folder / "zeros.lxf"), "does not begin with '{'")
        self.assertLess(time.time() - start, 10)
        os.symlink(self.folder / "loop", self.folder / "loop")
        for path in ("loop", "x" * 300):
            for name in ("score_pairs", "evaluate", "tokenize"):
                self.refused(3, program(name, "--model", self.folder / path, *(["--test", "x.tsv"] if name == "evaluate" else [])), "cannot be opened")
            self.refused(3, self.train(self.folder / path))
            self.refused(3, program("evaluate", "--model", self.model, "--test", self.folder / (path + ".tsv")), "cannot be opened")
        self.refused(3, self.train(self.folder / "train.tsv"), "train.tsv: ")
        self.refused(3, self.train(self.folder / "train.tsv" / "below"), "below: ")
        self.refused(3, program("report", "--model", self.trained, "--pair", "a", "b", "--out", self.folder / "train.tsv" / "below"), "train.tsv")

    def test_settings_of_a_model(self):
        for text in ("[]", "5", '"x"', "null"):
            (self.folder / "bad.json").write_text(text)
            done = program("make_model", "--text", self.folder / "train.tsv", "--model-config", self.folder / "bad.json", "--out", self.folder / "bad.lxf")
            self.refused(3, done, "bad.json: expected a JSON object")
        for change, part in ((lambda c: c["lexformer"].update(labels=1), "'labels' is 1"), (lambda c: c["lexformer"].update(task="regression"), "'labels' is 2"),
                             (lambda c: c["lexformer"].update(labels=1.5), "'labels' is 1.5"), (lambda c: c.update(max_position_embeddings=1), "'max_position_embeddings' is 1"),
                             (lambda c: c["lexformer"]["attention"][0]["options"].update(levels=20000, dimension=20000), "20000 'levels' of 'dimension' 20000 are more than")):
            self.refused(3, program("score_pairs", "--model", self.changed_model("changed.lxf", change), text=self.texts), "changed.lxf: ", part)
        done = program("encode", "--model", self.changed_model("short.lxf", lambda c: c.update(max_position_embeddings=1), self.encoder), "--output", self.folder / "no.npy", text="a\n")
        self.refused(3, done, "'max_position_embeddings' is 1")
        for levels in (65536, 4294967298, 2**63, -1):
            self.refused(2, self.train(self.folder / "levels", "--attention", "lea", "--lea-levels", levels), "--lea-levels")
        self.assertFalse((self.folder / "levels").exists())

    def test_weights_that_overflow_in_use(self):
        for source, name in ((self.model, "huge.lxf"), (self.encoder, "huge-encoder.lxf")):
            header, data = read_header(source)
            header["__metadata__"].pop("lexformer.crc32")
            write_model(self.folder / name, header, struct.pack("<f", 1e30) * (len(data) // 4))
        huge = self.folder / "huge.lxf"
        done = program("score_pairs", "--model", huge, text=self.texts)
        self.refused(4, done, "standard input: pair 1: the model's result is ")
        self.assertEqual(done.stdout, "")
        self.refused(4, program("evaluate", "--model", huge, "--test", self.folder / "valid.tsv"), "valid.tsv: pair 1: the model's result is ")
        for pool in ("mean", "cls", "none"):
            done = program("encode", "--model", self.folder / "huge-encoder.lxf", "--pool", pool, "--output", self.folder / "huge.npy", text=self.texts)
            self.refused(4, done, "token 1: " if pool == "none" else "line 1: ")
        self.assertFalse((self.folder / "huge.npy").exists())

    def test_inputs_are_not_written_over(self):
        valid, test = self.folder / "valid.tsv", self.folder / "same.jsonl"
        test.write_text('{"left": "a", "right": "b", "label": 1}\n')
        os.symlink(test, self.folder / "link.jsonl")
        before = {p: p.read_bytes() for p in (valid, test, self.model, self.encoder, self.folder / "config.json")}
        evaluate = ["--model", self.trained, "--test", valid, test, "--output"]
        for output in (valid, test, self.model, self.folder / "link.jsonl"):
            self.refused(2, program("evaluate", *evaluate, output), "--output: ", "would be overwritten")
        make = ["--text", valid, "--model-config", self.folder / "config.json", "--out"]
        for output in (valid, self.folder / "config.json"):
            self.refused(2, program("make_model", *make, output), "--out: ", "would be overwritten")
        shutil.copy(self.encoder, self.folder / "encoder.npy")
        self.refused(2, program("encode", "--model", self.folder / "encoder.npy", "--output", self.folder / "encoder.npy", text="a\n"), "would be overwritten")
        result = self.folder / "result.json"
        self.assertEqual(program("evaluate", "--model", self.model, "--test", valid, "--scores", "--output", result).returncode, 0)
        self.assertEqual(program("evaluate", "--model", self.model, "--test", valid, "--scores", "--output", result).returncode, 0)  # its own may be
        self.refused(2, program("compare", "--result", f"a={result}", "--output", result), "would be overwritten")
        self.assertEqual(before, {p: p.read_bytes() for p in before})

    def test_compare_with_foreign_json(self):
        entry = {"file": "x", "labels": [0, 1], "scores": [0.1, 0.9], "threshold": 0.5}
        for content in ([], {}, 5, None, {"test": None}, {"test": []}, {"test": {}}, {"test": [5]}, {"test": [{**entry, "labels": [0, 1.5]}]}, {"test": [{**entry, "labels": 5}]},
                        {"test": [{**entry, "scores": ["a", "b"]}]}, {"test": [{**entry, "threshold": None}]}, {"test": [{**entry, "file": 5}]},
                        {"test": [{**entry, "labels": [], "scores": []}]}, {"test": [{"file": "x", "macro_f1": 0, "labels": [], "scores": []}]},
                        {"test": [{"file": "x", "macro_f1": 0, "labels": [0, -1], "scores": [0, 1]}]}, {"test": [{"file": "x", "labels": [0], "scores": [0]}]}):
            (self.folder / "foreign.json").write_text(json.dumps(content))
            done = program("compare", "--result", f"a={self.folder}/foreign.json")
            self.refused(3, done, "foreign.json: ")
            self.assertEqual(done.stdout, "")

    def test_tables(self):
        score = ["--model", self.model, "--format"]
        self.refused(2, program("score_pairs", "--model", self.folder / "none.lxf", "--format", "xlsx"), "--format: 'xlsx' is not known; use one of: tsv, csv, jsonl")
        done = program("score_pairs", *score, "csv", text="name_a,name_b\ncamera,kamera\n")
        self.refused(3, done, "'name_a, name_b' looks like a header", "(--columns NAME,NAME)")
        self.assertEqual(done.stdout, "")
        for more, count in ((["--columns", "name_a,name_b"], 1), (["--header", "yes"], 1), (["--header", "no"], 2)):
            self.assertEqual(len(program("score_pairs", *score, "csv", *more, text="name_a,name_b\ncamera,kamera\n").stdout.split()), count)
        self.refused(3, program("score_pairs", *score, "csv", text="camera;kamera\n"), "give --delimiter semicolon")
        self.refused(2, program("score_pairs", *score, "csv", "--skip-label", "-", text="a,b\n"), "--skip-label: the labels are not read")
        self.refused(2, program("score_pairs", *score, "jsonl", "--delimiter", "tab", text="{}\n"), "--delimiter", "no columns to separate")
        self.refused(3, program("score_pairs", *score, "csv", "--columns", "nmae_a,name_b", text="name_a,name_b\n"), "did you mean 'name_a'?")
        folder = os.open("/", os.O_RDONLY)
        self.refused(3, program("score_pairs", *score, "tsv", stdin=folder, input=None), "standard input")
        os.close(folder)

    def test_messages_name_options_that_the_command_has(self):
        write = lambda name, text: (self.folder / name).write_text(text) and self.folder / name
        records, scored = write("a.csv", "id,name\n1,a\n2,b\n"), write("s.csv", "left_id,right_id,score,match\n1,2,0.5,1\n")
        named, barred = write("named.csv", "a_id,b_id,label\n1,2,1\n"), write("barred.csv", "a_id;b_id\n1;2\n")
        label = write("label.csv", "ltable_id,rtable_id,label\n1,2,maybe\n2,1,0\n")
        title, texts = write("title.csv", "title\nx\n"), write("texts.csv", "text\nx\n")
        write_row = "call the columns ltable_id, rtable_id and label; if this row is a pair, write a row of these names above it"
        one_table, out = ("--left", records), ("--out", self.folder / "out.csv")
        rank = ("rank", "--model", self.model)
        for command, parts in (
                (("label", named, *one_table, *out), [write_row]), (("label", barred, *one_table, *out), ["write a first line sep=;"]),
                (("suggest", scored, *one_table, *out, "--labelled", named), [write_row]),
                (("suggest", barred, *one_table, *out), ["call them ltable_id and rtable_id", "if they separate the columns, write a first line sep=;"]),
                (("assign", barred, "--clusters", *out), ["if they separate the columns, write a first line sep=;"]),
                (("evaluate_matches", scored, "--pairs", named), [write_row]),
                (("evaluate_matches", scored, "--pairs", label), ["unknown label 'maybe'; the labels are 0, 1; --skip-label maybe leaves"]),
                (("candidates", records, "--matches", label), ["the labels are 0, 1; --skip-label maybe leaves"]),
                (("match", records, *out, "--validation", label), ["the labels are 0, 1; --skip-label maybe leaves"]),
                (("evaluate", "--model", self.model, "--test", label, *one_table), ["the labels are 0, 1; --skip-label maybe leaves"]),
                (("train_matcher", "--model", self.encoder, "--train", label, "--valid", label, *one_table, "--quiet", "--out", self.folder / "named"),
                 ["the labels are 0, 1 (--labels names others: no,yes); --skip-label maybe leaves"]),
                ((*rank, "--query", "a", "--documents", title), ["name the columns of text (--column NAME), or say --header yes"]),
                ((*rank, "--queries", title, "--documents", texts), ["name the columns of text (--query-column NAME), or say --header yes"]),
                ((*rank, "--query", "a", "--documents", texts, "--labels", label), ["--skip-label maybe leaves such rows out"]),
                (("encode", "--model", self.encoder, "--input", title, "--output", self.folder / "x.npy"), ["(--columns NAME), or say --header yes"]),
                (("evaluate_words", "--vectors", self.encoder, "--clusters", barred), ["give --delimiter semicolon, or write"]),
                (("train_matcher", *self.command(self.folder / "levels", "--attention", "lea", "--lea-levels", 1)), ["--lea-levels: is 1, expected 0 (exact) or 2 to 65535"])):
            with self.subTest(" ".join(map(str, command))):
                done = program(*command)
                self.refused(done.returncode, done, *parts)
                self.assertIn(done.returncode, (2, 3))
                self.assertNotIn("`", done.stderr)
        for command in (("evaluate_matches", scored, "--pairs", label), ("candidates", records, "--matches", label)):
            done = program(*command, "--skip-label", "maybe")
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(program(*rank, "--query", "a", "--documents", title, "--header", "yes").stdout.splitlines()), 2)

    def test_a_pipe_from_a_program_that_failed(self):
        for command in (("evaluate", "--model", self.model, "--test"), ("assign", "--clusters", "--out", self.folder / "c.csv"),
                        ("rank", "--model", self.model, "--query", "a", "--documents"), ("encode", "--model", self.encoder, "--output", self.folder / "x.npy", "--input"),
                        ("evaluate_words", "--vectors", self.encoder, "--similarity"), ("match", "--threshold", 0.5, "--out", self.folder / "m.csv")):
            read, write = os.pipe()
            os.close(write)
            why = "the pipe is empty, or was read already" if command[0] == "evaluate_words" else "; did the command that writes into this pipe fail?"
            self.refused(3, program(*command, f"/dev/fd/{read}", pass_fds=[read]), f"/dev/fd/{read}: ", why)
            os.close(read)

    def test_one_run_in_a_folder(self):
        out = self.folder / "locked"
        command = [BIN / "lexformer", "train_matcher", *map(str, self.command(out, "--save-steps", 5, steps=100000))]
        first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.time() + 60
            while not (out / "checkpoint-5").exists() and first.poll() is None and time.time() < deadline:
                time.sleep(0.01)
            for more in ((), ("--overwrite",), ("--resume",)):
                self.refused(2, self.train(out, *more), f"locked: is in use by process {first.pid}, since 2")
        finally:
            first.send_signal(signal.SIGKILL)
            first.wait()
        self.assertEqual(self.train(out, "--overwrite").returncode, 0)
        self.assertFalse((out / ".lock").exists())

    def test_more_threads_than_there_can_be(self):
        done = program("score_pairs", "--model", self.model, text=self.texts, env={**os.environ, "OMP_NUM_THREADS": "100000"})
        self.assertEqual((done.returncode, len(done.stdout.split())), (0, 10), done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
