#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the missing ones of the named Debian or Ubuntu packages; does nothing if all are installed.
# usage: tools/install_packages.sh PACKAGE...
set -euo pipefail

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "install_packages.sh: no apt-get on this system; if the build lacks something, install the equivalents of: $*" >&2
  exit 0
fi

missing=()
for package in "$@"; do
  if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" != installed ]; then
    missing+=("$package")
  fi
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

sudo=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    # They may be there in another form, as from pip or conda; CMake names what it does not find.
    echo "install_packages.sh: not root and no sudo; if the build lacks something, ask an administrator to run: apt-get install ${missing[*]}" >&2
    exit 0
  fi
  sudo=(sudo)
fi
echo "Installing ${missing[*]}"
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
