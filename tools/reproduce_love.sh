#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Reproduces tables of the LOVE paper: trains LOVE on the rows of a model's word table, row by row and seed by seed, and measures it.
# Interrupted runs are resumed; rows that several tables share are trained once.
# usage: tools/reproduce_love.sh TABLE --model M.lxf --data DIR [--seeds 3] [--epochs 20] [--rows a,b] [--threads N] [--out DIR]
#                                [--text-epochs 3] [--lr 5e-5] [--batch 32] [--cnn-epochs 5] [--cnn-lr 1e-3] [--typo-mode love] [--fasttext F.bin]
#   TABLE    intrinsic   LOVE beside the model's own rows: word similarity and clusters (Table 2)
#            rivals      LOVE beside MIMICK, BoS, KVQ-FH and edit distance (Table 2)
#            structures  positional attention before self-attention, or beside it
#            inputs      letters and pieces, letters alone, pieces alone (Table 5)
#            encoders    positional attention and self-attention, self-attention alone, CNN, RNN (Table 5)
#            losses      NT-Xent, align-uniform, MSE, Euclidean, cosine (Table 5)
#            batches     without hard negatives, without these and augmentation (Table 5)
#            augmentations  one augmentation alone, and each two (Figure A3; for A4 see static): tools/draw_augmentations.py draws both
#            sst2        the model alone and with LOVE, clean and with typos, word table trained and frozen (Tables 4 and 6)
#            static      Kim's CNN over the model's own rows: SST2 and MR, clean and with 70 % typos, each way to complete them (Table 3)
#   --model  an encoder as a .lxf file;  --out: default build/reproduce-love;  --rows: only these rows
#   --data   a folder with love-vocab/vocab.txt; wordsim-love/{rw,men,simLex,rel353}.txt and wordcluster/{ap,bless}.csv, or for table sst2
#            sst2/{train,dev,test}.tsv and sst2/typo_test_*.txt (text TAB label); for static also mr/rt-polarity.{pos,neg} (a text in each line)
#   --epochs of train_love; --text-epochs, --lr and --batch of train_text; --cnn-epochs and --cnn-lr of train_text_cnn: of several learning
#   rates, LR,LR, the best one on dev counts;  --typo-mode: of MR's typos, love or ocr;  --fasttext: a fastText model for rows of static
#   Rows of sst2, with the LOVE model of the same seed: none, or replace, add or linear; with suffixes -mean_norm, -train (LOVE, too), -frozen (the word table), e.g. replace-train-frozen
#   Rows of static: none; love, mimick, bos, kvq_fh or edit_distance for the words that the model lacks; with -only for all words, as in the paper; fasttext, fasttext-none;
#   for Figure A4 the rows of augmentations with -only, e.g. swap+drop-only
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${LEXFORMER_BIN:-$root/build/release/bin}

usage() {
  sed -n '3,26s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  [ $# -eq 0 ] || echo "reproduce_love.sh: $*" >&2
  exit 2
}

[ $# -gt 0 ] || usage
table=$1
shift
model='' data='' seeds=3 epochs=20 text_epochs=3 lr=5e-5 batch=32 cnn_epochs=5 cnn_lr=1e-3 typo_mode=love fasttext='' only='' out=$root/build/reproduce-love threads=()
while [ $# -gt 0 ]; do
  [ $# -gt 1 ] || usage "$1 needs a value"
  case $1 in
    --model) model=$2 ;;
    --data) data=$2 ;;
    --seeds) seeds=$2 ;;
    --epochs) epochs=$2 ;;
    --text-epochs) text_epochs=$2 ;;
    --lr) lr=$2 ;;
    --batch) batch=$2 ;;
    --cnn-epochs) cnn_epochs=$2 ;;
    --cnn-lr) cnn_lr=$2 ;;
    --typo-mode) typo_mode=$2 ;;
    --fasttext) fasttext=$2 ;;
    --rows) only=$2 ;;
    --threads) threads=(--threads "$2") ;;
    --out) out=$2 ;;
    *) usage "unknown option $1" ;;
  esac
  shift 2
