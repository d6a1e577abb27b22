#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/convert_hf.py: the rows of the families of models, and small checkpoints of each. Needs Python alone."""

import array
import contextlib
import dataclasses
import io
import json
import math
import os
import re
import struct
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
sys.dont_write_bytecode = True
import convert_hf
from convert.families import FAMILIES, Family, canonical_tensor, config_key, find_family, foreign_tensor, translations
from convert.files import read_bytes
from convert.names import canonical_names, foreign_tensors, needed_tensors
from convert.safetensors import parse_safetensors, write_safetensors
from convert.tensor import Tensor, join, pair_rows, split, transpose, values

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b"]
SIZES = {"vocab_size": 9, "hidden_size": 4, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 6, "max_position_embeddings": 8, "type_vocab_size": 2,
         "embedding_size": 4}
ROBERTA_HEAD = {"classifier.dense.weight": (4, 4), "classifier.dense.bias": (4,), "classifier.out_proj.weight": (3, 4), "classifier.out_proj.bias": (3,)}
ROBERTA_LM = {"lm_head.dense.weight": (4, 4), "lm_head.dense.bias": (4,), "lm_head.layer_norm.weight": (4,), "lm_head.layer_norm.bias": (4,), "lm_head.bias": (9,)}
BERT_LM = {"cls.predictions.transform.dense.weight": (4, 4), "cls.predictions.transform.LayerNorm.bias": (4,), "cls.predictions.bias": (9,)}
# Family -> names of HuggingFace's checkpoints with their canonical names; the heads that stay.
NAMES = {
    "bert": ({"bert.encoder.layer.1.attention.output.dense.bias": "bert.encoder.layer.1.attention.output.dense.bias"}, {"classifier.weight": (3, 4), **BERT_LM}),
    "electra": ({"electra.encoder.layer.1.output.dense.bias": "electra.encoder.layer.1.output.dense.bias"}, ROBERTA_HEAD),
    "distilbert": ({"distilbert.embeddings.position_embeddings.weight": "distilbert.embeddings.position_embeddings.weight",
                    "distilbert.transformer.layer.1.attention.q_lin.weight": "distilbert.encoder.layer.1.attention.self.query.weight",
                    "distilbert.transformer.layer.1.attention.k_lin.weight": "distilbert.encoder.layer.1.attention.self.key.weight",
                    "distilbert.transformer.layer.1.attention.v_lin.weight": "distilbert.encoder.layer.1.attention.self.value.weight",
                    "distilbert.transformer.layer.1.attention.out_lin.bias": "distilbert.encoder.layer.1.attention.output.dense.bias",
                    "distilbert.transformer.layer.1.sa_layer_norm.weight": "distilbert.encoder.layer.1.attention.output.LayerNorm.weight",
                    "distilbert.transformer.layer.1.ffn.lin1.weight": "distilbert.encoder.layer.1.intermediate.dense.weight",
                    "distilbert.transformer.layer.1.ffn.lin2.weight": "distilbert.encoder.layer.1.output.dense.weight",
                    "distilbert.transformer.layer.1.output_layer_norm.bias": "distilbert.encoder.layer.1.output.LayerNorm.bias",
                    "vocab_transform.weight": "cls.predictions.transform.dense.weight", "vocab_layer_norm.weight": "cls.predictions.transform.LayerNorm.weight",
                    "vocab_projector.bias": "cls.predictions.bias"},
                   {"pre_classifier.weight": (4, 4), "classifier.weight": (3, 4), "vocab_transform.weight": (4, 4), "vocab_layer_norm.weight": (4,), "vocab_projector.bias": (9,)}),
    "mpnet": ({"mpnet.encoder.layer.0.attention.attn.q.weight": "mpnet.encoder.layer.0.attention.self.query.weight",
               "mpnet.encoder.layer.0.attention.attn.o.weight": "mpnet.encoder.layer.0.attention.output.dense.weight",
               "mpnet.encoder.layer.0.attention.LayerNorm.bias": "mpnet.encoder.layer.0.attention.output.LayerNorm.bias",
               "mpnet.encoder.layer.0.output.LayerNorm.bias": "mpnet.encoder.layer.0.output.LayerNorm.bias",
               "mpnet.encoder.relative_attention_bias.weight": "lexformer.encoder.positions.bias",
               "lm_head.layer_norm.bias": "cls.predictions.transform.LayerNorm.bias", "lm_head.bias": "cls.predictions.bias"}, {**ROBERTA_HEAD, **ROBERTA_LM}),
    "roberta": ({"roberta.embeddings.token_type_embeddings.weight": "roberta.embeddings.token_type_embeddings.weight",
                 "lm_head.dense.weight": "cls.predictions.transform.dense.weight"}, {**ROBERTA_HEAD, **ROBERTA_LM, "roberta.pooler.dense.bias": (4,)}),
    "xlm-roberta": ({"roberta.encoder.layer.0.output.dense.bias": "roberta.encoder.layer.0.output.dense.bias"}, ROBERTA_HEAD),
    "camembert": ({"lm_head.bias": "cls.predictions.bias"}, ROBERTA_LM),
    "deberta-v2": ({"deberta.encoder.layer.1.attention.self.query_proj.weight": "deberta.encoder.layer.1.attention.self.query.weight",
                    "deberta.encoder.layer.1.attention.self.value_proj.bias": "deberta.encoder.layer.1.attention.self.value.bias",
                    "deberta.encoder.layer.1.attention.output.LayerNorm.bias": "deberta.encoder.layer.1.attention.output.LayerNorm.bias",
                    "deberta.embeddings.embed_proj.weight": "deberta.embeddings_project.weight",
                    "deberta.encoder.rel_embeddings.weight": "lexformer.encoder.layer.0.positions.table",
                    "deberta.encoder.LayerNorm.weight": "lexformer.encoder.layer.0.positions.norm.weight", "pooler.dense.bias": "classifier.dense.bias"},
                   {"pooler.dense.weight": (4, 4), "pooler.dense.bias": (4,), "classifier.weight": (3, 4), "classifier.bias": (3,)}),
    "modernbert": ({"model.embeddings.tok_embeddings.weight": "model.embeddings.word_embeddings.weight", "model.embeddings.norm.weight": "model.embeddings.LayerNorm.weight",
                    "model.layers.1.attn_norm.weight": "model.encoder.layer.1.attention.output.LayerNorm.weight",
                    "model.layers.1.attn.Wqkv.weight": ["model.encoder.layer.1.attention.self.%s.weight" % part for part in ("query", "key", "value")],
                    "model.layers.1.attn.Wo.weight": "model.encoder.layer.1.attention.output.dense.weight",
                    "model.layers.1.mlp_norm.weight": "model.encoder.layer.1.output.LayerNorm.weight",
                    "model.layers.1.mlp.Wi.weight": ["model.encoder.layer.1.intermediate.%s.weight" % part for part in ("dense", "gate")],
                    "model.layers.1.mlp.Wo.weight": "model.encoder.layer.1.output.dense.weight", "model.final_norm.weight": "model.encoder.LayerNorm.weight",
                    "decoder.bias": "cls.predictions.bias"},
                   {"head.dense.weight": (4, 4), "head.norm.weight": (4,), "classifier.weight": (3, 4), "classifier.bias": (3,), "decoder.bias": (9,)}),
    "gpt2": ({"transformer.wte.weight": "transformer.embeddings.word_embeddings.weight", "transformer.wpe.weight": "transformer.embeddings.position_embeddings.weight",
              "transformer.h.1.ln_1.bias": "transformer.encoder.layer.1.attention.output.LayerNorm.bias",
              "transformer.h.1.attn.c_attn.bias": ["transformer.encoder.layer.1.attention.self.%s.bias" % part for part in ("query", "key", "value")],
              "transformer.h.1.attn.c_proj.weight": "transformer.encoder.layer.1.attention.output.dense.weight",
              "transformer.h.1.ln_2.weight": "transformer.encoder.layer.1.output.LayerNorm.weight",
              "transformer.h.1.mlp.c_fc.weight": "transformer.encoder.layer.1.intermediate.dense.weight",
              "transformer.h.1.mlp.c_proj.weight": "transformer.encoder.layer.1.output.dense.weight", "transformer.ln_f.bias": "transformer.encoder.LayerNorm.bias"},
             {"score.weight": (3, 4)}),
    "gpt_neo": ({"transformer.h.0.attn.attention.q_proj.weight": "transformer.encoder.layer.0.attention.self.query.weight",
                 "transformer.h.0.attn.attention.k_proj.weight": "transformer.encoder.layer.0.attention.self.key.weight",
                 "transformer.h.0.attn.attention.v_proj.weight": "transformer.encoder.layer.0.attention.self.value.weight",
                 "transformer.h.0.attn.attention.out_proj.bias": "transformer.encoder.layer.0.attention.output.dense.bias",
                 "transformer.h.0.mlp.c_proj.weight": "transformer.encoder.layer.0.output.dense.weight"}, {"score.weight": (3, 4)}),
}
TRANSPOSED = ("relative_attention_bias", "h.1.attn.c_", "h.1.mlp.c_")  # parts of the names above


