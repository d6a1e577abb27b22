# SPDX-License-Identifier: MIT
"""Fetches the public data sets that tools/reproduce*.sh, tools/make_matcher_pairs.py and docs/results use, and writes them in their layout.

    tools/get_data.sh DIR [SET...]                  all sets, or the named ones
    tools/get_data.sh DIR [SET...] --from FOLDER    from a folder with the same files as DIR, as of another machine
    tools/get_data.sh --list                        the sets: megabytes, repository, licence

Each file comes from a fixed commit of a public repository, and its size and SHA-256 must be the ones in tools/data/files.csv. Files that are
there are not fetched again, so an interrupted command can be repeated. A set of pairs has its source files in DIR/SET/original and
the pairs in DIR/SET/{train,valid,test}.tsv (text TAB text TAB label; SICK's have one more column), some without test.tsv. Other sets are as their source has them.
The data have licences of their own (--list).

Needs Python 3.9 and nothing else. Exit codes: 0 success, 1 failure, 2 wrong usage, 3 bad file.
"""
import argparse
import csv
import hashlib
import http.client
import os
import re
import sys
import urllib.error
import urllib.request
from pathlib import Path

from convert.errors import one_line, Stop
from convert.files import staged

TABLES = Path(os.environ.get("LEXFORMER_DATA_TABLES", Path(__file__).resolve().parent / "data"))
SECONDS = 30  # without an answer


