#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Reproduces the tables of the LEA paper and of the DAFA paper: trains missing runs, row by row and seed by seed, evaluates and compares them.
# Interrupted runs are resumed; rows that several tables share are trained once.
# usage: tools/reproduce.sh TABLE --model M.lxf --data DIR [--seeds 3] [--epochs 30] [--sets a,b] [--rows a,b] [--train-share S] [--lr R]
#        [--precision P] [--device D] [--threads N] [--jobs N] [--no-report] [--out DIR]
#   TABLE    3        plain, with typo augmentation, with augmentation and LEA, on five data sets
#            6        similarities, sharing of the projection, layer ranges (Abt-Buy)
#            11       representations of a similarity (Abt-Buy)
#            figure3  score against noise level (Abt-Buy), as a report
#            beyond   not in the paper: character n-grams, the bias within one text (Abt-Buy)
#            words    words that LEA compares: the tokenizer's, space-separated ones, the larger similarity of both (Abt-Buy)
#            records  all columns of two tables: plain, augmented, LEA between words of any columns, of the same one, both (three sets)
#            decoder       LEA on a decoder: causal, with the left text repeated, bidirectional; with their controls (two sets)
#            dafa-main     UERBERT, Syntax-BERT, DAFA and its outputs against BERT (SICK with trees)
#            dafa8         DAFA without one of its parts;  dafa4: with one of its parts alone
#            dafa6         shares of the training pairs, layers
#            dafa-options  weights of words, readings of eq. 4 and 7
#   --data   of tools/get_data.sh: abt-buy/{train,valid,test}.tsv and so on (text TAB text TAB label). For a set without test.tsv every tenth
#            row of train.tsv becomes the validation set and valid.tsv the test set.
#            For DAFA also DIR/sick/trees.conllu (tools/trees_to_conllu.py DATA/sick-dep --out DIR/sick). WordNet: /usr/share/wordnet.
#            Labels with a decimal point make the task a regression. For records: tables/SET/{tableA,tableB,train,valid,test}.csv.
#   --sets   the sets of table 3, or the set of another table;  --rows: only these rows;  --out: default build/reproduce
#   --train-share  the share of the training pairs that all rows use, e.g. 0.1
#   --precision    train in bfloat16 or float32 (default);  --lr: learning rate;  --device: of training and evaluation, cpu or cuda
#                  Runs of another model, share, precision, rate, device or number of epochs need another --out
#   --jobs         runs at a time, each with --threads threads (1);  --no-report: no page with pictures, which needs the trained models
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${LEXFORMER_BIN:-$root/build/release/bin}

usage() {
  sed -n '3,${/^#/!q;s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}" >&2
  [ $# -eq 0 ] || echo "reproduce.sh: $*" >&2
  exit 2
}

[ $# -gt 0 ] || usage
table=$1
shift
model= data= seeds=3 epochs=30 sets= only= out=$root/build/reproduce training=() threads=() device=() jobs=1 with_report=true
while [ $# -gt 0 ]; do
  if [ "$1" = --no-report ]; then
    with_report=false
    shift
    continue
  fi
  [ $# -gt 1 ] || usage "$1 needs a value"
  case $1 in
    --model) model=$2 ;;
    --data) data=$2 ;;
    --seeds) seeds=$2 ;;
    --epochs) epochs=$2 ;;
    --sets) sets=$2 ;;
    --rows) only=$2 ;;
    --train-share | --precision | --lr) training+=("$1" "$2") ;;
    --device) device=(--device "$2") ;;
    --threads) threads=(--threads "$2") ;;
    --jobs) jobs=$2 ;;
    --out) out=$2 ;;
    *) usage "unknown option $1" ;;
  esac
  shift 2
done
[ -f "$model" ] || usage "--model: there is no file '$model'; tools/convert_hf.py makes one"
[ -d "$data" ] || usage "--data: there is no folder '$data'; tools/get_data.sh makes one"
[[ $seeds =~ ^[1-9][0-9]*$ ]] || usage "--seeds: '$seeds' must be a positive integer"
[[ $jobs =~ ^[1-9][0-9]*$ ]] || usage "--jobs: '$jobs' must be a positive integer"
[ "$jobs" = 1 ] || command -v pkill >/dev/null || usage "--jobs: needs pkill, which ends the runs if this script is interrupted (Debian: procps)"
[ -x "$bin/lexformer" ] || { echo "reproduce.sh: $bin/lexformer is not built; cmake --preset release && cmake --build --preset release builds it" >&2; exit 1; }

