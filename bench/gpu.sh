#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# All checks and measurements on a GPU in one command; writes a Markdown table, results.md. Without a GPU it says so and ends with 77.
# usage: bench/gpu.sh [--stage S,...] [--model M.lxf] [--data DIR] [--out DIR] [--bin DIR] [--minutes N] [--epochs N] [--seeds N] [--jobs N] [--short]
#        bench/gpu.sh pack|correct|ours|peers [...]   for half an hour of a machine without a network: see gpu_half_hour.sh
#   --stage    build      the preset cuda with what the others need; the only one that does without a GPU
#              checks     the tests labelled cuda_device; logits of the GPU against the CPU's
#              sanitize   the same tests under compute-sanitizer: memcheck, racecheck, initcheck, synccheck
#              rates      copy, matrix products, AdamW
#              attention  with and without LEA, forward and backward, sequences of 32 to 512 tokens
#              memory     what attention takes besides its inputs and outputs, and tensors of a training step
#              train      time of training steps: MiniLM with real pairs up to 64 tokens and with 128 each, a BERT of base size
#              main       the main job: MiniLM on Abt-Buy, plain, with typos, with typos and LEA: F1 and time
#              peers      PyTorch's rates, and its attention in turns with lexformer's
#              peers_real, peers_padded, peers_base   the steps of train in PyTorch, as it is and compiled, in turns with lexformer
#              Without --stage all of them, but those that have ended well in this folder already.
#   --model    where training begins; without it main is left out, and train takes an untrained model of MiniLM's size
#   --data     a folder with abt-buy/{train,valid,test}.tsv; ../shared/data unless given; rates, attention, sanitize and peers need none
#   --out      build/gpu unless given;  --bin: programs that are built already (build/cuda/bin), nothing is built then
#   --minutes  of a stage at the most (9), or --seconds;  --epochs 10, --seeds 1: of the main job
#   --jobs     runs of compute-sanitizer at once (1)
#   --short    tiny sizes, to see that everything runs; the figures mean nothing
# PyTorch is found by python3, or by $PYTHON; where it is not, the peers are left out.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=${PYTHON:-python3}
stages=(build checks sanitize rates attention memory train main peers peers_real peers_padded peers_base)

case ${1:-} in
  pack | correct | ours | peers) exec "$root/bench/gpu_half_hour.sh" "$@" ;;
esac

usage() {
  sed -n '3,23s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  [ $# -eq 0 ] || echo "gpu.sh: $*" >&2
  exit 2
}

chosen=() model='' data=$root/../shared/data out=$root/build/gpu bin='' minutes=9 seconds_given='' epochs=10 seeds=1 jobs=1 short=false gpu=''
while [ $# -gt 0 ]; do
  case $1 in
    --short) short=true; shift; continue ;;
    --help) usage ;;
  esac
  [ $# -gt 1 ] || usage "$1 needs a value"
  case $1 in
    --stage) IFS=, read -ra chosen <<<"$2" ;;
    --model) model=$2 ;;
    --data) data=$2 ;;
    --out) out=$2 ;;
    --bin) bin=$2 ;;
    --minutes) minutes=$2 ;;
    --seconds) seconds_given=$2 ;;
    --jobs) jobs=$2 ;;
    --epochs) epochs=$2 ;;
    --seeds) seeds=$2 ;;
    *) usage "unknown option $1" ;;
  esac
  shift 2
done
for stage in "${chosen[@]}"; do
  [[ " ${stages[*]} " == *" $stage "* ]] || usage "--stage: '$stage' is none of: ${stages[*]}"
