#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Reproduces tables of the LOVE paper: trains LOVE on the rows of a model's word table, row by row and seed by seed, and measures it.
# Interrupted runs are resumed; rows that several tables share are trained once.
# usage: tools/reproduce_love.sh TABLE --model M.lxf --data DIR [--seeds 3] [--epochs 20] [--batch N] [--rows a,b] [--targets V.txt] [--max-words N]
#                                [--task-epochs N] [--lr R,R] [--typo-mode love] [--fasttext F.bin] [--device D] [--jobs N] [--threads N] [--out DIR]
#   Tables of words (word similarity and clusters):
#            intrinsic   LOVE beside its targets (Table 2)
#            rivals      LOVE beside MIMICK, BoS, KVQ-FH and edit distance (Table 2)
#            structures  positional attention before self-attention, or beside it
#            inputs      letters and pieces, letters alone, pieces alone (Table 5)
#            encoders    positional attention and self-attention, self-attention alone, CNN, RNN (Table 5)
#            losses      NT-Xent, align-uniform, MSE, Euclidean, cosine (Table 5)
#            batches     without hard negatives, without these and augmentation (Table 5)
#            temperatures   of NT-Xent: 0.03, 0.07 (love), 0.15, 0.3
#            augmentations  one augmentation alone, and each two (Figure A3; for A4 see static): tools/draw_augmentations.py draws both
#   Tables of tasks, clean and with typos (tools/draw_typos.py draws static and sst2, Figures 1 and 5):
#            sst2        BERT alone and with LOVE (Tables 4 and 6)
#            static      Kim's CNN over the model's own rows: SST2 and MR, each way to complete them (Table 3)
#            taggers     BiLSTM and CRF over the model's own rows: wnut17 and BC2GM, each way to complete them (Table 3)
#            lea         cross-encoders on Abt-Buy with typos: augmented, with LOVE, with LEA, with both
#   --model  an encoder as a .lxf file;  --targets: word vectors to learn and to complete (default: the model's rows; then --model can be
#            left out in all tables but sst2 and lea);  --max-words: learn their first N;  --out: default build/reproduce-love;  --rows: only these rows
#   --data   of tools/get_data.sh: love-vocab/vocab.txt, and for words wordsim-love/{rw,men,simLex,rel353}.txt, wordcluster/{ap,bless}.csv; for sst2
#            sst2/{train,dev,test}.tsv, sst2/typo_test_*.txt; for static also mr/rt-polarity.{pos,neg}; for taggers
#            wnut17/{wnut17train.conll,emerging.dev.conll,emerging.test.annotated}, bc2gm/{train,devel,test}.tsv; for lea abt-buy/{train,valid,test}.tsv
#   --epochs and --batch of train_love;  --task-epochs, --lr of a task: of several rates, the best one on validation data counts
#   --typo-mode  of the tests of static and taggers that have no file with typos, love or ocr;  --fasttext: a fastText model for rows of static and taggers
#   --device     of training, cpu or cuda;  --jobs: runs at a time, each with --threads threads (1)
#   Rows of sst2, with the LOVE model of the same seed: none, or replace, add or linear; with suffixes -mean_norm, -train (LOVE as well), -frozen (the word table), e.g. replace-train-frozen
#   Rows of static and taggers: none; love, mimick, bos, kvq_fh or edit_distance for the words that the model lacks; with -only for all words, as in the paper; fasttext, fasttext-none;
#   for Table 5 and Figure A4 the rows of the tables of words with -only, e.g. cnn-only, swap+drop-only.  Rows of lea: augment, love, lea, lea-love
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${LEXFORMER_BIN:-$root/build/release/bin}

usage() {
  sed -n '3,${/^#/!q;s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}" >&2
  [ $# -eq 0 ] || echo "reproduce_love.sh: $*" >&2
  exit 2
}

[ $# -gt 0 ] || usage
table=$1
shift
model='' targets='' data='' seeds=3 epochs=20 task_epochs='' lr='' typo_mode=love fasttext='' only='' out=$root/build/reproduce-love
love_batch=() max_words=() device=() threads=() jobs=1 quiet=()
while [ $# -gt 0 ]; do
  [ $# -gt 1 ] || usage "$1 needs a value"
  case $1 in
    --model) model=$2 ;;
    --targets) targets=$2 ;;
    --data) data=$2 ;;
    --seeds) seeds=$2 ;;
    --epochs) epochs=$2 ;;
    --batch) love_batch=(--batch "$2") ;;
    --max-words) max_words=(--max-words "$2") ;;
    --task-epochs) task_epochs=$2 ;;
    --lr) lr=$2 ;;
    --typo-mode) typo_mode=$2 ;;
    --fasttext) fasttext=$2 ;;
    --rows) only=$2 ;;
    --device) device=(--device "$2") ;;
    --jobs) jobs=$2 ;;
    --threads) threads=(--threads "$2") ;;
    --out) out=$2 ;;
    *) usage "unknown option $1" ;;
  esac
  shift 2