done
augmentations="swap swap+drop swap+insert swap+keyboard swap+synonym drop drop+insert drop+keyboard drop+synonym"
augmentations="$augmentations insert insert+keyboard insert+synonym keyboard keyboard+synonym synonym"
is_augmentation() { [[ " $augmentations " = *" $1 "* ]]; }
case $table in
  intrinsic) rows="love" ;;
  rivals) rows="love mimick bos kvq_fh edit_distance" ;;
  structures) rows="love sequential" ;;
  inputs) rows="love characters pieces" ;;
  encoders) rows="love attention cnn rnn" ;;
  losses) rows="love align_uniform mse euclidean cosine" ;;
  batches) rows="love no-negatives no-negatives-no-augmentation" ;;
  augmentations) rows=$augmentations ;;
  sst2) rows="none replace add linear none-frozen replace-frozen add-frozen linear-frozen" ;;
  static)
    rows="none edit_distance mimick bos kvq_fh love mimick-only bos-only kvq_fh-only love-only"
    [ -z "$fasttext" ] || rows="$rows fasttext-none fasttext" ;;
  *) usage "unknown table '$table'" ;;
esac
rows=${only:-$rows}
rows=${rows//,/ }
[ -f "$model" ] || usage "--model: there is no file '$model'; tools/convert_hf.py makes one"
vocab=$data/love-vocab/vocab.txt
similarity=("$data"/wordsim-love/{rw,men,simLex,rel353}.txt) clusters=("$data"/wordcluster/{ap,bless}.csv)
texts=("$data"/sst2/{train,dev,test}.tsv)
reviews=("$data"/mr/rt-polarity.{neg,pos})
case $table in
  sst2) needed=("$vocab" "${texts[@]}") ;;
  static) needed=("$vocab" "${texts[@]}" "$data/sst2/typo_test_70.txt" "${reviews[@]}") ;;
  *) needed=("$vocab" "${similarity[@]}" "${clusters[@]}") ;;
esac
for file in "${needed[@]}"; do [ -f "$file" ] || usage "--data: there is no file '$file'"; done
[[ $seeds =~ ^[1-9][0-9]*$ ]] || usage "--seeds: '$seeds' must be a positive integer"
[ -x "$bin/train_love" ] || { echo "reproduce_love.sh: $bin/train_love is not built; cmake --preset release && cmake --build --preset release builds it" >&2; exit 1; }

# The options of train_love for a row; rivals have none.
love_options() {
  case $1 in
    love | mimick | bos | kvq_fh | edit_distance) ;;
    sequential) echo "--structure sequential" ;;
    characters | pieces) echo "--mode $1" ;;
    attention | cnn | rnn) echo "--encoder $1" ;;
    align_uniform | mse | euclidean | cosine) echo "--loss $1" ;;
    no-negatives) echo "--negatives 0" ;;
    no-negatives-no-augmentation) echo "--negatives 0 --swap 0 --drop 0 --insert 0 --keyboard 0 --synonym 0" ;;
    *)
      local name
      is_augmentation "$1" || usage "--rows: unknown row '$1'"
      for name in swap drop insert keyboard synonym; do [[ +$1+ = *+$name+* ]] || echo -n "--$name 0 "; done ;;
  esac
}

# The options of train_text for a row, without --love.
text_options() {
  local mode=${1%%-*} more='' suffix
  case $mode in
    none) ;;
    replace | add | linear) more="--love-mode $mode" ;;
    *) usage "--rows: unknown row '$1'" ;;
  esac
  for suffix in $(tr - ' ' <<<"${1#"$mode"}"); do
    case $mode,$suffix in
      *,frozen) more="$more --freeze embeddings.word_embeddings" ;;
      none,*) usage "--rows: unknown row '$1'" ;;
      *,mean_norm) more="$more --love-rescale mean_norm" ;;
      *,train) more="$more --love-train" ;;
      *) usage "--rows: unknown row '$1'" ;;
    esac
  done
  echo "$more"
}