layers() { # number of layers of the encoder
  python3 - "$model" <<'PYTHON'
import json, struct, sys
with open(sys.argv[1], "rb") as f:
    header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
print(json.loads(header["__metadata__"]["lexformer.config"])["num_hidden_layers"])
PYTHON
}

separated() { # the option for a tokenizer that puts no tokens around texts, as GPT-2's
  python3 - "$model" <<'PYTHON'
import json, struct, sys
with open(sys.argv[1], "rb") as f:
    stored = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))["__metadata__"]
whole = json.loads(stored.get("lexformer.tokenizer_json", "{}"))
around = json.dumps(whole.get("post_processor")) if whole else "" if not json.loads(stored["lexformer.tokenizer"]).get("add_sep", True) else "sep"
print("" if "sep" in around or "SpecialToken" in around else " --pair-form separated")
PYTHON
}

# The options of a row.
row_options() {
  local lea="--augment --attention lea" dafa="--attention dafa --dafa-output literal" n parts
  case $1 in
    plain) echo "--attention none" ;;
    augment) echo "--attention none --augment" ;;
    lea) echo "$lea" ;;
    lea-levenshtein | lea-lcs | lea-jaro_winkler | lea-smith_waterman | lea-jaccard_bigrams | lea-jaccard_trigrams)
      echo "$lea --lea-similarity ${1#lea-}" ;;
    lea-sharing-*) echo "$lea --lea-sharing ${1##*-}" ;;
    lea-layers-*) # in quarters of the encoder, like 0, 2, 4, 6 of 8 layers in the paper
      n=$(layers)
      echo "$lea --lea-layers $((${1##*-} * n / 4)),$n" ;;
    lea-representation-plain) echo "$lea --lea-representation plain" ;;
    lea-representation-learned) echo "$lea --lea-representation learned --lea-levels 50" ;;
    lea-words-*) echo "$lea --lea-words ${1##*-}" ;;
    lea-within) echo "$lea --lea-within-sentences" ;;
    lea-columns-*) echo "$lea --lea-words both --lea-columns ${1##*-}" ;;
    lea-causal-magnitude) echo "$lea --lea-alpha magnitude$(separated)" ;;
    lea-causal) echo "$lea$(separated)" ;;
    lea-repeated) echo "$lea --pair-form repeated --max-length 192" ;; # half more, since the left text is there twice
    repeated) echo "--attention none --augment --pair-form repeated --max-length 192" ;;
    orders) echo "--attention none --augment --orders both$(separated)" ;;
    bidirectional) echo "--attention none --augment --bidirectional" ;;
    lea-bidirectional) echo "$lea --bidirectional" ;;
    bert) echo "--attention none" ;;
    uerbert) echo "--attention uerbert" ;;
    syntax) echo "--attention syntax" ;;
    bert-share-*) echo "--attention none --train-share 0.${1##*-}" ;;
    dafa) echo "$dafa" ;;
    dafa-residual) echo "--attention dafa --dafa-output residual" ;;
    dafa-without-*) parts=${1#dafa-without-}; echo "$dafa --dafa-without ${parts//+/,}" ;;
    dafa-share-*) echo "$dafa --train-share 0.${1##*-}" ;;
    dafa-residual-share-*) echo "--attention dafa --dafa-output residual --train-share 0.${1##*-}" ;;
    dafa-layers-all) echo "$dafa --dafa-layers 0,$(layers)" ;;
    dafa-layers-last) n=$(layers); echo "$dafa --dafa-layers $((n - 1)),$n" ;;
    dafa-tfidf-* | dafa-subgraph-* | dafa-score-* | dafa-sharing-* | dafa-scope-* | dafa-expand-*)
      n=${1#dafa-}; echo "$dafa --dafa-${n%%-*} ${n#*-}" ;;
    *) usage "--rows: unknown row '$1'" ;;
  esac
}

