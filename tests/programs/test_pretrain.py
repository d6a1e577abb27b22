# SPDX-License-Identifier: MIT
"""pretrain and fill_mask as a user runs them: what they write, the same bytes for any thread count and after a kill, one clear line for
every kind of bad input. Needs the built programs (LEXFORMER_BIN) and nothing but Python's standard library."""
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import BIN, BRANDS, KINDS, Refusals, pairs, program, start_and_signal

CONFIG = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "max_position_embeddings": 48}
REPRODUCE = Path(__file__).parents[2] / "tools/reproduce_pretraining.sh"
COLOURS = ["black", "white", "silver", "red"]


def documents(count, seed):
    """One in six is too short to count."""
    rng, lines = random.Random(seed), []
    for i in range(count):
        case, kind = rng.choice(COLOURS), rng.choice(KINDS)
        lines.append(f"the {case} {kind} by {rng.choice(BRANDS)} comes with a {case} case and a cable" if i % 6 else "a short line")
    return "\n".join(lines) + "\n"


class Pretrain(Refusals, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        for name, count, seed in (("a.txt", 150, 1), ("b.txt", 90, 2), ("valid.txt", 36, 3)):
            (cls.folder / name).write_text(documents(count, seed))
        (cls.folder / "config.json").write_text(json.dumps(CONFIG))
        cls.done = cls.pretrain(cls.folder / "first")
        assert cls.done.returncode == 0, cls.done.stderr
        cls.first = cls.folder / "first"

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def command(cls, out, *more, model=("--model-config", "config.json", "--vocab-size", 150), text=("a.txt", "b.txt"), lr="3e-3", held_out=10):
        model = [cls.folder / a if str(a).endswith((".json", ".lxf", ".txt")) else a for a in model]
        texts = [cls.folder / name for name in text]
        held = () if "--valid" in more else ("--held-out", held_out)
        return ["--text", *texts, *model, "--out", out, "--epochs", 6, "--batch", 8, "--accumulation", 2, "--lr", lr, *held, "--block", 60,
                "--logging-steps", 5, "--eval-steps", 20, "--quiet", *more]

    @classmethod
    def pretrain(cls, out, *more, **options):
        return program("pretrain", *cls.command(out, *more, **options))

    def test_families_besides_bert(self):
        sizes = {"distilbert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}, "mpnet": CONFIG, "roberta": CONFIG, "xlm-roberta": CONFIG,
                 "modernbert": {**CONFIG, "local_attention": 8, "layer_types": ["full_attention", "sliding_attention"]}}
        for family, keys in sizes.items():
            with self.subTest(family):
                config = self.folder / f"{family}.json"
                config.write_text(json.dumps({"model_type": family, "max_position_embeddings": 48, **keys}))
                made, out = self.folder / f"{family}.lxf", self.folder / f"of_{family}"
                done = program("make_model", "--text", self.folder / "a.txt", "--model-config", config, "--vocab-size", 150, "--out", made)
                self.assertEqual(done.returncode, 0, done.stderr)
                for start in (("--model", made), ("--model-config", config, "--vocab-size", 150)):
                    shutil.rmtree(out, ignore_errors=True)
                    done = program("pretrain", "--text", self.folder / "a.txt", *start, "--out", out, "--max-steps", 4, "--batch", 8, "--held-out", 10, "--quiet")
                    self.assertEqual(done.returncode, 0, done.stderr)
                done = program("fill_mask", "--model", out, text="the black [MASK] comes with a case\n")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(len(json.loads(done.stdout)), 1)

    def test_it_learns_and_writes_what_it_says(self):
        results = json.loads((self.first / "all_results.json").read_text())
        # 240 lines, of which 40 are too short and 20 held out; blocks of 60 make 8 + 8 + 8 batches, so 12 steps per epoch
        self.assertEqual((results["train_samples"], results["eval_samples"], results["epoch"]), (180, 20, 6.0))
        for key in ("train_loss", "train_runtime", "train_samples_per_second", "train_steps_per_second", "eval_loss", "eval_accuracy"):
            self.assertIsInstance(results[key], float)
        self.assertEqual(results["num_input_tokens_seen"] % 6, 0)  # the same documents in each epoch
        self.assertGreater(results["num_input_tokens_seen"], 180 * 6 * 10)
        log = [json.loads(line) for line in (self.first / "log.jsonl").read_text().splitlines()]
        self.assertEqual([e["step"] for e in log if "loss" in e], list(range(5, 75, 5)))
        measured = [e for e in log if "eval_loss" in e]
        self.assertEqual([e["step"] for e in measured], [20, 40, 60, 72])
        self.assertLess(measured[-1]["eval_loss"], 0.6 * measured[0]["eval_loss"])
        self.assertEqual(measured[-1]["eval_loss"], results["eval_loss"])
        self.assertGreater(results["eval_accuracy"], 0.5)
        self.assertIn("on 20 held-out documents", self.done.stdout)
        card = (self.first / "README.md").read_text()
        for part in ("2 layers of width 32", "a.txt`, `", "180 documents, 20 held out", "- config/hidden_size: 32", "(default 32)", "pretrain --text"):
            self.assertIn(part, card)

    def test_same_bytes_for_any_number_of_threads_and_after_a_kill(self):
        names = ("model.lxf", "log.jsonl")
        want = [(self.first / name).read_bytes() for name in names]
        for threads in (1, 2, 3):
            out = self.folder / f"threads-{threads}"
            self.assertEqual(self.pretrain(out, "--threads", threads, *["--gradient-checkpointing"][threads < 3:]).returncode, 0)
            self.assertEqual([(out / name).read_bytes() for name in names], want)
        rng = random.Random(3)
        for number, sig in enumerate([signal.SIGKILL] * 10 + [signal.SIGINT]):
            out, threads = self.folder / f"killed-{number}", 1 + number % 3
            command = self.command(out, "--save-steps", 7, "--threads", threads)
            code = start_and_signal([BIN / "lexformer", "pretrain", *command], out / "log.jsonl", 0.4 * rng.random(), sig)
            if sig == signal.SIGINT and code != 0:  # unless the run has ended before
                self.assertEqual(code, 130)
                self.assertFalse((out / "model.lxf").exists())
            for _ in range(2):  # resuming a finished run changes nothing
                done = self.pretrain(out, "--save-steps", 7, "--resume", "--threads", 4 - threads)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual([(out / name).read_bytes() for name in names], want, f"after {sig} number {number}")
            self.assertEqual([p.name for p in out.iterdir() if "tmp" in p.name], [])

    def test_resume_refuses_other_settings_and_what_is_there_stays(self):
        out = self.folder / "other"
        self.assertEqual(self.pretrain(out, "--max-steps", 10, "--save-steps", 5).returncode, 0)
        self.refused(2, self.pretrain(out, "--max-steps", 10, "--resume", "--mask-probability", 0.2), "mask_probability was 0.15")
        self.refused(2, self.pretrain(out, "--max-steps", 10, "--resume", text=("b.txt",)), "text was")
        self.refused(2, self.pretrain(out, "--max-steps", 10), "holds ", "--resume", "--overwrite")
        self.assertEqual(self.pretrain(out, "--max-steps", 10, "--overwrite").returncode, 0)
        for checkpoint in out.glob("checkpoint-*"):
            (checkpoint / "model.lxf").write_bytes(b"damaged")
        done = self.pretrain(out, "--max-steps", 10, "--resume")  # a model without an intact checkpoint cannot be resumed
        self.assertEqual(done.returncode, 2)
        self.assertIn("no checkpoint to resume", done.stderr)

    def test_from_a_model_and_on_to_a_matcher(self):
        plain = self.folder / "plain.lxf"
        done = program("make_model", "--text", self.folder / "a.txt", "--vocab-size", 150, "--model-config", self.folder / "config.json", "--out", plain)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.refused(3, program("fill_mask", "--model", plain, text="a [MASK]\n"), "'cls.predictions.bias' is missing")
        out = self.folder / "on"
        done = self.pretrain(out, "--max-steps", 3, "--valid", self.folder / "valid.txt", model=("--model", "plain.lxf"))
        self.assertEqual(done.returncode, 0, done.stderr)
        results = json.loads((out / "all_results.json").read_text())
        self.assertEqual((results["train_samples"], results["eval_samples"]), (200, 30))
        (self.folder / "train.tsv").write_text(pairs(24, 1))
        done = program("train_matcher", "--model", self.first / "model.lxf", "--train", self.folder / "train.tsv", "--valid", self.folder / "train.tsv",
                       "--out", self.folder / "matcher", "--max-steps", 2, "--progress", "none")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("5 not used (cls.predictions.bias ...)", done.stderr)
        # A custom vocabulary, and a matcher as the starting point.
        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "black", "case", "with", "a"]
        (self.folder / "vocab.txt").write_text("\n".join(words) + "\n")
        done = self.pretrain(self.folder / "own", "--max-steps", 1, model=("--model-config", "config.json", "--vocab", "vocab.txt"))
        self.assertEqual(done.returncode, 0, done.stderr)
        done = program("fill_mask", "--model", self.folder / "own/model.lxf", "--top", 99, text="the [MASK]\n")
        self.assertEqual(sorted(t["token_str"] for t in json.loads(done.stdout)["masks"][0]), sorted(words))
        (self.folder / "matcher.lxf").write_bytes((self.folder / "matcher/model.lxf").read_bytes())
        done = self.pretrain(self.folder / "back", "--max-steps", 1, model=("--model", "matcher.lxf"))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_positions_and_regularizers(self):
        """DDRP with MTH: the cosines fall for it, a resumed run has the same bytes, and analyze draws both."""
        (self.folder / "ddrp.json").write_text(json.dumps(dict(CONFIG, position_embedding_type="ddrp", position_options={"size": 8})))
        model = ("--model-config", "ddrp.json", "--vocab-size", 150)
        plain, mth, again = (self.folder / name for name in ("ddrp", "mth", "mth-again"))
        weights = ("--token-cosine", 1, "--head-cosine", 0.3)
        self.assertEqual(self.pretrain(plain, model=model).returncode, 0)
        self.assertEqual(self.pretrain(mth, *weights, model=model).returncode, 0)
        figures = [json.loads((out / "all_results.json").read_text()) for out in (plain, mth)]
        for key in ("eval_token_similarity", "eval_head_similarity"):
            self.assertLess(figures[1][key], figures[0][key] - 0.05)
        self.refused(2, self.pretrain(mth, *weights[:2], "--resume", model=model), "head_cosine was 0.3")
        command = self.command(again, *weights, "--save-steps", 7, model=model)
        start_and_signal([BIN / "lexformer", "pretrain", *command], again / "checkpoint-21", 0, signal.SIGKILL)
        self.assertEqual(self.pretrain(again, *weights, "--save-steps", 7, "--resume", model=model).returncode, 0)
        for name in ("model.lxf", "log.jsonl"):
            self.assertEqual((again / name).read_bytes(), (mth / name).read_bytes())

        out = self.folder / "analysis"
        done = program("analyze", "--model", f"MLM={plain}", "--model", f"MTH={mth}/model.lxf", "--text", self.folder / "valid.txt", "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        entries = json.loads((out / "figures.json").read_text())
        self.assertEqual([e["name"] for e in entries], ["MLM", "MTH"])
        for key in ("token_similarity", "head_similarity"):
            self.assertLess(entries[1][key], entries[0][key])
        for name in ("token_similarity", "MLM-triangle", "MTH-query-vectors"):
            self.assertTrue((out / f"{name}.svg").exists() and (out / f"{name}.csv").exists(), name)
        page = (out / "index.html").read_text()
        for text in ("f(S): mean cosine of", "f(H): mean cosine of", "Up-down: percent of the texts"):
            self.assertIn(text, page)
        rows = (out / "MTH-query-vectors.csv").read_text().splitlines()
        self.assertEqual(rows[1].split(",")[1:], rows[2].split(",")[1:])  # distances beyond --size share a vector
        self.refused(2, program("analyze", "--model", f"a/b={mth}", "--text", self.folder / "valid.txt", "--out", out), "must not contain '/'")
        self.refused(2, program("analyze", "--model", f"m={mth}", "--model", f"m={plain}", "--text", self.folder / "valid.txt", "--out", out), "two are called 'm'")
        self.refused(2, program("analyze", "--model", str(mth), "--text", self.folder / "valid.txt", "--out", out), "write NAME=M.lxf")
        self.refused(3, program("analyze", "--model", f"m={mth}", "--text", self.folder / "none.txt", "--out", out), "none.txt")

    def test_reproduce_pretraining(self):
        data, out = self.folder / "tasks", self.folder / "reproduced"
        for name in ("mrpc", "rte", "sts-b"):
            (data / name).mkdir(parents=True)
            for seed, part in enumerate(("train", "valid", "test")):
                (data / name / f"{part}.tsv").write_text(pairs(12, seed))
        command = ["bash", REPRODUCE, "--text", self.folder / "a.txt", "--valid", self.folder / "valid.txt", "--data", data, "--rows", "ddrp_mth",
                   "--seeds", "1", "--epochs", "0.5", "--out", out]
        environment = {**os.environ, "LEXFORMER_BIN": str(BIN.resolve())}
        first = subprocess.run(command, capture_output=True, text=True, env=environment)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertRegex(first.stdout, r"\| ddrp_mth \| 1 \| 0\.0 \| \d\.\d{3} \|")
        self.assertIn("RTE's test pairs is 66.7 %", first.stdout)
        (out / "ddrp_mth/seed-1/rte/all_results.json").unlink()  # interrupted: only the missing part is trained
        again = subprocess.run(command, capture_output=True, text=True, env=environment)
        self.assertEqual((again.returncode, again.stdout), (0, first.stdout), again.stderr)
        self.assertNotIn("====", again.stderr)
        other = subprocess.run([*command, "--epochs", "0.6"], capture_output=True, text=True, env=environment)
        self.assertEqual(other.returncode, 2)
        self.assertIn("holds runs with other options: 0.5 epochs", other.stderr)
        wrong = subprocess.run([*command, "--rows", "bert,none"], capture_output=True, text=True, env=environment)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("unknown row 'none'", wrong.stderr)

    def test_text_of_another_language_is_refused(self):
        (self.folder / "greek.txt").write_text("\u03b1 \u03b2 \u03b3 \u03b4 \u03b5 \u03b6 \u03b7 \u03b8 \u03b9\n" * 40)
        (self.folder / "latin.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]) + "\n")
        done = self.pretrain(self.folder / "greek", "--max-steps", 2, model=("--model-config", "config.json", "--vocab", "latin.txt"), text=("greek.txt",))
        self.refused(1, done, "no word that could be masked")
        self.refused(2, self.pretrain(self.folder / "none", "--cosine-heads", 3), "--head-cosine")
        self.refused(2, self.pretrain(self.folder / "none", "--head-cosine", 0.3, "--gradient-checkpointing"), "has no effect with --head-cosine")

    def test_fill_mask(self):
        text = "the red lcd [MASK] by nordis comes with a [MASK] case and a cable\nthe black digital [MASK] by tavion comes with a black case\n" * 3
        done = program("fill_mask", "--model", self.first / "model.lxf", "--top", 200, text=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [json.loads(line)["masks"] for line in done.stdout.splitlines()]
        self.assertEqual([len(masks) for masks in lines], [2, 1] * 3)
        for mask in lines[0] + lines[1]:
            scores = [token["score"] for token in mask]
            self.assertEqual(scores, sorted(scores, reverse=True))
            self.assertAlmostEqual(sum(scores), 1, places=6)
            self.assertEqual(sorted(token["token"] for token in mask), list(range(len(mask))))
        first = [mask[0]["token_str"] for mask in lines[0] + lines[1]]
        self.assertIn(first[1], COLOURS)
        few = program("fill_mask", "--model", self.first, "--top", 3, "--batch", 2, text=text).stdout.splitlines()
        for line, masks in zip(few, lines):
            self.assertEqual([[t["token"] for t in mask] for mask in json.loads(line)["masks"]], [[t["token"] for t in mask[:3]] for mask in masks])
        self.assertEqual(program("fill_mask", "--model", self.first, text="").stdout, "")

    def test_fill_mask_refuses(self):
        model = self.first / "model.lxf"
        self.refused(3, program("fill_mask", "--model", model, text="a [MASK]\nnone here\n"), "standard input: line 2: there is no '[MASK]'")
        self.refused(3, program("fill_mask", "--model", model, text="a " * 60 + "[MASK]\n"), "line 1: has more than the 48 tokens")
        self.refused(3, program("fill_mask", "--model", self.folder / "none.lxf", text="a\n"), "none.lxf")
        self.refused(2, program("fill_mask", "--model", model, "--top", 0, text="a\n"), "--top")

    def test_pretrain_refuses(self):
        out = self.folder / "refused"
        (self.folder / "empty.txt").write_text("")
        (self.folder / "short.txt").write_text("a b c\n" * 20)
        (self.folder / "utf16.txt").write_bytes("the text of a file in another code".encode("utf-16"))
        (self.folder / "few.txt").write_text(documents(10, 1))
        (self.folder / "heads.json").write_text(json.dumps({**CONFIG, "num_attention_heads": 5}))
        self.refused(3, self.pretrain(out, text=("empty.txt",)), "empty.txt: ")
        self.refused(3, self.pretrain(out, text=("short.txt",)), "short.txt: holds no document to train on: of 20 lines 0 have 8 words or more")
        self.refused(3, self.pretrain(out, text=("a.txt", "utf16.txt")), "utf16.txt: ", "zero byte")
        self.refused(3, self.pretrain(out, text=("none.txt",)), "none.txt: cannot be opened")
        self.refused(2, self.pretrain(out, text=("few.txt",)), "--held-out", "--valid")
        self.refused(2, self.pretrain(out, held_out=1), "every document is held out")
        self.refused(3, self.pretrain(out, model=("--model-config", "heads.json")), "heads.json: 'hidden_size' 32 is not divisible")
        self.refused(2, self.pretrain(out, model=("--model-config", "config.json", "--vocab-size", 9)), "--vocab-size: is 9, but")
        self.refused(2, self.pretrain(out, model=("--model", "a.lxf", "--vocab", "vocab.txt")), "--vocab")
        self.refused(3, self.pretrain(out, model=("--model", "a.lxf")), "a.lxf")
        self.refused(2, self.pretrain(out, "--mask-probability", 0), "Masker")
        self.refused(2, program("pretrain", "--out", out), "--text")
        self.assertFalse(out.exists())
        self.refused(4, self.pretrain(out, "--warmup", 0, lr="1e30"), "step ")
        self.assertFalse((out / "model.lxf").exists())


if __name__ == "__main__":
    unittest.main(verbosity=1)