# The options of train_text_cnn for a row of static and a seed.
static_options() { # ROW SEED
  local method=${1%-only}
  case $1 in
    none) echo "--vectors $model" ;;
    fasttext | fasttext-none)
      [ -f "$fasttext" ] || usage "--fasttext: row $1 needs a fastText model, there is no file '$fasttext'"
      case $1 in fasttext) echo "--vectors $fasttext --imputer $fasttext" ;; *) echo "--vectors $fasttext" ;; esac ;;
    love | mimick | bos | kvq_fh | edit_distance) echo "--vectors $model --imputer $out/love/$method/seed-$2" ;;
    love-only | mimick-only | bos-only | kvq_fh-only) echo "--imputer $out/love/$method/seed-$2 --imputer-only" ;;
    *)
      [ "$1" != "$method" ] && is_augmentation "$method" || usage "--rows: unknown row '$1'"
      echo "--imputer $out/love/$method/seed-$2 --imputer-only" ;;
  esac
}

# Runs of one folder have the same options: keep FOLDER OPTIONS
keep() {
  mkdir -p "$1"
  [ ! -f "$1/options" ] || [ "$(cat "$1/options")" = "$2" ] || usage "--out: '$1' holds runs with other options: $(cat "$1/options")"
  echo "$2" >"$1/options"
}

checksums() { cksum "$@" | cut -d ' ' -f 1 | paste -sd ' '; }

train_love() { # ROW SEED
  local run=$out/love/$1/seed-$2 options trainer=("$bin/train_love" --vocab "$vocab")
  options=$(love_options "$1")
  case $1 in
    mimick) trainer=("$bin/train_imputer" --method mimick --vocab "$vocab") ;;
    bos | kvq_fh | edit_distance) trainer=("$bin/train_imputer" --method "$1") ;;
  esac
  [ ! -f "$run/all_results.json" ] || return 0
  echo "==== LOVE, $1, seed $2" >&2
  # shellcheck disable=SC2086
  "${trainer[@]}" --targets "$model" --epochs "$epochs" $options --seed "$2" "${threads[@]}" \
    --save-steps 2000 --save-total-limit 1 --resume --out "$run" >&2
}

for row in $rows; do
  case $table in sst2) text_options "$row" ;; static) static_options "$row" 1 ;; *) love_options "$row" ;; esac >/dev/null
done
keep "$out/love" "$epochs epochs; checksums of model and vocabulary $(checksums "$model" "$vocab")"
summary=$out/table-$table.md

if [ "$table" = static ]; then
  case $typo_mode in love | ocr) ;; *) usage "--typo-mode: '$typo_mode', expected love or ocr" ;; esac
  keep "$out/static" "$cnn_epochs epochs, learning rates $cnn_lr, typos $typo_mode; checksums of the texts $(checksums "${texts[@]}" "$data/sst2/typo_test_70.txt" "${reviews[@]}")"
  # MR has no split of its own: a tenth for dev and for test, drawn with a fixed seed.
  python3 - "$out/static" "${reviews[@]}" <<'PYTHON'
import random, sys
out, *files = sys.argv[1:]
rows = [f"{line.rstrip()}\t{label}\n" for label, file in enumerate(files) for line in open(file, encoding="utf-8") if line.strip()]
random.Random(1).shuffle(rows)
tenth = len(rows) // 10
for name, part in (("dev", rows[:tenth]), ("test", rows[tenth:2 * tenth]), ("train", rows[2 * tenth:])):
    open(f"{out}/mr-{name}.tsv", "w", encoding="utf-8").writelines(part)
