#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Shows that convert_hf.py agrees with transformers and safetensors: models of every kind that it knows, as .safetensors, as
shards and as .bin, go to .lxf and back to a folder; PyPI's safetensors opens the .lxf, transformers loads the folder and gives
the same outputs, bit for bit.

    check_convert.py [FOLDER ...]     also with these checkpoints (BERT or sentence-transformers folders)

Needs torch, transformers and safetensors; no test needs this program.
"""

import os
import sys
import tempfile

import safetensors.torch
import torch
import transformers

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import convert_hf

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + ["w%d" % i for i in range(195)]
SIZES = dict(vocab_size=200, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=96, max_position_embeddings=40)


def outputs(model):
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, 200, (3, 17), generator=generator)
    types = torch.randint(0, 2, (3, 17), generator=generator)
    with torch.no_grad():
        return model.eval()(input_ids=ids, token_type_ids=types)[0]


def round_trip(source, kind, work):
    lxf, back = os.path.join(work, "m.lxf"), os.path.join(work, "back")
    assert convert_hf.main([source, lxf, "--check"]) == 0
    with safetensors.safe_open(lxf, "pt") as file:
        names = list(file.keys())
        assert file.metadata()["format"] == "pt" and all(file.get_tensor(name).dtype == torch.float32 for name in names)
    assert convert_hf.main([lxf, "--to-hf", back]) == 0
    again, info = kind.from_pretrained(back, output_loading_info=True, dtype=torch.float32)
    assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"], info
    return again


def main():
    torch.manual_seed(0)
    bert, electra = transformers.BertConfig(**SIZES), transformers.ElectraConfig(embedding_size=32, **SIZES)
    results = []
    for kind, config in ((transformers.BertModel, bert), (transformers.BertForSequenceClassification, bert), (transformers.BertForMaskedLM, bert),
                         (transformers.BertForPreTraining, bert), (transformers.ElectraModel, electra),
                         (transformers.ElectraForSequenceClassification, electra), (transformers.ElectraForMaskedLM, electra)):
        model = kind(config)
        for parameter in model.parameters():  # a lost bias would not show while it is zero
            torch.nn.init.normal_(parameter, std=0.2)
        for form in ("safetensors", "shards", "bin"):
            with tempfile.TemporaryDirectory() as work:
                source = os.path.join(work, "source")
                model.save_pretrained(source, max_shard_size="60KB" if form == "shards" else "50GB")
                assert os.path.exists(os.path.join(source, "model.safetensors.index.json")) == (form == "shards")
                if form == "bin":
                    os.remove(os.path.join(source, "model.safetensors"))
                    torch.save(model.state_dict(), os.path.join(source, "pytorch_model.bin"))
                with open(os.path.join(source, "vocab.txt"), "w") as file:
                    file.write("".join(word + "\n" for word in WORDS))
                difference = (outputs(round_trip(source, kind, work)) - outputs(model)).abs().max().item()
                results.append("%-34s %-12s largest difference %g" % (kind.__name__, form, difference))
                assert difference == 0
    for source in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as work:
            again = round_trip(source, transformers.AutoModel, work)
            original = transformers.AutoModel.from_pretrained(source, dtype=torch.float32)
            difference = (outputs(again) - outputs(original)).abs().max().item()
            texts = ["Caf\u00e9 \u4f60\u597d 12.5\" 'x' [MASK] \u0130", "The quick  brown\tfox, ##x"]
            tokens = [transformers.AutoTokenizer.from_pretrained(f)(texts)["input_ids"] for f in (source, os.path.join(work, "back"))]
            results.append("%s: largest difference %g, token ids %s" % (source, difference, "equal" if tokens[0] == tokens[1] else "DIFFER"))
            assert difference == 0 and tokens[0] == tokens[1]
    print("\n".join(results))


if __name__ == "__main__":
    main()