done
augmentations="swap swap+drop swap+insert swap+keyboard swap+synonym drop drop+insert drop+keyboard drop+synonym"
augmentations="$augmentations insert insert+keyboard insert+synonym keyboard keyboard+synonym synonym"
is_augmentation() { [[ " $augmentations " = *" $1 "* ]]; }
completions="none edit_distance mimick bos kvq_fh love mimick-only bos-only kvq_fh-only love-only"
[ -z "$fasttext" ] || completions="$completions fasttext-none fasttext"
sets=''
case $table in
  intrinsic) rows="love" ;;
  rivals) rows="love mimick bos kvq_fh edit_distance" ;;
  structures) rows="love sequential" ;;
  inputs) rows="love characters pieces" ;;
  encoders) rows="love attention cnn rnn" ;;
  losses) rows="love align_uniform mse euclidean cosine" ;;
  batches) rows="love no-negatives no-negatives-no-augmentation" ;;
  temperatures) rows="temperature-0.03 love temperature-0.15 temperature-0.3" ;;
  augmentations) rows=$augmentations ;;
  sst2) sets=sst2 task_epochs=${task_epochs:-3} lr=${lr:-5e-5} rows="none replace add linear none-frozen replace-frozen add-frozen linear-frozen" ;;
  static) sets="sst2 mr" task_epochs=${task_epochs:-5} lr=${lr:-1e-3} rows=$completions ;;
  taggers) sets="wnut17 bc2gm" task_epochs=${task_epochs:-15} lr=${lr:-2e-3} rows=$completions ;;
  lea) sets=abt-buy task_epochs=${task_epochs:-6} lr=${lr:-5e-5} rows="augment love lea lea-love" ;;
  *) usage "unknown table '$table'" ;;
