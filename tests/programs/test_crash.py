# SPDX-License-Identifier: MIT
"""Nothing is lost: runs that are killed, files that cannot be written, memory that is not there. With --long all of it (minutes),
without it a sample (seconds). Needs the built programs (LEXFORMER_BIN) and a compiler of C (CXX) for fault.c; else only Python."""
import errno
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib
from pathlib import Path

from support import BIN, pairs, program

LONG = "--long" in sys.argv
CONFIG = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 32}


class Files(unittest.TestCase):
    """A tiny model, its data, and runs of it."""

    @classmethod
    def setUpClass(cls):
        in_memory = not LONG and os.access("/dev/shm", os.W_OK)
        cls.folder = Path(tempfile.mkdtemp(dir="/dev/shm" if in_memory else None))
        (cls.folder / "train.tsv").write_text(pairs(48, 1))
        (cls.folder / "valid.tsv").write_text(pairs(16, 2))
        (cls.folder / "config.json").write_text(json.dumps(CONFIG))
        cls.model = cls.folder / "model.lxf"
        done = program("make_model", "--text", cls.folder / "train.tsv", "--vocab-size", 120, "--model-config", cls.folder / "config.json", "--out", cls.model)
        assert done.returncode == 0, done.stderr
        cls.shim = cls.folder / "fault.so"
        subprocess.run([os.environ.get("CXX", "g++"), "-x", "c", "-shared", "-fPIC", "-O1", Path(__file__).with_name("fault.c"), "-o", cls.shim, "-ldl"], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def command(cls, out, *more):
        usual = {"--model": cls.model, "--train": cls.folder / "train.tsv", "--valid": cls.folder / "valid.tsv", "--out": out, "--batch": 4, "--lr": "1e-3",
                 "--attention": "lea", "--logging-steps": 5, "--threads": 1}
        return ["--augment", "--quiet", *(part for option in usual.items() if option[0] not in more for part in option), *more]

    @classmethod
    def train(cls, out, *more, **options):
        return program("train_matcher", *cls.command(out, *more), **options)

    def faulty(self, out, **fault):
        """The environment in which calls on files in `out` fail as fault.c says."""
        return {**os.environ, "LD_PRELOAD": str(self.shim), "FAULT_UNDER": str(out), **{f"FAULT_{k.upper()}": str(v) for k, v in fault.items()}}

    def trace(self, out, *more):
        """The calls on files of a run, in order."""
        file = self.folder / "trace"
        self.assertEqual(self.train(out, *more, env=self.faulty(out, trace=file)).returncode, 0)
        lines = file.read_text().splitlines()
        file.unlink()
        return lines

    def contents(self, out):
        """All that is there; not what is in the files that tell of speed and of the command."""
        return {str(p.relative_to(out)): p.read_bytes() if p.is_file() and p.name not in ("all_results.json", "README.md") else None for p in out.rglob("*")}

    def assert_same(self, out, want, what):
        got = self.contents(out)
        self.assertEqual(sorted(got), sorted(want), what)
        self.assertEqual([name for name in want if got[name] != want[name]], [], what)

    def assert_refused(self, done, codes, *parts):
        self.assertIn(done.returncode, codes, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        for part in parts:
            self.assertIn(str(part), done.stderr)


def inside_a_save(call):
    return "checkpoint-" in call


class Crash(Files):
    def test_killed_runs_go_on_to_the_same_bytes(self):
        steps = ["--epochs", 5, "--save-steps", 7]  # 60 steps
        whole, out = self.folder / "whole", self.folder / "run"
        started = time.time()
        self.assertEqual(self.train(whole, *steps).returncode, 0)
        duration = time.time() - started
        want = self.contents(whole)
        self.assertIn("checkpoint-60/optimizer.safetensors", want)
        calls = self.trace(out, *steps)
        saving = [n for n, call in enumerate(calls, 1) if inside_a_save(call)]
        rng, met = random.Random(12), 0
        kills, in_a_save = (200, 50) if LONG else (8, 4)
        for number in range(kills):
            code, what = 0, ""
            while code != -signal.SIGKILL:  # unless the run has ended before
                self.assertEqual(code, 0)
                shutil.rmtree(out)
                if number < in_a_save:
                    n, how = rng.choice(saving), rng.choice(["before", "half", "after"])
                    what = f"{how} call {n}: {calls[n - 1]}"
                    code = self.train(out, *steps, env=self.faulty(out, at=n, how=how)).returncode
                else:
                    process = subprocess.Popen([str(a) for a in [BIN / "lexformer", "train_matcher", *self.command(out, *steps)]], stdout=subprocess.DEVNULL)
                    wait = rng.random() * duration
                    what = f"after {wait:.4f} s"
                    time.sleep(wait)
                    process.kill()
                    code = process.wait()
                out.mkdir(exist_ok=True)
            met += any(".tmp-" in name for name in self.contents(out))
            done = self.train(out, *steps, "--resume")
            self.assertEqual(done.returncode, 0, f"{what}: {done.stderr}")
            self.assert_same(out, want, f"killed {what}")
        print(f"crash: {kills} kills, {in_a_save} of them placed inside a save, {met} met unfinished files: {kills} of {kills} resumed to the same bytes")

    def test_several_seeds_leave_nothing_either(self):
        out = self.folder / "seeds"
        out.mkdir()
        ended = subprocess.Popen(["true"])
        ended.wait()
        (out / f".model.lxf.tmp-{ended.pid}").write_text("half")
        self.assertEqual(self.train(out, "--max-steps", 1, "--seeds", "1,2").returncode, 0)
        self.assertEqual({p.name for p in out.iterdir()}, {"README.md", "all_results.json", "model.lxf", "seed-1", "seed-2"})


class Faults(Files):
    steps = ["--max-steps", 8, "--eval-steps", 4, "--save-steps", 4, "--save-total-limit", 1]

    def test_calls_that_fail(self):
        out = self.folder / "run"
        calls = self.trace(out, *self.steps)
        want = self.contents(out)
        first_save = next(n for n, call in enumerate(calls, 1) if call.startswith("rename") and call.endswith("checkpoint-4"))
        # All calls of the second save with both errors, the others with one of them.
        cases = [(n, e) for n, call in enumerate(calls, 1) for i, e in enumerate([errno.EIO, errno.ENOSPC]) if "checkpoint-8" in call or n % 2 == i]
        count = {}
        between = next(n for n, call in enumerate(calls, 1) if re.search(r"rename .*\.tmp-checkpoint-4-\d+$", call))  # the new checkpoint exists, the old one is not yet deleted
        for n, error in cases if LONG else [(between, errno.EIO), *random.Random(3).sample(cases, 9)]:
            shutil.rmtree(out)
            call, path = calls[n - 1].split(" ", 1)
            what = f"{call} number {n} of {path} fails with {errno.errorcode[error]}"
            done = self.train(out, *self.steps, env=self.faulty(out, at=n, how=error))
            with self.subTest(what):
                name = re.sub(r"^\.|\.tmp-\d+$|-\d+$", "", Path(path).name)
                self.assert_refused(done, [3], out, name, os.strerror(error))
                self.assertEqual([name for name in self.contents(out) if ".tmp-" in name], [], what)
                # Without a checkpoint there is nothing to resume, and an existing model is not overwritten unless requested.
                done = self.train(out, *self.steps, "--resume" if n > first_save else "--overwrite")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assert_same(out, want, what)
            count[call] = count.get(call, 0) + 1
        print(f"faults: {sum(count.values())} calls failed ({', '.join(f'{v} {k}' for k, v in sorted(count.items()))}), of {len(calls)} in the run")

    def test_short_and_interrupted_writes(self):
        whole, out = self.folder / "whole", self.folder / "short"
        self.assertEqual(self.train(whole, *self.steps).returncode, 0)
        done = self.train(out, *self.steps, env=self.faulty(out, how="short"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same(out, self.contents(whole), "short writes")


class Limits(Files):
    """A disk that is full, files that may not grow, memory that is not there."""

    def limited(self, name, *arguments, limit=resource.RLIMIT_FSIZE, to=0, **options):
        return program(name, *arguments, preexec_fn=lambda: resource.setrlimit(limit, (to, to)), **options)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trained = cls.folder / "trained"
        done = cls.train(cls.trained, "--epochs", 1)
        assert done.returncode == 0, done.stderr
        cls.texts = "".join(line.rsplit("\t", 1)[0] + "\n" for line in pairs(40, 3).splitlines())

    def test_files_that_may_not_grow(self):
        out, valid = self.folder / "out", self.folder / "valid.tsv"
        named = [("make_model", "m.lxf", ["--text", valid, "--model-config", self.folder / "config.json", "--out", out / "m.lxf"], ""),
                 ("encode", "e.npy", ["--model", self.model, "--output", out / "e.npy"], self.texts),
                 ("encode", "e.tsv", ["--model", self.model, "--output", out / "e.tsv"], self.texts),
                 ("evaluate", "v.json", ["--model", self.trained / "model.lxf", "--test", valid, "--output", out / "v.json"], ""),
                 ("report", "scores_1.svg", ["--model", self.trained, "--test", valid, "--out", out], "")]
        for name, file, arguments, text in named:
            for before in (None, b"before"):
                shutil.rmtree(out, ignore_errors=True)
                out.mkdir()
                if before:
                    (out / file).write_bytes(before)
                done = self.limited(name, *arguments, text=text, to=400)
                with self.subTest(file):
                    self.assert_refused(done, [3], out, "File too large")
                    self.assertEqual([p.read_bytes() for p in out.iterdir() if p.name == file], [before] if before else [])
                    self.assertEqual([p.name for p in out.iterdir() if ".tmp-" in p.name], [])

    def test_training_that_may_not_write(self):
        out, steps = self.folder / "run", ["--max-steps", 8, "--eval-steps", 4, "--save-steps", 4]
        self.assertEqual(self.train(out, *steps).returncode, 0)
        want = self.contents(out)
        sizes = sorted({p.stat().st_size for p in out.rglob("*") if p.is_file()})
        limits = [0, *(size - 1 for size in sizes)]
        for limit in limits if LONG else random.Random(5).sample(limits, 3):
            shutil.rmtree(out)
            done = self.limited("train_matcher", *self.command(out, *steps), to=limit)
            with self.subTest(limit):
                self.assert_refused(done, [3], out, "File too large")
                self.assertEqual([name for name in self.contents(out) if ".tmp-" in name], [])
                saved = any(p.name.startswith("checkpoint-") for p in out.iterdir())
                done = self.train(out, *steps, "--resume" if saved else "--overwrite")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assert_same(out, want, limit)

    def test_standard_output_that_is_full(self):
        valid, model = self.folder / "valid.tsv", ["--model", self.trained / "model.lxf"]
        cases = [("make_model", ["--text", valid, "--model-config", self.folder / "config.json", "--out", self.folder / "m.lxf"]), ("add_typos", []),
                 ("tokenize", model), ("score_pairs", model), ("evaluate", [*model, "--test", valid]), ("train_matcher", self.command(self.folder / "full", "--max-steps", 1)),
                 ("report", ["--help"])]
        # Opened in a mode that creates no file if the device is missing.
        for name, arguments in cases:
            with self.subTest(name), open("/dev/full", "r+b", buffering=0) as full:
                self.assert_refused(program(name, *arguments, text=self.texts, stdout=full), [3], "standard output: cannot be written")
        # The program does not wait for the end of its input.
        with open("/dev/full", "r+b", buffering=0) as full, subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
            self.assert_refused(program("add_typos", stdin=endless.stdout, stdout=full, input=None), [3], "standard output: cannot be written")
            endless.kill()

    def test_standard_input_that_breaks_off(self):
        descriptor = os.open(self.folder, os.O_RDONLY)  # a folder can be opened, but not read
        for name, arguments in (("add_typos", []), ("tokenize", ["--model", self.model]), ("score_pairs", ["--model", self.trained / "model.lxf"])):
            with self.subTest(name):
                self.assert_refused(program(name, *arguments, stdin=descriptor, input=None), [3], "standard input: cannot be read to its end")
        os.close(descriptor)

    def test_too_little_memory(self):
        out, codes = self.folder / "memory", {}
        step = 64 if LONG else 512
        # With less memory than the program itself needs, the kernel ends it before it starts.
        kilobytes, code = 1024 + (BIN / "lexformer").stat().st_size // 1024, None
        while code != 0:
            shutil.rmtree(out, ignore_errors=True)
            done = self.limited("train_matcher", *self.command(out, "--max-steps", 2), limit=resource.RLIMIT_AS, to=kilobytes * 1024)
            code = done.returncode
            if code == -signal.SIGABRT and done.stderr == "terminate called without an active exception\n":
                code = "start"  # libstdc++ got no memory for exceptions (73 KB) before main() began
            elif code not in (0, 127):  # 127: the system's loader could not start the program
                self.assert_refused(done, [1, 3], "memory")
            codes[code] = codes.get(code, 0) + 1
            kilobytes += step
            self.assertLess(kilobytes, 1 << 22)
        self.assertLessEqual(codes.get("start", 0), 2)  # the limits of a range of 73 KB
        print(f"memory: runs with up to {kilobytes - step} KB of address space, by exit code: {codes}")


class Numbers(Files):
    """NaN and Inf in weights, gradients and loss: nothing is updated with them and nothing is saved of them."""

    def planted(self, change):
        """The model with change(name, values) made to each tensor, its checksums mended."""
        data = self.model.read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        header, body = json.loads(data[8 : 8 + size]), bytearray(data[8 + size :])
        sums = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            values = list(struct.unpack(f"<{(end - begin) // 4}f", body[begin:end]))
            body[begin:end] = struct.pack(f"<{len(values)}f", *change(name, values))
            sums[name] = zlib.crc32(body[begin:end])
        self.assertEqual(sorted(json.loads(header["__metadata__"]["lexformer.crc32"])), sorted(sums))
        header["__metadata__"]["lexformer.crc32"] = json.dumps(sums)
        text = json.dumps(header).encode()
        path = self.folder / "planted.lxf"
        path.write_bytes(struct.pack("<Q", len(text)) + text + body)
        return path

    def log(self, out):
        return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]

    def test_weights(self):
        tensor = "bert.encoder.layer.0.attention.self.query.weight"
        for value in (float("nan"), float("inf")):
            model = self.planted(lambda name, values: values[:-1] + [value] if name == tensor else values)
            done = self.train(self.folder / "refused", "--model", model)
            self.assert_refused(done, [3], model, tensor, "1 values are NaN or infinite")
            self.assertFalse((self.folder / "refused").exists())

    def stopped(self, out, *arguments, step=1):
        """A run that must stop before the update of a step; what it says. Resuming comes to the same end."""
        arguments = ["--save-steps", 1, "--logging-steps", 1, *arguments]
        done = self.train(out, *arguments)
        self.assert_refused(done, [4], f"step {step}: ")
        entry = self.log(out)[-1]
        self.assertEqual((entry["step"], len(self.log(out))), (step, step))
        files = self.contents(out)
        self.assertEqual({name for name in files if name.endswith("model.lxf")}, {f"checkpoint-{n}/model.lxf" for n in range(max(1, step - 2), step)})
        if step > 1:
            again = self.train(out, *arguments, "--resume")
            self.assertEqual((again.returncode, again.stderr), (4, done.stderr))
            self.assert_same(out, files, "resumed")
        return done.stderr, entry

    def test_forward(self):
        model = self.planted(lambda name, values: [3e38] * len(values) if name.endswith("layer.0.intermediate.dense.weight") else values)
        said, entry = self.stopped(self.folder / "forward", "--model", model)
        self.assertIn("encoder.layer.0.feed_forward: feed_forward: the result is not finite", said)
        self.assertIn(entry["loss"], ("nan", "inf"))

    def test_gradient(self):
        # LayerNorm of zeros gives zeros; in its backward pass the gradient grows by weight / sqrt(eps).
        def change(name, values):
            if name.endswith("embeddings.weight"):
                return [0.0] * len(values)
            if name.endswith("embeddings.LayerNorm.weight"):
                return [1e36] * len(values)
            return [0.1 * i for i in range(len(values))] if name.endswith("embeddings.LayerNorm.bias") else values

        said, entry = self.stopped(self.folder / "gradient", "--model", self.planted(change))
        self.assertIn("embeddings: layer_norm: the gradient of input 0 is not finite", said)
        self.assertIsInstance(entry["loss"], float)
        self.assertIn(entry["grad_norm"], ("nan", "inf"))

    def test_loss(self):
        rows = [line.rsplit("\t", 1)[0] for line in pairs(32, 4).splitlines()]
        table = self.folder / "numbers.jsonl"
        for name, label in (("valid", 0.5), ("train", 1e25)):  # the label of row 22
            lines = [json.dumps({"left": r.split("\t")[0], "right": r.split("\t")[1], "label": label if i == 22 else 0.5 + i % 2}) + "\n" for i, r in enumerate(rows)]
            table.with_stem(name).write_text("".join(lines))
        said, entry = self.stopped(self.folder / "loss", "--task", "regression", "--train", table.with_stem("train"), "--valid", table.with_stem("valid"), "--order", "random", step=2)
        self.assertIn("mse_loss: multiply: the result is not finite, shape (4, 1)", said)
        self.assertEqual(entry["loss"], "inf")

    def test_learning_rate(self):
        said, entry = self.stopped(self.folder / "rate", "--lr", "1e30", "--warmup-epochs", 0, step=2)
        self.assertRegex(said, r"step 2: encoder\.layer\.0\.attention: linear: the result is not finite, shape \(\d+, \d+\); stopped before the update")
        self.assertEqual(entry["loss"], "nan")
        # The weights overflow in the update itself: such weights are never saved.
        for more in (["--save-steps", 1], ["--eval-steps", 1], ["--max-steps", 1]):
            out = self.folder / f"overflow{more[0]}"
            done = self.train(out, "--lr", "1e300", "--warmup-epochs", 0, *more)
            self.assert_refused(done, [4], "step 1: AdamW: 'bert.", "is not finite after the update with learning rate 1e+300")
            self.assertEqual(sorted(self.contents(out)), ["log.jsonl"])
            self.assertTrue(self.log(out)[-1]["not_finite"].startswith("bert."))


if __name__ == "__main__":
    unittest.main(argv=[a for a in sys.argv if a != "--long"], verbosity=1)
