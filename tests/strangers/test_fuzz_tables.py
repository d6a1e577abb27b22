#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random tables, read by `match` and by Python's csv and json: both give the same values, or the program refuses the table.

A table is written from its values, so these are compared as well. They alone count where csv has no such form: spaces around quoted
fields, columns separated by spaces. A damaged table is a table with a few characters changed; csv and json say what comes of it. Some
forms are never made, since the program and csv are meant to differ: a CR alone outside of quotes, which ends a line for csv, and, in
damaged tables, spaces beside quotes. Ids are compared character by character, other values word by word, as they are in texts.

--runs N --seed S: so many tables, also read by pandas if it is installed. --keep DIR: a folder for tables that are read differently.
"""
import collections
import csv
import io
import json
import random
import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent / "programs")]
from campaign import main  # noqa: E402
from support import program  # noqa: E402

ORDINARY = (150, 1)  # runs and seed of the ordinary test
PARTS = ["a", "oak", "Oak", "\u00e9", "e\u0301", "\u4f60", "\U0001f642", "\u00a0", "\u2028", "\x85", "\ufeff", "\x01", "\x1c", "\x7f", "0", "-0", "1e999",
         "12.50", "'", "`", "\\", "\\n", '\\"', "=", "NULL", "nan", "true", "[", "{", "COL", " ", "  ", '"', '""', ",", ";", "|", "\t", "\n", "\r\n", "\r"]
NAMES = ["name", "price \u20ac", "a,b", "c;d", "x=y", 'size "XL"', "\u0438\u0434", "e|f", "Left", "\u540d", "sep="]
NUMBERS = ["0", "-0", "0.0", "-0.0", "12.50", "1E+05", "1e-999", "340282366920938463463374607431768211455", "-9223372036854775809", "0.1000000000000000055511"]
DELIMITERS = {",": "comma", ";": "semicolon", "|": "bar", "\t": "tab"}
WHITE = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")  # Unicode's White_Space
BOM = b"\xef\xbb\xbf"


class Table:
    """Bytes, how the program is to read them, and the header and the rows that it reads; rows None: it refuses them."""

    def __init__(self, kind, ending, data, rows, id_name="id", options=(), dialect=None, columns=()):
        self.kind, self.ending, self.data, self.rows, self.id_name, self.options = kind, ending, data, rows, id_name, options
        self.dialect = dialect  # the separator and whether fields are quoted, if csv reads the same
        self.columns = ["--columns", ",".join(map(quoted, columns))] if columns else []


def quoted(name):
    return '"%s"' % name.replace('"', '""')


def value(rng, without="", most=5):
    """A text of random parts; the program reads each line end in a field as LF."""
    return re.sub("\r+\n", "\n", "".join(c for c in "".join(rng.choices(PARTS, k=rng.randint(0, most))) if c not in without))


def key(rng):
    """A text by which the program finds that a record is similar to itself."""
    return "qz%05d" % rng.randrange(10000, 99999)


def values(rng, id_name, without="", name_without=""):
    """A header and rows; the ids differ."""
    header = rng.sample([name for name in NAMES if not set(name) & set(name_without)], rng.randint(1, 4))
    header.insert(rng.randint(0, len(header)), id_name)
    rows = [[value(rng, without) for _ in header] for _ in range(rng.randint(2, 12))]
    for i, row in enumerate(rows):
        row[header.index(id_name)] = "%s#%d#%s" % (value(rng, without, 2), i, value(rng, without, 2))
    return [[*header, "key"], *([*row, key(rng)] for row in rows)]


def join_lines(rng, lines, end, blanks=("", "", "  ")):
    """Lines with blank ones among them, as bytes, possibly after a byte order mark."""
    text = lines[0] + "".join(end + (rng.choice(blanks) + end if rng.random() < 0.1 else "") + line for line in lines[1:])
    return rng.choice((b"", b"", BOM)) + (text + rng.choice((end, end, "", end + end))).encode()


def csv_field(rng, text, separator, style, spaces):
    plain = not re.match(' *"', text) and not set(text) & {separator, "\n", "\r"}
    if plain and (style == "few" or style == "some" and rng.random() < 0.7):
        return text
    # After spaces, a quote opens a field only if it ends in the same line.
    before = " " * rng.choice((0, 1, 3)) if spaces and "\n" not in text else ""
    after = " " * rng.choice((0, 1, 3)) if spaces else ""
    return before + '"' + text.replace('"', '""') + '"' + after


def csv_table(rng, spaces=False, without=""):
    """Any separator, and any way in which the program learns of it."""
    separator, end, style = rng.choice(",,,;|\t"), rng.choice(("\n", "\r\n", "\r\r\n")), rng.choice(("all", "some", "few"))
    ending, told = rng.choice((".csv", ".csv", ".CSV", ".tsv", ".txt")), rng.choice(("", "option", "line"))
    if not told and separator == "\t" and ending in (".tsv", ".txt"):
        told = "option"  # for itself, a .tsv has no quoted fields
    rows = values(rng, rng.choice(("id", "id", "nr of item", 'the "id"', "id,x")), without)
    lines = [separator.join(csv_field(rng, text, separator, style, spaces) for text in row) for row in rows]
    if told == "line":
        lines.insert(0, rng.choice(("sep=%s", '"sep=%s"')) % separator)
    id_name = next(name for name in rows[0] if name not in NAMES)
    options = ["--delimiter", DELIMITERS[separator]] if told == "option" else []
    return Table("csv", ending, join_lines(rng, lines, end), rows, id_name, options, (separator, True))


def spaced_csv(rng):
    table = csv_table(rng, spaces=True)
    table.kind, table.dialect = "csv with spaces", None
    return table


def tsv_table(rng):
    rows = values(rng, "id", "\t\n\r")
    lines = ["\t".join(row) for row in rows]
    data = join_lines(rng, lines, rng.choice(("\n", "\r\n", "\r\r\n")))
    return Table("tsv", rng.choice((".tsv", ".TXT")), data, rows, dialect=("\t", False))


def space_table(rng):
    rows = [[text or "-" for text in row] for row in values(rng, "id", " \t\n\r", " ")]
    around = [rng.choice(("", " ", "\t ")) for _ in range(2)]
    lines = [around[0] + rng.choice((" ", "   ", "\t", " \t ")).join(row) + around[1] for row in rows]
    return Table("spaces", rng.choice((".tsv", ".csv")), join_lines(rng, lines, rng.choice(("\n", "\r\n"))), rows, options=["--delimiter", "space"])


def read_csv(text, separator, quotes):
    """The rows that csv reads, without blank lines."""
    quoting = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, quoting=quoting, strict=True)
    rows = [[re.sub("\r+\n", "\n", field) for field in row] for row in rows if len(row) > 1 or "".join(row).strip(" ")]
    return rows[1:] if rows[0] in (["sep=", ""], ["sep=" + separator]) else rows


def records_or_none(rows, id_name):
    """Rows that are a table of records."""
    ids = [row[rows[0].index(id_name)] for row in rows[1:] if len(row) == len(rows[0])]
    return rows if len(ids) == len(rows) - 1 and all(ids) and 0 < len(ids) == len(set(ids)) else None


def damaged(rng, data, first, alphabet):
    """The bytes with a few changes from a place on."""
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(first, max(first, len(data)))
        data = data[:at] + rng.choice((*alphabet, b"", data[at:at + 9])) + data[at + rng.choice((0, 0, 1, 2)):]
    return data


def damaged_csv(rng):
    while True:
        table = csv_table(rng, without=" \r")
        data = damaged(rng, table.data, table.data.index(b"key") + 6, [b'"', b'"', table.dialect[0].encode(), b"\n", b"\r\n", b"a", b"\0", b"\xff"])
        if not re.search(rb"\r(?!\r*\n)", data):
            break
    try:
        rows = None if b"\0" in data else records_or_none(read_csv(data.decode("utf-8-sig"), *table.dialect), table.id_name)
    except (csv.Error, UnicodeDecodeError):
        rows = None
    return Table("damaged csv", table.ending, data, rows, table.id_name, table.options)


def json_string(rng, text):
    """A text as JSON in one of its many forms."""
    out = ""
    for c in text:
        units = c.encode("utf-16-be", "surrogatepass")
        long = "".join(rng.choice(("\\u%04x", "\\u%04X")) % int.from_bytes(units[i:i + 2], "big") for i in range(0, len(units), 2))
        short = json.dumps(c)[1:-1] if c in '"\\\n\r\t\b\f' else "\\/" if c == "/" else long
        plain = c >= " " and c not in '"\\' and not "\ud800" <= c < "\ue000"
        out += c if plain and rng.random() < 0.9 else rng.choice((short, long))
    return '"%s"' % out


def json_value(rng):
    text = value(rng) + rng.choice(("",) * 9 + ("\ud83d", "\udc00", "\0", "/"))
    return rng.choice((json_string(rng, text), json_string(rng, text), rng.choice(NUMBERS), rng.choice(("true", "false", "null"))))


def json_lines(rng):
    names, lines = rng.sample(NAMES, rng.randint(1, 4)), []
    for i in range(rng.randint(2, 12)):
        record = [(name, json_value(rng)) for name in names if i == 0 or rng.random() < 0.8]
        number = rng.choice(("%d.50", "-%d", "%d340282366920938463463374607431768211455", "%de-7")) % (i + 1)
        record += [("id", rng.choice((number, json_string(rng, value(rng) + "#%d" % i)))), ("key", '"%s"' % key(rng))]
        if rng.random() < 0.3:
            record.append(("nested", rng.choice(('[1, {"a": "b"}]', "{}", "[[]]"))))
        rng.shuffle(record)
        space = rng.choice(("", "", " ", "\t"))
        lines.append("{" + ("," + space).join(json_string(rng, name) + space + ":" + given for name, given in record) + space + "}" + space)
    return [*names, "key"], join_lines(rng, lines, rng.choice(("\n", "\r\n")))


def read_json(data, columns):
    """The rows that json reads. Refused are, other than by json: numbers beyond a double, keys that occur twice, nested values to compare."""
    rows, met = [["id", *columns]], set()
    for line in data.decode("utf-8-sig").split("\n"):
        if not line.rstrip("\r").strip(" "):
            continue
        record = json.loads(line, parse_int=str, parse_float=as_written, parse_constant=lambda name: {}[name], object_pairs_hook=unique_keys)
        met |= set(record)
        row = [record.get(name) for name in rows[0]]
        if any(isinstance(given, (list, dict)) for given in row):
            raise ValueError("nested")
        row = ["" if given is None else given if isinstance(given, str) else json.dumps(given) for given in row]
        rows.append([re.sub("[\ud800-\udfff\0]", "\ufffd", given) for given in row])
    return records_or_none(rows, "id") if met >= set(columns) else None


def as_written(number):
    if abs(float(number)) == float("inf"):
        raise ValueError("beyond a double")
    return number


def unique_keys(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def json_table(rng):
    columns, data = json_lines(rng)
    return Table("json", ".jsonl", data, read_json(data, columns), columns=columns)


def damaged_json(rng):
    columns, data = json_lines(rng)
    data = damaged(rng, data, 4, [b'"', b"\\", b"{", b"}", b"[", b"1", b"e9", b"-", b".", b",", b":", b"\n", b" ", b"\t", b"null", b"\0", b"\xff", b"\\u00"])
    try:
        rows = read_json(data, columns)
    except (ValueError, KeyError, AttributeError):
        rows = None
    return Table("damaged json", ".jsonl", data, rows, columns=columns)


KINDS = (csv_table, csv_table, spaced_csv, tsv_table, space_table, damaged_csv, damaged_csv, json_table, json_table, damaged_json)


def read_by_program(table, folder, form):
    """The exit code, the text of each id, and the message."""
    path, out = folder / ("t" + table.ending), folder / ("out" + form)
    path.write_bytes(table.data)
    done = program("match", path, path, "--id", quoted(table.id_name), *table.columns, *table.options, "--candidates", 1, "--text",
                   "--serialize", "columns", "--separator", " \u241f ", "--out", out, "--overwrite", "--quiet", "--threads", 1)
    if done.returncode:
        return done.returncode, {}, done.stderr
    with open(out, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file)) if form == ".csv" else [json.loads(line) for line in file]
    return 0, {row[side + "_id"]: row[side] for row in rows for side in ("left", "right")}, done.stderr


def texts(rows, id_name):
    at, found = rows[0].index(id_name), {}
    for row in rows[1:]:
        words = [(name, " ".join(filter(None, WHITE.split(text)))) for i, (name, text) in enumerate(zip(rows[0], row)) if i != at]
        found[row[at]] = " \u241f ".join("COL %s VAL%s" % (name, text and " " + text) for name, text in words)
    return found


def difference(table, folder, form, pandas):
    """What is wrong with a table's reading, or nothing."""
    if table.dialect and read_csv(table.data.decode("utf-8-sig"), *table.dialect) != table.rows:
        return "csv reads other values than were written"
    if table.dialect and pandas and b"sep=" not in table.data[:10]:
        quoting = csv.QUOTE_MINIMAL if table.dialect[1] else csv.QUOTE_NONE
        read = pandas.read_csv(io.BytesIO(table.data), sep=table.dialect[0], quoting=quoting, dtype=str, na_filter=False, encoding="utf-8-sig")
        rows = [[re.sub("\r+\n", "\n", field) for field in row] for row in [list(read.columns), *read.values.tolist()]]
        if rows != table.rows:
            return "pandas reads other values than were written"
    code, found, message = read_by_program(table, folder, form)
    if table.rows is None:
        return "" if code == 3 and message.count("\n") == 1 else "accepted" if code == 0 else message
    expected = {name: text for name, text in texts(table.rows, table.id_name).items() if name in found or "qz" in text}  # else it has no partner
    if code:
        return message
    return "\n".join("%r\n  program:  %r\n  expected: %r" % (name, found.get(name), expected.get(name)) for name in {**expected, **found} if found.get(name) != expected.get(name))


def campaign(runs, seed, pandas=None, keep=None):
    """Reads so many tables; the counts of each kind, and what was wrong."""
    counts, wrong = collections.Counter(), []
    with tempfile.TemporaryDirectory() as name:
        for run in range(runs):
            rng = random.Random("%d %d" % (seed, run))
            table = rng.choice(KINDS)(rng)
            counts[table.kind + (", refused" if table.rows is None else "")] += 1
            said = difference(table, Path(name), rng.choice((".csv", ".jsonl")), pandas)
            if said:
                wrong.append("run %d of seed %d, %s (%s %s): %s" % (run, seed, table.kind, table.ending, " ".join(table.options), said))
                if keep:
                    (Path(keep) / ("%d-%d%s" % (seed, run, table.ending))).write_bytes(table.data)
    return counts, wrong


class Tables(unittest.TestCase):
    def test_values(self):
        counts, wrong = campaign(*ORDINARY)
        self.assertEqual(wrong, [])
        self.assertGreaterEqual(len(counts), 8)


if __name__ == "__main__":
    main(campaign, "pandas")