def rows_of_the_library():
    """The rows of io/architecture.hpp: designated initialisers of texts, numbers, booleans and enumerators."""
    with open(os.path.join(ROOT, "include", "lexformer", "io", "architecture.hpp"), encoding="utf-8") as file:
        text = file.read()
    value = r'((?:\s*(?:R"\(.*?\)"|"(?:[^"\\]|\\.)*"))+|[\w:.-]+)'
    plain = lambda given: "".join(raw or quoted for raw, quoted in re.findall(r'R"\((.*?)\)"|"(.*?)"', given))
    constants = {name: plain(given) for name, given in re.findall(r"inline constexpr std::string_view (\w+) =" + value + ";", text)}

    def parsed(given):
        return (plain(given) if '"' in given else constants[given] if given in constants else given == "true" if given in ("true", "false")
                else given.split("::")[1] if "::" in given else float(given))

    def joined(given):  # a constant may follow a text
        return " ".join(given.split())

    begin = text.index("architecture_rows{")
    rows = text[begin:text.index("\n};", begin)].split("Architecture{")[1:]
    return [{name: parsed(joined(given.strip())) for name, given in re.findall(r"\.(\w+) =\s*" + value, row)} for row in rows]


def tensor_of(shape, start):
    numbers = array.array("f", [((start + i) * 37 % 101 - 50) / 64 for i in range(math.prod(shape))])
    return Tensor("F32", tuple(shape), numbers.tobytes())


