# SPDX-License-Identifier: MIT
"""CoNLL-U files of texts, for the tools: reading, checking, writing.

A text is a `# newdoc`; its characters are the comment `# document = ...`, else its `# text = ...` lines joined by a space. Without
`# newdoc` each sentence is a text. Ranges (1-2) and empty nodes (1.1) are skipped.
"""
import re
import sys
from collections import namedtuple

Token = namedtuple("Token", "form lemma upos xpos head relation")  # head: number in the sentence from 1, 0 for its root


class Stop(Exception):
    """Ends a program with an exit code and a one-line message: 1 failure, 2 wrong usage, 3 bad file."""


def fault(sentence):
    """What is wrong with the tree of a sentence, or None."""
    roots = [k for k, t in enumerate(sentence, 1) if t.head == 0]
    if len(roots) != 1:
        return "the sentence has %s, expected one" % ("no root" if not roots else "%d roots" % len(roots))
    for k, token in enumerate(sentence, 1):
        if not 0 <= token.head <= len(sentence):
            return "token %d has head %d, but the sentence has %d tokens" % (k, token.head, len(sentence))
    for k in range(1, len(sentence) + 1):
        steps = 0
        while k and steps <= len(sentence):
            k, steps = sentence[k - 1].head, steps + 1
        if k:
            return "the heads of token %d and others form a cycle" % k
    return None


def sentence_lines(sentence):
    return ["\t".join([str(k), t.form, t.lemma, t.upos, t.xpos, "_", str(t.head), t.relation, "_", "_"]) for k, t in enumerate(sentence, 1)]


def line_break(text):
    """The first character in a text that would end a comment line, or None."""
    return next((c for c in text if c in "\n\r\0"), None)


def write(path, texts):
    """texts: text -> its sentences. Without `# newdoc` if each has one."""
    single = all(len(sentences) == 1 for sentences in texts.values())
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for text, sentences in texts.items():
            if line_break(text):
                raise Stop(3, "%s: the text %r has a line break, which a comment cannot hold" % (path, text[:80]))
            if not single:
                file.write("# newdoc\n# document = %s\n" % text)
            for sentence in sentences:
                if single:
                    file.write("# text = %s\n" % text)
                file.write("\n".join(sentence_lines(sentence)) + "\n\n")


def read(path):
    """text -> its sentences."""
    def bad(message, at=None):
        raise Stop(3, "%s: line %d: %s" % (path, at or number, message))

    texts, document, joined, sentences, sentence, first, whole = {}, None, [], [], [], 0, False

    def end_text():
        nonlocal document, joined, sentences
        if sentences:
            if document is None and not joined:
                bad("the text has neither '# document = ' nor '# text = '", first)
            text = document if document is not None else " ".join(joined)
            if texts.setdefault(text, sentences) != sentences:
                bad("the text %r has two different trees" % text[:80], first)
        document, joined, sentences = None, [], []

    def end_sentence():
        nonlocal sentence
        if sentence:
            wrong = fault(sentence)
            if wrong:
                bad(wrong, first)
            sentences.append(sentence)
            sentence = []
            if not whole:
                end_text()

    number = 0
    try:
        with open(path, encoding="utf-8-sig", newline="\n") as file:
            for number, line in enumerate(file, 1):
                line = line.rstrip("\n").removesuffix("\r")
                if not line:
                    end_sentence()
                elif line.startswith("#"):
                    if re.match(r"#\s*newdoc\b", line):
                        end_sentence()
                        end_text()
                        whole = True
                    elif line.startswith("# document = "):
                        document = line[len("# document = "):]
                    elif line.startswith("# text = "):
                        joined.append(line[len("# text = "):])
                else:
                    cells = line.split("\t")
                    if len(cells) != 10:
                        bad("the line has %d columns, expected 10" % len(cells))
                    if re.fullmatch(r"\d+-\d+|\d+\.\d+", cells[0]):
                        continue
                    if cells[0] != str(len(sentence) + 1) or not re.fullmatch(r"\d{1,9}", cells[6]):
                        bad("token %r with head %r, expected token %d and a number" % (cells[0], cells[6], len(sentence) + 1))
                    first = first if sentence else number
                    sentence.append(Token(cells[1], cells[2], cells[3], cells[4], int(cells[6]), cells[7]))
    except OSError as error:
        raise Stop(3, "%s: cannot be read: %s" % (path, error.strerror)) from None
    except UnicodeDecodeError as error:
        raise Stop(3, "%s: is not UTF-8: %s" % (path, error.reason)) from None
    end_sentence()
    end_text()
    return texts


def run(action):
    """The exit code of a program that does this; the message of a failure goes to stderr."""
    try:
        action()
    except Stop as stop:
        print(stop.args[1], file=sys.stderr)
        return stop.args[0]
    except OSError as error:
        print("%s: %s" % (error.filename, error.strerror) if error.filename else error, file=sys.stderr)
        return 1
    return 0