case $table in
  3) rows="plain augment lea" sets=${sets:-abt-buy,wdc-computers-small,amazon-google,mrpc,rte} ;;
  6) rows="augment lea-smith_waterman lea-lcs lea-levenshtein lea-jaro_winkler lea
           lea-sharing-model lea-sharing-layer lea-layers-0 lea-layers-1 lea-layers-3" ;;
  11) rows="augment lea-representation-learned lea-representation-plain lea" ;;
  figure3) rows="plain augment lea" ;;
  beyond) rows="augment lea lea-jaccard_bigrams lea-jaccard_trigrams lea-within" ;;
  words) rows="lea lea-words-whitespace lea-words-both" ;;
  records) rows="plain augment lea-columns-any lea-columns-same lea-columns-both" sets=${sets:-abt-buy,walmart-amazon,dblp-acm} ;;
  decoder) rows="plain augment lea-causal repeated lea-repeated orders bidirectional lea-bidirectional" sets=${sets:-abt-buy,wdc-computers-small} ;;
  dafa-main) rows="bert uerbert syntax dafa dafa-residual dafa-without-cross+gate+filter" ;;
  dafa8) rows="dafa bert dafa-without-tree dafa-without-subgraph dafa-without-tfidf dafa-without-cross dafa-without-gate+filter
               dafa-without-cross+gate+filter" ;;
  dafa4) rows="bert dafa-without-subgraph+tfidf dafa-without-tree+tfidf dafa-without-tree+subgraph dafa-without-gate+filter
               dafa-without-cross+filter dafa-without-cross+gate" ;;
  dafa6) rows="bert dafa bert-share-1 dafa-share-1 dafa-residual-share-1 bert-share-2 dafa-share-2 bert-share-5 dafa-share-5 dafa-layers-all dafa-layers-last" ;;
  dafa-options) rows="dafa dafa-tfidf-mean dafa-tfidf-off dafa-subgraph-children dafa-score-concat dafa-expand-plus_one" ;;
  *) usage "unknown table '$table'" ;;
esac
typos=3
case $table in dafa*) typos=0 sets=${sets:-sick} ;; esac
sets=${sets:-abt-buy}
rows=${only:-$rows}
mkdir -p "$out"
summary=$out/table-$table.md
echo "# Table $table: $(basename "$model"), $epochs epochs, $seeds seeds$([ $typos = 0 ] || echo ", three copies of each test file with typos")" >"$summary.new"

# Runs of one folder have the same options, and rows of `records` other texts: they have a folder of their own.
runs=$out
[ "$table" != records ] || runs=$out/records
mkdir -p "$runs"
options="$epochs epochs; checksum of the model $(cksum "$model" | cut -d ' ' -f 1)$([ ${#training[@]} = 0 ] || echo "; ${training[*]}")$([ ${#device[@]} = 0 ] || echo "; ${device[*]}")"
[ ! -f "$runs/options" ] || [ "$(cat "$runs/options")" = "$options" ] || usage "--out: '$runs' holds runs with other options: $(cat "$runs/options")"
echo "$options" >"$runs/options"

# Sets the files of a data set, and the options of its texts and labels.
of_set() { # SET
  local names
  train=$data/$1/train.tsv valid=$data/$1/valid.tsv test=$data/$1/test.tsv texts=() labels=()
  if [ "$table" = records ]; then
    local folder=$data/tables/$1
    train=$folder/train.csv valid=$folder/valid.csv test=$folder/test.csv texts=(--left "$folder/tableA.csv" --right "$folder/tableB.csv")
    labels=(--serialize columns --max-length 128)
    # The long descriptions must not push out the other columns.
    [ "$1" != abt-buy ] || labels+=(--columns name,price,description --column-words description=24)
  elif [ ! -f "$test" ]; then
    test=$valid train=$out/$1/split/train.tsv valid=$out/$1/split/valid.tsv
  fi
  if [ $typos = 0 ]; then
    texts=(--parses "$data/$1/trees.conllu")
    [[ " ${rows//,/ } " != *" uerbert "* ]] || texts+=(--wordnet /usr/share/wordnet)
    names=$(cut -f 3 "$train" | sort -u | paste -sd ,)
    case $names in
      0,1) ;;
      *.*) labels=(--task regression) ;;
      *) labels=(--labels "$names") ;;
    esac
  fi
}
# A set without a test file: a tenth of its training pairs is used for validation.
split_set() { # SET
  [ "$table" != records ] && [ ! -f "$data/$1/test.tsv" ] || return 0
  mkdir -p "$out/$1/split"
  awk 'NR % 10' "$data/$1/train.tsv" >"$out/$1/split/train.tsv"
  awk 'NR % 10 == 0' "$data/$1/train.tsv" >"$out/$1/split/valid.tsv"
  printf '\n%s has no test file: a tenth of its training pairs is used for validation, its validation set for testing.\n' "$1" >>"$summary.new"
}
# Trains and evaluates a run, unless that was done before.
train_run() { # SET ROW SEED
  local run=$runs/$1/$2/seed-$3 options more=(--save-steps 200)
  options=$(row_options "$2")
  [ "${device[*]-}" != "--device cuda" ] || more=()  # the seconds that a run takes there are not worth checkpoints
  [ "$jobs" = 1 ] || more+=(--quiet)
  if [ ! -f "$run/all_results.json" ]; then
    echo "==== $1, $2, seed $3" >&2
    # shellcheck disable=SC2086
    "$bin/lexformer" train_matcher --model "$model" --train "$train" --valid "$valid" --epochs "$epochs" $options --seed "$3" \
      ${texts[@]+"${texts[@]}"} ${labels[@]+"${labels[@]}"} ${training[@]+"${training[@]}"} ${device[@]+"${device[@]}"} \
      ${more[@]+"${more[@]}"} "${threads[@]}" --save-total-limit 1 --resume --out "$run" >&2
  fi
  [ -f "$run/test.json" ] || "$bin/lexformer" evaluate --model "$run/model.lxf" --test "$test" --test-typos $typos --scores \
    ${texts[@]+"${texts[@]}"} ${device[@]+"${device[@]}"} --output "$run/test.json" "${threads[@]}" >/dev/null
}