esac
rows=${only:-$rows}
rows=${rows//,/ }
[[ -n "$targets" && $table != sst2 && $table != lea ]] || [ -f "$model" ] || usage "--model: there is no file '$model'; tools/convert_hf.py makes one"
targets=${targets:-$model}
[ -f "$targets" ] || usage "--targets: there is no file '$targets'"
vocab=$data/love-vocab/vocab.txt
similarity=("$data"/wordsim-love/{rw,men,simLex,rel353}.txt) clusters=("$data"/wordcluster/{ap,bless}.csv)
# Sets `files` to the files of a set: training, validation, tests. Those in $out are made below.
files_of() { # SET
  case $1 in
    sst2) files=("$data"/sst2/{train,dev,test}.tsv "$data"/sst2/typo_test_[0-9]*.txt) ;;
    mr) files=("$out/$table/mr-"{train,dev,test,typos}.tsv) ;;
    wnut17) files=("$data"/wnut17/{wnut17train.conll,emerging.dev.conll,emerging.test.annotated} "$out/$table/wnut17-typos.conll") ;;
    bc2gm) files=("$data"/bc2gm/{train,devel,test}.tsv "$out/$table/bc2gm-typos.tsv") ;;
    abt-buy) files=("$data"/abt-buy/{train,valid,test}.tsv) ;;
  esac
}
reviews=("$data"/mr/rt-polarity.{neg,pos})
inputs=()
for set in $sets; do
  files_of "$set"
  for file in "${files[@]}"; do [[ $file = "$out"/* ]] || inputs+=("$file"); done
  [ "$set" != mr ] || inputs+=("${reviews[@]}")
done
[ -n "$sets" ] || inputs=("${similarity[@]}" "${clusters[@]}")
for file in "$vocab" "${inputs[@]}"; do [ -f "$file" ] || usage "--data: there is no file '$file'; tools/get_data.sh makes the folder"; done
for path in "$out" "$model" "$targets" "$fasttext"; do
  [[ $path != *[[:space:]\*\?]* ]] || usage "'$path': paths with white space, * or ? are not supported here"
done
[[ $seeds =~ ^[1-9][0-9]*$ ]] || usage "--seeds: '$seeds' must be a positive integer"
[[ $jobs =~ ^[1-9][0-9]*$ ]] || usage "--jobs: '$jobs' must be a positive integer"
[ "$jobs" = 1 ] || command -v pkill >/dev/null || usage "--jobs: needs pkill, which ends the runs if this script is interrupted (Debian: procps)"
case $typo_mode in love | ocr) ;; *) usage "--typo-mode: '$typo_mode', expected love or ocr" ;; esac
[ -x "$bin/lexformer" ] || { echo "reproduce_love.sh: $bin/lexformer is not built; cmake --preset release && cmake --build --preset release builds it" >&2; exit 1; }
if [ "$jobs" != 1 ]; then
  quiet=(--quiet)
  [ ${#threads[@]} -gt 0 ] || threads=(--threads 1)
fi

# The options of train_love for a row; rivals have none.
love_options() {
  case $1 in
    love | mimick | bos | kvq_fh | edit_distance) ;;
    sequential) echo "--structure sequential" ;;
    characters | pieces) echo "--mode $1" ;;
    attention | cnn | rnn) echo "--encoder $1" ;;
    align_uniform | mse | euclidean | cosine) echo "--loss $1" ;;
    temperature-*) echo "--temperature ${1#temperature-}" ;;
    no-negatives) echo "--negatives 0" ;;
    no-negatives-no-augmentation) echo "--negatives 0 --swap 0 --drop 0 --insert 0 --keyboard 0 --synonym 0" ;;
    *)
      local name
      is_augmentation "$1" || usage "--rows: unknown row '$1'"
      for name in swap drop insert keyboard synonym; do [[ +$1+ = *+$name+* ]] || echo -n "--$name 0 "; done ;;
  esac
}

# The imputer that a row of a task needs, if any.
imputer_of() { # ROW
  case $table,$1 in
    sst2,none* | *,none | *,fasttext* | lea,augment | lea,lea) ;;
    sst2,* | lea,*) echo love ;;
    *) echo "${1%-only}" ;;
  esac
}

# The program and the options of a row of a task.
task_options() { # ROW SEED
  local method=${1%-only} mode=${1%%-*} more='' suffix imputer=$out/love/$(imputer_of "$1")/seed-$2
  case $table,$1 in
    sst2,*)
      case $mode in
        none) more=--batch\ 32 ;;
        replace | add | linear) more="--batch 32 --love $imputer/model.lxf --love-mode $mode" ;;
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
      echo "train_text --model $model $more"
      return ;;
    lea,augment | lea,lea | lea,love | lea,lea-love)
      [ "$mode" != lea ] || more="--attention lea"
      [[ $1 != *love ]] || more="$more --love $imputer/model.lxf"
      echo "train_matcher --model $model --augment --test-typos 3 $more"
      return ;;
    *,none) more="--vectors $targets" ;;
    *,fasttext | *,fasttext-none)
      [ -f "$fasttext" ] || usage "--fasttext: row $1 needs a fastText model, there is no file '$fasttext'"
      more="--vectors $fasttext"
      [ "$1" != fasttext ] || more="$more --imputer $fasttext" ;;
    *,love | *,mimick | *,bos | *,kvq_fh | *,edit_distance) more="--vectors $targets --imputer $imputer" ;;
    *,edit_distance-only) usage "--rows: edit distance needs the vectors of known words: row edit_distance" ;;
    *-only)
      love_options "$method" >/dev/null
      more="--imputer $imputer --imputer-only" ;;
    *) usage "--rows: unknown row '$1'" ;;
  esac
  [ "$table" = taggers ] && echo "train_tagger $more" || echo "train_text_cnn $more --header no --columns 1,2"
}

# Runs of one folder have the same options: keep FOLDER OPTIONS
keep() {
  mkdir -p "$1"
  [ ! -f "$1/options" ] || [ "$(cat "$1/options")" = "$2" ] || usage "--out: '$1' holds runs with other options: $(cat "$1/options")"
  echo "$2" >"$1/options"
}
checksums() { cksum "$@" | cut -d ' ' -f 1 | paste -sd ' '; }

# --resume, or --overwrite for a run that was killed after it had saved a model and before its first checkpoint.
resume() { # FOLDER
  compgen -G "$1/checkpoint-*" >/dev/null && echo --resume || echo --overwrite
}

train_imputer() { # ROW SEED
  local run=$out/love/$1/seed-$2 options trainer=("$bin/lexformer" train_love --vocab "$vocab" ${love_batch[@]+"${love_batch[@]}"})
  local training=(--epochs "$epochs" --seed "$2" --save-steps 5000 --save-total-limit 1)
  options=$(love_options "$1")
  case $1 in
    mimick) trainer=("$bin/lexformer" train_imputer --method mimick --vocab "$vocab") ;;
    bos | kvq_fh | edit_distance) trainer=("$bin/lexformer" train_imputer --method "$1") ;;
  esac
  [ "$1" != edit_distance ] || training=()  # nothing is trained
  [ ! -f "$run/all_results.json" ] || return 0
  echo "==== LOVE, $1, seed $2" >&2
  # shellcheck disable=SC2086
  "${trainer[@]}" --targets "$targets" $options ${training[@]+"${training[@]}"} ${max_words[@]+"${max_words[@]}"} \
    ${threads[@]+"${threads[@]}"} ${device[@]+"${device[@]}"} ${quiet[@]+"${quiet[@]}"} "$(resume "$run")" --out "$run" >&2
}
evaluate() { # FILE OPTION...
  [ -f "$out/words/$1" ] || "$bin/lexformer" evaluate_words --vectors "$targets" "${@:2}" --similarity "${similarity[@]}" --clusters "${clusters[@]}" \
    --output "$out/words/$1" ${threads[@]+"${threads[@]}"} >/dev/null
}
measure_words() { # ROW SEED
  train_imputer "$1" "$2"
  evaluate "$1-$2.json" --imputer "$out/love/$1/seed-$2" --imputer-only
  evaluate "$1-$2-with-target.json" --imputer "$out/love/$1/seed-$2"
}
train_task() { # SET ROW SEED RATE
  local files options program run=$out/$table/$1/$2/seed-$3/lr-$4
  [ ! -f "$run/all_results.json" ] || return 0
  files_of "$1"
  options=$(task_options "$2" "$3")
  program=${options%% *}
  echo "==== $1, $2, seed $3, learning rate $4" >&2
  # shellcheck disable=SC2086
  "$bin/lexformer" "$program" ${options#* } --train "${files[0]}" --valid "${files[1]}" --test "${files[@]:2}" --epochs "$task_epochs" --lr "$4" --seed "$3" \
    ${threads[@]+"${threads[@]}"} ${device[@]+"${device[@]}"} ${quiet[@]+"${quiet[@]}"} --save-total-limit 1 "$(resume "$run")" --out "$run" >&2
}

# Runs the commands, one in each line, `jobs` at a time. After the first that fails no more are started.
each() { # LINES
  local line running=0 failed=0
  while [ $failed = 0 ] && read -r line <&3; do
    [ -n "$line" ] || continue
    if [ "$jobs" = 1 ]; then
      $line
      continue
    fi
    if [ $running = "$jobs" ]; then
      wait -n || failed=1
      running=$((running - 1))
    fi
    $line &
    running=$((running + 1))
  done 3<<<"$1" </dev/null
  for (( ; running > 0; --running)); do wait -n || failed=1; done
  [ $failed = 0 ] || { echo "reproduce_love.sh: not all runs ended well; the same command goes on with those that are missing" >&2; exit 1; }
}
trap 'for job in $(jobs -p); do pkill -P "$job" || true; kill "$job" || true; done 2>/dev/null; wait' EXIT

for row in $rows; do
  if [ -n "$sets" ]; then task_options "$row" 1; else love_options "$row"; fi >/dev/null
done
keep "$out/love" "$epochs epochs; checksums of targets and vocabulary $(checksums "$targets" "$vocab")$([ ${#max_words[@]} = 0 ] || echo "; ${max_words[*]}")$([ ${#love_batch[@]} = 0 ] || echo "; ${love_batch[*]}")"
summary=$out/table-$table.md
each_seed() { # COMMAND ROW: a line for each seed
  for ((seed = 1; seed <= seeds; ++seed)); do echo "$1 $2 $seed"; done
}

if [ -z "$sets" ]; then
  keep "$out/words" "checksums of the files of words $(checksums "${similarity[@]}" "${clusters[@]}")"
  evaluate target.json
  lines=$(for row in $rows; do each_seed measure_words "$row"; done)
  each "$lines"
  # shellcheck disable=SC2086
  python3 - "$out/words" "$targets" "$epochs" "$seeds" $rows <<'PYTHON' >"$summary.new"
import json, os, statistics, sys
out, targets, epochs, seeds, *rows = sys.argv[1:]
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
print(f"# LOVE: {os.path.basename(targets)}, {epochs} epochs, {seeds} seeds\n")
print("Spearman's correlation x 100 (rw, men, simLex, rel353), purity x 100 as the mean over the starts of k-means (ap, bless); mean and standard deviation over seeds.\n")
print("| | " + " | ".join([f"{name(r)}, {r['covered']} of {r['pairs']} pairs" for r in target["similarity"]]
                           + [f"{name(r)}, {r['covered']} of {r['words']} words" for r in target["clusters"]]) + " |")
print("| --- |" + " --- |" * (len(target["similarity"]) + len(target["clusters"])))
line("the targets, words that they hold", [target], "on_covered")
for row in rows:
    alone, both = ([load(f"{row}-{seed}{end}") for seed in range(1, int(seeds) + 1)] for end in ("", "-with-target"))
    line(f"{row}, the same words", alone, "on_covered")
    line(f"{row}, all words", alone, "on_all")
    line(f"the targets and {row} for the others, all words", both, "on_all")
PYTHON
else
  of_table='' note=''
  case $table in
    sst2) of_table="; checksum of the model $(checksums "$model")" note=" frozen: the word table is fixed." ;;
    lea) of_table="; checksum of the model $(checksums "$model")" ;;
    *) of_table="; typos $typo_mode$([ -z "$fasttext" ] || echo "; checksum of --fasttext $(checksums "$fasttext")")"
      note=" Typos that no file has are of mode $typo_mode. -only: the vectors of all words are imputed." ;;
  esac
  keep "$out/$table" "$task_epochs epochs; checksums of the texts $(checksums "${inputs[@]}")$of_table"
  typos=("$bin/lexformer" add_typos --mode "$typo_mode" --share 0.7 --columns 1)
  for set in $sets; do
    files_of "$set"
    case $set in
      mr)
        # MR has no split of its own: a tenth for dev and for test, drawn with a fixed seed.
        python3 - "${files[@]:0:3}" "${reviews[@]}" <<'PYTHON'
import random, sys
train, dev, test, *files = sys.argv[1:]
rows = [f"{line.rstrip()}\t{label}\n" for label, file in enumerate(files) for line in open(file, encoding="utf-8") if line.strip()]
random.Random(1).shuffle(rows)
tenth = len(rows) // 10
for name, part in ((dev, rows[:tenth]), (test, rows[tenth:2 * tenth]), (train, rows[2 * tenth:])):
    open(name, "w", encoding="utf-8").writelines(part)
PYTHON
        "${typos[@]}" <"${files[2]}" >"${files[3]}" ;;
      wnut17 | bc2gm) "${typos[@]}" <"${files[2]}" >"${files[3]}" ;;
    esac
  done
  lines=$(for row in $rows; do
    of_row=$(imputer_of "$row")
    [ -z "$of_row" ] || each_seed train_imputer "$of_row"
  done)
  each "$(sort -u <<<"$lines")"
  lines=$(for set in $sets; do
    for row in $rows; do
      for rate in ${lr//,/ }; do each_seed "train_task $set" "$row" | sed "s/\$/ $rate/"; done
    done
  done)
  each "$lines"
  # shellcheck disable=SC2086
  python3 - "$out/$table" "$targets" "$task_epochs" "$seeds" "$lr" "$note" "$sets" $rows <<'PYTHON' >"$summary.new"
import json, os, statistics, sys
out, targets, epochs, seeds, rates, note, sets, *rows = sys.argv[1:]
def metric(result):
    """Accuracy of texts, F1 of entities and of pairs."""
    return "f1" if "types" in result["valid"] or "typos_mean" in result["test"][0] else "accuracy"
def best(name, row, seed):
    """The name and metric of each test, for the best learning rate."""
    of_rates = [json.load(open(f"{out}/{name}/{row}/seed-{seed}/lr-{rate}/all_results.json", encoding="utf-8")) for rate in rates.split(",")]
    result, tests = max(of_rates, key=lambda r: r["valid"][metric(r)]), {}
    for test in result["test"]:
        file = os.path.splitext(os.path.basename(test["file"]))[0]
        tests[file] = test[metric(result)]
        if "typos_mean" in test:
            tests[file + " with typos"] = test["typos_mean"][metric(result)]
    return tests
runs = {(name, row): [best(name, row, seed) for seed in range(1, int(seeds) + 1)] for name in sets.split() for row in rows}
print(f"# {os.path.basename(out)}: {os.path.basename(targets)}, {epochs} epochs, {seeds} seeds\n")
print(f"Accuracy of texts, F1 of entities and pairs in percent, mean and standard deviation over seeds, for the best learning rate on validation data of {rates}.{note}\n")
header = [f"{name}: {test}" for name in sets.split() for test in runs[name, rows[0]][0]]
print("| | " + " | ".join(header) + " |\n| --- |" + " --- |" * len(header))
for row in rows:
    columns = [[100 * run[test] for run in runs[name, row]] for name in sets.split() for test in runs[name, row][0]]
    print(f"| {row} | " + " | ".join(f"{statistics.mean(c):.1f}" + (f" ± {statistics.stdev(c):.1f}" if len(c) > 1 else "") for c in columns) + " |")
PYTHON
fi
mv "$summary.new" "$summary"
cat "$summary"
