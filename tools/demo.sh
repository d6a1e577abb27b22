#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A short demo from a fresh Debian 12 or Ubuntu 24.04: installs missing packages, builds, makes product pairs, trains a matcher from the
# encoder in weights/ plain, with typos, and with typos and LEA, and prints F1 on clean and misspelled test pairs.
# usage: tools/demo.sh [--short]       (--short: a minimal training that only shows that everything runs)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

easy_epochs=3
sizes=()
if [ "${1:-}" = --short ]; then
  easy_epochs=1
  sizes=(--train 400 --valid 100 --test 100 --easy 800)
elif [ $# -gt 0 ]; then
  echo "usage: tools/demo.sh [--short]" >&2
  exit 2
fi

tools/install_packages.sh g++ cmake ninja-build python3 libeigen3-dev nlohmann-json3-dev doctest-dev libcli11-dev
start=$SECONDS

echo "Building lexformer"
cmake --preset release >/dev/null
cmake --build --preset release --target lexformer_program

bin=build/release/bin
demo=build/demo
rm -rf "$demo"
mkdir -p "$demo"
python3 tools/make_demo_data.py --out "$demo" "${sizes[@]}"

# usage: train NAME MODEL OPTION...
train() {
  local name=$1 model=$2
  shift 2
  echo
  echo "Training $name"
  "$bin/lexformer" train_matcher --model "$model" --batch 32 --weight-decay 0.01 --seed 1 --out "$demo/$name" "$@"
}
# All three start from an encoder trained on short, easy pairs.
train encoder weights/english-small/model.lxf --train "$demo/easy_train.tsv" --valid "$demo/easy_valid.tsv" --epochs "$easy_epochs" --lr 3e-4
pairs=(--train "$demo/train.tsv" --valid "$demo/valid.tsv" --test "$demo/test.tsv" --epochs 1 --lr 4e-4 --test-typos 3)
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
