#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A short demo from a fresh Debian 12 or Ubuntu 24.04: installs missing packages and builds three commands; matches two small tables with the
# ready model in weights/ and draws what it compares; then trains a small model plain, with typos, and with typos and LEA, and prints F1 on
# clean and misspelled test pairs.
# usage: tools/demo.sh [--short]       (--short: a minimal training that only shows that everything runs)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

epochs=2
sizes=(--train 6000 --valid 400 --test 400)
if [ "${1:-}" = --short ]; then
  epochs=1
  sizes=(--train 400 --valid 100 --test 100)
elif [ $# -gt 0 ]; then
  echo "usage: tools/demo.sh [--short]" >&2
  exit 2
fi

tools/install_packages.sh g++ cmake ninja-build python3 libeigen3-dev nlohmann-json3-dev doctest-dev libcli11-dev
start=$SECONDS

echo "Building three commands of lexformer"
cmake --preset release -DLEXFORMER_COMMANDS="match;report;train_matcher" >/dev/null
cmake --build --preset release --target lexformer_program
cmake --preset release -DLEXFORMER_COMMANDS= >/dev/null  # the next build makes all commands

lexformer=build/release/bin/lexformer
demo=build/demo
rm -rf "$demo"
mkdir -p "$demo"
python3 tools/make_demo_data.py --out "$demo" --easy 0 --records 60 "${sizes[@]}"

# usage: show COMMAND...   prints a command and runs it
show() {
  echo
  echo "\$ $*"
  "$@"
}
show $lexformer match $demo/table_a.csv $demo/table_b.csv --model weights/matcher-small --matches-only --text --words 3 --out $demo/matched.csv --quiet
head -n 6 $demo/matched.csv
head -n 60 $demo/test.tsv >$demo/few.tsv
show $lexformer report --model ready=weights/matcher-small --test $demo/few.tsv --title "What the ready matcher sees" --out $demo/picture
echo "The picture: $PWD/$demo/picture/index.html, $((SECONDS - start)) s after the start"

# All three start from the same encoder, trained on short, easy pairs.
pairs=(--train "$demo/train.tsv" --valid "$demo/valid.tsv" --test "$demo/test.tsv" --test-typos 3)
train() {
  show $lexformer train_matcher --model weights/demo-start --out "$demo/$1" "${pairs[@]}" --batch 32 --lr 1e-3 --weight-decay 0.01 --epochs $epochs --seed 1 "${@:2}"
}
train plain --attention none
train augmented --attention none --augment
train lea --attention lea --augment

python3 - "$demo" <<'TABLE'
import json, sys
print("\nF1 on the test pairs                clean   with typos (mean of 3)")
for name, text in ("plain", "plain"), ("augmented", "trained with typos"), ("lea", "trained with typos, and LEA"):
    test = json.load(open(f"{sys.argv[1]}/{name}/all_results.json"))["test"][0]
    print(f"{text:33} {100 * test['f1']:7.1f} {100 * test['typos_mean']['f1']:12.1f}")
TABLE
echo "Done in $((SECONDS - start)) s; the models are $demo/*/model.lxf"