PYTHON
  "$bin/add_typos" --mode "$typo_mode" --share 0.7 --columns 1 <"$out/static/mr-test.tsv" >"$out/static/mr-typos.tsv"
  for row in $rows; do
    method=${row%-only}
    for ((seed = 1; seed <= seeds; ++seed)); do
      case $row in none | fasttext*) ;; *) train_love "$method" "$seed" ;; esac
      options=$(static_options "$row" "$seed")
      for set in sst2 mr; do
        case $set in
          sst2) files=("${texts[@]}" "$data/sst2/typo_test_70.txt") ;;
          mr) files=("$out/static/mr-"{train,dev,test,typos}.tsv) ;;
        esac
        for rate in ${cnn_lr//,/ }; do
          run=$out/static/$set/$row/seed-$seed/lr-$rate
          [ ! -f "$run/all_results.json" ] || continue
          echo "==== $set, $row, seed $seed, learning rate $rate" >&2
          # shellcheck disable=SC2086
          "$bin/train_text_cnn" $options --train "${files[0]}" --valid "${files[1]}" --test "${files[2]}" "${files[3]}" --header no \
            --columns 1,2 --epochs "$cnn_epochs" --lr "$rate" --seed "$seed" "${threads[@]}" --resume --quiet --out "$run" >&2
        done
      done
    done
  done
  # shellcheck disable=SC2086
  python3 - "$out/static" "$model" "$cnn_epochs" "$seeds" "$cnn_lr" "$typo_mode" $rows <<'PYTHON' >"$summary.new"
import json, os, statistics, sys
out, model, epochs, seeds, rates, typos, *rows = sys.argv[1:]
print(f"# CNN over fixed vectors: {os.path.basename(model)}, {epochs} epochs, {seeds} seeds\n")
print(f"Accuracy in percent, mean and standard deviation over seeds, for the best learning rate on dev of {rates}. Typos in 70 % of the words: SST2 as released, MR of mode {typos}. -only: the vectors of all words are imputed.\n")
print("| | SST2 | SST2, typos | MR | MR, typos |\n| --- | --- | --- | --- | --- |")
for row in rows:
    cells = []
    for name in ("sst2", "mr"):
        runs = []
        for seed in range(1, int(seeds) + 1):
            of_rates = [json.load(open(f"{out}/{name}/{row}/seed-{seed}/lr-{rate}/all_results.json", encoding="utf-8")) for rate in rates.split(",")]
            best = max(of_rates, key=lambda r: r["valid"]["accuracy"])
            runs.append([100 * t["accuracy"] for t in best["test"]])
        for column in zip(*runs):
            cells.append(f"{statistics.mean(column):.1f}" + (f" ± {statistics.stdev(column):.1f}" if len(column) > 1 else ""))
    print(f"| {row} | " + " | ".join(cells) + " |")
PYTHON
elif [ "$table" != sst2 ]; then
  measured="$(checksums "${similarity[@]}" "${clusters[@]}")"
  keep "$out/words" "checksums of the files of words $measured"
  evaluate() { # FILE OPTION...
    [ -f "$out/words/$1" ] || "$bin/evaluate_words" --vectors "$model" "${@:2}" --similarity "${similarity[@]}" --clusters "${clusters[@]}" \
      --output "$out/words/$1" "${threads[@]}" >/dev/null
  }
  evaluate target.json
  for row in $rows; do
    for ((seed = 1; seed <= seeds; ++seed)); do
      train_love "$row" "$seed"
      evaluate "$row-$seed.json" --imputer "$out/love/$row/seed-$seed" --imputer-only
      evaluate "$row-$seed-with-target.json" --imputer "$out/love/$row/seed-$seed"
    done
  done
  # shellcheck disable=SC2086
  python3 - "$out/words" "$model" "$epochs" "$seeds" $rows <<'PYTHON' >"$summary.new"
import json, os, statistics, sys
out, model, epochs, seeds, *rows = sys.argv[1:]
load = lambda name: json.load(open(f"{out}/{name}.json", encoding="utf-8"))
def values(result, part):
    return [r[part].get("spearman") for r in result["similarity"]] + [r[part].get("purity_mean") for r in result["clusters"]]
def cell(column):
    if None in column:
        return "-"
    return f"{statistics.mean(column):.1f}" + (f" ± {statistics.stdev(column):.1f}" if len(column) > 1 else "")
def line(name, results, part):
    print(f"| {name} | " + " | ".join(map(cell, zip(*(values(r, part) for r in results)))) + " |")
target = load("target")
name = lambda r: os.path.splitext(os.path.basename(r["file"]))[0]
print(f"# LOVE: {os.path.basename(model)}, {epochs} epochs, {seeds} seeds\n")
print("Spearman's correlation x 100 (rw, men, simLex, rel353), purity x 100 as the mean over the starts of k-means (ap, bless); mean and standard deviation over seeds.\n")
print("| | " + " | ".join([f"{name(r)}, {r['covered']} of {r['pairs']} pairs" for r in target["similarity"]]
                           + [f"{name(r)}, {r['covered']} of {r['words']} words" for r in target["clusters"]]) + " |")
print("| --- |" + " --- |" * (len(target["similarity"]) + len(target["clusters"])))
line("the model's rows, words that it has", [target], "on_covered")
for row in rows:
    alone, both = ([load(f"{row}-{seed}{end}") for seed in range(1, int(seeds) + 1)] for end in ("", "-with-target"))
    line(f"{row}, the same words", alone, "on_covered")
    line(f"{row}, all words", alone, "on_all")
    line(f"the model's rows and {row} for the others, all words", both, "on_all")
PYTHON
else
  shopt -s nullglob
  typos=("$data"/sst2/typo_test_*.txt)
  keep "$out/sst2" "$text_epochs epochs, learning rate $lr, batches of $batch; checksums of the texts $(checksums "${texts[@]}" "${typos[@]}")"
  for row in $rows; do
    options=$(text_options "$row")
    for ((seed = 1; seed <= seeds; ++seed)); do
      run=$out/sst2/$row/seed-$seed love=()
      case $row in none*) ;; *)
        train_love love "$seed"
        love=(--love "$out/love/love/seed-$seed/model.lxf") ;;
      esac
      if [ ! -f "$run/all_results.json" ]; then
        echo "==== SST2, $row, seed $seed" >&2
        # shellcheck disable=SC2086
        "$bin/train_text" --model "$model" --train "${texts[0]}" --valid "${texts[1]}" --epochs "$text_epochs" --lr "$lr" --batch "$batch" \
          ${love[@]+"${love[@]}"} $options --seed "$seed" "${threads[@]}" --save-steps 100 --save-total-limit 1 --resume --out "$run" >&2
      fi
      [ -f "$run/test.json" ] || "$bin/evaluate" --model "$run/model.lxf" --test "${texts[2]}" "${typos[@]}" --output "$run/test.json" \
        "${threads[@]}" >/dev/null
    done
  done
  # shellcheck disable=SC2086
  python3 - "$out/sst2" "$model" "$text_epochs" "$seeds" $rows <<'PYTHON' >"$summary.new"
import json, os, statistics, sys
out, model, epochs, seeds, *rows = sys.argv[1:]
print(f"# SST2: {os.path.basename(model)}, {epochs} epochs, {seeds} seeds\n")
print("Accuracy in percent, mean and standard deviation over seeds. frozen: the word table is fixed.\n")
for number, row in enumerate(rows):
    runs = [json.load(open(f"{out}/{row}/seed-{seed}/test.json", encoding="utf-8"))["test"] for seed in range(1, int(seeds) + 1)]
    if number == 0:
        names = [os.path.splitext(os.path.basename(t["file"]))[0].replace("typo_test_", "typos in % of the words: ") for t in runs[0]]
        print("| | " + " | ".join(names) + " |\n| --- |" + " --- |" * len(names))
    columns = zip(*([100 * t["accuracy"] for t in run] for run in runs))
    print(f"| {row} | " + " | ".join(f"{statistics.mean(c):.1f}" + (f" ± {statistics.stdev(c):.1f}" if len(c) > 1 else "") for c in columns) + " |")
PYTHON
fi
mv "$summary.new" "$summary"
cat "$summary"
