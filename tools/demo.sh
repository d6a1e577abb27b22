#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The main job in small, from a fresh Debian 12 or Ubuntu 24.04: installs what is missing, builds, makes product pairs, a vocabulary
# and a small encoder, trains a matcher plain, with typos, and with typos and LEA, and prints F1 on clean and misspelt test pairs.
# usage: tools/demo.sh [--short]       (--short: little training, to see that everything runs; its figures mean nothing)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# OpenMP's threads spin while they wait unless told otherwise: beside other work on the same cores that costs more than it brings.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}

epochs=8
easy_epochs=8
sizes=()
if [ "${1:-}" = --short ]; then
  epochs=1
  easy_epochs=1
  sizes=(--train 800 --valid 200 --test 200 --easy 1600)
elif [ $# -gt 0 ]; then
  echo "usage: tools/demo.sh [--short]" >&2
  exit 2
fi

tools/install_packages.sh g++ cmake ninja-build python3 libeigen3-dev nlohmann-json3-dev doctest-dev libcli11-dev
start=$SECONDS

echo "Building train_matcher and make_model"
cmake --preset release >/dev/null
cmake --build --preset release --target train_matcher make_model

bin=build/release/bin
demo=build/demo
rm -rf "$demo"
mkdir -p "$demo"
python3 tools/make_demo_data.py --out "$demo" "${sizes[@]}"
cat >"$demo/encoder.json" <<'CONFIG'
{"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256, "max_position_embeddings": 128,
 "initializer_range": 0.1}
CONFIG
"$bin/make_model" --text "$demo/train.tsv" --vocab-size 1500 --model-config "$demo/encoder.json" --seed 1 --out "$demo/untrained.lxf"

# usage: train NAME MODEL OPTION...
train() {
  local name=$1 model=$2
  shift 2
  echo
  echo "Training $name"
  "$bin/train_matcher" --model "$model" --batch 32 --weight-decay 0.01 --seed 1 --out "$demo/$name" "$@"
}
# In place of a pre-trained encoder: what equal words are is learned from short, easy pairs; all three begin there.
train encoder "$demo/untrained.lxf" --train "$demo/easy_train.tsv" --valid "$demo/easy_valid.tsv" --epochs "$easy_epochs" --lr 2e-3
pairs=(--train "$demo/train.tsv" --valid "$demo/valid.tsv" --test "$demo/test.tsv" --epochs "$epochs" --lr 1e-3 --test-typos 3)
train plain "$demo/encoder/model.lxf" "${pairs[@]}" --attention none
train augmented "$demo/encoder/model.lxf" "${pairs[@]}" --attention none --augment
train lea "$demo/encoder/model.lxf" "${pairs[@]}" --attention lea --augment

python3 - "$demo" <<'TABLE'
import json, sys
print("\nF1 on the test pairs                clean   with typos (mean of 3)")
for name, text in ("plain", "plain"), ("augmented", "trained with typos"), ("lea", "trained with typos, and LEA"):
    test = json.load(open(f"{sys.argv[1]}/{name}/all_results.json"))["test"][0]
    print(f"{text:33} {100 * test['f1']:7.1f} {100 * test['typos_mean']['f1']:12.1f}")
TABLE
echo "Done in $((SECONDS - start)) s; the models are $demo/*/model.lxf"