done
for number in "$minutes" "${seconds_given:-1}" "$epochs" "$seeds" "$jobs"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || usage "'$number' is no number above 0"
done
[ -z "$model" ] || [ -f "$model" ] || usage "--model: there is no file '$model'"
pairs=$data/abt-buy
todo=("${chosen[@]}")
[ ${#todo[@]} -gt 0 ] || todo=("${stages[@]}")
if [ "${chosen[*]}" != build ]; then
  if ! gpu=$(nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader 2>/dev/null) || [ -z "$gpu" ]; then
    echo "gpu.sh: nvidia-smi shows no GPU on this machine: nothing was checked or measured."
    exit 77
  fi
  for stage in "${todo[@]}"; do  # not all of them read pairs
    case $stage in
      checks | memory | train | main | peers_*) [ -f "$pairs/train.tsv" ] || usage "--data: there is no file '$pairs/train.tsv', which stage $stage reads" ;;
    esac
  done
fi
build=$root/build/cuda
given_bin=$bin
bin=${bin:-$build/bin}
mkdir -p "$out/work"

# Sizes. The short ones are for a machine that needs a second for a GPU's millisecond.
lengths=32,64,128,256,512 attention_sizes=() rate_sizes=() timing=() steps=(--steps 30 --warmup 10) few_steps=(--steps 5 --warmup 2) batch=32 base_batch=128 padded=128 scored=512 job=(--epochs "$epochs")
rounds=3 head_widths="32 64"
minilm='{"vocab_size": 30522, "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536, "max_position_embeddings": 512}'
base='{"vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 512}'
if $short; then
  lengths=8,16 attention_sizes=(--tokens 32 --heads 2 --levels 5) timing=(--repeats 2 --seconds 0.0001) batch=4 base_batch=4 padded=24 scored=4 rounds=1 head_widths=8
  rate_sizes=(--tokens 4 --square 8 --megabytes 1 --parameters 640)
  steps=(--steps 2 --warmup 1) few_steps=(--steps 1 --warmup 1) job=(--max-steps 2 --batch 4)
  minilm='{"vocab_size": 30522, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 128}' base=$minilm
fi

# --- Output of the stages: lines of JSON in $out/STAGE.jsonl, everything else in $out/STAGE.log.
text() { python3 -c 'import json, sys; print(json.dumps(sys.argv[1]))' "$1"; }
say() { echo "$1" >>"$lines"; }
problem() { # NAME WHY
  echo "  $1: $2"
  say "{\"what\": \"problem\", \"stage\": \"$stage\", \"name\": $(text "$1"), \"why\": $(text "$2")}"
  status=failed
}
# Runs a command within the stage's remaining time divided by $shares; its output goes to the file $1.
shares=1
within() {
  local to=$1
  shift
  seconds=$(((deadline - SECONDS) / shares))
  [ "$seconds" -gt 0 ] || return 124
  timeout -k 10 "$seconds" "$@" >>"$to" 2>>"$log"
}
# Runs a named command with output to the file $1; a failure is reported and does not end the script.
run() {
  local name=$1 to=$2 code=0
  shift 2
  echo "+ $*" >>"$log"
  within "$to" "$@" || code=$?
  case $code in
    0) ;;
    124) problem "$name" "not done in the $seconds seconds that were left for it" ;;
    *) problem "$name" "ended with $code: $(tail -n 1 "$log")" ;;
  esac
  return $code
}
measure() { run "$1" "$lines" "${@:2}"; }

# Makes the model to measure: the given one, or an untrained one of that size. usage: start_model NAME JSON
start_model() {
  if [ "$1" = minilm ] && [ -n "$model" ]; then
    start=$model
    return
  fi
  start=$out/work/$1.lxf
  [ "$1" = base ] || say "{\"what\": \"note\", \"text\": \"Without --model an untrained model of MiniLM's size was taken.\"}"
  [ -f "$start" ] && return
  echo "$2" >"$out/work/$1.json"
  run "make_model $1" "$log" "$bin/lexformer" make_model --text "$pairs/train.tsv" --vocab-size 30522 --model-config "$out/work/$1.json" --out "$start"
}

# --- The stages.
build() {
  if [ -n "$given_bin" ]; then
    say '{"what": "note", "text": "The programs were built before (--bin)."}'
    return
  fi
  # Another compiler may give new warnings, which are no reason to measure nothing.
  run configure "$log" cmake --preset cuda -S "$root" -DLEXFORMER_WERROR=OFF &&
    run compile "$log" cmake --build "$build" --target gpu_programs
}

checks() {
  if [ -z "$given_bin" ]; then
    run "ctest -L cuda_device" "$log" ctest --test-dir "$build" -L cuda_device --output-on-failure --no-tests=error
  else
    run lexformer_cuda_device_tests "$log" "$bin/lexformer_cuda_device_tests" --no-intro && run cuda_square "$log" "$bin/cuda_square"
  fi
  # ctest reports a program that finds no device as passed.
  local summary logs=("$log")
  [ -n "$given_bin" ] || logs+=("$build/Testing/Temporary/LastTest.log")
  summary=$(cat "${logs[@]}" 2>/dev/null | grep '^\[doctest\] test cases' | tail -n 1)
  if [ -n "$summary" ]; then
    say "{\"what\": \"tests\", \"summary\": $(text "$summary")}"
  else
    problem "tests on the device" "they say nothing of test cases: nothing was tried"
  fi

  start_model minilm "$minilm" || return
  head -n "$scored" "$pairs/valid.tsv" >"$out/work/scored.tsv"
  local device
  for device in cpu cuda; do
    run "logits by $device" "$log" "$bin/score" --model "$start" --data "$out/work/scored.tsv" --batch $batch --rounds 1 --device $device --logits "$out/work/$device.npy" || return
  done
  measure "logits compared" python3 "$root/bench/gpu_table.py" --compare-npy "$out/work/cpu.npy" "$out/work/cuda.npy"
}

