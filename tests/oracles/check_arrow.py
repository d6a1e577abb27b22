#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hands tables of pyarrow, Polars and DuckDB to read_arrow() and takes them back from export_arrow(), and runs the pipes of docs/how-to/databases.md.

    python3 tests/oracles/check_arrow.py [--bin build/release/bin]

Needs `pip install pyarrow duckdb polars`, g++ and bash. Not part of the tests, which make the structs themselves. Prints one line per
comparison; exit code 1 if anything differs.
"""
import argparse
import ctypes
import datetime
import decimal
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as parquet

ROOT = Path(__file__).resolve().parents[2]
failures = 0


def report(name, same, detail=''):
    global failures
    failures += not same
    print(f'{"equal" if same else "DIFFERENT":10} {name}{"" if same else ": " + str(detail)}')


def text(value):
    return '' if value is None else str(value).lower() if isinstance(value, bool) else str(value).removesuffix('.0')


class RoundTrip:
    def __init__(self, folder):
        library = folder / 'arrow_shared.so'
        subprocess.run(['g++', '-std=c++20', '-O1', '-fPIC', '-shared', f'-I{ROOT / "include"}', ROOT / 'tests/support/arrow_shared.cpp', '-o', library], check=True)
        self.call = ctypes.CDLL(str(library)).round_trip
        self.call.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

    def __call__(self, reader, column):
        given, back = ctypes.create_string_buffer(40), ctypes.create_string_buffer(40)
        reader._export_to_c(ctypes.addressof(given))
        status = self.call(ctypes.addressof(given), column.encode(), ctypes.addressof(back))
        return (pa.RecordBatchReader._import_from_c(ctypes.addressof(back)).read_all() if status == 0 else None), status


def compare(name, round_trip, reader, table, column='id'):
    """table: a dictionary of lists, what the reader holds."""
    back, status = round_trip(reader, column)
    if status != 0:
        return report(name, False, f'status {status}')
    rows = len(table[column])
    want = {'id': [text(v) for v in table[column]], **{k: [text(v) for v in values] for k, values in table.items() if k != column},
            'line': [i + 1 for i in range(rows)], 'half': [(i + 1) / 2 if i % 2 == 0 else None for i in range(rows)],
            'odd': [i % 2 == 0 for i in range(rows)],
            'words': [[{'text': text(table[column][i]), 'place': k} for k in range((i + 1) % 3)] for i in range(rows)]}
    if back.validate(full=True) is not None or str(back.schema.field('line').type) != 'int64':
        return report(name, False, back.schema)
    got = back.to_pydict()
    report(name, got == want, [(k, g, w) for k in want for g, w in zip(got.get(k, []), want[k]) if g != w][:3] or list(got))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', type=Path, default=ROOT / 'build/release/bin')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        round_trip = RoundTrip(folder)
        table = {'id': list(range(5000)), 'name': [None if i % 7 == 0 else f'caméra {"x" * (i % 40)}' for i in range(5000)], 'price': [i / 7 for i in range(5000)],
                 'sold': [i % 3 == 0 for i in range(5000)], 'stock': [None if i % 5 == 0 else -i for i in range(5000)]}
        arrow = pa.table(table)
        compare('pyarrow, batches of 777 rows', round_trip, pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches(777)), table)
        part = arrow.slice(1001, 333)
        compare('pyarrow, a slice', round_trip, part.to_reader(), part.to_pydict())
        words = arrow.set_column(1, 'name', arrow['name'].dictionary_encode())
        compare('pyarrow, a dictionary', round_trip, words.to_reader(), table)
        views = arrow.set_column(1, 'name', arrow['name'].cast(pa.string_view()))
        compare('pyarrow, string views', round_trip, views.to_reader(), table)
        parquet.write_table(arrow, folder / 'a.parquet')
        compare('pyarrow, Parquet', round_trip, parquet.read_table(folder / 'a.parquet').to_reader(), table)
        compare('Polars', round_trip, polars.DataFrame(table).to_arrow().to_reader(), table)
        found = duckdb.sql(f"select id, name, price from '{folder}/a.parquet' where id % 10 = 3 order by id")
        compare('DuckDB', round_trip, found.to_arrow_reader(100), {k: [v for i, v in enumerate(table[k]) if i % 10 == 3] for k in ('id', 'name', 'price')})
        moments = [datetime.datetime(1, 1, 1), datetime.datetime(1969, 12, 31, 23, 59, 59), datetime.datetime(2024, 2, 29, 13, 5, 7)]
        amounts = [decimal.Decimal('-0.05'), decimal.Decimal('12345678901234567890.10'), decimal.Decimal('0.00')]
        times = pa.table({'id': [1, 2, 3], 'day': pa.array([m.date() for m in moments]), 'time': pa.array([m.time() for m in moments]),
                          'moment': pa.array(moments, pa.timestamp('us')), 'amount': pa.array(amounts, pa.decimal128(30, 2)),
                          'large': pa.array(amounts, pa.decimal256(60, 2))})
        compare('pyarrow, dates, times and decimals', round_trip, times.to_reader(),
                {'id': [1, 2, 3], 'day': [m.date() for m in moments], 'time': [m.time() for m in moments],
                 'moment': [m.isoformat() for m in moments], 'amount': amounts, 'large': amounts})
        lists = pa.table({'id': [1], 'tags': [['a']]})
        report('a list is refused', round_trip(lists.to_reader(), 'id')[1] == 3)

        # Pipes: the same candidates from a Parquet file as from .csv.
        names = {'id': list(range(300)), 'name': [f'camera {i} {chr(97 + i % 26) * 3}' for i in range(300)]}
        parquet.write_table(pa.table(names), folder / 'names.parquet')
        duckdb.sql(f"copy (select * from '{folder}/names.parquet') to '{folder}/names.csv' (header)")
        select = f'''python3 -c "import duckdb; duckdb.sql(\\"copy (select * from '{folder}/names.parquet') to '/dev/stdout' (header)\\")"'''
        lines = f'''python3 -c "import polars; polars.read_parquet('{folder}/names.parquet').write_ndjson('/dev/stdout')"'''
        wanted = subprocess.run([options.bin / 'lexformer', 'candidates', folder / 'names.csv', '--out', folder / 'want.csv'], capture_output=True, text=True)
        for name, command in (('a pipe from DuckDB', select), ('a pipe from Polars', lines)):
            shell = f'PATH={Path(sys.executable).parent}:$PATH; {options.bin}/lexformer candidates <({command}) --out {folder}/got.csv'
            done = subprocess.run(['bash', '-c', shell], capture_output=True, text=True)
            report(name, wanted.returncode == done.returncode == 0 and (folder / 'got.csv').read_bytes() == (folder / 'want.csv').read_bytes(), done.stderr)
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
