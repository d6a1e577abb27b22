#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the harnesses of tests/fuzz with libFuzzer and the sanitizers and runs each on its seed corpus and on the corpus of
# earlier runs (build/fuzz/corpus). Findings are stored in build/fuzz/findings; the exit code is then 1.
# usage: tools/fuzz.sh [SECONDS | --runs N] [HARNESS...]
#   SECONDS    for each harness, default 30
#   --runs N   number of inputs for each harness; 0 replays only the seed corpus
#   HARNESS    reader, tokenizer, table, json, conllu, vectors, fasttext, tagged, normalizer; default all
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

limit=-max_total_time=30
if [ "${1:-}" = --runs ]; then
  limit=-runs=${2:?usage: tools/fuzz.sh [SECONDS | --runs N] [HARNESS...]}
  shift 2
elif [[ ${1:-} =~ ^[0-9]+$ ]]; then
  limit=-max_total_time=$1
  shift
fi
harnesses=("$@")
if [ ${#harnesses[@]} -eq 0 ]; then
  harnesses=(reader tokenizer table json conllu vectors fasttext tagged normalizer)
fi

tools/install_packages.sh clang libclang-rt-dev cmake ninja-build pkg-config libeigen3-dev nlohmann-json3-dev
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target "${harnesses[@]/#/fuzz_}"

# Small quarantine, so that the peak is the program's own memory; no allocation stacks, which take time.
export ASAN_OPTIONS=quarantine_size_mb=16:malloc_context_size=0:detect_leaks=1:${ASAN_OPTIONS:-}
mkdir -p build/fuzz/findings
status=0
for harness in "${harnesses[@]}"; do
  own=build/fuzz/corpus/$harness log=build/fuzz/$harness.log result=ok longest=4096
  folders=(tests/fuzz/corpus/"$harness")
  if [ "$limit" != -runs=0 ]; then
    mkdir -p "$own"
    folders=("$own" "${folders[@]}")
  fi
  if [ "$harness" = tokenizer ]; then
    longest=256  # the twin takes quadratic time
  fi
  "build/fuzz/bin/fuzz_$harness" "$limit" -max_len=$longest -timeout=10 -rss_limit_mb=512 -malloc_limit_mb=512 \
    -entropic=0 -print_funcs=0 -print_final_stats=1 -artifact_prefix="build/fuzz/findings/$harness-" "${folders[@]}" >"$log" 2>&1 || result=FINDING
  awk -v name="$harness" -v result=$result '
    /^stat::number_of_executed_units/ { inputs = $2 }
    /^stat::peak_rss_mb/ { memory = $2 }
    /^Done / { inputs = $2; seconds = $5 }
    END { printf "%-9s %s: %d inputs, %d s, %d inputs/s, peak %d MB\n", name, result, inputs, seconds, inputs / (seconds ? seconds : 1), memory }' "$log"
  if [ $result != ok ]; then
    grep -E "^(finding|SUMMARY|==[0-9]+== ERROR|terminate|Test unit written)" "$log" || tail -n 20 "$log"
    status=1
  fi
done
exit $status