sanitize() {
  if ! command -v compute-sanitizer >/dev/null; then
    say '{"what": "note", "text": "compute-sanitizer is not there: left out."}'
    return
  fi
  local tool part errors report code more last tools=(memcheck racecheck initcheck synccheck) parts=(elementwise index rows loss crf additive lstm ops attention models)
  local left=$((${#tools[@]} * ${#parts[@]}))
  for tool in "${tools[@]}"; do
    more=()
    [ "$tool" != memcheck ] || more=(--track-stream-ordered-races all --padding 64)
    for part in "${parts[@]}"; do
      report=$out/work/$tool-$part.log
      rm -f "$report" "$report.code"
      while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
      shares=$(((left + jobs - 1) / jobs))  # a tool that takes long leaves time for the others
      left=$((left - 1))
      {
        within "$report" env LEXFORMER_CUDA_CACHE=off compute-sanitizer --tool "$tool" "${more[@]}" --error-exitcode 9 "$bin/lexformer_cuda_device_tests" --no-intro "--source-file=*$part.cpp"
        echo $? >"$report.code"
      } &
    done
  done
  wait
  shares=1
  for tool in "${tools[@]}"; do
    for part in "${parts[@]}"; do
      report=$out/work/$tool-$part.log
      code=$(cat "$report.code" 2>/dev/null) last=$(tail -n 1 "$report" 2>/dev/null) errors=0
      case $code in
        0) ;;
        124) problem "$tool, $part" "not done in time" ;;
        *) problem "$tool, $part" "ended with ${code:-nothing}: $last" ;;
      esac
      [ "$code" = 0 ] || errors=$(sed -n 's/.*ERROR SUMMARY: \([0-9]*\) error.*/\1/p; s/.*RACECHECK SUMMARY: \([0-9]*\) hazard.*/\1/p' "$report" 2>/dev/null | tail -n 1)
      say "{\"what\": \"sanitize\", \"tool\": \"$tool\", \"part\": \"$part\", \"errors\": ${errors:-null}}"
    done
  done
}

rates() {
  local precision
  for precision in float32 tf32 bfloat16; do
    measure "rates, $precision" "$bin/gpu_rates" --device cuda --precision $precision "${rate_sizes[@]}" "${timing[@]}"
  done
}

attention() {
  local width precision path
  for width in $head_widths; do
    for precision in float32 bfloat16; do
      for path in fused cublas; do
        measure "attention, heads of $width, $precision, $path" "$bin/gpu_attention" --device cuda --precision $precision --path $path --head-width "$width" --lengths $lengths "${attention_sizes[@]}" \
          "${timing[@]}"
      done
    done
  done
}

# usage: train_steps LABEL PRECISION ATTENTION OPTION...
train_steps() {
  local label=$1 precision=$2 attention=$3 result=$out/work/step.json
  shift 3
  run "$label, $precision" "$log" "$bin/train_step" --device cuda --precision "$precision" --attention "$attention" --model "$start" \
    --data "$pairs/train.tsv" --json "$result" "$@" &&
    say "{\"what\": \"train_step\", \"label\": \"$label\", \"result\": $(tr -d "\n" <"$result")}"
}

memory() {
  measure "attention" "$bin/gpu_attention" --device cuda --lengths "$lengths" "${attention_sizes[@]}" --repeats 0
  $short || measure "attention of long sequences" "$bin/gpu_attention" --device cuda --lengths 1024,2048 --repeats 0
  start_model minilm "$minilm" || return
  local kind
  for kind in none lea; do
    train_steps "memory of MiniLM, $batch pairs of $padded tokens, $kind" float32 $kind --batch $batch --length $padded "${few_steps[@]}"
  done
}

train() {
  local precision
  start_model minilm "$minilm" || return
  for precision in float32 tf32 bfloat16; do
    train_steps "real pairs up to 64 tokens" $precision none,lea --batch $batch --max-length 64 "${steps[@]}"
    train_steps "pairs of $padded tokens" $precision none,lea --batch $batch --length $padded "${steps[@]}"
  done
  start_model base "$base" || return
  for precision in float32 tf32 bfloat16; do
    train_steps "base size, pairs of $padded tokens" $precision none --batch $base_batch --length $padded "${few_steps[@]}"
  done
}

