# SPDX-License-Identifier: MIT
"""How the converter ends: one line that names a file, and a code."""


class Stop(Exception):
    """Ends the program with an exit code and a one-line message that begins with a file name."""


def check(condition, path, message):
    if not condition:
        raise Stop(3, "%s: %s" % (path, message))


def shown(value):
    """An untrusted value for a message, at bounded cost: repr() of nested or shared lists takes exponential time."""
    if isinstance(value, str):
        return repr(value if len(value) <= 80 else value[:80] + "...")
    if value is None or isinstance(value, (bool, float)) or (isinstance(value, int) and abs(value) < 1 << 128):
        return repr(value)
    if isinstance(value, (list, tuple)) and len(value) <= 8 and not any(isinstance(item, (list, tuple, dict)) for item in value):
        return "[%s]" % ", ".join(map(shown, value))
    return "a value of type %s" % type(value).__name__


def one_line(text, limit=1000):
    """A message without line breaks and control characters, shortened in the middle if it is too long."""
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return text if len(text) <= limit else text[:limit - 250] + " ... " + text[-245:]
