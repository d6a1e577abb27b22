#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Half an hour of a GPU machine without a network: programs, tests, pairs and a model are packed here, and measured there in three commands of
# less than ten minutes each. There: CUDA's libraries, python3, and PyTorch and transformers for the peers.
# usage: bench/gpu.sh pack [--bin DIR] [--model M.lxf] [--data DIR] [--arch N] [--out FILE]
#            makes FILE (lexformer-gpu.tar.xz), 64 MB at most. Without --bin the programs are built with nvcc for compute capability N (90).
#            Without --model the training steps take an untrained model of MiniLM's size, which is made there
#        tar xf lexformer-gpu.tar.xz, then in that folder:
#        bench/gpu.sh correct [OPTION...]   tests on the device and logits, then compute-sanitizer, several runs at once
#        bench/gpu.sh ours [OPTION...]      attention, rates, training steps, memory, main job: what time allows, in this order
#        bench/gpu.sh peers [OPTION...]     the same in PyTorch, in turns with ours
#            --results DIR   (results) gets results.md, which judges G1 to G9, and results.tar.gz with all figures and logs; both are
#                            written anew after each stage and every 20 seconds. A stage that has ended well is not run again; an archive
#                            that already lies there from another machine is read first
#            --minutes N     of the command, 9 at most;  --short: tiny sizes, the figures mean nothing
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
most=$((64 << 20))
programs=(lexformer_cuda_device_tests cuda_square gpu_attention gpu_rates train_step score lexformer)

usage() {
  sed -n '3,18s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  [ $# -eq 0 ] || echo "gpu.sh: $*" >&2
  exit 2
}

action=$1
shift
bin='' model='' data='' arch=90 file=$PWD/lexformer-gpu.tar.xz results=$root/results minutes=9 short=()
while [ $# -gt 0 ]; do
  case $1 in
    --short) short=(--short); shift; continue ;;
    --help) usage ;;
  esac
  [ $# -gt 1 ] || usage "$1 needs a value"
  case $action$1 in
    pack--bin) bin=$2 ;;
    pack--model) model=$2 ;;
    pack--data) data=$2 ;;
    pack--arch) arch=$2 ;;
    pack--out) file=$2 ;;
    correct--results | ours--results | peers--results) results=$2 ;;
    correct--minutes | ours--minutes | peers--minutes) minutes=$2 ;;
    *) usage "unknown option $1 of $action" ;;
  esac
  shift 2
done
[[ $minutes =~ ^[1-9]$ ]] || usage "--minutes: '$minutes' is none of 1 to 9"
[[ $arch =~ ^[0-9]+a?$ ]] || usage "--arch: '$arch' is no compute capability, such as 90 or 90a"

too_large() {
  echo "gpu.sh: pack: $(($1 >> 20)) MB, at most $((most >> 20)) can be brought along; take a model in bfloat16, or none" >&2
  exit 1
}

