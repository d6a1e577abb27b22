#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reading of tables next to pandas and DuckDB (PyPI `pandas`, `pyarrow`, `duckdb`), in turns, each in a process of its own.

    read_table.py --table tableB.csv [--rows 1000000] [--rounds 3] [--bin build/release/bin/read_table ...] [--work FOLDER]

The rows of the table (.csv with six columns: id, title, category, brand, modelno, price) are repeated under new ids, and written as plain
and quoted .csv, .tsv and .jsonl. First all cells of each reader must be equal (SHA-256). Then each reader reads each file once in each
round. Seconds are processor times (user and system) of reading alone, without the start of the process; memory is what reading adds to
the peak. Streams give one row at a time, tables are in memory as a whole. Two programs after --bin, an earlier one second, are compared.
"""
import argparse
import csv
import hashlib
import itertools
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

COLUMNS = ["id", "title", "category", "brand", "modelno", "price"]
FILES = ["plain.csv", "quoted.csv", "plain.tsv", "plain.jsonl"]
STREAMS = ["records", "pairs", "duckdb, 1 thread", "duckdb, 2 threads"]
TABLES = ["table", "pandas", "pandas, pyarrow", "duckdb table, 1 thread"]
OURS = ("records", "pairs", "table")


def make(table, count, folder):
    """Writes the files. The quoted one has quotes and a line break in each title."""
    with open(table, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    if header != COLUMNS:
        sys.exit(f"{table}: the columns must be {','.join(COLUMNS)}")
    rows = [[cell.translate({34: None, 44: None, 9: " ", 10: " ", 13: " "}) for cell in row[1:]] for row in rows]
    quoted = [[f'"{row[0]} ""{row[3]}""\n{row[1]}, {row[2]}"', *row[1:]] for row in rows]
    texts = [[json.dumps(cell, ensure_ascii=False) for cell in row] for row in rows]
    objects = ["".join(f', "{name}": {text}' for name, text in zip(COLUMNS[1:], row)) + "}\n" for row in texts]
    files = {name: open(folder / name, "w", newline="", encoding="utf-8") for name in FILES}
    for name, separator in (("plain.csv", ","), ("quoted.csv", ","), ("plain.tsv", "\t")):
        files[name].write(separator.join(COLUMNS) + "\n")
    for i in range(count):
        at = i % len(rows)
        files["plain.csv"].write(",".join([str(i), *rows[at]]) + "\n")
        files["quoted.csv"].write(",".join([str(i), *quoted[at]]) + "\n")
        files["plain.tsv"].write("\t".join([str(i), *rows[at]]) + "\n")
        files["plain.jsonl"].write(f'{{"id": "{i}"' + objects[at])
    for file in files.values():
        file.close()


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak():
    """Peak memory of this process in MB."""
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def pandas_reader(name, path):
    import pandas
    if path.endswith(".jsonl"):
        read = lambda: pandas.read_json(path, lines=True, dtype=False)
    else:
        if "pyarrow" in name:
            import pyarrow.csv
            pyarrow.set_cpu_count(1)
        separator = "\t" if path.endswith(".tsv") else ","
        read = lambda: pandas.read_csv(path, sep=separator, engine="pyarrow" if "pyarrow" in name else "c", dtype=str, keep_default_na=False)
    return read, lambda frame: zip(*(frame[column].tolist() for column in COLUMNS))


def duckdb_reader(name, path):
    import duckdb
    connection = duckdb.connect(config={"threads": 2 if "2 threads" in name else 1})
    if path.endswith(".jsonl"):
        columns = ", ".join(f"{column}: 'VARCHAR'" for column in COLUMNS)
        source = f"read_json('{path}', format = 'newline_delimited', columns = {{{columns}}})"
    else:
        options = "delim = '\t', quote = ''" if path.endswith(".tsv") else "delim = ',', quote = '\"'"
        source = f"read_csv('{path}', header = true, all_varchar = true, {options}, parallel = {'false' if 'quoted' in path else 'true'})"
    if "table" in name:
        query = f"CREATE TABLE cells AS SELECT * FROM {source}"
    else:
        query = f"SELECT count(*), {', '.join(f'sum(strlen({column}))' for column in COLUMNS)} FROM {source}"

    def rows(_):
        cells = ", ".join(f"coalesce({column}, '')" for column in COLUMNS)
        found = connection.execute(f"SELECT {cells} FROM " + ("cells" if "table" in name else source))
        while some := found.fetchmany(100000):
            yield from some
    return lambda: connection.execute(query).fetchall(), rows


def run_one(name, path, check):
    """Reads a file by another reader; prints what it took, or the hash of all cells."""
    read, rows = (pandas_reader if name.startswith("pandas") else duckdb_reader)(name, path)
    cpu, memory = cpu_seconds(), peak()
    found = read()
    result = {"cpu": cpu_seconds() - cpu, "mb": peak() - memory}
    if check:
        total = hashlib.sha256(("\x1f".join(itertools.chain.from_iterable(rows(found))) + "\x1f").encode())
        result = {"hash": total.hexdigest()}
    print(json.dumps(result))


def called(name, path, check, program):
    """The result of a reader in a process of its own, or None if it fails."""
    if name not in OURS:
        command = [sys.executable, __file__, "--one", name, str(path), *(["--check"] if check else [])]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            print(f"{name}: {path.name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
            return None
        return json.loads(done.stdout)
    command = [program, name, str(path), *(["print"] if check else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        total = hashlib.sha256()
        output = b""
        while block := process.stdout.read(1 << 16):
            total.update(block)
            output = block
    if process.returncode:
        sys.exit(f"{program} {name} {path}: exit code {process.returncode}")
    return {"hash": total.hexdigest()} if check else json.loads(output)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--rows", type=int, default=1000000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bin", nargs="+", default=[str(Path(__file__).resolve().parents[1] / "build/release/bin/read_table")])
    parser.add_argument("--work", type=Path, help="where the tables are kept")
    parser.add_argument("--files", nargs="+", default=FILES)
    parser.add_argument("--readers", nargs="+", default=STREAMS + TABLES)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--make", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.one:
        return run_one(*a.one, a.check)
    with tempfile.TemporaryDirectory() as temporary:
        folder = a.work or Path(temporary)
        if a.make:
            return make(a.table, a.rows, folder)
        if not (folder / FILES[-1]).exists():  # in a process of its own: peaks are inherited
            subprocess.run([sys.executable, __file__, "--make", "--table", a.table, "--rows", str(a.rows), "--work", folder], check=True)
        print(f"{a.rows} rows; ratio: median over the rounds of the processor time over that of the first reader beside it")
        for file in a.files:
            readers = [(name, program) for name in a.readers for program in (a.bin if name in OURS else [None])]
            readers = [(name, program) for name, program in readers if not (file.endswith(".jsonl") and "pyarrow" in name)]
            hashes = {reader: called(reader[0], folder / file, True, reader[1]) for reader in readers}
            right = hashes[readers[0]]
            for reader in [reader for reader in readers if hashes[reader] != right]:
                print(f"{file}: {reader[0]} does not give the same cells")
                readers.remove(reader)
            results = {reader: [] for reader in readers}
            for _ in range(a.rounds):
                for reader in readers:
                    results[reader].append(called(reader[0], folder / file, False, reader[1]))
            size = (folder / file).stat().st_size / 1e6
            print(f"\n{file}, {size:.0f} MB\n\n| reader | s | MB/s | ratio | MB of memory |\n| --- | --- | --- | --- | --- |")
            for group in (STREAMS, TABLES):
                inside = [reader for reader in readers if reader[0] in group]
                for reader in inside:
                    own, first = ([run["cpu"] for run in results[r]] for r in (reader, inside[0]))
                    ratio = statistics.median(x / y for x, y in zip(own, first))
                    label = reader[0] + (f", {reader[1]}" if reader[1] and len(a.bin) > 1 else "")
                    print(f"| {label} | {statistics.median(own):.2f} | {size / statistics.median(own):.0f} | {ratio:.2f} | "
                          f"{max(run['mb'] for run in results[reader]):.0f} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
