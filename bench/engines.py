# SPDX-License-Identifier: MIT
"""The matcher of peer.py in other inference engines, for scoring on the CPU: OpenVINO (fp32, bf16, and int8 by NNCF) and CTranslate2 (fp32,
int8). Each of the two needs its own packages: openvino and nncf, or ctranslate2.

scorer(name, dtype, matcher, inputs, threads, folder) -> a function from a batch (dict of NumPy arrays) to its logits. What is converted is
kept in the folder, so that later processes only load it.
"""
import contextlib
import io
import os
from pathlib import Path

import numpy as np
import torch


class Positional(torch.nn.Module):
    """The matcher with one argument per tensor, as the tracer wants it."""

    def __init__(self, matcher):
        super().__init__()
        self.matcher = matcher

    def forward(self, input_ids, token_type_ids, attention_mask):
        return self.matcher({"input_ids": input_ids, "token_type_ids": token_type_ids, "attention_mask": attention_mask})


def openvino(dtype, matcher, inputs, threads, folder):
    import openvino as ov

    kind = "int8" if dtype == "int8" else "float"
    path = folder / f"openvino-{kind}.xml"
    if not path.exists():
        x = inputs[0]
        model = ov.convert_model(Positional(matcher), example_input=tuple(torch.from_numpy(x[name]) for name in x))
        for given, name in zip(model.inputs, x):
            given.get_tensor().set_names({name})
        model.reshape({given: ov.PartialShape([-1, -1]) for given in model.inputs})
        if dtype == "int8":
            import nncf
            model = nncf.quantize(model, nncf.Dataset(inputs), model_type=nncf.ModelType.TRANSFORMER, preset=nncf.QuantizationPreset.MIXED,
                                  subset_size=len(inputs))
        ov.save_model(model, path, compress_to_fp16=False)
    hints = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
             "INFERENCE_PRECISION_HINT": {"fp32": "f32", "bf16": "bf16", "int8": "f32"}[dtype]}
    request = ov.Core().compile_model(path, "CPU", hints).create_infer_request()
    return lambda x: request.infer(x)[0].copy()


def ctranslate2(dtype, matcher, inputs, threads, folder):
    del inputs
    import ctranslate2 as ct2
    from ctranslate2.converters import TransformersConverter
    from transformers import BertTokenizer

    path = folder / f"ctranslate2-{dtype}"
    if not path.exists():
        source = folder / "huggingface"
        matcher.bert.save_pretrained(source)
        size = matcher.bert.config.vocab_size
        (source / "vocab.txt").write_text("".join(f"{w}\n" for w in ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(5, size))]))
        BertTokenizer(str(source / "vocab.txt")).save_pretrained(source)  # the converter wants one; the ids come from peer.py
        TransformersConverter(str(source)).convert(str(path), quantization={"fp32": "float32", "int8": "int8"}[dtype])
    encoder = ct2.Encoder(str(path), device="cpu", intra_threads=threads, compute_type={"fp32": "float32", "int8": "int8"}[dtype])

    def score(x):
        lengths = x["attention_mask"].sum(1)
        ids, types = ([row[:n] for row, n in zip(x[name].tolist(), lengths)] for name in ("input_ids", "token_type_ids"))
        hidden = torch.from_numpy(np.array(encoder.forward_batch(ids, token_type_ids=types).last_hidden_state))
        return matcher.head_of(hidden, torch.from_numpy(x["attention_mask"])).numpy()
    return score


def scorer(name, dtype, matcher, inputs, threads, folder):
    os.environ["NNCF_SHOW_PROGRESS"] = "0"
    with contextlib.redirect_stdout(io.StringIO()), torch.inference_mode():
        return {"openvino": openvino, "ctranslate2": ctranslate2}[name](dtype, matcher, inputs, threads, Path(folder))