pack() {
  data=${data:-$root/../shared/data}
  local part size
  for part in train valid test; do
    [ -f "$data/abt-buy/$part.tsv" ] || usage "--data: there is no file '$data/abt-buy/$part.tsv'"
  done
  [ -z "$model" ] || [ -f "$model" ] || usage "--model: there is no file '$model'"
  [ -z "$model" ] || [ "$(stat -Lc %s "$model")" -le $most ] || too_large "$(stat -Lc %s "$model")"  # weights do not become smaller
  if [ -z "$bin" ]; then
    # A folder of its own, since the preset's other builds are for several kinds of GPU.
    bin=$root/build/gpu-pack/bin
    cmake --preset cuda -S "$root" -B "$root/build/gpu-pack" -DLEXFORMER_WERROR=OFF -DCMAKE_CUDA_ARCHITECTURES="$arch-real" >/dev/null &&
      cmake --build "$root/build/gpu-pack" --target gpu_programs || { echo "gpu.sh: pack: the programs were not built" >&2; exit 1; }
  fi
  folder=$(mktemp -d) || exit 1
  trap 'rm -rf "$folder"' EXIT
  local tree=$folder/lexformer-gpu
  mkdir -p "$tree/bin" "$tree/bench" "$tree/tests" "$tree/data/abt-buy"
  for part in "${programs[@]}"; do
    [ -f "$bin/$part" ] || { echo "gpu.sh: pack: there is no program '$bin/$part'" >&2; exit 1; }
    cp -L "$bin/$part" "$tree/bin/$part" || exit 1
    strip "$tree/bin/$part" 2>/dev/null || true  # a script has nothing to strip
  done
  cp "$root"/bench/*.sh "$root"/bench/*.py "$tree/bench/" && cp -r "$root/tests/golden" "$tree/tests/" && cp "$data"/abt-buy/{train,valid,test}.tsv "$tree/data/abt-buy/" || exit 1
  [ -z "$model" ] || cp "$model" "$tree/model.lxf" || exit 1
  tar cJf "$file.new" -C "$folder" lexformer-gpu || exit 1
  size=$(stat -c %s "$file.new")
  if [ "$size" -gt $most ]; then
    rm -f "$file.new"
    too_large "$size"
  fi
  mv "$file.new" "$file"
  echo "$file: $size bytes"
}

# Writes the two result files anew; what is there stays whole until then.
keep() {
  [ -d "$work" ] || return 0
  local new=$results/.new-$BASHPID
  tar czf "$new" --exclude='*.lxf' --exclude=inductor -C "$work" . 2>/dev/null || [ $? -eq 1 ] || { rm -f "$new"; return 0; }  # 1: a file grew while it was read
  mv "$new" "$results/results.tar.gz"
  [ ! -f "$work/results.md" ] || { cat "$work/results.md" "$work/machine.txt" >"$new" && mv "$new" "$results/results.md"; }
}

# What one should know of the machine, and libraries that its programs do not find.
machine() {
  echo
  echo '## Machine'
  echo '```'
  nvidia-smi 2>&1 | head -n 20
  nproc
  command -v nvcc compute-sanitizer ncu python3
  for program in "${programs[@]}"; do ldd "$root/bin/$program" 2>/dev/null | grep 'not found'; done | sort -u
  python3 -c 'import torch, transformers; print("torch", torch.__version__, "transformers", transformers.__version__)' 2>&1 | tail -n 1
  echo '```'
}

# usage: stages OPTIONS -- STAGE...: one after the other, within the time of the command
stages() {
  local options=() stage left status=0
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  if [ -f "$work/short" ] && [ ${#short[@]} -eq 0 ]; then rm -f "$work"/*.jsonl; fi  # of tiny sizes; bench/gpu.sh removes the rest
  for stage in "$@"; do
    if grep -qs '"what": "stage".*"status": "ok"' "$work/$stage.jsonl"; then
      echo "$stage: was done before"
      continue
    fi
    left=$((deadline - SECONDS))
    if [ "$left" -lt 5 ]; then
      echo "$stage: no time is left; call it again"
      status=1
      continue
    fi
    "$root/bench/gpu.sh" --bin "$root/bin" --data "$root/data" --out "$work" --seconds "$left" "${short[@]}" "${with_model[@]}" "${options[@]}" --stage "$stage" || status=$?
    keep
    [ $status -ne 77 ] || return 77
  done
  return $status
}

if [ "$action" = pack ]; then
  pack
  exit
fi

for part in "${programs[@]}"; do
  [ -x "$root/bin/$part" ] || { echo "gpu.sh: $action: there is no program '$root/bin/$part'; this is for the folder that 'bench/gpu.sh pack' makes" >&2; exit 2; }
done
if ! nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | grep -q .; then
  echo "gpu.sh: nvidia-smi shows no GPU on this machine: nothing was checked or measured."
  exit 77
fi
deadline=$((SECONDS + 60 * minutes))
given=$results
{ mkdir -p "$given" && results=$(cd "$given" && pwd) && [ -w "$results" ]; } 2>/dev/null || usage "--results: cannot make '$given', or write into it; choose another folder"
work=$root/work
if [ ! -d "$work" ]; then
  mkdir -p "$work" || exit 1
  if [ -f "$results/results.tar.gz" ] && ! tar xzf "$results/results.tar.gz" -C "$work"; then
    rm -rf "$work"  # so that the next call reads the archive, too
    echo "gpu.sh: $action: '$results/results.tar.gz' cannot be read; move it away" >&2
    exit 2
  fi
fi
with_model=()
[ ! -f "$root/model.lxf" ] || with_model=(--model "$root/model.lxf")
cuda=${CUDA_HOME:-/usr/local/cuda}
torch_libraries=$(python3 -c 'import glob, site; print(":".join(p for s in site.getsitepackages() for p in glob.glob(s + "/nvidia/*/lib")))' 2>/dev/null)
export PATH=$PATH:$cuda/bin
export LD_LIBRARY_PATH=$cuda/lib64:$cuda/lib:$torch_libraries:/usr/local/nvidia/lib64:${LD_LIBRARY_PATH:-}
export LEXFORMER_SOURCE_DIR=$root
machine >"$work/machine.txt"
(while sleep 20; do keep; done) &
keeper=$!
trap 'kill $keeper 2>/dev/null; wait $keeper 2>/dev/null; rm -f "$results"/.new-*; keep' EXIT
status=0
case $action in
  correct) stages --jobs "$(($(nproc) > 10 ? 10 : $(nproc)))" -- checks sanitize || status=$? ;;
  ours) stages --epochs 3 -- attention rates train memory main || status=$? ;;
  peers) stages -- peers peers_real peers_padded peers_base || status=$? ;;
esac
echo "$results/results.md"
exit $status
