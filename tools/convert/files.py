# SPDX-License-Identifier: MIT
"""Files in and out: only regular ones are read, and what is written is complete or not there."""

import contextlib
import os
import shutil
import stat

from .errors import check, Stop

MAX_FILE = 1 << 36  # bytes, as in io/file.hpp
files_read = set()  # never overwritten


def read_bytes(path, limit=MAX_FILE):
    """The bytes of a regular file; a device or a pipe may have no end."""
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        check(stat.S_ISREG(status.st_mode), path, "is no regular file")
        check(status.st_size <= limit, path, "has %d bytes, more than the %d that are read of such a file" % (status.st_size, limit))
        start = file.read(64)
        check_placeholder(start, path)
        if path.endswith(".safetensors"):  # before reading gigabytes of something else
            check_start(start, status.st_size, path)
        files_read.add(os.path.realpath(path))
        return start + file.read()


def check_placeholder(start, path):
    """Refuses what stands in for a file that was not fetched: a pointer of Git LFS, or a page of HTML."""
    check(not start.startswith(b"version https://git-lfs"), path, "is a pointer of Git LFS and not the file itself; fetch it: git lfs pull")
    check(not start.lstrip().lower().startswith((b"<!doctype html", b"<html")), path,
          "is a page of HTML and not the file itself; download it again, from the link to the raw file")


def check_start(start, size, path):
    """The header length of a safetensors file of `size` bytes, from its first 9 bytes."""
    length = int.from_bytes(start[:8], "little")
    check(10 <= 8 + length <= size and length <= 64 << 20, path, "its %d bytes are no safetensors file, or one that is cut off" % size)
    check(start[8:9] == b"{", path, "the header does not begin with '{'; this is no safetensors file")
    return length


def write_bytes(path, *parts):
    with open(path, "wb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def staged(path):
    """A temporary name in the folder of `path`; the file or folder replaces `path` when it is complete and is removed on failure."""
    temporary = os.path.join(os.path.dirname(os.path.abspath(path)), ".%s.tmp-%d" % (os.path.basename(os.path.abspath(path)), os.getpid()))
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise Stop(1, "%s: cannot be written: %s" % (path, error.strerror))
    finally:
        if os.path.isdir(temporary):
            shutil.rmtree(temporary)
        elif os.path.exists(temporary):
            os.remove(temporary)
