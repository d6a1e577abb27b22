# SPDX-License-Identifier: MIT
"""Decoders: pretrain --objective causal, and train_matcher with the forms of a pair. Needs the built programs (LEXFORMER_BIN) and nothing but
Python's standard library."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import BIN, BRANDS, KINDS, Refusals, pairs, program, start_and_signal

ROOT = Path(__file__).resolve().parents[2]
CONFIG = {"model_type": "gpt2", "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}


def documents(count, seed):
    rng = random.Random(seed)
    return "".join(f"the {rng.choice(KINDS)} by {rng.choice(BRANDS)} comes with a case and a cable\n" for _ in range(count))


class Decoder(Refusals, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        (cls.folder / "text.txt").write_text(documents(200, 1))
        (cls.folder / "config.json").write_text(json.dumps(CONFIG))
        for name, count, seed in (("train", 48, 1), ("valid", 24, 2)):
            (cls.folder / f"{name}.tsv").write_text(pairs(count, seed))
        cls.first = cls.folder / "first"
        done = cls.pretrain(cls.first)
        assert done.returncode == 0, done.stderr
        cls.printed = done.stdout

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def command(cls, out, *more, config="config.json", objective="causal"):
        return ["--objective", objective, "--text", cls.folder / "text.txt", "--model-config", cls.folder / config, "--vocab-size", 150, "--out", out,
                "--epochs", 6, "--batch", 8, "--lr", "3e-3", "--held-out", 10, "--block", 60, "--logging-steps", 5, "--eval-steps", 40, "--quiet", *more]

    @classmethod
    def pretrain(cls, out, *more, **options):
        return program("pretrain", *cls.command(out, *more, **options))

    def train(self, name, *more, model=None):
        out = self.folder / name
        done = program("train_matcher", "--model", model or self.first, "--train", self.folder / "train.tsv", "--valid", self.folder / "valid.tsv", "--out", out,
                       "--epochs", 1, "--lr", "1e-3", "--max-length", 60, "--quiet", *more)
        return out, done

    def test_it_learns_the_next_token(self):
        results = json.loads((self.first / "all_results.json").read_text())
        measured = [e for e in map(json.loads, (self.first / "log.jsonl").read_text().splitlines()) if "eval_loss" in e]
        self.assertLess(results["eval_loss"], 0.8 * measured[0]["eval_loss"])
        self.assertGreater(results["eval_accuracy"], 0.5)
        self.assertTrue(-1 <= results["eval_head_similarity"] <= 1)
        self.assertAlmostEqual(results["perplexity"], 2.718281828459045 ** results["eval_loss"], places=6)
        self.assertIn(f"perplexity {results['perplexity']:.4g}", self.printed)
        card = (self.first / "README.md").read_text()
        for part in ("# A causal language model, 2 layers of width 32", "A GPT decoder with 4 heads", "nats per token", 'objective: "causal"'):
            self.assertIn(part, card)
        self.assertNotIn("fill_mask", card)

    def test_the_same_bytes_after_a_kill(self):
        names = ("model.lxf", "log.jsonl")
        want = [(self.first / name).read_bytes() for name in names]
        out = self.folder / "killed"
        start_and_signal([BIN / "lexformer", "pretrain", *self.command(out, "--save-steps", 20, "--threads", 1)], out / "checkpoint-60", 0, signal.SIGKILL)
        done = self.pretrain(out, "--save-steps", 20, "--resume", "--threads", 2)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([(out / name).read_bytes() for name in names], want)

    def test_pretrain_refuses(self):
        out = self.folder / "refused"
        (self.folder / "bert.json").write_text(json.dumps({"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}))
        self.refused(3, self.pretrain(out, config="bert.json"), "'model_type' is 'bert'; --objective causal needs a decoder: gpt2 or gpt_neo")
        self.refused(3, self.pretrain(out, objective="masked"), "'model_type' is 'gpt2'; its masked language model is not supported; give --objective causal")
        self.refused(2, self.pretrain(out, "--mask-probability", 0.2), "--mask-probability", "belongs to --objective masked")
        self.refused(2, self.pretrain(out, "--head-cosine", 0.01), "--head-cosine: compares scores", "add --cosine-probabilities")
        self.assertFalse(out.exists())

    def test_it_goes_to_transformers_with_the_names_of_its_class(self):
        exported = self.folder / "exported"
        done = subprocess.run([sys.executable, ROOT / "tools/convert_hf.py", self.first / "model.lxf", "--to-hf", exported], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        config = json.loads((exported / "config.json").read_text())
        self.assertEqual(config["architectures"], ["GPT2LMHeadModel"])
        self.assertEqual([config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")], [2, 3, 0])
        again = self.pretrain(self.folder / "on", "--max-steps", 2)
        self.assertEqual(again.returncode, 0, again.stderr)

    def test_forms_of_a_pair_are_trained_stored_and_scored(self):
        scores = {}
        forms = {"plain": (), "repeated": ("--pair-form", "repeated"), "orders": ("--orders", "both"), "bidirectional": ("--bidirectional",)}
        text = "".join(line.rsplit("\t", 1)[0] + "\n" for line in (self.folder / "valid.tsv").read_text().splitlines())
        turned = "".join("\t".join(reversed(line.split("\t"))) + "\n" for line in text.splitlines())
        for name, options in forms.items():
            with self.subTest(name):
                out, done = self.train(name, "--attention", "lea", *options)
                self.assertEqual(done.returncode, 0, done.stderr)
                done = program("score_pairs", "--model", out, text=text)
                self.assertEqual(done.returncode, 0, done.stderr)
                scores[name] = done.stdout
                same = program("score_pairs", "--model", out, text=turned).stdout == done.stdout
                self.assertEqual(same, name == "orders")
                settings = json.loads((out / "all_results.json").read_text())["settings"]
                self.assertEqual(settings.get("pair_form"), "repeated" if name == "repeated" else None)
        self.assertEqual(len(set(scores.values())), len(forms))
        # A training from it keeps what no option names.
        out, done = self.train("kept", "--max-steps", 1, model=self.folder / "repeated")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b'"pair_form":"repeated"', (out / "model.lxf").read_bytes()[:20000].replace(b"\\", b""))
        done = subprocess.run([sys.executable, ROOT / "tools/convert_hf.py", out / "model.lxf", "--to-hf", self.folder / "no"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("pairs have the form 'repeated'", done.stderr)

    def test_what_does_not_fit_is_refused(self):
        def refused(code, *parts, options=(), model=None):
            out, done = self.train("wrong", *options, model=model)
            self.refused(code, done, *parts)
            self.assertFalse((out / "model.lxf").exists())

        refused(2, "--pair-form: separated adds tokens after both texts, but this tokenizer has them already", options=("--pair-form", "separated"))
        refused(2, "--pair-separator", "belongs to --pair-form", options=("--pair-separator", "[SEP]"))
        encoder = self.folder / "encoder.lxf"
        (self.folder / "small.json").write_text(json.dumps({"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}))
        done = program("make_model", "--text", self.folder / "text.txt", "--vocab-size", 150, "--model-config", self.folder / "small.json", "--out", encoder)
        self.assertEqual(done.returncode, 0, done.stderr)
        refused(2, "--pair-form: repeated is for decoders, as GPT-2", options=("--pair-form", "repeated"), model=encoder)
        refused(2, "--bidirectional: the tokens of this model see all others already", options=("--bidirectional",), model=encoder)

    def test_reproduce(self):
        data, out = self.folder / "data", self.folder / "reproduced"
        (data / "abt-buy").mkdir(parents=True)
        for seed, part in enumerate(("train", "valid", "test")):
            (data / "abt-buy" / f"{part}.tsv").write_text(pairs(12, seed))
        command = ["bash", ROOT / "tools/reproduce.sh", "decoder", "--model", self.first / "model.lxf", "--data", data, "--sets", "abt-buy", "--seeds", "1",
                   "--epochs", "0.5", "--threads", "1", "--no-report", "--out", out]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LEXFORMER_BIN": str(BIN.resolve())})
        self.assertEqual(done.returncode, 0, done.stderr)
        for row in ("plain", "augment", "lea-causal", "repeated", "lea-repeated", "orders", "lea-bidirectional"):
            self.assertIn(row, done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=1)
