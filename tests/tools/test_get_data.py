# SPDX-License-Identifier: MIT
"""tools/get_data.sh on invented sets from a server on this machine and from a folder; on the real ones if they are there."""
import csv
import hashlib
import http.server
import os
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "tools/data"
DATA = Path(os.environ.get("LEXFORMER_SHARED", ROOT.parent / "shared")) / "data"

RTE = "index\tsentence1\tsentence2\tlabel\n" + "".join(f"{i}\ta{i}\tb{i}\t{'not_' * (i % 2)}entailment\n" for i in range(12))
MRPC = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\tIt 's \" a\tb\n0\t8\t7\tc\td\n"
SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\r\n3\ta b \tc\t4.5\tNEUTRAL\r\n"
STS = "main-news\tMSRpar\t2012\t0001\t5.000\ta\tb"
FILES = {  # each form that a source has
    "abt-buy/original/train.txt": "COL name VAL sony VAL COL x COL description VAL COL COL price VAL \tCOL name VAL  \u201csony\u201d COL price VAL 9\t1\n",
    "abt-buy/original/valid.txt": "COL name VAL a COL price VAL \tCOL name VAL b COL price VAL 1\t0\n" * 2,
    "abt-buy/original/test.txt": "COL name VAL a b\tCOL name VAL c\t0",
    "rte/original/train.tsv": RTE, "rte/original/dev.tsv": RTE[:RTE.index("2\ta2")],
    "mrpc/original/msr_paraphrase_train.txt": MRPC, "mrpc/original/msr_paraphrase_test.txt": MRPC, "mrpc/original/dev_ids.tsv": "8\t7\n",
    "sts-b/original/sts-train.tsv": STS + "\n", "sts-b/original/sts-dev.tsv": STS + "\tmore\tcolumns\n", "sts-b/original/sts-test.tsv": STS,
    "sick/original/SICK_train.txt": SICK, "sick/original/SICK_trial.txt": SICK.replace("\r", ""), "sick/original/SICK_test_annotated.txt": SICK,
    "tables/dblp-acm/tableA.csv": "id,title\n1,\"a, b\"\n",
}
PAIRS = {
    "abt-buy/train.tsv": "sony VAL COL x\t\u201csony\u201d\t1\n", "abt-buy/valid.tsv": "a\tb\t0\n" * 2, "abt-buy/test.tsv": "a b\tc\t0\n",
    "rte/train.tsv": "".join(f"a{i}\tb{i}\t{1 - i % 2}\n" for i in range(12) if i != 9), "rte/valid.tsv": "a9\tb9\t0\n", "rte/test.tsv": "a0\tb0\t1\na1\tb1\t0\n",
    "mrpc/train.tsv": "It 's \" a\tb\t1\n", "mrpc/valid.tsv": "c\td\t0\n", "mrpc/test.tsv": "It 's \" a\tb\t1\nc\td\t0\n",
    **{f"sts-b/{part}.tsv": "a\tb\t5.000\n" for part in ("train", "valid", "test")},
    **{f"sick/{part}.tsv": "a b \tc\t4.5\tNEUTRAL\n" for part in ("train", "valid", "test")},
}
SETS = ["abt-buy", "rte", "mrpc", "sts-b", "sick", "tables/dblp-acm"]


class Server(http.server.BaseHTTPRequestHandler):
    served = []

    def do_GET(self):
        self.served.append(self.path)
        found = self.server.files.get(self.path[1:])
        self.send_response(404 if found is None else 200)
        self.end_headers()
        self.wfile.write(found or b"")

    def log_message(self, *_):
        pass


