# SPDX-License-Identifier: MIT
"""What the tests of the programs share: calling one, small labelled pairs, and tables."""
import csv
import os
import random
import subprocess
import sys
import time
from pathlib import Path

BIN = Path(os.environ.get("LEXFORMER_BIN", "build/release/bin"))
PROGRAM = BIN / "lexformer"
if not PROGRAM.exists():
    print("the program lexformer is not built; skipped")
    sys.exit(77)

BRANDS = ["halvek", "lumenor", "tavion", "zentrel", "kelvora", "nordis"]
KINDS = ["digital camera", "lcd tv", "cordless phone", "microwave oven"]


def run(command, *arguments, text="", **more):
    options = {"input": text, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8", "errors": "replace", "timeout": 300}
    return subprocess.run([str(word) for word in (*command, *arguments)], **{**options, **more})


def program(name, *arguments, **more):
    """A command of lexformer."""
    return run((PROGRAM, name), *arguments, **more)


def start_and_signal(arguments, sign, seconds, signal_number):
    """Starts a program, signals it so many seconds after `sign` appeared, and returns its exit status."""
    process = subprocess.Popen([str(a) for a in arguments], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.time() + 120
    while not sign.exists() and process.poll() is None and time.time() < deadline:
        time.sleep(0.002)
    time.sleep(seconds)
    process.send_signal(signal_number)
    return process.wait()


class Refusals:
    """A mixin of test cases."""

    def refused(self, code, done, *parts):
        """The program failed with this exit code and one line of message that has these parts."""
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)


def write(path, header, rows):
    """A table as .csv."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def pairs(count, seed):
    rng, rows = random.Random(seed), []
    for i in range(count):
        left = f"{rng.choice(BRANDS)} {rng.choice(KINDS)} {rng.choice('abcdk')}{rng.randrange(100, 999)}"
        right = left if i % 3 == 0 else f"{rng.choice(BRANDS)} {rng.choice(KINDS)} {rng.choice('abcdk')}{rng.randrange(100, 999)}"
        rows.append(f"{left}\t{right} \"x\"\t{int(i % 3 == 0)}\n")
    return "".join(rows)


def start_model(folder, text):
    """A new model of two small layers for the words of a file."""
    config, model = folder / "config.json", folder / "start.lxf"
    config.write_text('{"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}')
    done = program("make_model", "--text", text, "--vocab-size", 200, "--model-config", config, "--out", model)
    assert done.returncode == 0, done.stderr
    return model


def write_wordnet(folder, synsets):
    """A WordNet of nouns alone. A synset is its lemmas, as "dog Canis_familiaris"; each is a hyponym of `entity`."""
    folder.mkdir()
    data, index = "", ""
    for synset in ["entity", *synsets]:
        offset, lemmas = f"{len(data):08d}", synset.split()
        data += f"{offset} 03 n {len(lemmas):02x} {' 0 '.join(lemmas)} 0 {'000' if synset == 'entity' else '001 @ 00000000 n 0000'} | a gloss\n"
        index += "".join(f"{lemma.lower()} n 1 1 @ 1 0 {offset}\n" for lemma in lemmas)
    for part in ("noun", "verb", "adj", "adv"):
        (folder / f"data.{part}").write_text(data if part == "noun" else "")
        (folder / f"index.{part}").write_text(index if part == "noun" else "")
        (folder / f"{part}.exc").write_text("")
