# SPDX-License-Identifier: MIT
"""The programs as a user runs them: what they write, the same bytes for any thread count and after a kill, and one clear line
for every kind of bad input. Needs the built programs (LEXFORMER_BIN) and nothing but Python's standard library."""
import contextlib
import csv
import json
import os
import pty
import random
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import unittest
import zlib
from pathlib import Path
from xml.etree import ElementTree

from support import BIN, Refusals, pairs, program, run, start_and_signal

REPRODUCE = Path(__file__).resolve().parents[2] / "tools/reproduce.sh"
CONFIG = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "max_position_embeddings": 64}


class Programs(Refusals, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        for name, count, seed in (("train", 90, 1), ("valid", 40, 2), ("test", 40, 3)):
            (cls.folder / f"{name}.tsv").write_text(pairs(count, seed))
        (cls.folder / "config.json").write_text(json.dumps(CONFIG))
        cls.model = cls.folder / "model.lxf"
        done = program("make_model", "--text", cls.folder / "train.tsv", "--vocab-size", 300, "--model-config", cls.folder / "config.json", "--out", cls.model)
        assert done.returncode == 0, done.stderr
        cls.trained = cls.folder / "trained"
        done = cls.train(cls.trained, "--attention", "lea", "--augment", "--test", cls.folder / "test.tsv", "--test-typos", 2)
        assert done.returncode == 0, done.stderr
        cls.table = done.stdout

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def command(cls, out, *more, lr="1e-3", train="train.tsv"):
        return ["--model", cls.model, "--train", cls.folder / train, "--valid", cls.folder / "valid.tsv", "--out", out, "--epochs", 3, "--batch", 8,
                "--lr", lr, "--logging-steps", 5, "--quiet", *more]

    @classmethod
    def train(cls, out, *more, **options):
        return program("train_matcher", *cls.command(out, *more, **options))

    def test_training_writes_what_it_says(self):
        results = json.loads((self.trained / "all_results.json").read_text())
        for entry in [results["valid"], results["test"][0], *results["test"][0]["typos"], results["test"][0]["typos_mean"]]:
            for key in ("f1", "precision", "recall", "accuracy", "average_precision", "threshold", "argmax_f1"):
                self.assertIsInstance(entry[key], float)
        self.assertEqual(len(results["test"][0]["typos"]), 2)
        self.assertGreater(results["train_samples_per_second"], 0)
        log = [json.loads(line) for line in (self.trained / "log.jsonl").read_text().splitlines()]
        self.assertEqual([e["step"] for e in log if "loss" in e], [5, 10, 15, 20, 25, 30, 35])
        self.assertEqual([e["step"] for e in log if "eval_f1" in e], [12, 24, 36])
        self.assertIn("with typos (mean of 2)", self.table)
        card = (self.trained / "README.md").read_text()
        for part in (f"| {self.folder}/train.tsv | 90 |", "| f1 |", "with typos (mean of 2) |", "- learning_rate: 0.001 (default 5e-05)", "--attention lea", "KDD 2023"):
            self.assertIn(part, card)
        self.assertNotIn("weight_decay", card)  # the default
        self.assertGreater(max(e["learning_rate"] for e in log if "loss" in e), 0.9e-3)  # the warm-up is shorter than a short run

    def test_saved_model_scores_as_it_did(self):
        done = program("evaluate", "--model", self.trained / "model.lxf", "--test", self.folder / "test.tsv", "--output", self.folder / "e.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        saved, now = (json.loads(p.read_text())["test"][0] for p in (self.trained / "all_results.json", self.folder / "e.json"))
        self.assertEqual({k: v for k, v in saved.items() if not k.startswith("typos")}, now)

    def test_scores_come_in_order_for_any_window(self):
        lines = [line.rsplit("\t", 1)[0] + "\n" for line in pairs(40, 3).splitlines()]
        whole = program("score_pairs", "--model", self.trained / "model.lxf", text="".join(lines)).stdout.split()
        self.assertEqual(len(whole), 40)
        back = program("score_pairs", "--model", self.trained / "model.lxf", "--window", 7, "--batch", 3, text="".join(reversed(lines))).stdout.split()
        for a, b in zip(whole, reversed(back)):
            self.assertAlmostEqual(float(a), float(b), delta=1e-5)
        logits = program("score_pairs", "--model", self.trained / "model.lxf", "--logits", text="".join(lines)).stdout.splitlines()
        self.assertEqual([len(line.split("\t")) for line in logits], [2] * 40)
        self.assertEqual(program("score_pairs", "--model", self.trained / "model.lxf", text="").stdout, "")

    def test_progress_of_scoring_is_a_line_on_a_terminal(self):
        lines = "".join(line.rsplit("\t", 1)[0] + "\n" for line in pairs(8000, 3).splitlines())
        (self.folder / "many.tsv").write_text(lines)
        terminal, inside = pty.openpty()
        with open(self.folder / "many.tsv") as table, open(self.folder / "scores.txt", "w") as scores:
            process = subprocess.Popen([BIN / "lexformer", "score_pairs", "--model", self.trained / "model.lxf", "--batch", "1", "--threads", "1"], stdin=table, stdout=scores, stderr=inside)
        os.close(inside)
        shown = ""
        with contextlib.suppress(OSError):  # the other end was closed
            while part := os.read(terminal, 4096):
                shown += part.decode()
        os.close(terminal)
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertRegex(shown, r"^\r\d+ scored  [\d.]+ pairs/s  ETA \d+:\d\d")
        self.assertTrue(shown.endswith("\n"))
        piped = program("score_pairs", "--model", self.trained / "model.lxf", "--batch", 1, "--threads", 1, text=lines)
        self.assertEqual((piped.stdout, piped.stderr), ((self.folder / "scores.txt").read_text(), ""))

    def test_columns_that_are_kept_stand_before_the_score(self):
        score = lambda *more, text: program("score_pairs", "--model", self.trained / "model.lxf", *more, text=text)
        table = 'id,left,right,note\n7,Halvek Camera,nordis lens,"a\tb\nc"\n8,a100,A100,\n'
        bare = score("--format", "csv", text=table).stdout.split()
        self.assertEqual(score("--format", "csv", "--keep", "note,id", text=table).stdout, f"note\tid\tscore\na b c\t7\t{bare[0]}\n\t8\t{bare[1]}\n")
        windows = score("--format", "csv", "--keep", "1", "--window", 1, text=table).stdout.splitlines()
        self.assertEqual([line.split("\t")[0] for line in windows], ["id", "7", "8"])
        logits = score("--format", "csv", "--keep", "id", "--logits", text=table).stdout.splitlines()
        self.assertEqual(logits[0], "id\tlogit_0\tlogit_1")
        self.assertEqual([len(line.split("\t")) for line in logits], [3] * 3)
        self.assertEqual(score("--keep", "id", "--format", "jsonl", text="").stdout, "id\tscore\n")
        self.refused(3, score("--format", "csv", "--keep", "ids", text=table), "no column 'ids'")
        self.refused(2, score("--keep", "id", text="a\tb\n"), "no columns 'left' and 'right'")

        (self.folder / "ids.jsonl").write_text("".join(json.dumps({"left": "a", "right": "b", "label": i % 2, "id": f"x{i}"}) + "\n" for i in range(4)))
        evaluate = lambda *more: program("evaluate", "--model", self.trained / "model.lxf", "--test", self.folder / "ids.jsonl", "--output", self.folder / "e.json", *more)
        self.assertEqual(evaluate("--scores", "--keep", "id,right").returncode, 0)
        entry = json.loads((self.folder / "e.json").read_text())["test"][0]
        self.assertEqual(entry["columns"], {"id": ["x0", "x1", "x2", "x3"], "right": ["b"] * 4})
        self.assertEqual(len(entry["scores"]), 4)
        self.refused(2, evaluate("--keep", "id"), "--scores")

    def test_encode_and_tokenize(self):
        text = "Halvek Camera a100\nnordis\n"
        tokens = [json.loads(line) for line in program("tokenize", "--model", self.model, text=text).stdout.splitlines()]
        self.assertEqual(tokens[0]["word_ids"][0], None)
        self.assertEqual(tokens[0]["tokens"][0], "[CLS]")
        self.assertEqual(len({len(tokens[0][key]) for key in ("ids", "type_ids", "word_ids", "tokens", "offsets")}), 1)
        for pool, rows in (("none", sum(len(t["ids"]) for t in tokens)), ("mean", 2), ("cls", 2)):
            out = self.folder / "e.npy"
            self.assertEqual(program("encode", "--model", self.model, "--pool", pool, "--output", out, text=text).returncode, 0)
            self.assertIn(f"'shape': ({rows}, 32)".encode(), out.read_bytes())
        out = self.folder / "e.tsv"
        self.assertEqual(program("encode", "--model", self.model, "--normalize", "--output", out, text=text).returncode, 0)
        for line in out.read_text().splitlines():
            self.assertAlmostEqual(sum(float(x) ** 2 for x in line.split("\t")), 1.0, places=5)
        self.assertEqual(program("encode", "--model", self.trained / "model.lxf", "--output", out, text=text).returncode, 0)  # single texts, not pairs, so there is no bias

    def test_typos_depend_on_the_seed_alone(self):
        text = pairs(30, 5)
        once, again, other = (program("add_typos", "--seed", seed, "--columns", 2, text=text).stdout for seed in (1, 1, 2))
        self.assertEqual(once, again)
        self.assertNotEqual(once, other)
        self.assertNotEqual(once, text)
        self.assertEqual([line.rsplit("\t", 1)[1] for line in once.splitlines()], [line.rsplit("\t", 1)[1] for line in text.splitlines()])

    def test_same_bytes_for_any_number_of_threads(self):
        want = None
        for threads in (1, 2, 3):
            out = self.folder / f"threads-{threads}"
            self.assertEqual(self.train(out, "--attention", "lea", "--augment", "--threads", threads).returncode, 0)
            got = (out / "model.lxf").read_bytes(), (out / "log.jsonl").read_bytes()
            want = want or got
            self.assertEqual(got, want)
        self.assertEqual(want[0], (self.trained / "model.lxf").read_bytes())

    def test_without_cuda_the_device_is_missing_in_one_sentence(self):
        for name, more in (("score_pairs", []), ("evaluate", ["--test", self.folder / "test.tsv"])):
            done = program(name, "--model", self.trained / "model.lxf", "--device", "cuda", *more, text="a\tb\n")
            self.refused(1, done, "this build of lexformer has no CUDA")
        self.refused(1, self.train(self.folder / "no-cuda", "--device", "cuda"), "this build of lexformer has no CUDA")

    def test_on_a_gpu_as_on_the_cpu(self):
        """With the kernels of cuda/ on the stand-in for CUDA's runtime."""
        logs = {}
        for device, precision in (("cpu", "float32"), ("cuda", "tf32"), ("cuda", "bfloat16"), ("cuda", "float32")):
            out = self.folder / device
            done = run((BIN / "lexformer_stand_in", "train_matcher"), *self.command(out, "--attention", "lea", "--augment", "--device", device, "--max-steps", 10,
                                                                   "--precision", precision, "--overwrite"))
            self.assertEqual(done.returncode, 0, done.stderr)
            logs[device] = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
        self.assertEqual([e["step"] for e in logs["cpu"]], [e["step"] for e in logs["cuda"]])
        self.assertEqual(sum("loss" in e for e in logs["cuda"]), 2)
        for a, b in zip(logs["cpu"], logs["cuda"]):
            for key in ("loss", "grad_norm"):
                self.assertAlmostEqual(a.get(key, 0), b.get(key, 0), delta=1e-4 * max(1, a.get(key, 0)))
        lines = [line.rsplit("\t", 1)[0] + "\n" for line in pairs(10, 3).splitlines()]
        scores = [[float(x) for x in run((BIN / "lexformer_stand_in", "score_pairs"), "--model", self.folder / "cuda" / "model.lxf", "--device", device, text="".join(lines)).stdout.split()]
                  for device in ("cpu", "cuda")]
        self.assertEqual(len(scores[0]), 10)
        for a, b in zip(*scores):
            self.assertAlmostEqual(a, b, delta=1e-5)

    def test_a_bad_step_on_a_gpu_is_found_later_and_named_as_on_the_cpu(self):
        said, lines = [], []
        for device in ("cpu", "cuda"):
            out = self.folder / f"bad-{device}"
            done = run((BIN / "lexformer_stand_in", "train_matcher"), *self.command(out, "--device", device, "--warmup-epochs", 0, lr="1e30"))
            self.refused(4, done, "step 2: encoder.layer.0.attention: linear: the result is not finite", "stopped before the update")
            said.append(done.stderr)
            lines.append((out / "log.jsonl").read_text().splitlines())
        self.assertEqual(said[0], said[1])
        self.assertEqual(lines[0], lines[1])
        self.assertEqual(json.loads(lines[0][-1]), {"step": 2, "epoch": 2 / 12, "loss": "nan"})

    def test_batches_that_are_accumulated(self):
        want = None
        for threads in (1, 2):
            out = self.folder / f"accumulated-{threads}"
            self.assertEqual(self.train(out, "--accumulate", 2, "--threads", threads).returncode, 0)
            got = (out / "model.lxf").read_bytes(), (out / "log.jsonl").read_bytes()
            want = want or got
            self.assertEqual(got, want)
        losses = [entry["loss"] for entry in map(json.loads, want[1].splitlines()) if "loss" in entry]
        self.assertEqual(len(losses), 3)  # 12 batches per epoch are 6 steps
        whole = [json.loads(line) for line in (self.trained / "log.jsonl").read_text().splitlines()]
        self.assertAlmostEqual(losses[0], whole[0]["loss"], delta=0.1)  # a mean, not a sum

    def test_in_bfloat16(self):
        """The same run in numbers of half the size: near the one in float, the same bytes for any threads and after a break."""
        options = ["--attention", "lea", "--augment", "--precision", "bfloat16"]
        out, broken = self.folder / "bfloat16", self.folder / "bfloat16-broken"
        self.assertEqual(self.train(out, *options, "--threads", 2).returncode, 0)
        model = (out / "model.lxf").read_bytes()
        header = json.loads(model[8:8 + int.from_bytes(model[:8], "little")])
        self.assertEqual({tensor["dtype"] for name, tensor in header.items() if name != "__metadata__"}, {"BF16"})
        losses = [[entry["loss"] for entry in map(json.loads, (folder / "log.jsonl").read_text().splitlines()) if "loss" in entry]
                  for folder in (self.trained, out)]
        self.assertEqual(len(losses[0]), len(losses[1]))
        for a, b in zip(*losses):
            self.assertAlmostEqual(a, b, delta=0.1)
        saves = ["--save-steps", 4, "--save-total-limit", 0]
        code = start_and_signal([BIN / "lexformer", "train_matcher", *self.command(broken, *options, *saves)], broken / "checkpoint-4", 0.1, signal.SIGKILL)
        self.assertIn(code, (0, -signal.SIGKILL))
        self.refused(2, self.train(broken, *options[:-2], *saves, "--resume"), "precision")
        self.assertEqual(self.train(broken, *options, *saves, "--resume", "--threads", 1).returncode, 0)
        self.assertEqual((broken / "model.lxf").read_bytes(), model)
        text = "".join(line.rsplit("\t", 1)[0] + "\n" for line in pairs(50, 3).splitlines())
        scores = [[float(x) for x in program("score_pairs", "--model", out / "model.lxf", "--precision", precision, text=text).stdout.split()]
                  for precision in ("float32", "bfloat16")]
        for a, b in zip(*scores):
            self.assertAlmostEqual(a, b, delta=0.05)
        self.assertNotEqual(*scores)
        self.refused(2, program("score_pairs", "--model", out / "model.lxf", "--precision", "tf32", text=text), "tf32 is a precision of GPUs")
        self.refused(2, program("score_pairs", "--model", out / "model.lxf", "--precision", "half", text=text), "bfloat16")

    def test_killed_and_resumed_is_the_same_run(self):
        rng = random.Random(4)
        for number, sig in enumerate([signal.SIGKILL] * 4 + [signal.SIGINT]):
            out = self.folder / f"killed-{number}"
            command = self.command(out, "--attention", "lea", "--augment", "--save-steps", 4)
            code = start_and_signal([BIN / "lexformer", "train_matcher", *command], out / "log.jsonl", 0.3 * rng.random(), sig)
            if sig == signal.SIGINT and code != 0:  # unless the run has ended before
                self.assertEqual(code, 130)
            done = self.train(out, "--attention", "lea", "--augment", "--save-steps", 4, "--resume")
            self.assertEqual(done.returncode, 0, done.stderr)
            for name in ("model.lxf", "log.jsonl"):
                self.assertEqual((out / name).read_bytes(), (self.trained / name).read_bytes(), f"{name} after {sig} number {number}")
            self.assertEqual([p.name for p in out.iterdir() if "tmp" in p.name], [])

    def test_a_finished_run_that_is_resumed_stays_as_it_is(self):
        for save_steps in (0, 10, 12):  # checkpoints only at the end, before the last step, and at it
            out = self.folder / f"finished-{save_steps}"
            files = []
            for resume in ([], ["--resume"], ["--resume"]):
                done = self.train(out, "--save-steps", save_steps, "--eval-steps", 9, *resume)
                self.assertEqual(done.returncode, 0, done.stderr)
                files.append([(out / name).read_bytes() for name in ("model.lxf", "log.jsonl")])
            self.assertEqual(files[0], files[1])
            self.assertEqual(files[0], files[2])

    def test_resume_names_a_damaged_state(self):
        out = self.folder / "damaged-state"
        self.assertEqual(self.train(out, "--max-steps", 6).returncode, 0)
        [checkpoint] = out.glob("checkpoint-*")
        state, manifest = checkpoint / "trainer_state.json", checkpoint / "MANIFEST.json"
        good = state.read_text()

        def with_state(text):
            """The checkpoint with another state, which its manifest knows."""
            state.write_text(text)
            files = json.loads(manifest.read_text())
            files["files"][state.name] = {"size": len(text), "crc32": zlib.crc32(text.encode())}
            manifest.write_text(json.dumps(files))
            return self.train(out, "--max-steps", 6, "--resume")

        def changed(change):
            value = json.loads(good)
            change(value["lexformer"])
            return json.dumps(value)

        for text, *parts in (("{", "not JSON"), (changed(lambda s: s.pop("loop")), "the key 'loop' is missing"), (changed(lambda s: s["loop"].pop("losses")), "the key 'losses' is missing"),
                             (changed(lambda s: s["loop"]["best"].update(value="high")), "'value' is"),
                             (changed(lambda s: s["loop"]["best"]["state"].pop("metrics")), "'loop': 'best': 'state': ", "metrics")):
            done = with_state(text)
            self.refused(3, done, f"{state}: ", *parts)
            self.assertEqual(done.stderr.count("trainer_state.json"), 1)
        self.assertEqual(with_state(good).returncode, 0)
        state.write_text(good + " ")  # not what the manifest says: there is no other checkpoint
        done = self.train(out, "--max-steps", 6, "--resume", "--quiet")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"damaged: {state}: is not what MANIFEST.json says", done.stderr)
        self.assertIn(f"{out}: holds a model but no checkpoint to resume", done.stderr)

    def test_resume_refuses_other_settings(self):
        out = self.folder / "other"
        self.assertEqual(self.train(out, "--save-steps", 10).returncode, 0)
        done = self.train(out, "--save-steps", 10, "--resume", "--weight-decay", 0.5)
        self.assertEqual(done.returncode, 2)
        self.assertIn("weight_decay was 5e-05", done.stderr)
        text = (self.folder / "train.tsv").read_text()
        (self.folder / "moved.tsv").write_text(text)
        (self.folder / "changed.tsv").write_text(text.replace("camera", "Camera", 1))
        self.refused(2, self.train(out, "--save-steps", 10, "--resume", train="changed.tsv"), "train was")
        self.assertEqual(self.train(out, "--save-steps", 10, "--resume", train="moved.tsv").returncode, 0)  # the same pairs in another file
        self.assertEqual(self.train(out).returncode, 2)  # an earlier run is not overwritten unless requested
        self.assertEqual(self.train(out, "--overwrite").returncode, 0)

    def test_what_is_there_is_not_written_over(self):
        out = self.folder / "mine"
        for name in ("model.lxf", "all_results.json", "checkpoint-500"):
            out.mkdir()
            (out / name).mkdir() if name.startswith("check") else (out / name).write_text("mine")
            done = self.train(out)
            self.assertEqual(done.returncode, 2)
            self.assertIn(name, done.stderr)
            self.assertTrue((out / name).exists())
            if name == "model.lxf":
                self.assertEqual(self.train(out, "--resume").returncode, 2)  # a model without a checkpoint cannot be resumed
                self.assertEqual((out / name).read_text(), "mine")
            shutil.rmtree(out)
        self.assertEqual(self.train(out, "--seeds", "1,1").returncode, 2)
        self.assertEqual(self.train(out, "--eval-steps", -1).returncode, 2)
        self.assertFalse(out.exists())

    def test_several_seeds_and_a_config_file(self):
        (self.folder / "o.json").write_text(json.dumps({"seeds": [1, 2], "attention": "lea", "augment": True, "epochs": 1, "test": [str(self.folder / "test.tsv")]}))
        out = self.folder / "seeds"
        done = program("train_matcher", "--config", self.folder / "o.json", "--model", self.model, "--train", self.folder / "train.tsv", "--valid",
                       self.folder / "valid.tsv", "--out", out, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        results = json.loads((out / "all_results.json").read_text())
        f1 = [r["test"][0]["f1"] for r in results["runs"]]
        self.assertAlmostEqual(results["mean"]["test"][0]["f1"], sum(f1) / 2)
        self.assertTrue((out / "model.lxf").exists())
        self.assertIn("best of 2 seeds", (out / "README.md").read_text())
        done = program("report", "--model", out, "--test", self.folder / "test.tsv", "--noise", "40,0", "--out", out / "report")
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = json.loads((out / "all_results.json").read_text())["seed"]
        self.assertIn(f"seeds: seed {shown}, the best of 2 by its validation score.", (out / "report/index.html").read_text())
        noise = (out / "report/noise.svg").read_text()
        self.assertEqual(noise.count("<polygon"), 1)  # the deviation over the seeds
        self.assertIn("f1 at the stored threshold", noise)
        done = program("train_matcher", "--config", self.folder / "o.json", "--seed", 3, "--model", self.model, "--train", self.folder / "train.tsv", "--valid",
                       self.folder / "valid.tsv", "--out", self.folder / "seed-3", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads((self.folder / "seed-3/all_results.json").read_text())["seed"], 3)

    def test_compare(self):
        for out, more in (("c-a", ()), ("c-b", ("--seed", 5)), ("c-c", ("--seed", 6))):
            self.assertEqual(self.train(self.folder / out, "--max-steps", 20, *more).returncode, 0)
            done = program("evaluate", "--model", self.folder / out / "model.lxf", "--test", self.folder / "test.tsv", "--test-typos", 2, "--scores", "--output", self.folder / f"{out}.json")
            self.assertEqual(done.returncode, 0, done.stderr)
        a, b, c = (self.folder / f"{out}.json" for out in ("c-a", "c-b", "c-c"))
        measured = [json.loads(f.read_text())["test"][0] for f in (a, b, c)]
        self.assertEqual([len(measured[0]["scores"]), len(measured[0]["labels"]), len(measured[0]["typos"][1]["scores"])], [40, 40, 40])
        done = program("compare", "--result", f"one={a}", f"two={b}", f"two={c}", "--output", self.folder / "compared.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        one, two = json.loads((self.folder / "compared.json").read_text())["test"][0]["systems"]
        self.assertEqual((one["runs"], two["runs"]), (1, 2))
        for name, key in (("F1 at argmax", "argmax_f1"), ("F1 at the stored threshold", "f1"), ("accuracy at argmax", "argmax_accuracy"),
                          ("average precision", "average_precision")):
            self.assertAlmostEqual(one[name]["clean"]["mean"], 100 * measured[0][key])
            self.assertAlmostEqual(two[name]["clean"]["mean"], 50 * (measured[1][key] + measured[2][key]))
            self.assertAlmostEqual(one[name]["typos"]["mean"], 50 * sum(t[key] for t in measured[0]["typos"]))
            self.assertEqual(len(two[name]["typos"]["values"]), 4)
            difference = two[name]["typos"]["difference"]
            self.assertAlmostEqual(difference["mean"], two[name]["typos"]["mean"] - one[name]["typos"]["mean"])
            self.assertLessEqual(difference["low"], difference["mean"])
            self.assertLessEqual(difference["mean"], difference["high"])
        self.assertIn("| two | 2 | ", done.stdout)
        self.refused(2, program("compare", "--result", f"one={a}", "--baseline", "three"), "no --result is called 'three'")
        self.refused(2, program("compare", "--result", str(a)), "NAME=FILE")
        self.refused(2, program("compare", "--result", f"@5={a}"), "has no name before the @")
        self.refused(2, program("compare", "--result", f"one@half={a}"), "'half' is not a number", "bert@10=F.json")
        self.refused(3, program("compare", "--result", f"x={self.trained}/all_results.json"), "all_results.json: is not what `evaluate --scores")
        shorter = json.loads(b.read_text())
        shorter["test"][0]["scores"].pop()
        (self.folder / "shorter.json").write_text(json.dumps(shorter))
        self.refused(3, program("compare", "--result", f"one={a}", f"two={self.folder}/shorter.json"), "39 scores for 40 pairs")
        self.refused(2, program("evaluate", "--model", self.trained / "model.lxf", "--test", self.folder / "test.tsv", "--scores"), "--output")
        # Pictures: a box for each system without X, a line over X for the others; those are compared at the same X.
        plots = self.folder / "plots"
        done = program("compare", "--result", f"one={a}", f"two={b}", f"two={c}", f"one@10={b}", f"one@20={a}", f"two@10={b}", f"two@20={c}", "--x-label", "pairs, %",
                       "--plots", plots, "--output", self.folder / "lines.json", "--resamples", 50)
        self.assertEqual(done.returncode, 0, done.stderr)
        systems = {s["name"]: s for s in json.loads((self.folder / "lines.json").read_text())["test"][0]["systems"]}
        self.assertEqual(systems["two@10"]["F1 at argmax"]["clean"]["difference"]["mean"], 0)
        self.assertNotIn("difference", systems["one@20"]["F1 at argmax"]["clean"])
        self.assertAlmostEqual(systems["two@20"]["F1 at argmax"]["clean"]["difference"]["mean"], 100 * (measured[2]["argmax_f1"] - measured[0]["argmax_f1"]))
        self.assertEqual({p.stem for p in plots.glob("*.svg")}, {f"{p}{t}_1" for p in ("differences", "runs", "lines") for t in ("", "_typos")})
        with open(plots / "differences_1.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([r["system"] for r in rows], ["two"])
        difference = systems["two"]["F1 at the stored threshold"]["clean"]["difference"]
        for column, key in (("difference", "mean"), ("low", "low"), ("high", "high")):
            self.assertAlmostEqual(float(rows[0][column]), difference[key], places=5)
        self.assertIn("pairs, %", (plots / "lines_1.svg").read_text())
        with open(plots / "runs_1.csv", newline="") as file:
            rows = [(r["system"], float(r["F1 at the stored threshold, %"])) for r in csv.DictReader(file)]
        self.assertEqual([name for name, _ in rows], ["one", "two", "two"])
        self.assertAlmostEqual(rows[2][1], 100 * measured[2]["f1"], places=5)
        # One run of each system: the interval says more than boxes of one dot.
        done = program("compare", "--result", f"one={a}", f"two={b}", "--plots", self.folder / "single", "--resamples", 50)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({p.stem for p in (self.folder / "single").glob("*.svg")}, {"differences_1", "differences_typos_1", "runs_typos_1"})  # three copies with typos

    def test_scores_of_named_classes(self):
        rows = "".join(f"{i}\ta\tb\t{name}\n" for i, name in enumerate(["contradiction", "entailment", "neutral", "may be"] * 5))
        (self.folder / "named.tsv").write_text("id\tleft\tright\tlabel\n" + rows)
        text = "id\tleft\tright\n" + "".join(f"{i}\ta {i}\tb\n" for i in range(5))
        for names, skip in (("contradiction,entailment,neutral,may be", []), ("contradiction,neutral", ["--skip-label", "entailment", "may be"])):
            out, names, file = self.folder / f"named-{len(names)}", names.split(","), self.folder / "named.tsv"
            done = program("train_matcher", "--model", self.model, "--train", file, "--valid", file, "--out", out, "--max-steps", 2, "--quiet", "--labels", ",".join(names), *skip)
            self.assertEqual(done.returncode, 0, done.stderr)
            score = lambda *more: [line.split("\t") for line in program("score_pairs", "--model", out, *more, text=text).stdout.splitlines()]
            logits, scores = score("--logits"), score("--keep", "id")
            predicted = [max(range(len(names)), key=[float(x) for x in row].__getitem__) for row in logits]
            self.assertEqual(len(logits), 5)
            if len(names) > 2:
                self.assertEqual(scores, [["id", "class"], *([str(i), names[p]] for i, p in enumerate(predicted))])
                self.assertEqual(score("--keep", "id", "--logits")[0], ["id", *(f"logit_{name}" for name in names)])
                self.assertEqual(score(), [[names[p]] for p in predicted])
            else:  # one score, of the second class
                self.assertEqual(scores[0], ["id", "score"])
                self.assertEqual([float(s) >= 0.5 for _, s in scores[1:]], [p == 1 for p in predicted])
                self.assertEqual(score("--keep", "id", "--logits")[0], ["id", "logit_0", "logit_1"])

    def compared(self, *arguments):
        done = program("compare", "--output", self.folder / "compared.json", "--resamples", 50, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads((self.folder / "compared.json").read_text())["test"][0]["systems"]

    def test_reproduce(self):
        if shutil.which("bash") is None or not REPRODUCE.exists():
            self.skipTest("no bash")
        data, out = self.folder / "sets", self.folder / "reproduced"
        for name, files in (("whole", ("train", "valid", "test")), ("no-test", ("train", "valid"))):
            (data / name).mkdir(parents=True)
            for part in files:
                shutil.copy(self.folder / f"{part}.tsv", data / name)
        command = ["bash", REPRODUCE, "3", "--model", self.model, "--data", data, "--sets", "whole,no-test", "--seeds", "2", "--epochs", "0.5", "--threads", "1", "--out", out]
        environment = {**os.environ, "LEXFORMER_BIN": str(BIN.resolve())}
        first = subprocess.run(command, capture_output=True, text=True, env=environment)
        self.assertEqual(first.returncode, 0, first.stderr)
        table = (out / "table-3.md").read_text()
        for part in ("whole/test.tsv, 40 pairs", "no-test/valid.tsv, 40 pairs", "no-test has no test file", "| plain | 2 |", "| augment | 2 |", "| lea | 2 |"):
            self.assertIn(part, table)
        self.assertEqual(len((out / "no-test/split/train.tsv").read_text().splitlines()), 81)
        self.assertEqual(len((out / "no-test/split/valid.tsv").read_text().splitlines()), 9)
        self.assertTrue((out / "whole/report-3/index.html").exists())
        shutil.rmtree(out / "whole/lea/seed-2")  # interrupted: only the missing part is trained
        again = subprocess.run(command, capture_output=True, text=True, env=environment)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(again.stderr.count("===="), 1)
        self.assertEqual((out / "table-3.md").read_text(), table)
        self.assertTrue((out / "whole/plots-3/runs_1.svg").exists())
        for name, rows in (("6", "augment,lea-lcs,lea-sharing-model,lea-layers-1"), ("11", "lea-representation-learned,lea-representation-plain,lea"), ("beyond", "lea,lea-jaccard_bigrams,lea-within")):
            more = ["bash", REPRODUCE, name, *command[3:7], "--sets", "whole", "--rows", rows, "--seeds", "1", "--epochs", "0.25", "--threads", "1", "--out", self.folder / "short"]
            done = subprocess.run(more, capture_output=True, text=True, env=environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.count("| 1 | "), 4 * len(rows.split(",")))  # four metrics
        refused = subprocess.run([*more[:-1], out], capture_output=True, text=True, env=environment)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("holds runs with other options: 0.5 epochs", refused.stderr)
        parallel = self.folder / "reproduced-in-parallel"
        done = subprocess.run([*command[:-1], parallel, "--jobs", "2", "--no-report"], capture_output=True, text=True, env=environment)
        self.assertEqual((done.returncode, done.stderr.count("====")), (0, 12), done.stderr)
        self.assertEqual((parallel / "table-3.md").read_text(), table)
        self.assertFalse((parallel / "whole/report-3").exists())
        shutil.rmtree(parallel / "whole/lea/seed-2")
        broken = data / "whole/valid.tsv"
        valid = broken.read_text()
        broken.write_text("no pair\n")
        failed = subprocess.run([*command[:-1], parallel, "--jobs", "3", "--no-report"], capture_output=True, text=True, env=environment)
        broken.write_text(valid)
        self.assertEqual(failed.returncode, 1, failed.stderr)
        self.assertIn("not all runs ended well; the same command goes on", failed.stderr)
        again = subprocess.run([*command[:-1], parallel, "--jobs", "3", "--no-report"], capture_output=True, text=True, env=environment)
        self.assertEqual((again.returncode, again.stderr.count("====")), (0, 1), again.stderr)
        self.assertEqual((parallel / "table-3.md").read_text(), table)
        late = subprocess.run([*command[:-1], self.folder / "none", "--jobs", "2", "--rows", "plain,typo"], capture_output=True, text=True, env=environment)
        self.assertEqual((late.returncode, late.stderr.count("====")), (2, 0), late.stderr)

        # All columns of two tables.
        folder = data / "tables/tiny"
        folder.mkdir(parents=True)
        rows = [line.replace(' "x"', "").split("\t") for line in pairs(24, 5).splitlines()]
        for side, name in enumerate(("tableA", "tableB")):
            (folder / f"{name}.csv").write_text("id,name,brand\n" + "".join(f"{i},{row[side]},{row[side].split()[0]}\n" for i, row in enumerate(rows)))
        for name, begin in (("train", 0), ("valid", 8), ("test", 16)):
            (folder / f"{name}.csv").write_text("ltable_id,rtable_id,label\n" + "".join(f"{i},{i},{rows[i][2]}\n" for i in range(begin, begin + 8)))
        more = ["bash", REPRODUCE, "records", *command[3:7], "--sets", "tiny", "--rows", "augment,lea-columns-same", "--seeds", "1", "--epochs", "1", "--lr", "1e-4", "--threads", "1", "--out", out]
        done = subprocess.run(more, capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("| 1 | "), 4 * 2)
        settings = json.loads((out / "records/tiny/lea-columns-same/seed-1/all_results.json").read_text())["settings"]
        self.assertIn('"columns": "same"', json.dumps(settings))
        self.assertEqual(settings["learning_rate"], 1e-4)
        self.assertTrue((out / "records/tiny/report-records/index.html").exists())

        wrong = subprocess.run(["bash", REPRODUCE, "7", "--model", self.model, "--data", data], capture_output=True, text=True, env=environment)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("unknown table '7'", wrong.stderr)

    def test_report(self):
        out = self.folder / "report"
        done = program("report", "--model", f"lea={self.trained}", "--test", self.folder / "test.tsv", "--pair", "halvek <b>\"camera\" & tv", "halvek camra </script> tv",
                       "--noise", "0,50", "--out", out, env={**os.environ, "SOURCE_DATE_EPOCH": "1000000000"})
        self.assertEqual(done.returncode, 0, done.stderr)
        page = (out / "index.html").read_text()
        self.assertNotIn("<script", page)
        self.assertNotRegex(page, r"(src|href)=\"\w+:")  # nothing is loaded from elsewhere
        pictures = {"attention", "word", "precision_recall", "reliability", "scores_1", "noise", "loss", "learning_rate", "gradient", "validation"}
        self.assertEqual({p.stem for p in out.glob("*.svg")}, pictures)
        for name in pictures:
            ElementTree.parse(out / f"{name}.svg")
            with open(out / f"{name}.csv", newline="") as file:
                rows = list(csv.reader(file))
            self.assertGreater(len(rows), 1)
            self.assertEqual({len(row) for row in rows}, {len(rows[0])})
        with open(out / "attention.csv", newline="") as file:
            cells = [r for r in csv.DictReader(file) if r["panel"] == "lea" and r["row"] == "0"]
        self.assertAlmostEqual(sum(float(r["value"]) for r in cells), 1, places=4)  # a row of probabilities
        with open(out / "noise.csv", newline="") as file:
            noise = {float(r["x"]): float(r["y"]) for r in csv.DictReader(file)}
        self.assertAlmostEqual(noise[0], 100 * json.loads((self.trained / "all_results.json").read_text())["test"][0]["f1"], places=3)
        self.assertLess((out / "index.html").stat().st_size, 1 << 21)
        for text in ("One model each. lea: seed 1.", "In percent, at the stored threshold.", "classified as no match, right of it as match", "lea was trained with ",
                     "num_train_epochs ", "&quot;lea&quot;", "on 2001-09-09:", "report --model lea="):
            self.assertIn(text, page)
        self.assertNotIn("class 0", page)
        self.assertNotIn("mse", page)
        self.assertNotIn("<figcaption> ", page)  # no empty caption
        self.assertEqual(page.count("<figcaption>"), len(pictures))
        self.assertIn("match, percent", (out / "scores_1.csv").read_text().splitlines()[0])
        # Beside a plain model; the word shown is the one that changed, though its letters are the same.
        self.assertEqual(self.train(self.folder / "for-report").returncode, 0)
        done = program("report", "--model", f"plain={self.folder}/for-report/", "--model", f"lea={self.trained}", "--pair", "halvek camera tv", "halvek cmaera tv", "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Attention of 'camera' to the right text", (out / "word.svg").read_text())
        with open(out / "word.csv", newline="") as file:
            self.assertEqual(list(dict.fromkeys(r["strip"] for r in csv.DictReader(file))), ["similarity of the words", "plain", "lea"])
        self.refused(2, program("report", "--model", self.trained, "--pair", "a nordis", "b", "--word", "Nordis", "--out", out), "its words are: a, nordis")
        self.refused(2, program("report", "--model", self.trained, "--pair", "a", "b", "--layer", 2, "--out", out), "--layer", "2 layers")
        self.refused(2, program("report", "--model", self.trained, "--model", f"trained={self.trained}", "--out", out), "two are called 'trained'")
        self.refused(2, program("report", "--model", self.trained, "--out", out, env={**os.environ, "SOURCE_DATE_EPOCH": "today"}), "SOURCE_DATE_EPOCH", "'today'")

    def test_report_says_what_its_figures_are(self):
        out, run = self.folder / "figures", self.folder / "figures-run"
        shutil.copytree(self.trained, run)
        lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
        for entry, value in zip([e for e in lines if "grad_norm" in e], (1e200, "nan", 1e99)):
            entry["grad_norm"] = value
        (run / "log.jsonl").write_text("".join(json.dumps(e) + "\n" for e in lines))
        pages = []
        for file in ("test.tsv", "train.tsv"):
            done = program("report", "--model", f"lea={run}", "--test", self.folder / file, "--out", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            pages.append((out / "index.html").read_text())
            self.assertIn("larger norms were clipped to --clip. Left out: 2 values that are not finite or beyond 1e100.", pages[-1])
            self.assertEqual(pages[-1].count("Left out: "), 1)
        self.assertEqual(["lea was trained on these pairs: its figures do not tell how good it is on others." in page for page in pages], [False, True])
        self.assertRegex(pages[0], "<th[^>]*>pair</th>\\s*<th[^>]*>label</th>\\s*<th[^>]*>prediction</th>\\s*<th[^>]*>score</th>")
        errors = re.findall(r'<span class="line">((?:no )?match)</span>', pages[0])
        self.assertGreater(len(errors), 0)
        for label, prediction in zip(errors[::2], errors[1::2]):
            self.assertNotEqual(label, prediction)

    def test_more_classes_and_regression(self):
        rows = pairs(60, 9).splitlines()
        (self.folder / "three.csv").write_text("".join(f"a,b,c{i % 3}\n" if i else "left,right,label\n" for i in range(30)))
        (self.folder / "numbers.jsonl").write_text("".join(json.dumps({"left": r.split("\t")[0], "right": r.split("\t")[1], "label": i / 10}) + "\n" for i, r in enumerate(rows)))
        results = []
        for name, more, metric in (("three.csv", ["--labels", "c0,c1,c2"], "accuracy"), ("numbers.jsonl", ["--task", "regression"], "spearman")):
            out, file = self.folder / f"out-{name}", self.folder / name
            done = program("train_matcher", "--model", self.model, "--train", file, "--valid", file, "--test", file, "--out", out, "--max-steps", 3, "--quiet", *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(metric, json.loads((out / "all_results.json").read_text())["test"][0])
            done = program("report", "--model", out, "--test", file, "--noise", "0,50", "--out", out / "report")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"{metric}, %", (out / "report/noise.svg").read_text())
            self.assertEqual("mse in squared units" in (out / "report/index.html").read_text(), metric == "spearman")
            self.refused(2, program("report", "--model", out, "--model", self.trained, "--out", out / "no"), "other classes")
            result = out / "scores.json"
            self.assertEqual(program("evaluate", "--model", out / "model.lxf", "--test", file, "--scores", "--output", result).returncode, 0)
            [system] = self.compared("--result", f"a={result}")
            measured = json.loads(result.read_text())["test"][0]
            for title, key in {"accuracy": [("accuracy", "accuracy"), ("macro-F1", "macro_f1")],
                               "spearman": [("Spearman's correlation", "spearman"), ("Pearson's correlation", "pearson")]}[metric]:
                self.assertAlmostEqual(system[title]["clean"]["mean"], 100 * measured[key])
            results.append(result)
        self.refused(3, program("compare", "--result", f"a={results[0]}", f"b={results[1]}"), "was measured on other pairs")
        wrong = json.loads(results[0].read_text())
        wrong["test"][0]["scores"][0] = 0.5
        (self.folder / "wrong.json").write_text(json.dumps(wrong))
        self.refused(3, program("compare", "--result", f"a={self.folder}/wrong.json"), "has the predicted class 0.5")

    def test_class_weights(self):
        def train(name, *more):
            out = self.folder / f"weights-{name}"
            done = program("train_matcher", "--model", self.model, "--train", self.folder / "train.tsv", "--valid", self.folder / "valid.tsv",
                           "--out", out, "--max-steps", 2, "--quiet", *more)
            return done, out
        losses = {}
        for name, more in {"none": [], "equal": ["--class-weights", "2,2"], "given": ["--class-weights", "1,5"], "balanced": ["--class-weights", "balanced"]}.items():
            done, out = train(name, "--logging-steps", 1, *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            losses[name] = [json.loads(line)["loss"] for line in (out / "log.jsonl").read_text().splitlines() if "loss" in json.loads(line)]
            settings = json.loads((out / "all_results.json").read_text())["settings"]
            self.assertEqual(settings.get("class_weights"), more[1].split(",") if more else None)
        self.assertAlmostEqual(losses["none"][0], losses["equal"][0], 5)
        self.assertNotEqual(losses["none"][1:], losses["given"][1:])
        self.assertNotEqual(losses["given"], losses["balanced"])
        self.refused(2, train("few", "--class-weights", "1")[0], "--class-weights", "1 weights for 2 classes")
        self.refused(2, train("word", "--class-weights", "1,x")[0], "'x' is neither a number")
        self.refused(2, train("regression", "--class-weights", "balanced", "--task", "regression")[0], "a regression has no classes")

    def test_no_positives_is_a_warning(self):
        rows = [line.rsplit("\t", 1)[0] + "\t0\n" for line in pairs(12, 4).splitlines()]
        (self.folder / "negative.tsv").write_text("".join(rows))
        out = self.folder / "no-positives"
        done = program("train_matcher", "--model", self.model, "--train", self.folder / "negative.tsv", "--valid", self.folder / "negative.tsv",
                       "--out", out, "--max-steps", 1, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("warning: "), 2, done.stderr)
        warnings = json.loads((out / "all_results.json").read_text())["warnings"]
        self.assertEqual(len(warnings), 2)
        self.assertIn("none of the 12 pairs is of the positive class", warnings[0])

    def test_bad_tables(self):
        cases = {"empty.tsv": (b"", "no rows"), "ragged.tsv": (b"a\tb\t1\na\tb\n", "line 2"), "label.tsv": (b"a\tb\tyes\n", 'unknown label'),
                 "utf8.tsv": (b"a\tb\xff\t1\n", "line 1"), "quote.csv": (b'a,"b,1\n', "never closed"), "json.jsonl": (b'{"left": 1}\n', "line 1"),
                 "name.xyz": (b"a\tb\t1\n", "ending")}
        for name, (content, part) in cases.items():
            (self.folder / name).write_bytes(content)
            out = self.folder / f"bad-{name}"
            done = program("train_matcher", "--model", self.model, "--train", self.folder / name, "--valid", self.folder / "valid.tsv", "--out", out, "--quiet")
            self.refused(2 if name == "name.xyz" else 3, done, name, part)
            self.assertFalse((out / "model.lxf").exists())

    def test_bad_models(self):
        good = self.model.read_bytes()
        size = struct.unpack("<Q", good[:8])[0]
        header = json.loads(good[8 : 8 + size])
        first = next(k for k in header if k.endswith("key.weight"))

        def with_header(change):
            h = json.loads(json.dumps(header))
            change(h)
            text = json.dumps(h, separators=(",", ":")).encode()
            text += b" " * (-(8 + len(text)) % 64)
            return struct.pack("<Q", len(text)) + text + good[8 + size :]

        def smaller(h):
            config = json.loads(h["__metadata__"]["lexformer.config"])
            config["intermediate_size"] = 65
            h["__metadata__"]["lexformer.config"] = json.dumps(config)

        def unknown(h):
            config = json.loads(h["__metadata__"]["lexformer.config"])
            config["hidden_act"] = "mish"
            h["__metadata__"]["lexformer.config"] = json.dumps(config)

        begin, end = header[first]["data_offsets"]
        nan = bytearray(good)
        nan[8 + size + begin : 8 + size + begin + 4] = struct.pack("<f", float("nan"))
        no_sums = with_header(lambda h: h["__metadata__"].pop("lexformer.crc32"))
        data = len(no_sums) - (len(good) - 8 - size)
        nan_without_sum = bytearray(no_sums)
        nan_without_sum[data + begin : data + begin + 4] = struct.pack("<f", float("nan"))
        cases = {"truncated": good[:-100], "tiny": good[:5], "empty": b"", "length": struct.pack("<Q", 2**63) + good[8:], "flipped": bytes(nan),
                 "nan": bytes(nan_without_sum), "overlap": with_header(lambda h: h[first].update(data_offsets=[begin - 4, end - 4])),
                 "overflow": with_header(lambda h: h[first].update(shape=[2**62, 4])), "dtype": with_header(lambda h: h[first].update(dtype="Q4")),
                 "config": with_header(smaller), "activation": with_header(unknown), "missing": with_header(lambda h: h["__metadata__"].pop("lexformer.config")), "tail": good + b"x"}
        for name, content in cases.items():
            path = self.folder / f"{name}.lxf"
            path.write_bytes(content)
            self.refused(3, program("encode", "--model", path, "--output", self.folder / "no.npy", text="a\n"), path.name)
        self.refused(3, program("encode", "--model", self.folder / "none.lxf", "--output", self.folder / "no.npy", text="a\n"), "none.lxf")
        self.refused(3, program("score_pairs", "--model", self.model, text="a\tb\n"), "classification head")
        self.assertFalse((self.folder / "no.npy").exists())

    def test_wrong_usage(self):
        self.refused(2, program("train_matcher", "--modle", "x"), "--help")
        self.refused(2, program("train_matcher", *self.command(self.folder / "u", "--attention", "lae")), "attention")
        self.refused(2, program("train_matcher", *self.command(self.folder / "u", "--attention", "lea", "--lea-representation", "learned")), "levels")
        self.refused(2, program("train_matcher", *self.command(self.folder / "u", "--freeze", "nothing")), "nothing")
        self.refused(3, program("score_pairs", "--model", self.trained / "model.lxf", text="no tab here\n"), "line 1")
        for option, value, part in (("--epochs", 0, "must be above 0, got 0"), ("--lr", -1, "must not be below 0, got -1"), ("--lr", "nan", "got nan")):
            self.refused(2, program("train_matcher", *self.command(self.folder / "u", option, value)), option, part)

    def test_rows_before_a_bad_one_are_scored(self):
        done = program("score_pairs", "--model", self.trained / "model.lxf", "--window", 4, text="a\tb\n" * 9 + "no tab\n")
        self.refused(3, done, "line 10")
        self.assertEqual(len(done.stdout.split()), 9)  # the rows before it

    def test_an_untrained_model_has_the_rows_that_its_config_asks_for(self):
        config, model = self.folder / "rows.json", self.folder / "rows.lxf"

        def parameters(more):
            config.write_text(json.dumps({**CONFIG, **more}))
            done = program("make_model", "--text", self.folder / "train.tsv", "--vocab-size", 200, "--model-config", config, "--out", model)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = re.search(r": (\d+) tokens, .* (\d+) parameters", done.stdout)
            return int(found[1]), int(found[2])

        tokens, least = parameters({})
        self.assertLessEqual(tokens, 200)
        self.assertEqual(parameters({"vocab_size": 10}), (tokens, least))  # a row for each token
        self.assertEqual(parameters({"vocab_size": 1000}), (tokens, least + (1000 - tokens) * CONFIG["hidden_size"]))
        command = self.command(self.folder / "rows", "--max-steps", 1)
        done = program("train_matcher", "--model", model, *command[2:])
        self.assertEqual(done.returncode, 0, done.stderr)
        config.write_text(json.dumps({**CONFIG, "vocab_size": 0}))
        self.refused(3, program("make_model", "--text", self.folder / "train.tsv", "--model-config", config, "--out", model), "vocab_size")

    def test_a_vocabulary_needs_text(self):
        (self.folder / "blank.txt").write_text(" \n\n")
        done = program("make_model", "--text", self.folder / "train.tsv", self.folder / "blank.txt", "--out", self.folder / "blank.lxf")
        self.refused(3, done, "blank.txt", "no text")
        self.assertFalse((self.folder / "blank.lxf").exists())


if __name__ == "__main__":
    unittest.main(verbosity=1)