main() {
  if [ -z "$model" ]; then
    say '{"what": "note", "text": "The main job was left out: it needs --model."}'
    return
  fi
  local seed row options folder begin
  for ((seed = 1; seed <= seeds; ++seed)); do
    for row in plain augmented lea; do
      case $row in
        plain) options=(--attention none) ;;
        augmented) options=(--attention none --augment) ;;
        lea) options=(--attention lea --augment) ;;
      esac
      folder=$out/work/$row-$seed begin=$SECONDS
      run "$row, seed $seed" "$log" "$bin/lexformer" train_matcher --device cuda --model "$model" --train "$pairs/train.tsv" --valid "$pairs/valid.tsv" \
        --test "$pairs/test.tsv" --test-typos 3 --seed $seed --out "$folder" --overwrite --quiet "${job[@]}" "${options[@]}" &&
        say "{\"what\": \"main\", \"row\": \"$row\", \"seed\": $seed, \"seconds\": $((SECONDS - begin)), \"results\": $(tr -d "\n" <"$folder/all_results.json")}"
    done
  done
}

# Whether PyTorch can be measured; reports it if not.
have_peers() {
  if ! "$python" -c 'import numpy, torch, transformers, safetensors; assert torch.cuda.is_available()' 2>/dev/null; then
    say '{"what": "note", "text": "The peers were left out: torch, transformers, safetensors or numpy cannot be imported, or torch sees no GPU."}'
    return 1
  fi
  export TORCHINDUCTOR_CACHE_DIR=$out/work/inductor  # compiled code is kept between runs
  measure versions "$python" -c 'import json, torch, transformers; print(json.dumps({"what": "versions", "torch": torch.__version__, "transformers": transformers.__version__}))'
}

peers() {
  have_peers || return 0
  local width ways
  measure "rates of PyTorch" "$python" "$root/bench/gpu_peer.py" rates "${rate_sizes[@]}" "${timing[@]}"
  for width in $head_widths; do
    # FlexAttention on its own: after an error on the device a process can do nothing more.
    for ways in "sdpa sdpa_cudnn embedding gather one_hot" flex; do
      measure "attention of PyTorch, heads of $width, $ways" "$python" "$root/bench/gpu_peer.py" attention --bin "$bin" --head-width "$width" \
        --lengths ${lengths//,/ } --ways $ways --rounds $rounds "${attention_sizes[@]}" "${timing[@]}"
    done
  done
}

# usage: peer_steps LABEL WAY OPTION...: PyTorch without and with compilation of that kind (compile, graph) beside lexformer.
peer_steps() {
  local label=$1 way=$2
  shift 2
  run "steps of PyTorch, $label" "$log" "$python" "$root/bench/compare.py" --device cuda --bin "$bin" --model "$start" --data "$pairs/train.tsv" \
    --task train --threads 8 --rounds 2 --json "$lines" --label "$label" "$@" --contenders lexformer lexformer-lea lexformer-tf32 \
    lexformer-bf16 lexformer-bf16-lea \
    torch "torch-$way" torch-tf32 "torch-tf32-$way" torch-bf16 "torch-bf16-$way"
}
peers_real() {
  have_peers && start_model minilm "$minilm" && peer_steps "real pairs up to 64 tokens" graph --batch $batch --max-length 64 "${steps[@]}"
}
peers_padded() {
  have_peers && start_model minilm "$minilm" && peer_steps "pairs of $padded tokens" graph --batch $batch --length $padded "${steps[@]}"
}
peers_base() {
  have_peers && start_model base "$base" && peer_steps "base size, pairs of $padded tokens" compile --batch $base_batch --length $padded "${few_steps[@]}"
}

# --- Run the stages in order.
[ -z "$gpu" ] || echo "$gpu" >"$out/gpu.txt"
was_short=false
[ ! -f "$out/short" ] || was_short=true
[ $was_short = $short ] || rm -f "$out"/*.jsonl "$out"/work/*.lxf  # of the other sizes
rm -f "$out/short"
if $short; then touch "$out/short"; fi
failed=()
for stage in "${todo[@]}"; do
  lines=$out/$stage.jsonl log=$out/$stage.log
  if [ ${#chosen[@]} -eq 0 ] && grep -qs '"what": "stage".*"status": "ok"' "$lines"; then
    echo "$stage: was done before; --stage $stage does it again"
    continue
  fi
  echo "$stage"
  rm -f "$lines" "$log"
  touch "$lines"
  begin=$SECONDS deadline=$((SECONDS + ${seconds_given:-$((60 * minutes))})) status=ok
  shares=1
  "$stage"
  say "{\"what\": \"stage\", \"stage\": \"$stage\", \"status\": \"$status\", \"seconds\": $((SECONDS - begin))}"
  [ $status = ok ] || failed+=("$stage")
  python3 "$root/bench/gpu_table.py" "$out" || failed+=("table")
  if [ "$stage" = build ] && [ $status != ok ]; then break; fi
done
echo "$out/results.md"
[ ${#failed[@]} -eq 0 ] || { echo "gpu.sh: not all went well: ${failed[*]}; the logs are beside the table" >&2; exit 1; }
