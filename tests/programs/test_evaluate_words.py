# SPDX-License-Identifier: MIT
"""evaluate_words: correlations and purities that are known by hand, with word vectors, with a LOVE model for the other words, and with
LOVE alone; what is refused."""
import json
import math
import shutil
import struct
import tempfile
import unittest
import zlib
from pathlib import Path

from support import program


def write_love(path, size=2):
    """A LOVE model whose attention adds nothing: the vector of a word is the sum of its letters' rows, scaled to length 1.
    a is (1, 0, ...), b is (0, 1, ...), all others are zero."""
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[SUB]", "a", "b"]
    table = [0.0] * (len(tokens) * size)
    table[5 * size] = table[6 * size + 1] = 1.0
    tensors = {"love.units.weight": ([len(tokens), size], table)}
    for part in ("position", "query", "key", "output"):
        tensors[f"love.layer.0.{part}.weight"] = ([size, size], [0.0] * size * size)
        tensors[f"love.layer.0.{part}.bias"] = ([size], [0.0] * size)
    for part in ("weight", "bias"):
        tensors[f"love.norm.{part}"] = ([size], [0.0] * size)
    vocab = "".join(token + "\n" for token in tokens)
    love = {"size": size, "structure": "sequential", "scale": "quarter", "query_size": size, "heads": 1, "layers": 1, "dropout": 0.0}
    config = {"model_type": "love", "lexformer": {"love": love, "units": {"mode": "characters", "buckets": 0}}}
    tokenizer = {"do_lower_case": True, "strip_accents": None, "tokenize_chinese_chars": True, "clean_text": True, "max_input_chars_per_word": 100,
                 "match_special_tokens": True, **{f"{name}_token": f"[{name.upper()}]" for name in ("unk", "cls", "sep", "pad", "mask")}}
    header, data = {}, b""
    for name in sorted(tensors):
        shape, values = tensors[name]
        part = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    header["__metadata__"] = {"format": "pt", "lexformer.format": "1", "lexformer.config": json.dumps(config), "lexformer.vocab": vocab,
                              "lexformer.vocab_crc32": str(zlib.crc32(vocab.encode())), "lexformer.tokenizer": json.dumps(tokenizer)}
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def direction(degrees, length=1.0):
    angle = math.radians(degrees)
    return [length * math.cos(angle), length * math.sin(angle)]