def read_sets():
    """Set -> its licence, and set -> its files, both in the order of --list."""
    with open(TABLES / "sets.csv", encoding="utf-8", newline="") as file:
        licences = {row["set"]: row["licence"] for row in csv.DictReader(file)}
    files = {name: [] for name in licences}
    with open(TABLES / "files.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            row["bytes"] = int(row["bytes"])
            files[next(name for name in licences if row["file"].startswith(name + "/"))].append(row)
    return licences, files


def sum_of(data):
    return hashlib.sha256(data).hexdigest()


def is_there(path, row):
    return path.is_file() and path.stat().st_size == row["bytes"] and sum_of(path.read_bytes()) == row["sha256"]


def download(row):
    try:
        with urllib.request.urlopen(row["address"], timeout=SECONDS) as answer:
            return answer.read(row["bytes"] + 1)
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if type(error) is urllib.error.URLError else error
        raise Stop(1, "%s: cannot be fetched: %s; try again later, or put it into FOLDER/%s and give --from FOLDER"
                   % (row["address"], reason, row["file"])) from None


def copy(row, mirror):
    path = mirror / row["file"]
    try:
        return path.read_bytes()
    except OSError as error:
        raise Stop(3, "%s: cannot be read: %s; its source is %s" % (path, error.strerror, row["address"])) from None


def write(path, data):
    """Writes a file, unless it is there with these bytes."""
    try:
        if path.is_file() and path.read_bytes() == data:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Stop(1, "%s: cannot be written: %s" % (path, error.strerror)) from None
    with staged(path) as temporary:
        Path(temporary).write_bytes(data)


def fetch(row, folder, mirror):
    """Whether the file had to be fetched."""
    path = folder / row["file"]
    if is_there(path, row):
        return False
    data = copy(row, mirror) if mirror else download(row)
    if len(data) != row["bytes"] or sum_of(data) != row["sha256"]:
        found = "more bytes" if len(data) > row["bytes"] else "%d bytes with SHA-256 %s" % (len(data), sum_of(data))
        raise Stop(3, "%s: expected %d bytes with SHA-256 %s, found %s; nothing was written; fetch it again"
                   % (mirror / row["file"] if mirror else row["address"], row["bytes"], row["sha256"], found))
    write(path, data)
    return True


def rows_of(data, header):
    """The rows of a file with tabs, without its header. Texts keep the spaces at their ends."""
    lines = data.decode("utf-8-sig").replace("\r\n", "\n").removesuffix("\n").split("\n")
    return [line.split("\t") for line in lines[header:]]


def first_value(record):
    """The value of the first attribute of `COL name VAL value COL price VAL 1.0`."""
    return re.match(r"COL \w+ VAL (.*?)(?: COL \w+ VAL.*)?$", record).group(1).strip()


def of_ditto(source):
    def convert(read):
        return {part: [(first_value(left), first_value(right), label) for left, right, label in rows_of(read(name), 0)] for part, name in source.items()}
    return convert


def of_rte(read):
    """GLUE's test set has no labels: its validation set takes that place, and every tenth training pair the place of validation."""
    labels = {"entailment": "1", "not_entailment": "0"}
    train, test = ([(left, right, labels[label]) for _, left, right, label in rows_of(read(name), 1)] for name in ("train.tsv", "dev.tsv"))
    return {"train": [pair for number, pair in enumerate(train, 1) if number % 10], "valid": train[9::10], "test": test}


def of_mrpc(read):
    """GLUE's validation pairs are the training pairs whose ids are in dev_ids.tsv."""
    valid = {tuple(ids) for ids in rows_of(read("dev_ids.tsv"), 0)}
    train, test = (rows_of(read("msr_paraphrase_%s.txt" % part), 1) for part in ("train", "test"))
    pairs = lambda rows: [(left, right, label) for label, _, _, left, right in rows]
    return {"train": pairs(row for row in train if tuple(row[1:3]) not in valid),
            "valid": pairs(row for row in train if tuple(row[1:3]) in valid), "test": pairs(test)}


def of_sts(read):
    sources = {"train": "sts-train.tsv", "valid": "sts-dev.tsv", "test": "sts-test.tsv"}
    return {part: [(row[5], row[6], row[4]) for row in rows_of(read(name), 0)] for part, name in sources.items()}


def of_sick(read):
    sources = {"train": "SICK_train.txt", "valid": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}
    return {part: [row[1:5] for row in rows_of(read(name), 1)] for part, name in sources.items()}


PAIRS = {
    "abt-buy": of_ditto({"train": "train.txt", "valid": "valid.txt", "test": "test.txt"}),
    "amazon-google": of_ditto({"train": "train.txt", "valid": "valid.txt"}),
    "wdc-computers-small": of_ditto({"train": "train.txt.small", "valid": "valid.txt.small"}),
    "wdc-computers-large": of_ditto({"valid": "valid.txt.large"}),
    "rte": of_rte, "mrpc": of_mrpc, "sts-b": of_sts, "sick": of_sick,
}


def make_set(name, files, folder, mirror):
    """One line that says what was done."""
    fetched = sum(fetch(row, folder, mirror) for row in files)
    said = "%s: %d of %d files fetched" % (name, fetched, len(files))
    if name in PAIRS:
        for part, rows in PAIRS[name](lambda source: (folder / name / "original" / source).read_bytes()).items():
            write(folder / name / (part + ".tsv"), "".join("\t".join(row) + "\n" for row in rows).encode())
            said += ", %s.tsv %d pairs" % (part, len(rows))
    return said


def print_list(licences, files):
    for name, licence in licences.items():
        sources = dict.fromkeys("github.com/" + "/".join(row["address"].split("/")[3:5]) for row in files[name])
        print("%-22s %4.1f MB  %s\n%33s%s" % (name, sum(row["bytes"] for row in files[name]) / 1e6, ", ".join(sources), "licence: ", licence))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="get_data.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.error = lambda message: parser.exit(2, "get_data.sh: %s; --help shows the usage\n" % message)
    parser.add_argument("folder", metavar="DIR", nargs="?", type=Path, help="created if it does not exist")
    parser.add_argument("sets", metavar="SET", nargs="*", help="default: all")
    parser.add_argument("--from", dest="mirror", metavar="FOLDER", type=Path, help="copy from this folder, without a network")
    parser.add_argument("--list", action="store_true", help="print the sets and end")
    options = parser.parse_intermixed_args(arguments)
    licences, files = read_sets()
    if options.list:
        print_list(licences, files)
        return 0
    if options.folder is None:
        parser.error("DIR is missing")
    for name in options.sets:
        if name not in files:
            parser.error("there is no set '%s'; expected some of %s" % (name, ", ".join(files)))
    if options.mirror and not options.mirror.is_dir():
        parser.error("--from: there is no folder '%s'" % options.mirror)
    code = 0
    for name in options.sets or files:
        try:
            print(make_set(name, files[name], options.folder, options.mirror), flush=True)
        except Stop as stop:  # the other sets do not need this one
            print(one_line(stop.args[1]), file=sys.stderr, flush=True)
            code = code or stop.args[0]
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        sys.exit(one_line("get_data.sh: %s" % error))
