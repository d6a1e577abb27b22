#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Fetches the public data sets that the tables of docs/results were made from.
# usage: tools/get_data.sh DIR [SET...] [--from FOLDER];  tools/get_data.sh --list;  tools/get_data.sh --help
exec python3 "$(dirname "${BASH_SOURCE[0]}")/get_data.py" "$@"
