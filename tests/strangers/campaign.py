# SPDX-License-Identifier: MIT
"""What the tests with random files share: a longer run from the command line."""
import argparse
import importlib
import sys
import unittest


def main(campaign, package):
    """Runs the ordinary tests, or with --runs so many random files, which `package` reads as well if it is installed."""
    if "--runs" not in sys.argv:
        unittest.main()
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    try:
        peer = importlib.import_module(package)
    except ImportError:
        peer = print("%s is not installed, so it is not compared with" % package)
    counts, wrong = campaign(arguments.runs, arguments.seed, peer, arguments.keep)
    print("\n".join([*wrong, *("%8d %s" % (count, kind) for kind, count in sorted(counts.items())), "%d are read differently" % len(wrong)]))
    sys.exit(len(wrong) > 0)