class EvaluateWords(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="lexformer-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.love = self.folder / "love.lxf"
        write_love(self.love)
        self.words = {f"w{d}": direction(d, 1 + d) for d in (0, 10, 30, 60, 90)}
        # Two groups of directions; by their lengths alone the words would be grouped otherwise.
        self.words.update({"hammer": direction(5), "saw": direction(8, 90), "cat": direction(80, 90), "dog": direction(85)})
        self.vectors = self.write("v.txt", "".join(f"{w} {x!r} {y!r}\n" for w, (x, y) in self.words.items()))
        # On the covered pairs the cosines descend and the scores are 4, 2, 3, 1: Spearman 1 - 6 * 2 / (4 * 15) = 0.8.
        self.pairs = self.write("pairs.tsv", "w0\tw10\t4\nW0\tw30\t2\nw0\tW60\t3\nw0\tw90\t1\nw0\taab\t0\nw0\tnew york\t9\n")
        self.clusters = self.write("c.csv", ",category,word\n0,tool,hammer\n1,tool,saw\n2,tool,\n3,animal,cat\n4,animal,Dog\n5,tool,aaaa\n6,animal,polar bear\n")

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def measure(self, *arguments):
        """The results as JSON, and the lines of the table."""
        done = program("evaluate_words", *arguments, "--output", self.folder / "out.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads((self.folder / "out.json").read_text()), done.stdout.splitlines()

    def test_vectors_alone(self):
        results, lines = self.measure("--vectors", self.vectors, "--similarity", self.pairs, "--clusters", self.clusters)
        pairs, clusters = results["similarity"][0], results["clusters"][0]
        self.assertEqual((pairs["pairs"], pairs["covered"], pairs["left_out"]), (6, 4, 2))
        self.assertAlmostEqual(pairs["on_covered"]["spearman"], 80)
        self.assertEqual(pairs["on_all"], pairs["on_covered"])
        self.assertEqual((clusters["words"], clusters["covered"], clusters["left_out"]), (6, 4, 2))
        self.assertEqual((clusters["on_covered"]["purity"], clusters["on_covered"]["categories"]), (100, 2))
        self.assertEqual(lines[0].split("  ")[0], "file")
        self.assertRegex(lines[1], r"pairs\.tsv +Spearman +6 +4 +80\.0 +2 +80\.0$")
        self.assertRegex(lines[2], r"c\.csv +purity +6 +4 +100\.0 +2 +100\.0$")
        self.assertRegex(lines[3], r"c\.csv +purity, mean of 10 +6 +4 +100\.0 +2 +100\.0$")
        self.assertEqual(len({len(line) for line in lines}), 1)
        self.assertEqual(results["settings"], {"vectors": str(self.vectors), "words": "", "imputer": "", "imputer_only": False, "starts": 10, "seed": 1})

    def test_numpy_array(self):
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 2), }" % len(self.words)
        header += " " * (63 - (10 + len(header)) % 64) + "\n"
        rows = b"".join(struct.pack("<2f", *row) for row in self.words.values())
        (self.folder / "v.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + rows)
        names = self.write("names.txt", "".join(w + "\n" for w in self.words))
        results, _ = self.measure("--vectors", self.folder / "v.npy", "--words", names, "--similarity", self.pairs)
        self.assertAlmostEqual(results["similarity"][0]["on_covered"]["spearman"], 80)

    def test_with_love(self):
        results, lines = self.measure("--vectors", self.vectors, "--love", self.love, "--similarity", self.pairs, "--clusters", self.clusters)
        pairs, clusters = results["similarity"][0], results["clusters"][0]
        self.assertEqual((pairs["covered"], pairs["left_out"]), (4, 1))  # a space
        self.assertAlmostEqual(pairs["on_covered"]["spearman"], 80)
        # aab is (2, 1): the second of five cosines, with the lowest score. Differences of ranks 0, 3, 0, 2, 1: 1 - 6 * 14 / (5 * 24).
        self.assertAlmostEqual(pairs["on_all"]["spearman"], 30)
        self.assertEqual((clusters["left_out"], clusters["on_all"]["words"], clusters["on_all"]["purity"]), (1, 5, 100))
        self.assertRegex(lines[1], r" 80\.0 +1 +30\.0$")
        # An imputed word of the other category: four of five.
        wrong = self.write("wrong.csv", self.clusters.read_text().replace("tool,aaaa", "animal,aaaa"))
        results, _ = self.measure("--vectors", self.vectors, "--love", self.love, "--clusters", wrong)
        self.assertAlmostEqual(results["clusters"][0]["on_all"]["purity"], 80)
        self.assertEqual(results["clusters"][0]["on_covered"]["purity"], 100)

    def test_imputer_only(self):
        # Cosines with a: aab .89, ab .71, b 0.
        pairs = self.write("letters.tsv", "0\ta\taab\t1.5\n1\ta\tab\t2\n2\ta\tb\t3\n")
        results, lines = self.measure("--imputer", self.love, "--imputer-only", "--similarity", pairs)
        self.assertAlmostEqual(results["similarity"][0]["on_all"]["spearman"], -100)
        self.assertEqual(results["similarity"][0]["covered"], 0)
        self.assertIsNone(results["similarity"][0]["on_covered"]["spearman"])
        self.assertRegex(lines[1], r" 3 +0 +- +0 +-100\.0$")
        # --vectors tell what is covered; their numbers, which are all the same, are not used.
        held = self.write("held.txt", "a 1 0\naab 1 0\nb 1 0\n")
        results, _ = self.measure("--vectors", held, "--love", self.love, "--love-only", "--similarity", pairs, "--clusters", self.clusters)
        self.assertEqual(results["similarity"][0]["covered"], 2)
        self.assertAlmostEqual(results["similarity"][0]["on_covered"]["spearman"], -100)
        self.assertEqual((results["clusters"][0]["covered"], results["clusters"][0]["on_covered"]["purity"]), (0, None))

    def test_misspellings(self):
        # By cosine: aab is (2, 1), so p is nearest, then d30; aaab is (3, 1): p, then d30; abb is (1, 2): d60.
        # cc has no letter that this LOVE knows: zeros, without neighbours.
        held = {"p": direction(24), "d0": direction(0), "d30": direction(30), "d60": direction(60), "d90": direction(90), "ba": direction(45)}
        vectors = self.write("held.txt", "".join(f"{w} {x!r} {y!r}\n" for w, (x, y) in held.items()))
        arguments = ["--vectors", vectors, "--love", self.love]
        lines = "Aab\tP\naaab\td30\nabb\td60\naab\tabsent\nba\tp\naa b\tp\ncc\tp\n"
        results, table = self.measure(*arguments, "--misspellings", self.write("m.tsv", lines))
        found = results["misspellings"][0]
        self.assertEqual((found["misspellings"], found["covered"], found["left_out"]), (7, 4, 3))
        self.assertEqual(found["on_covered"], {"misspellings": 4, "top_1": 50, "top_10": 75})
        self.assertEqual(found["on_all"], found["on_covered"])
        self.assertRegex(table[1], r"m\.tsv +nearest is correct +7 +4 +50\.0 +3 +50\.0$")
        self.assertRegex(table[2], r"m\.tsv +correct in nearest 10 +7 +4 +75\.0 +3 +75\.0$")
        # The same in blocks; the other measures stay.
        blocks = self.write("m.dat", "$P\nAab 3\nba\naa_b\ncc\n$d30\naaab\n$absent\naab\n$?\nab\n$d60\nabb\n")
        both, table = self.measure(*arguments, "--similarity", self.pairs, "--misspellings", blocks, self.folder / "m.tsv")
        self.assertEqual({**both["misspellings"][0], "file": 0}, {**found, "file": 0})
        self.assertEqual(both["misspellings"][1], found)
        self.assertEqual(len(table), 6)
        # Eleven words are nearer.
        held.update({f"e{i}": direction(40 + i) for i in range(10)})
        more = self.write("more.txt", "".join(f"{w} {x!r} {y!r}\n" for w, (x, y) in held.items()))
        one = self.write("one.tsv", "ab\td0\nab\te5\nab\td60\nab\td30\n")
        results, _ = self.measure("--vectors", more, "--love", self.love, "--misspellings", one)
        self.assertEqual(results["misspellings"][0]["on_covered"], {"misspellings": 4, "top_1": 0, "top_10": 25})
        # With --imputer-only the known words have the model's vectors, too: ba is (1, 1), as ab.
        named = self.write("named.txt", "ba 2 1\nbaa 1 1\n")
        only = self.write("only.tsv", "ab\tba\naab\tbaa\n")
        for flags, share in ([], 0), (["--love-only"], 100):
            results, _ = self.measure("--vectors", named, "--love", self.love, *flags, "--misspellings", only)
            self.assertEqual(results["misspellings"][0]["on_covered"]["top_1"], share)
        results, table = self.measure("--vectors", named, "--love", self.love, "--misspellings", self.write("none.tsv", "ab\tabsent\n"))
        self.assertIsNone(results["misspellings"][0]["on_all"]["top_1"])
        self.assertRegex(table[1], r" 1 +0 +- +1 +-$")

    def test_threads_and_seeds(self):
        words = {f"{g}{i}": direction(90 * math.sin(7 * i + g)) for g in range(4) for i in range(30)}
        vectors = self.write("many.txt", "".join(f"{w} {x!r} {y!r}\n" for w, (x, y) in words.items()))
        clusters = self.write("many.csv", "category,word\n" + "".join(f"{w[0]},{w}\n" for w in words))
        arguments = ["--vectors", vectors, "--similarity", self.pairs, "--clusters", clusters]
        one, two = (self.measure(*arguments, "--threads", n) for n in (1, 3))
        self.assertEqual(one, two)
        other, _ = self.measure(*arguments, "--seed", 2)
        self.assertNotEqual(other["clusters"][0]["on_all"]["purity_mean"], one[0]["clusters"][0]["on_all"]["purity_mean"])
        few, lines = self.measure(*arguments, "--starts", 1)
        self.assertEqual(few["clusters"][0]["on_all"]["purity_deviation"], 0)
        self.assertIn("mean of 1 ", lines[-1])

    def refused(self, code, message, *arguments):
        done = program("evaluate_words", *arguments)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertIn(message, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_refusals(self):
        given = ["--vectors", self.vectors]
        self.refused(2, "--vectors: is missing", "--similarity", self.pairs)
        self.refused(2, "--similarity: no file to evaluate on", *given)
        self.refused(2, "--imputer-only: needs --imputer", "--imputer-only", "--similarity", self.pairs)
        self.refused(2, "--words: needs --vectors", "--love", self.love, "--love-only", "--words", self.pairs, "--similarity", self.pairs)
        self.refused(2, "would be overwritten", *given, "--similarity", self.pairs, "--output", self.pairs)
        self.refused(2, "would be overwritten", *given, "--clusters", self.clusters, "--output", self.clusters)
        self.refused(2, "--misspellings: needs --vectors", *given, "--misspellings", self.pairs)
        self.refused(2, "--misspellings: needs --vectors", "--love", self.love, "--love-only", "--misspellings", self.pairs)
        self.refused(2, "would be overwritten", *given, "--love", self.love, "--misspellings", self.pairs, "--output", self.pairs)
        self.refused(3, "bad.dat: line 2: expected a misspelling and a count", *given, "--love", self.love, "--misspellings", self.write("bad.dat", "$a\na b c\n"))
        self.refused(3, "five.tsv: line 1: expected a misspelling, the correct word", *given, "--love", self.love, "--misspellings", self.write("five.tsv", "id\tword\tmisspelling\tcount\tsource\n"))
        self.refused(2, "no table format", *given, "--clusters", self.write("c.xml", "x"))
        write_love(self.folder / "wide.lxf", size=4)
        self.refused(2, f"makes vectors of 4 numbers, but those of {self.vectors} have 2", *given, "--love", self.folder / "wide.lxf", "--similarity", self.pairs)
        self.refused(3, "bad.tsv: line 2: expected two words and a score", *given, "--similarity", self.write("bad.tsv", "a\tb\t1\na b 1\n"))
        self.refused(3, "bad.tsv: line 1: the score 'high' is no finite number", *given, "--similarity", self.write("bad.tsv", "a\tb\thigh\n"))
        self.refused(3, "empty.tsv: has no pairs of words", *given, "--similarity", self.write("empty.tsv", ""))
        (self.folder / "latin.tsv").write_bytes(b"a\tb\t1\nm\xfcsli\tb\t1\n")
        self.refused(3, "latin.tsv: line 2: byte 2 is not UTF-8", *given, "--similarity", self.folder / "latin.tsv")
        self.refused(3, "there is no column 'category'", *given, "--clusters", self.write("bad.csv", "kind,word\ntool,saw\n"))
        self.refused(3, "line 1", "--vectors", self.write("bad.txt", "a 1 x\n"), "--similarity", self.pairs)
        self.refused(3, "absent.tsv", *given, "--similarity", self.folder / "absent.tsv")
        self.refused(3, "has no table of word embeddings", "--vectors", self.love, "--similarity", self.pairs)
        self.refused(3, "v.txt", *given, "--love", self.vectors, "--similarity", self.pairs)


if __name__ == "__main__":
    unittest.main()