DEBERTA = {"relative_attention": True, "share_att_key": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 4, "max_relative_positions": -1, "norm_rel_ebd": "layer_norm",
           "embedding_size": 2, "type_vocab_size": 0, "position_biased_input": False}


def config_of(family):
    sizes = {config_key(family, key): size for key, size in SIZES.items() if config_key(family, key)}
    if family.embedding_size == 0 and family.terms != "deberta":
        del sizes["embedding_size"]
    return {"model_type": family.model_type, "architectures": ["%sModel" % family.name], **sizes, **({"relative_attention_num_buckets": 6} if family.terms == "mpnet" else {}),
            **(DEBERTA if family.terms == "deberta" else {})}


class Families(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.source, self.target, self.back = (os.path.join(self.folder, name) for name in ("source", "m.lxf", "back"))
        os.mkdir(self.source)
        self.put("vocab.txt", "".join(word + "\n" for word in WORDS))
        self.put("tokenizer_config.json", {"tokenizer_class": "BertTokenizer"})

    def put(self, name, value):
        with open(os.path.join(self.source, name), "wb") as file:
            file.write(value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else json.dumps(value).encode())

    def run_tool(self, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            code = convert_hf.main(list(arguments))
        self.out, self.err = out.getvalue(), err.getvalue()
        return code

    def converted(self, source=None):
        self.assertEqual(self.run_tool(source or self.source, self.target, "--check"), 0, self.err)
        return parse_safetensors(read_bytes(self.target), self.target)

    def refused(self, part):
        self.assertEqual(self.run_tool(self.source, self.target), 3, self.out + self.err)
        self.assertIn(part, self.err)

    def test_rows_are_those_of_the_library(self):
        rows = rows_of_the_library()
        self.assertEqual([row["model_type"] for row in rows], [family.model_type for family in FAMILIES])
        ours, defaults = [field.name for field in dataclasses.fields(Family)], {field.name: field.default for field in dataclasses.fields(Family)}
        compared = 0
        for row, family in zip(rows, FAMILIES):
            for key in ours:
                self.assertEqual(row.get(key, defaults[key]), getattr(family, key), (family.model_type, key))
                compared += key in row
        self.assertGreater(compared, 100)
        self.assertTrue(all(row["head_out"] and row["tensors"] for row in rows[2:]))

    def test_names_and_back(self):
        for family in FAMILIES:
            names, _ = NAMES[family.model_type]
            for theirs, canonical in names.items():
                canonical = [canonical] if isinstance(canonical, str) else canonical
                found, transposed, paired = canonical_names(theirs, family)
                self.assertEqual(found, canonical)
                self.assertEqual([foreign_tensor(family, name) for name in canonical], [theirs] * len(canonical))
                self.assertEqual(transposed, family.model_type in ("mpnet", "gpt2") and any(part in theirs for part in TRANSPOSED))
                self.assertEqual(paired, "Wqkv" in theirs)
            for _, canonical in translations(family.tensors):
                self.assertNotRegex(canonical.lstrip("~%"), "[~%]")
        self.assertEqual(canonical_tensor(find_family("gpt2", ""), "score.weight"), (["score.weight"], False, False))

    def test_forms(self):
        matrix = Tensor("F16", (2, 3), struct.pack("<6e", 1, 2, 3, 4, 5, 6))
        self.assertEqual(values(transpose(matrix)).tolist(), [1, 4, 2, 5, 3, 6])
        self.assertEqual(transpose(transpose(matrix)), matrix)
        self.assertEqual(transpose(Tensor("F64", (0, 3), b"")), Tensor("F64", (3, 0), b""))
        self.assertEqual([bytes(part.data) for part in split(Tensor("U8", (4, 1), b"abcd"), 2, "")], [b"ab", b"cd"])
        self.assertEqual(join(split(matrix, 2, "")), matrix)
        rows = Tensor("U8", (8, 2), b"a0b0c0d0A1B1C1D1")  # two heads of width 4
        self.assertEqual(pair_rows(rows, 2, "").data, b"a0c0b0d0A1C1B1D1")
        self.assertEqual(pair_rows(pair_rows(rows, 2, ""), 2, "", back=True), rows)

    def fused(self, model_type, name, shape, **more):
        """One fused tensor of layer 0 in a checkpoint, and the tensors that it becomes; their rows hold the row's number there."""
        family = find_family(model_type, "")
        self.write_source(family, **more)
        path = os.path.join(self.source, "model.safetensors")
        tensors = parse_safetensors(read_bytes(path), path)[0]
        columns = shape[1] if len(shape) > 1 else 1
        tensors[name] = Tensor("F32", shape, array.array("f", range(math.prod(shape))).tobytes())
        write_safetensors(path, tensors, {})
        found = self.converted()[0]
        layer = family.prefix + "encoder.layer.0."
        return [values(found[layer + part + name[name.rindex("."):]]).tolist() for part in (
            ("intermediate.dense", "intermediate.gate") if "Wi" in name else ["attention.self." + part for part in ("query", "key", "value")])], columns

    def test_fused_tensors(self):
        rows = lambda numbers, columns: [float(columns * row + j) for row in numbers for j in range(columns)]
        pairs = [0, 2, 1, 3]  # of a head of width 4
        found, _ = self.fused("modernbert", "model.layers.0.attn.Wqkv.weight", (12, 4), num_attention_heads=1)
        self.assertEqual(found, [rows(pairs, 4), rows([4 + i for i in pairs], 4), rows(range(8, 12), 4)])
        found, _ = self.fused("modernbert", "model.layers.0.attn.Wqkv.bias", (12,), num_attention_heads=1, attention_bias=True)
        self.assertEqual(found, [rows(pairs, 1), rows([4 + i for i in pairs], 1), rows(range(8, 12), 1)])
        found, _ = self.fused("modernbert", "model.layers.0.mlp.Wi.weight", (12, 4))
        self.assertEqual(found, [rows(range(6), 4), rows(range(6, 12), 4)])
        found, _ = self.fused("gpt2", "transformer.h.0.attn.c_attn.weight", (4, 12))
        self.assertEqual(found, [[float(12 * j + 4 * part + i) for i in range(4) for j in range(4)] for part in range(3)])
        found, _ = self.fused("gpt2", "transformer.h.0.attn.c_attn.bias", (12,))
        self.assertEqual(found, [rows(range(4 * part, 4 * part + 4), 1) for part in range(3)])

    def write_source(self, family, with_prefix=True, **more):
        """A checkpoint under HuggingFace's names; returns its tensors and the canonical ones."""
        config = {**config_of(family), **more}
        canonical = {name: tensor_of(shape, i) for i, (name, shape) in enumerate(sorted(needed_tensors(config).items()))}
        theirs = foreign_tensors(canonical, config, "")
        heads = {name: tensor_of(shape, 70 + i) for i, (name, shape) in enumerate(NAMES[family.model_type][1].items())}
        written = {name if with_prefix or not name.startswith(family.prefix) else name[len(family.prefix):]: tensor for name, tensor in {**theirs, **heads}.items()}
        self.put("config.json", config)
        write_safetensors(os.path.join(self.source, "model.safetensors"), written, {})
        return {**theirs, **heads}, canonical

    def test_each_family_and_back(self):
        for number, family in enumerate(FAMILIES):
            for with_prefix in (True, False):
                with self.subTest(family.model_type, with_prefix=with_prefix):
                    theirs, canonical = self.write_source(family, with_prefix)
                    tensors, metadata = self.converted()
                    self.assertEqual({name: (t.shape, bytes(t.data)) for name, t in tensors.items() if name in canonical},
                                     {name: (t.shape, bytes(t.data)) for name, t in canonical.items()})
                    self.assertEqual(len(tensors), len(canonical) + len(NAMES[family.model_type][1]))
                    self.assertEqual(json.loads(metadata["lexformer.config"]), config_of(family))
                    back = self.back + "%d%d" % (number, with_prefix)
                    self.assertEqual(self.run_tool(self.target, "--to-hf", back), 0, self.err)
                    self.assertNotIn("note", self.out)
                    again = parse_safetensors(read_bytes(os.path.join(back, "model.safetensors")), back)[0]
                    self.assertEqual({name: (t.shape, bytes(t.data)) for name, t in again.items()}, {name: (t.shape, bytes(t.data)) for name, t in theirs.items()})
                    with open(os.path.join(back, "config.json")) as file:
                        self.assertEqual(json.load(file), config_of(family))
                    with open(os.path.join(back, "tokenizer_config.json")) as file:
                        self.assertEqual(json.load(file)["model_max_length"], {"mpnet": 6}.get(family.model_type, 6 if family.prefix == "roberta." else 8))
                    self.assertEqual(self.converted(back)[0], tensors)

    def test_8_bits_of_each_family(self):
        for family in FAMILIES:
            self.write_source(family)
            self.converted()
            small = os.path.join(self.folder, "small.lxf")
            self.assertEqual(self.run_tool(self.target, small, "--dtype", "I8"), 0, self.err)
            tensors = parse_safetensors(read_bytes(small), small)[0]
            self.assertEqual(sum(name.endswith("_scale") for name in tensors), 14 if family.gated else 12, family.model_type)

    def test_configs(self):
        distil = {"hidden_size": "the key 'hidden_size' is not known", "activation": "'activation' is 'mish', which is not supported", "dim": "'dim' is 'mish', expected a whole number",
                  "layer_norm_eps": "the key 'layer_norm_eps' is not known"}
        for model_type, changes, part in (
                *(("distilbert", {key: "mish"}, part) for key, part in distil.items()),
                ("mpnet", {"type_vocab_size": 2}, "the key 'type_vocab_size' is not known"), ("mpnet", {"relative_attention_num_buckets": 7}, "expected an even number"),
                ("mpnet", {"relative_attention_num_buckets": 8}, "1 needed tensors are missing or of the wrong shape, as 'lexformer.encoder.positions.bias'"),
                ("mpnet", {"max_position_embeddings": 3}, "'max_position_embeddings' is 3, of which 2 rows are not used"),
                ("roberta", {"pad_token_id": 6}, "'max_position_embeddings' is 8, of which 7 rows are not used"), ("roberta", {"pad_token_id": 9}, "'pad_token_id' is 9"),
                ("xlm-roberta", {"vocab_size": None}, "'vocab_size' is None, expected a whole number"), ("bert", {"relative_attention_num_buckets": 32}, "is not known"),
                ("deberta-v2", {"relative_attention": False}, "'relative_attention' is False, which is not supported"),
                ("deberta-v2", {"share_att_key": None}, "'share_att_key' is not true"), ("deberta-v2", {"pos_att_type": "p2c|p2p"}, "'pos_att_type' is 'p2c|p2p', expected c2p"),
                ("deberta-v2", {"pos_att_type": []}, "'pos_att_type' is [], expected c2p"), ("deberta-v2", {"conv_kernel_size": 3}, "'conv_kernel_size' is 3"),
                ("deberta-v2", {"pooler_hidden_size": 3}, "'pooler_hidden_size' is 3, expected 4"), ("deberta-v2", {"attention_head_size": 4}, "'attention_head_size' is 4, expected 2"),
                ("deberta-v2", {"norm_rel_ebd": "batch_norm"}, "'norm_rel_ebd' is 'batch_norm'"), ("deberta-v2", {"position_buckets": 3}, "at least 4 buckets"),
                ("deberta-v2", {"position_buckets": 1.5}, "'position_buckets' is"), ("deberta-v2", {"position_buckets": 6}, "needed tensors are missing or of the wrong shape"),
                ("deberta-v2", {"type_vocab_size": 2}, "1 needed tensors are missing"), ("deberta-v2", {"position_biased_input": None}, "1 needed tensors are missing"),
                ("deberta-v2", {"embedding_size": None}, "needed tensors are missing or of the wrong shape"), ("deberta", {}, "'model_type' is 'deberta', which is not supported"),
                ("modernbert", {"classifier_pooling": "max"}, "'classifier_pooling' is 'max', which is not supported; expected cls or mean"),
                ("modernbert", {"classifier_activation": "mish"}, "'classifier_activation' is 'mish'"), ("modernbert", {"mlp_dropout": 0.1}, "'mlp_dropout' is 0.1"),
                ("modernbert", {"norm_bias": 1}, "'norm_bias' is 1"), ("modernbert", {"local_attention": 1}, "'local_attention' is 1, expected a whole number"),
                ("modernbert", {"layer_types": ["sliding_attention"] * 2}, "'layer_types' is not full_attention in exactly the layers that one number divides"),
                ("modernbert", {"rope_parameters": {"sliding_attention": {"rope_type": "yarn"}}}, "rope_parameters: sliding_attention: 'rope_type' is 'yarn'"),
                ("modernbert", {"attention_bias": True}, "8 needed tensors are missing"), ("modernbert", {"num_attention_heads": 4}, "expected an even number of rows"),
                ("gpt2", {"scale_attn_weights": False}, "'scale_attn_weights' is False"), ("gpt2", {"reorder_and_upcast_attn": True}, "'reorder_and_upcast_attn' is True"),
                ("gpt2", {"pad_token_id": 9}, "'pad_token_id' is 9"), ("gpt2", {"n_positions": 1}, "'n_positions' is 1"), ("gpt2", {"hidden_size": 4}, "is not known"),
                ("gpt2", {"n_inner": None}, "6 needed tensors are missing or of the wrong shape"),
                ("gpt_neo", {"attention_types": [[["local"], 2]]}, "expected global in exactly the layers that one number divides"),
                ("gpt_neo", {"attention_types": [[[], 1 << 62], [["global"], 1 << 62]]}, "expected global in exactly the layers that one number divides"),
                ("gpt_neo", {"window_size": 1}, "'window_size' is 1")):
            with self.subTest(model_type, part=part):
                family = find_family(model_type + "-v2" * (model_type == "deberta"), "")
                self.write_source(family)
                self.put("config.json", {**config_of(family), "model_type": model_type, **changes})
                self.refused(part)
        family = find_family("distilbert", "")
        self.write_source(family)
        self.put("config.json", {**config_of(family), "sinusoidal_pos_embds": True, "qa_dropout": 0.1, "activation": "relu", "seq_classif_dropout": 0.2})
        self.converted()

    def stored_again(self, tensors, metadata, config):
        """The .lxf file with another config."""
        metadata = {key: text for key, text in metadata.items() if key not in ("format", "lexformer.crc32")}
        write_safetensors(self.target, tensors, {**metadata, "lexformer.config": json.dumps(config)})

    def test_terms_of_the_family(self):
        """A trained model has the terms of the family in its list of attention terms."""
        t5 = {"t5": {"buckets": 6, "max_distance": 128, "scaled": True}}
        modern = {"rope_by_layer": {"base": 160000, "local_base": 500.0, "every": 3}, "reach": {"causal": False, "distance": 3, "every": 3}}
        reach = {"reach": {"causal": True, "distance": 3, "every": 2}}
        deberta = {"deberta": {"size": 4, "buckets": 4, "max_distance": 8, "shared": True, "norm": True, "c2p": True, "p2c": True}}
        other = "the attention term 'reach' has other options than in transformers' model of the family"
        lacks = "there is no attention term 'reach', which transformers' model of the family has"
        for number, (model_type, more, terms, refusal) in enumerate((
                ("mpnet", {}, t5, ""), ("mpnet", {}, {"t5": {**t5["t5"], "scaled": False}}, "the position scheme is 't5' with other options; transformers has t5"),
                ("mpnet", {}, {"t5": {**t5["t5"], "buckets": 8}}, "the position scheme is 't5' with other options; transformers has t5"),
                ("modernbert", {"local_attention": 7, "rope_parameters": {"sliding_attention": {"rope_theta": 500}}}, modern, ""),
                ("modernbert", {"local_attention": 7, "local_rope_theta": 500}, modern, ""), ("modernbert", {"local_attention": 9, "local_rope_theta": 500}, modern, other),
                ("modernbert", {"local_attention": 7}, modern, "the position scheme is 'rope_by_layer' with other options; transformers has rope_by_layer"),
                ("gpt2", {}, {"reach": {"causal": True, "distance": 0, "every": 0}}, ""), ("gpt2", {}, reach, other), ("gpt2", {}, {}, lacks),
                ("modernbert", {"local_attention": 7, "local_rope_theta": 500, "num_hidden_layers": 4, "layer_types": ["full_attention", "sliding_attention"] * 2},
                 {name: {**options, "every": 2} for name, options in modern.items()}, ""),
                ("modernbert", {"local_attention": 7, "local_rope_theta": 500, "layer_types": ["full_attention"] * 2}, modern, "the position scheme is 'rope_by_layer' with other options"),
                ("gpt_neo", {"window_size": 4}, reach, ""), ("gpt_neo", {"num_layers": 3, "window_size": 4, "attention_types": [[["global", "local", "local"], 1]]},
                                                             {"reach": {**reach["reach"], "every": 3}}, ""), ("gpt_neo", {"window_size": 4, "attention_types": [[["global", "local"], 1]]}, reach, ""),
                ("gpt_neo", {"attention_types": [[["global"], 2]]}, {"reach": {"causal": True, "distance": 0, "every": 2}}, ""),
                ("gpt_neo", {}, reach, other), ("bert", {}, reach, ""), ("deberta-v2", {}, deberta, ""),
                ("deberta-v2", {"pos_att_type": "c2p"}, deberta, "the position scheme is 'deberta' with other options; transformers has deberta"))):
            with self.subTest(model_type, terms=terms, **more):
                family = find_family(model_type, "")
                self.write_source(family, **more)
                ours = {"attention": [{"name": name, "options": options} for name, options in terms.items()], "position_embeddings": True}
                self.stored_again(*self.converted(), {**config_of(family), **more, "lexformer": ours})
                self.assertEqual(self.run_tool(self.target, "--to-hf", self.back + str(number)), 3 if refusal else 0, self.err)
                self.assertIn(refusal, self.err)
                self.assertEqual("note: transformers leaves out the attention terms reach" in self.out, model_type == "bert")
                self.assertEqual("note" in self.out, model_type == "bert")

    def test_names_within_a_wrapper(self):
        for family in FAMILIES:
            for with_prefix in (True, False):
                self.write_source(family, with_prefix)
                path, expected = os.path.join(self.source, "model.safetensors"), self.converted()[0]
                tensors = parse_safetensors(read_bytes(path), path)[0]
                for wrapper in ("module.", "_orig_mod.", "model.", "module._orig_mod.", "mine."):
                    with self.subTest(family.model_type, with_prefix=with_prefix, wrapper=wrapper):
                        write_safetensors(path, {wrapper + name: tensor for name, tensor in tensors.items()}, {})
                        self.assertEqual(self.converted()[0], expected)
                        own = wrapper == family.prefix and not with_prefix  # ModernBERT's own prefix is "model."
                        self.assertEqual("took off the prefix '%s' of the names" % wrapper in self.out, not own)

    def test_buffers_are_left_out(self):
        for model_type, names in (("gpt2", ("h.0.attn.bias", "h.1.attn.masked_bias")), ("gpt_neo", ("h.0.attn.attention.bias", "h.1.attn.attention.masked_bias"))):
            for prefix in ("", "transformer."):
                self.write_source(find_family(model_type, ""), prefix != "")
                path = os.path.join(self.source, "model.safetensors")
                tensors, expected = parse_safetensors(read_bytes(path), path)[0], self.converted()[0]
                write_safetensors(path, {**tensors, **{prefix + name: tensor_of((1, 1, 8, 8), 0) for name in names}}, {})
                self.assertEqual(self.converted()[0], expected)
                self.assertIn("a buffer", self.out)

    def test_incomplete_parts(self):
        """A bias that only the query has is no part of a fused tensor."""
        family = find_family("modernbert", "")
        self.write_source(family)
        tensors, metadata = self.converted()
        tensors["model.encoder.layer.0.attention.self.query.bias"] = tensor_of((4,), 0)
        self.stored_again(tensors, metadata, config_of(family))
        self.assertEqual(self.run_tool(self.target, "--to-hf", self.back), 3)
        self.assertIn("the tensors that make up 'model.layers.0.attn.Wqkv.bias' are not complete, or do not fit", self.err)

    def test_trained_head(self):
        family = find_family("roberta", "")
        self.write_source(family)
        tensors, metadata = self.converted()
        self.stored_again(tensors, metadata, {**config_of(family), "lexformer": {"head": "huggingface", "labels": 3, "label_names": ["a", "b", "c"]}})
        self.assertEqual(self.run_tool(self.target, "--to-hf", self.back), 0, self.err)
        with open(os.path.join(self.back, "config.json")) as file:
            config = json.load(file)
        self.assertEqual((config["architectures"], config["num_labels"]), (["RobertaForSequenceClassification"], 3))


if __name__ == "__main__":
    unittest.main()