# Before the first run: what can be wrong in any of them.
for row in ${rows//,/ }; do
  row_options "$row" >/dev/null
  [[ $row != *-share-* || " ${training[*]-} " != *" --train-share "* ]] || usage "--train-share: row $row has a share of its own"
done
for set in ${sets//,/ }; do
  split_set "$set"
  of_set "$set"
done
# Run number k of all belongs to worker k modulo `jobs`.
work() { # NUMBER
  local number=0
  for set in ${sets//,/ }; do
    of_set "$set"
    for row in ${rows//,/ }; do
      for ((seed = 1; seed <= seeds; ++seed)); do
        if [ $((number++ % jobs)) = "$1" ]; then train_run "$set" "$row" "$seed"; fi
      done
    done
  done
}
if [ "$jobs" = 1 ]; then
  work 0
else
  workers=() failed=0
  for ((worker = 0; worker < jobs; ++worker)); do
    work "$worker" &
    workers+=($!)
  done
  trap 'pkill -P "$(IFS=,; echo "${workers[*]}")" 2>/dev/null; kill "${workers[@]}" 2>/dev/null' EXIT
  for worker in "${workers[@]}"; do wait "$worker" || failed=1; done
  trap - EXIT
  [ $failed = 0 ] || { echo "reproduce.sh: not all runs ended well; the same command goes on with those that are missing" >&2; exit 1; }
fi

for set in ${sets//,/ }; do
  of_set "$set"
  results=() models=()
  for row in ${rows//,/ }; do
    models+=("$row=$runs/$set/$row")
    for ((seed = 1; seed <= seeds; ++seed)); do
      run=$runs/$set/$row/seed-$seed
      case $row in
        *-share-*) results+=("${row%-share-*}@${row##*-}0=$run/test.json") ;; # compare's NAME@X
        *) results+=("$row=$run/test.json") ;;
      esac
      case $table,$row in dafa6,bert | dafa6,dafa) results+=("$row@100=$run/test.json") ;; esac
    done
  done
  first=${rows%%[ ,]*}
  case " ${rows//,/ } " in *" augment "*) first=augment ;; *" bert "*) first=bert ;; esac
  "$bin/lexformer" compare --result "${results[@]}" --baseline "$first" --output "$runs/$set/table-$table.json" \
    --plots "$runs/$set/plots-$table" --x-label "training pairs, %" "${threads[@]}" >>"$summary.new"
  $with_report || continue
  noise=()
  [ "$table" != figure3 ] || noise=(--noise 0,10,20,30,40,50)
  "$bin/lexformer" report --model "${models[@]}" --test "$test" --title "$set, table $table" "${noise[@]}" ${texts[@]+"${texts[@]}"} --out "$runs/$set/report-$table" "${threads[@]}"
done
mv "$summary.new" "$summary"
cat "$summary"
