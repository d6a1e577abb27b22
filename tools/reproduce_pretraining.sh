#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares position schemes and MTH in pre-training: pre-trains missing runs, row by row and seed by seed, fine-tunes each encoder on
# three tasks, evaluates, and writes a table. Interrupted runs are resumed.
# usage: tools/reproduce_pretraining.sh --text T.txt --valid V.txt --data DIR [--rows a,b] [--seeds 2] [--epochs 2] [--threads N] [--out DIR]
#   --text   one document per line; --valid: validation documents (tools/make_corpus.py makes both)
#   --data   a folder (tools/get_data.sh) with mrpc, rte and sts-b, each with train.tsv, valid.tsv and test.tsv (text TAB text TAB label)
#   --rows   some of bert, mth, bert_r, ddrp, ddrp_mth (default: these), gpt2 (a decoder; its loss is of the next token);  --out: default build/reproduce-pretraining
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${LEXFORMER_BIN:-$root/build/release/bin}

usage() {
  sed -n '3,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  [ $# -eq 0 ] || echo "reproduce_pretraining.sh: $*" >&2
  exit 2
}

text= valid= data= rows=bert,mth,bert_r,ddrp,ddrp_mth seeds=2 epochs=2 out=$root/build/reproduce-pretraining threads=()
while [ $# -gt 0 ]; do
  [ $# -gt 1 ] || usage "$1 needs a value"
  case $1 in
    --text) text=$2 ;;
    --valid) valid=$2 ;;
    --data) data=$2 ;;
    --rows) rows=$2 ;;
    --seeds) seeds=$2 ;;
    --epochs) epochs=$2 ;;
    --threads) threads=(--threads "$2") ;;
    --out) out=$2 ;;
    *) usage "unknown option $1" ;;
  esac
  shift 2
done
[ -f "$text" ] || usage "--text: there is no file '$text'"
[ -f "$valid" ] || usage "--valid: there is no file '$valid'"
for set in mrpc rte sts-b; do
  for part in train valid test; do
    [ -f "$data/$set/$part.tsv" ] || usage "--data: there is no file '$data/$set/$part.tsv'; tools/get_data.sh makes the folder"
  done
done
[[ $seeds =~ ^[1-9][0-9]*$ ]] || usage "--seeds: '$seeds' must be a positive integer"
[ -x "$bin/lexformer" ] || { echo "reproduce_pretraining.sh: $bin/lexformer is not built; cmake --preset release && cmake --build --preset release builds it" >&2; exit 1; }

# 5.3 million parameters with the vocabulary
sizes='"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024, "max_position_embeddings": 256'
decoder='"model_type": "gpt2", "n_embd": 256, "n_layer": 4, "n_head": 4, "n_positions": 256'
for row in ${rows//,/ }; do
  case $row in bert | mth | bert_r | ddrp | ddrp_mth | gpt2) ;; *) usage "--rows: unknown row '$row'" ;; esac
done
mkdir -p "$out"
options="$epochs epochs; checksums of text and validation text $(cksum <"$text") and $(cksum <"$valid"); tasks in $data"
[ ! -f "$out/options" ] || [ "$(cat "$out/options")" = "$options" ] || usage "--out: '$out' holds runs with other options: $(cat "$out/options")"
echo "$options" >"$out/options"
models=()
for row in ${rows//,/ }; do
  positions= cosines=() start=$sizes
  case $row in
    bert_r) positions=', "position_embedding_type": "bert_r"' ;;
    ddrp*) positions=', "position_embedding_type": "ddrp"' ;;
    gpt2) start=$decoder cosines=(--objective causal) ;;
  esac
  case $row in *mth) cosines+=(--token-cosine 1 --head-cosine 0.01) ;; esac
  for ((seed = 1; seed <= seeds; ++seed)); do
    run=$out/$row/seed-$seed
    mkdir -p "$run"
    echo "{$start$positions}" >"$run/config.json"
    models+=("$row-$seed=$run")
    if [ ! -f "$run/all_results.json" ]; then
      echo "==== $row, seed $seed" >&2
      "$bin/lexformer" pretrain --text "$text" --valid "$valid" --model-config "$run/config.json" --vocab-size 8000 --epochs "$epochs" --batch 64 \
        --lr 5e-4 --warmup 0.05 "${cosines[@]}" --seed "$seed" "${threads[@]}" --eval-steps 1000 --save-steps 500 --save-total-limit 1 \
        --resume --out "$run" >&2
    fi
    for set in mrpc rte sts-b; do
      task=()
      [ "$set" != sts-b ] || task=(--task regression)
      [ -f "$run/$set/all_results.json" ] || "$bin/lexformer" train_matcher --model "$run/model.lxf" --train "$data/$set/train.tsv" \
        --valid "$data/$set/valid.tsv" --test "$data/$set/test.tsv" "${task[@]}" --epochs 6 --lr 1e-4 --seed "$seed" "${threads[@]}" \
        --save-steps 50 --save-total-limit 1 --resume --out "$run/$set" >&2
    done
  done
done
"$bin/lexformer" analyze --model "${models[@]}" --text "$valid" --out "$out/analysis" "${threads[@]}" >&2

python3 - "$out" "$data/rte/test.tsv" "${models[@]}" <<'PYTHON' >"$out/table.md.new"
import json, statistics, sys
from collections import Counter, defaultdict
out, rte, *models = sys.argv[1:]
figures = {f["name"]: f for f in json.load(open(f"{out}/analysis/figures.json"))}
rows = defaultdict(list)
for model in models:
    name, run = model.split("=", 1)
    results, figure = json.load(open(f"{run}/all_results.json")), figures[name]
    task = lambda folder: json.load(open(f"{run}/{folder}/all_results.json"))["test"][0]
    rows[name.rsplit("-", 1)[0]].append([
        results["num_input_tokens_seen"] / 1e6, results["eval_loss"], figure["token_similarity"], figure["head_similarity"],
        100 * figure["up_down"], 100 * task("mrpc")["f1"], 100 * task("rte")["accuracy"], 100 * task("sts-b")["spearman"]])
print("| | seeds | tokens read, millions | loss | f(S) | f(H) | up-down, % | MRPC, F1 | RTE, accuracy | STS-B, Spearman |")
print("| --- |" + " --- |" * 9)
for row, values in rows.items():
    cells = []
    for digits, column in zip((1, 3, 3, 3, 0, 1, 1, 1), zip(*values)):
        cell = f"{statistics.mean(column):.{digits}f}"
        cells.append(cell + (f" ± {statistics.stdev(column):.{digits}f}" if len(column) > 1 else ""))
    print(f"| {row} | {len(values)} | " + " | ".join(cells) + " |")
labels = Counter(line.rstrip("\n").split("\t")[2] for line in open(rte, encoding="utf-8") if "\t" in line)
print(f"\nThe larger class of RTE's test pairs is {100 * max(labels.values()) / sum(labels.values()):.1f} %.")
PYTHON
mv "$out/table.md.new" "$out/table.md"
cat "$out/table.md"
