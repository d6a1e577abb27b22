#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A model that a training starts from keeps what it is, unless options say otherwise. Needs the built program (LEXFORMER_BIN)."""
import json
import re
import struct
import tempfile
import unittest
from pathlib import Path

from support import Refusals, pairs, program, start_model, write


def metadata(path):
    """The texts beside the tensors of a model."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + size])["__metadata__"]


def settings(path):
    return json.loads(metadata(path)["lexformer.config"])["lexformer"]


class StartModel(Refusals, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = Path(cls.temporary.name)
        cls.table = cls.folder / "pairs.tsv"
        cls.table.write_text(pairs(24, 1))
        plain = start_model(cls.folder, cls.table)
        done = cls.train(plain, "first", "--attention", "lea", "--lea-words", "both", "--lea-levels", 20, "--max-length", 40, "--labels", "0,1")
        assert done.returncode == 0, done.stderr
        cls.first = cls.folder / "first/model.lxf"
        assert "kept" not in done.stderr, done.stderr

    @classmethod
    def train(cls, model, out, *options, command="train_matcher", data=None):
        table = data or ("--train", cls.table, "--valid", cls.table)
        return program(command, "--model", model, *table, "--out", cls.folder / out, "--max-steps", 1, "--lr", 0, *options)

    def test_kept(self):
        done = self.train(self.first, "kept")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("model.lxf: kept are attention lea, head paper, 40 tokens, classification 0,1\n", done.stderr)
        self.assertIn(": 0 new tensors\n", done.stderr)
        self.assertNotIn("warning", done.stderr)
        self.assertEqual(settings(self.folder / "kept/model.lxf"), settings(self.first))
        scores = [program("score_pairs", "--model", m, "--columns", "1,2", text=self.table.read_text()).stdout
                  for m in (self.first, self.folder / "kept/model.lxf")]
        self.assertEqual(scores[0], scores[1])
        self.assertEqual(len(scores[0].splitlines()), 24)

    def test_said_otherwise(self):
        done = self.train(self.first, "other", "--lea-words", "tokenizer", "--max-length", 30)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("kept are attention lea, head paper, classification 0,1\n", done.stderr)
        now = settings(self.folder / "other/model.lxf")
        lea = now["attention"][0]["options"]
        self.assertEqual((lea["words"], lea["levels"], now["max_length"]), ("tokenizer", 20, 30))
        named = self.train(self.first, "named", "--attention", "lea", "--lea-levels", 10)  # the other options of the term are kept
        self.assertEqual(named.returncode, 0, named.stderr)
        lea = settings(self.folder / "named/model.lxf")["attention"][0]["options"]
        self.assertEqual((lea["words"], lea["levels"]), ("both", 10))

    def test_dropped(self):
        done = self.train(self.first, "none", "--attention", "none", "--head", "huggingface", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("model.lxf (paper, classification, 2 labels)\n", done.stderr)
        self.assertIn("warning: the new model does not have attention terms of ", done.stderr)
        self.assertTrue(done.stderr.endswith("first/model.lxf: lea\n"), done.stderr)
        done = self.train(self.first, "encoder", "--quiet", command="train_encoder")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("first/model.lxf: lea\n", done.stderr)

    def test_option_of_a_term_that_is_not_there(self):
        self.refused(2, self.train(self.folder / "start.lxf", "x", "--lea-levels", 10), "--lea-levels: is an option of the attention term 'lea'")
        self.refused(2, self.train(self.first, "x", "--attention", "none", "--lea-levels", 10), "--lea-levels: is an option of")

    def test_other_labels(self):
        done = self.train(self.first, "labels", "--labels", "1,0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(settings(self.folder / "labels/model.lxf")["label_names"], ["1", "0"])
        done = self.train(self.folder / "start.lxf", "binary", "--loss", "binary")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.train(self.folder / "binary/model.lxf", "again")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("128 tokens, regression", done.stderr)
        self.assertEqual(settings(self.folder / "again/model.lxf")["activation"], "sigmoid")
        done = self.train(self.folder / "binary/model.lxf", "squared", "--loss", "squared")
        self.assertEqual(settings(self.folder / "squared/model.lxf")["activation"], "identity")

    def test_records(self):
        rows = [[f"p{i}", f"tavion lamp {i}", f"oak {i % 3}", i] for i in range(12)]
        write(self.folder / "a.csv", ["sku", "name", "text", "stock"], rows)
        write(self.folder / "b.csv", ["nr", "name", "text", "stock"], rows)
        write(self.folder / "labels.csv", ["ltable_id", "rtable_id", "label"], [[f"p{i}", f"p{j}", int(i == j)] for i in range(12) for j in (i, (i + 1) % 12)])
        tables = ("--left", self.folder / "a.csv", "--right", self.folder / "b.csv")
        data = ("--train", self.folder / "labels.csv", "--valid", self.folder / "labels.csv", *tables)
        done = self.train(self.first, "records", "--id", "sku=nr", "--columns", "name,text", "--column-words", "text=2", data=data)
        self.assertEqual(done.returncode, 0, done.stderr)
        model = self.folder / "records/model.lxf"
        kept = json.loads(metadata(model)["lexformer.records"])
        self.assertEqual((kept["id"], kept["words"]), (["sku", "nr"], {"text": 2}))
        done = self.train(model, "records2", data=data)  # ids, columns and words of the model
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(metadata(self.folder / "records2/model.lxf")["lexformer.records"], metadata(model)["lexformer.records"])
        done = program("evaluate", "--model", model, "--test", self.folder / "labels.csv", *tables)
        self.assertEqual(done.returncode, 0, done.stderr)
        # Figures on pairs that a model was trained on are named, also of the model that a training started from.
        self.assertIn("labels.csv: " + str(model) + " was trained on 24 of these 24 pairs; figures on them say nothing of others\n", done.stderr)
        again = self.folder / "records2/model.lxf"
        self.assertEqual(len(metadata(self.first)["lexformer.trained_on"]), 8 * 24)
        hashes = lambda path: set(re.findall("." * 8, metadata(path)["lexformer.trained_on"]))
        self.assertLess(hashes(self.first), hashes(again))
        write(self.folder / "sample.csv", ["ltable_id", "rtable_id", "label", "chosen"],
              [[f"p{i}", f"p{j}", int(i == j), "sample"] for i in range(12) for j in (i, (i + 1) % 12, (i + 2) % 12)])
        done = program("match", self.folder / "a.csv", self.folder / "b.csv", "--model", again, "--validation", self.folder / "sample.csv", "--candidates", 12,
                       "--quiet", "--out", self.folder / "v.csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("sample.csv: " + str(again) + " was trained on 24 of these 36 pairs", done.stderr)
        done = self.train(model, "texts")  # of texts: the settings stay for later
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(metadata(self.folder / "texts/model.lxf")["lexformer.records"], metadata(model)["lexformer.records"])
        done = program("match", self.folder / "a.csv", self.folder / "b.csv", "--model", model, "--out", self.folder / "m.csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.refused(3, self.train(model, "x", "--id", "name", data=data), "a.csv", "'name'")

    def test_lea_where_layers_see_whole_texts(self):
        """New LEA is in the layers of ModernBERT that have no window, unless the option says otherwise."""
        config, model = self.folder / "modern.json", self.folder / "modern.lxf"
        config.write_text(json.dumps({"model_type": "modernbert", "hidden_size": 16, "num_hidden_layers": 6, "num_attention_heads": 2, "intermediate_size": 32,
                                      "local_attention": 8, "max_position_embeddings": 60}))
        done = program("make_model", "--text", self.table, "--vocab-size", 200, "--model-config", config, "--out", model)
        self.assertEqual(done.returncode, 0, done.stderr)
        lea = lambda out: next(term["options"] for term in settings(self.folder / out / "model.lxf")["attention"] if term["name"] == "lea")
        for out, every, options in (("modern_lea", 3, ()), ("modern_all", 1, ("--lea-every", 1)), ("modern_short", 1, ("--max-length", 5)), ("modern_last", 1, ("--lea-layers", "4,6"))):
            done = self.train(model, out, "--attention", "lea", "--labels", "0,1", *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(lea(out)["every"], every)
            note = "note: LEA is in the layers of 3 to 5 that 3 divides, since the others see no further than 4 tokens; --lea-every 1 puts it into all\n"
            self.assertEqual(note in done.stderr, every == 3, done.stderr)
        done = self.train(self.folder / "modern_all/model.lxf", "modern_kept")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(lea("modern_kept")["every"], 1)  # the model's own LEA stays
        self.refused(2, self.train(model, "modern_none", "--attention", "lea", "--lea-layers", "4,6", "--lea-every", 3), "divides none of the layers 4 to 5")

    def test_encoder(self):
        data = ("--train", self.table, "--valid", self.table, "--columns", "1,2,3", "--loss", "contrastive")
        for start, out, length in ((self.folder / "start.lxf", "vectors", 256), (self.folder / "vectors30/model.lxf", "vectors2", 30)):
            if out == "vectors2":
                done = self.train(self.folder / "start.lxf", "vectors30", "--max-length", 30, "--pool", "cls", command="train_encoder", data=data)
                self.assertEqual(done.returncode, 0, done.stderr)
            done = self.train(start, out, command="train_encoder", data=data)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(settings(self.folder / out / "model.lxf")["max_length"], min(length, 512))


if __name__ == "__main__":
    unittest.main()
