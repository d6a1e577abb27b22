# SPDX-License-Identifier: MIT
"""bench/gpu.sh: without a GPU it says so; on the stand-in for CUDA's runtime, with tiny sizes, every stage runs and leaves its table; the
goals are judged by what was measured. The numbers here are made up."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import BIN, pairs

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "bench/gpu.sh"
STAND_IN = ["train_step", "score", "gpu_attention", "gpu_rates", "lexformer"]
if not (BIN / "gpu_attention_stand_in").exists():
    print("the measuring programs are not built; skipped")
    sys.exit(77)


def write_program(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


class Gpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.bin = cls.folder / "bin"
        cls.bin.mkdir()
        for name in STAND_IN:
            (cls.bin / name).symlink_to((BIN / f"{name}_stand_in").resolve())
        for name in ("lexformer_cuda_device_tests", "cuda_square"):
            write_program(cls.bin / name, 'echo "[doctest] test cases: 7 | 7 passed | 0 failed"\n')
        tools = cls.folder / "tools"
        tools.mkdir()
        write_program(tools / "nvidia-smi", 'echo "stand-in, 0 MiB, 0"\n')
        # A stand-in that finds two errors in one place.
        write_program(tools / "compute-sanitizer",
                      'case "$*" in *racecheck*loss*) echo "== RACECHECK SUMMARY: 2 hazards displayed"; exit 9 ;; esac; echo "== ERROR SUMMARY: 0 errors"\n')
        write_program(tools / "no-torch", "exit 1\n")
        data = cls.folder / "data/abt-buy"
        data.mkdir(parents=True)
        for seed, name in enumerate(("train", "valid", "test")):
            (data / f"{name}.tsv").write_text(pairs(40, seed))
        cls.path = f"{tools}:{os.environ['PATH']}"

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def run_script(self, *arguments, path=None):
        environment = {**os.environ, "PATH": path or self.path, "PYTHON": str(self.folder / "tools/no-torch")}
        return subprocess.run([SCRIPT, "--data", self.folder / "data", *map(str, arguments)], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=300)

    def test_without_a_gpu_it_says_so(self):
        nothing = self.folder / "nothing"
        nothing.mkdir()
        write_program(nothing / "nvidia-smi", "exit 9\n")
        out = self.folder / "none"
        done = self.run_script("--out", out, path=f"{nothing}:{os.environ['PATH']}")
        self.assertEqual((done.returncode, done.stdout), (77, "gpu.sh: nvidia-smi shows no GPU on this machine: nothing was checked or measured.\n"))
        self.assertFalse(out.exists())

    def test_wrong_usage(self):
        for arguments in (["--stage", "tea"], ["--minutes", "0"], ["--model", "missing.lxf"], ["--stage"], ["--bins", "x"]):
            self.assertEqual(self.run_script(*arguments).returncode, 2, arguments)

    def test_pairs_are_needed_only_where_they_are_read(self):
        out = self.folder / "no-data"
        arguments = ["--short", "--bin", self.bin, "--out", out, "--data", self.folder / "missing"]
        done = self.run_script(*arguments, "--stage", "rates,attention,peers")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for stage in ("checks", "rates,memory", "train", "main", "peers_real"):
            done = self.run_script(*arguments, "--stage", stage)
            self.assertEqual(done.returncode, 2, stage)
            self.assertIn(f"gpu.sh: --data: there is no file '{self.folder}/missing/abt-buy/train.tsv', which stage {stage.split(',')[-1]} reads", done.stderr)

    def test_every_stage_on_the_stand_in(self):
        out = self.folder / "out"
        done = self.run_script("--short", "--bin", self.bin, "--out", out)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)  # the sanitizer reported errors
        self.assertIn("racecheck, loss: ended with 9", done.stdout)
        self.assertEqual(done.stdout.count("ended with"), 1, done.stdout)
        text = (out / "results.md").read_text()
        for part in ("these figures mean nothing", "| checks | ok |", "| sanitize | failed |", "| peers_base | ok |", "7 passed", "| racecheck | 0 | 0 | 0 | 2 | 0 | 0 | 0 | 0 | 0 | 0 |",
                     "Logits of the GPU and of the CPU, float32", "The peers were left out", "The main job was left out", "Not judged", "| float32 | NT | 4 x 1152 x 384 |", "| pairs of 24 tokens | lexformer-lea, tf32 |"):
            self.assertIn(part, text)
        memory = [json.loads(line) for line in (out / "memory.jsonl").read_text().splitlines()]
        attention = [line for line in memory if line["what"] == "attention"]
        self.assertEqual([line["length"] for line in attention], [8, 16])
        self.assertTrue(all(line["same_bits"] for line in attention))
        self.assertIn('"what":"attention_cublas"', (out / "attention.jsonl").read_text().replace(": ", ":"))

        # Successful stages are not run again unless requested.
        again = self.run_script("--short", "--bin", self.bin, "--out", out)
        self.assertIn("rates: was done before", again.stdout)
        self.assertNotIn("sanitize: was done before", again.stdout)
        model = out / "work/minilm.lxf"
        done = self.run_script("--short", "--bin", self.bin, "--out", out, "--model", model, "--stage", "main")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([line.split(" | ")[0] for line in (out / "results.md").read_text().splitlines() if line.startswith(("| plain", "| augmented", "| lea"))],
                         ["| plain", "| augmented", "| lea"])

    def half_hour(self, folder, *arguments, path=None):
        environment = {**os.environ, "PATH": path or self.path, "PYTHON": str(self.folder / "tools/no-torch")}
        return subprocess.run([folder / "bench/gpu.sh", *map(str, arguments)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)

    def test_half_an_hour_of_a_bare_machine(self):
        archive, there, results = self.folder / "p.tar.xz", self.folder / "there", self.folder / "half-hour"
        model = self.folder / "small.lxf"
        config = self.folder / "small.json"
        config.write_text(json.dumps({"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 128}))
        subprocess.run([self.bin / "lexformer", "make_model", "--text", self.folder / "data/abt-buy/train.tsv", "--model-config", config, "--out", model], check=True, stdout=subprocess.DEVNULL)
        packed = self.half_hour(ROOT, "pack", "--bin", self.bin, "--data", self.folder / "data", "--model", model, "--out", archive)
        self.assertEqual((packed.returncode, packed.stderr), (0, ""))
        self.assertEqual(packed.stdout, f"{archive}: {archive.stat().st_size} bytes\n")
        self.assertLess(archive.stat().st_size, 64 << 20)
        there.mkdir()
        subprocess.run(["tar", "xf", archive, "-C", there], check=True)
        there /= "lexformer-gpu"

        correct = self.half_hour(there, "correct", "--short", "--results", results)
        self.assertEqual(correct.returncode, 1, correct.stdout + correct.stderr)  # the sanitizer reported errors
        self.assertIn("racecheck, loss: ended with 9", correct.stdout)
        for command in ("ours", "peers"):
            done = self.half_hour(there, command, "--short", "--results", results)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(sorted(p.name for p in results.iterdir()), ["results.md", "results.tar.gz"])
        text = (results / "results.md").read_text()
        for part in ("on: stand-in, 0 MiB, 0", "Not judged", "| checks | ok |", "| sanitize | failed |", "| peers_base | ok |", "| racecheck | 0 | 0 | 0 | 2 | 0 | 0 | 0 | 0 | 0 | 0 |", "Logits of the GPU and of the CPU",
                     "| augmented", "## Machine"):
            self.assertIn(part, text)

        # On another machine, with the archive of the first: only what did not end well is run again.
        shutil.rmtree(there / "work")
        again = self.half_hour(there, "ours", "--short", "--results", results)
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        self.assertEqual(again.stdout.count("was done before"), 5, again.stdout)
        self.assertIn("checks: was done before\nsanitize\n", self.half_hour(there, "correct", "--short", "--results", results).stdout)

    def test_half_an_hour_refuses(self):
        def pack(*arguments):
            return self.half_hour(ROOT, "pack", "--data", self.folder / "data", "--bin", self.bin, "--out", self.folder / "refused.tar.xz", *arguments)
        large = self.folder / "large.lxf"
        with open(large, "wb") as stream:
            stream.truncate((64 << 20) + 1)
        for code, part, done in ((1, "at most 64 can be brought along", pack("--model", large)), (2, "there is no file 'missing.lxf'", pack("--model", "missing.lxf")),
                                 (1, f"there is no program '{self.folder}/lexformer_cuda_device_tests'", pack("--bin", self.folder)),
                                 (2, "--arch: 'abc' is no compute capability", pack("--arch", "abc")),
                                 (2, "there is no file '/missing/abt-buy/train.tsv'", pack("--data", "/missing")), (2, "unknown option --stage of pack", pack("--stage", "x")),
                                 (2, "this is for the folder that 'bench/gpu.sh pack' makes", self.half_hour(ROOT, "ours", "--short")),
                                 (2, "'10' is none of 1 to 9", self.half_hour(ROOT, "peers", "--minutes", 10))):
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(part, done.stderr)
        self.assertFalse((self.folder / "refused.tar.xz").exists())

    def test_half_an_hour_leaves_results_as_they_are(self):
        there = self.folder / "bare"
        (there / "bin").mkdir(parents=True)
        shutil.copytree(ROOT / "bench", there / "bench")
        for name in [*STAND_IN, "lexformer_cuda_device_tests", "cuda_square"]:
            write_program(there / "bin" / name, "exit 1\n")
        results, archive = self.folder / "kept", self.folder / "kept/results.tar.gz"
        nothing = self.folder / "no-gpu"
        nothing.mkdir()
        write_program(nothing / "nvidia-smi", "exit 9\n")
        done = self.half_hour(there, "correct", "--results", results, path=f"{nothing}:{os.environ['PATH']}")
        self.assertEqual((done.returncode, done.stdout), (77, "gpu.sh: nvidia-smi shows no GPU on this machine: nothing was checked or measured.\n"))
        self.assertFalse(results.exists())

        results.mkdir()
        archive.write_text("no archive")
        done = self.half_hour(there, "ours", "--results", results)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"gpu.sh: ours: '{archive}' cannot be read; move it away", done.stderr)
        self.assertEqual(archive.read_text(), "no archive")
        self.assertEqual(self.half_hour(there, "ours", "--results", results).returncode, 2)  # nor by the next call

        done = self.half_hour(there, "peers", "--results", archive / "below")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"gpu.sh: --results: cannot make '{archive}/below'", done.stderr)
        self.assertFalse((there / "work").exists())

    def judge(self, lines):
        """Verdict and figures of each goal, from these lines of a stage."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        for stage, rows in lines.items():
            (folder / f"{stage}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        subprocess.run([sys.executable, ROOT / "bench/gpu_table.py", folder], check=True)
        cells = [line.strip("| ").split(" | ") for line in (folder / "results.md").read_text().splitlines() if line.startswith("| G")]
        return {row[0]: row[2].strip() for row in cells}

    def test_nothing_measured_is_nothing_claimed(self):
        self.assertEqual(set(self.judge({}).values()), {"not measured"})

    def test_goals(self):
        def attention(length, temporary=100, bits=True, lea=1.1, what="attention"):
            times = {"none": {"median_ms": 1}, "lea": {"median_ms": lea}}
            return {"what": what, "length": length, "sequences": 512 // length, "head_width": 32, "heads": 12, "precision": "float32", "forward": times, "backward": times,
                    "temporary_bytes": {"none": 50, "lea": temporary}, "score_bytes": 40 * length, "same_bits": bits}

        def peer(way, ms):
            return {"what": "attention_peer", "way": way, "length": 32, "head_width": 32, "precision": "float32", "median_ms": ms}

        def step(contender, ms):
            return {"what": "train", "contender": contender, "label": "real pairs up to 64 tokens", "median_ms": ms, "pairs_per_second": 1}

        attentions = [attention(32), attention(64)]
        gathered = [peer("gather", 3.5), peer("embedding", 9), peer("one_hot", 30)]
        steps = [step("lexformer", 1.1), step("torch", 5), step("torch-compile", 2), step("torch-graph", 1.5)]
        found = self.judge({"attention": attentions, "memory": attentions, "peers": [*gathered, peer("flex", 4.5), *steps]})
        self.assertEqual([found[g] for g in ("G3", "G5", "G6", "G8")], ["met"] * 4)
        self.assertEqual([found[g] for g in ("G1", "G2", "G4", "G7", "G9")], ["not measured"] * 5)  # no bfloat16 measurements
        products = [{"what": what, "kind": "NT", "m": m, "n": 8, "k": 8, "precision": "bfloat16", "flops": 1, "median_ms": 1} for what in ("gemm", "gemm_peer") for m in (1, 2)]
        self.assertEqual(self.judge({"rates": products[:2], "peers": products[2:]})["G1"], "met")
        self.assertEqual(self.judge({"rates": products[:2], "peers": products[3:]})["G1"], "not measured")  # one of two sizes
        self.assertEqual(self.judge({"attention": attentions, "peers": gathered})["G6"], "not measured")  # FlexAttention is missing
        self.assertEqual(self.judge({"attention": attentions, "peers": [*gathered, peer("flex", 4)]})["G6"], "missed")
        self.assertEqual(self.judge({"attention": [attention(32, lea=1.2)]})["G5"], "missed")
        self.assertEqual(self.judge({"memory": [attention(32), attention(64, temporary=200)]})["G8"], "missed")  # grows with the length
        self.assertEqual(self.judge({"memory": [attention(32, bits=False)]})["G8"], "missed")
        self.assertEqual(self.judge({"peers": steps[:2]})["G3"], "not measured")
        self.assertEqual(self.judge({"peers": [step("lexformer-tf32", 1.0), step("torch-tf32", 5), step("torch-tf32-graph", 1.1), *steps]})["G3"], "missed")
        padded = {"what": "train_step", "label": "pairs of 128 tokens", "result": {"precision": "float32", "ratio": 1.02, "tensors_gb": 1.0}}
        self.assertEqual(self.judge({"train": [{**padded, "result": {**padded["result"], "ratio": 1.05}}]})["G7"], "missed")
        self.assertEqual(self.judge({"train": [padded]})["G7"], "met")
        adamw = [{"what": "copy", "bytes": 1e9, "median_ms": 1}, {"what": "adamw", "precision": "bfloat16", "parameters": 64, "bytes": 1e9, "median_ms": 1.2}]
        self.assertEqual(self.judge({"rates": adamw, "peers": [{"what": "adamw_peer", "parameters": 64, "median_ms": 1.3}]})["G9"], "met")


if __name__ == "__main__":
    unittest.main()