class GetData(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.out = self.folder / "out"
        self.files = {name: text.encode() for name, text in FILES.items()}
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        self.server.files = self.files
        self.addCleanup(self.server.server_close)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        self.addCleanup(self.server.shutdown)
        self.address = f"http://127.0.0.1:{self.server.server_port}/"
        (self.folder / "sets.csv").write_text("set,licence\n" + "".join(f'{name},"free, of {name}"\n' for name in SETS))
        (self.folder / "files.csv").write_text("file,bytes,sha256,address\n" + "".join(
            f"{name},{len(data)},{hashlib.sha256(data).hexdigest()},{self.address}{name}\n" for name, data in self.files.items()))

    def run_tool(self, *arguments, tables=None):
        """What it printed, its error messages and its exit code; and what it asked the server for."""
        Server.served = []
        environment = {**os.environ, "LEXFORMER_DATA_TABLES": str(tables or self.folder), "PYTHONDONTWRITEBYTECODE": "1", "no_proxy": "127.0.0.1"}
        done = subprocess.run([ROOT / "tools/get_data.sh", *map(str, arguments)], env=environment, capture_output=True, encoding="utf-8")
        return done.stdout, done.stderr, done.returncode

    def written(self):
        return {str(path.relative_to(self.out)): path.read_bytes() for path in self.out.rglob("*") if path.is_file()}

    def test_all_sets(self):
        out, err, code = self.run_tool(self.out)
        self.assertEqual((err, code), ("", 0))
        self.assertIn("rte: 2 of 2 files fetched, train.tsv 11 pairs, valid.tsv 1 pairs, test.tsv 2 pairs\n", out)
        self.assertIn("tables/dblp-acm: 1 of 1 files fetched\n", out)
        self.assertEqual(self.written(), {**self.files, **{name: text.encode() for name, text in PAIRS.items()}})

    def test_what_is_there_stays(self):
        self.assertEqual(self.run_tool(self.out, "rte", "sick")[1:], ("", 0))
        self.assertEqual({name.split("/")[0] for name in self.written()}, {"rte", "sick"})
        (self.out / "rte/original/dev.tsv").write_bytes(b"another")
        (self.out / "rte/valid.tsv").unlink()
        times = {path: path.stat().st_mtime_ns for path in self.out.rglob("*/original/*") if path.name != "dev.tsv"}
        out, err, code = self.run_tool(self.out, "rte", "sick")
        self.assertEqual((err, code), ("", 0))
        self.assertIn("rte: 1 of 2 files fetched", out)
        self.assertEqual(Server.served, ["/rte/original/dev.tsv"])
        self.assertEqual({path: path.stat().st_mtime_ns for path in times}, times)
        self.assertEqual((self.out / "rte/valid.tsv").read_text(), PAIRS["rte/valid.tsv"])

    def test_a_wrong_sum(self):
        right = self.files["mrpc/original/dev_ids.tsv"]
        size, expected = len(right), hashlib.sha256(right).hexdigest()
        for wrong, found in ((b"9\t7\n", f"4 bytes with SHA-256 {hashlib.sha256(b'9' + right[1:]).hexdigest()}"), (right + b"more", "more bytes"),
                             (b"", f"0 bytes with SHA-256 {hashlib.sha256(b'').hexdigest()}")):
            self.files["mrpc/original/dev_ids.tsv"] = wrong
            out, err, code = self.run_tool(self.out, "mrpc", "abt-buy")
            self.assertEqual(err, f"{self.address}mrpc/original/dev_ids.tsv: expected {size} bytes with SHA-256 {expected}, found {found}; "
                                  "nothing was written; fetch it again\n")
            self.assertEqual((code, "mrpc" in out, "abt-buy: " in out), (3, False, True))
            self.assertFalse(any(name.startswith("mrpc/") and "msr" not in name for name in self.written()))
        self.files["mrpc/original/dev_ids.tsv"] = right
        self.assertIn("mrpc: 1 of 3 files fetched", self.run_tool(self.out, "mrpc")[0])

    def test_a_file_that_cannot_be_fetched(self):
        del self.files["rte/original/dev.tsv"]
        out, err, code = self.run_tool(self.out, "rte")
        self.assertEqual((out, code), ("", 1))
        self.assertEqual(err, f"{self.address}rte/original/dev.tsv: cannot be fetched: HTTP Error 404: Not Found; try again later, or put it into "
                              "FOLDER/rte/original/dev.tsv and give --from FOLDER\n")
        self.server.shutdown()
        self.server.server_close()
        err, code = self.run_tool(self.out, "rte")[1:]
        self.assertRegex(err, r"dev\.tsv: cannot be fetched: \[Errno \d+\] Connection refused; try again later")
        self.assertEqual(code, 1)

    def test_from_a_folder(self):
        mirror = self.folder / "mirror"
        for name, data in self.files.items():
            (mirror / name).parent.mkdir(parents=True, exist_ok=True)
            (mirror / name).write_bytes(data)
        self.assertEqual(self.run_tool("--from", mirror, self.out)[1:], ("", 0))
        self.assertEqual(Server.served, [])
        self.assertEqual(self.written(), {**self.files, **{name: text.encode() for name, text in PAIRS.items()}})
        (mirror / "sick/original/SICK_trial.txt").write_text("wrong")
        (mirror / "rte/original/dev.tsv").unlink()
        err, code = self.run_tool(self.folder / "other", "--from", mirror, "sick", "rte")[1:]
        self.assertRegex(err, rf"^{mirror}/sick/original/SICK_trial.txt: expected .*, found 5 bytes with .*\n"
                              rf"{mirror}/rte/original/dev.tsv: cannot be read: No such file or directory; its source is {self.address}rte/")
        self.assertEqual(code, 3)

    def test_usage(self):
        for arguments, message in (((), "DIR is missing"), ((self.out, "glue"), "there is no set 'glue'; expected some of abt-buy, rte, mrpc"),
                                   ((self.out, "--from", self.folder / "none"), "--from: there is no folder '"), ((self.out, "--form", "x"), "unrecognized")):
            out, err, code = self.run_tool(*arguments)
            self.assertEqual((out, code, err.count("\n")), ("", 2, 1), err)
            self.assertIn(message, err)
            self.assertFalse(self.out.exists())
        self.out.write_text("a file")
        self.assertEqual(self.run_tool(self.out, "rte")[1:], (f"{self.out}/rte/original/train.tsv: cannot be written: Not a directory\n", 1))

    def test_the_list(self):
        out, err, code = self.run_tool("--list")
        self.assertEqual((err, code, out.count("\n")), ("", 0, 2 * len(SETS)))
        self.assertIn("licence: free, of tables/dblp-acm\n", out)
        out = self.run_tool("--list", tables=TABLES)[0]
        self.assertRegex(out, r"abt-buy +5\.0 MB  github\.com/megagonlabs/ditto\n +licence: not stated")

    def test_the_real_table(self):
        with open(TABLES / "files.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        with open(TABLES / "sets.csv", newline="") as file:
            sets = [row["set"] for row in csv.DictReader(file)]
        self.assertEqual(len({row["file"] for row in rows}), len(rows))
        self.assertEqual({name for name in sets for row in rows if row["file"].startswith(name + "/")}, set(sets))
        for row in rows:
            self.assertRegex(row["address"], r"^https://raw\.githubusercontent\.com/[\w-]+/[\w.-]+/[0-9a-f]{40}/[\w./-]+$")
            self.assertRegex(row["sha256"], r"^[0-9a-f]{64}$")
            self.assertTrue(any(row["file"].startswith(name + "/") for name in sets), row["file"])

    def test_the_real_sets(self):
        if not DATA.is_dir():
            self.skipTest("no %s" % DATA)
        self.assertEqual(self.run_tool(self.out, "--from", DATA, tables=TABLES)[1:], ("", 0))
        written = self.written()
        self.assertEqual(len(written), 110 + 20)  # files of sources, and of pairs
        for name, data in written.items():
            self.assertEqual(data, (DATA / name).read_bytes(), name)


if __name__ == "__main__":
    unittest.main()
