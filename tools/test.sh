#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the tests on a fresh Debian 12 or Ubuntu 24.04: installs missing packages, configures, builds and tests one preset
# of CMakePresets.json, and prints a summary.
# usage: tools/test.sh [PRESET | all]  (dev, release, headers, tidy, tsan, coverage, cuda; default dev; all: what .ci/run runs, and all long checks)
# `cuda` needs NVIDIA's toolkit, which this script does not install; without a GPU its tests on the device are skipped, the tests of nvcc's PTX run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:-dev}
if [ "$preset" = all ]; then
  exec .ci/run --all
fi
packages=(wordnet-base g++ cmake ninja-build pkg-config python3 libeigen3-dev nlohmann-json3-dev doctest-dev libcli11-dev libhnswlib-dev)
case $preset in
  dev | tsan) packages+=(clang libclang-rt-dev) ;;
  headers) packages+=(doxygen) ;;
  tidy) packages+=(clang clang-tidy) ;;
  coverage) packages+=(gcovr) ;;
esac
tools/install_packages.sh "${packages[@]}"

# Another compiler may give new warnings; only CI treats them as errors.
options=(-DLEXFORMER_WERROR=OFF)
if [ -n "${CI:-}" ]; then
  options=(-DLEXFORMER_WERROR=ON)
  case $preset in
    dev) options+=(-DLEXFORMER_STAND_IN_TESTS=OFF) ;;  # `cuda` runs the tests of kernels on PTX, `release` the tests of the stand-in
    cuda) options+=(-DLEXFORMER_NATIVE=ON) ;;  # as in `release`: ccache has the libraries that both presets compile
  esac
fi
# A full build of the tests is faster in few units; to edit tests, turn LEXFORMER_UNITY_TESTS off in build/PRESET.
if [ ! -f "build/$preset/bin/lexformer_tests" ]; then
  options+=(-DLEXFORMER_UNITY_TESTS=ON)
  # All tests run in `dev`; here the tests of what g++ makes of the kernels for this processor.
  if [ "$preset" = release ]; then
    options+=(-DLEXFORMER_TEST_FLAGS=-O0 "-DLEXFORMER_TEST_FOLDERS=core;kernels;autograd;ops;nn;attention"
              -DLEXFORMER_INSTALL_COMPILED=ON -DLEXFORMER_INSTALL_PROGRAMS=ON)  # consumer.consumers installs them
  fi
fi

start=$SECONDS
cmake --preset "$preset" "${options[@]}" >/dev/null
case $preset in
  release) cmake --build --preset release-tests ;;  # the programs, also on the stand-in for CUDA, and lexformer_tests
  *) cmake --build --preset "$preset" ;;
esac
built=$SECONDS

if [ "$preset" = tidy ]; then
  echo "$preset: clean, $((built - start)) s"
  exit 0
fi
status=0
ctest --preset "$preset" || status=$?
awk -v preset="$preset" -v build=$((built - start)) -v test=$((SECONDS - built)) '
  /^\[doctest\] test cases:/ { split($0, field, /[:|]/); cases += field[2]; passed += field[3]; failed += field[4] }
  /^\[doctest\] assertions:/ { split($0, field, /[:|]/); assertions += field[2] }
  END {
    if (cases) printf "%s: %d test cases, %d passed, %d failed, %d assertions\n", preset, cases, passed, failed, assertions
    printf "%s: built in %d s, tested in %d s\n", preset, build, test
  }' "build/$preset/Testing/Temporary/LastTest.log"
exit $status
