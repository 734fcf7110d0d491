"""The rows defined by rows.txt."""

import dataclasses
import itertools
import re
from pathlib import Path

_FILTERS = {"gzip": "DEFLATE", "br": "BROTLI_COMPRESS"}


@dataclasses.dataclass(frozen=True)
class Row:
    chapter: str
    text: str  # the entry's text
    differs: str  # names of facts in which ours differs, and in no others
    why: str = ""
    log: str = ""  # a pattern of lines that it causes in our error log
    fault: str = ""  # a fault of kit.faults
    server: str = ""  # directives of the server, of the virtual host, of the place
    host: str = ""
    at: str = "SetOutputFilter {f}"
    by: str = "file"  # the responder: file, handler (mod_asis) or script (CGI)
    sends: str = ""  # fields of the answer, unless it is a file
    body: str = "page.html"  # the answer's body, in contents
    method: str = "GET"
    accepts: str = "{c}"  # Accept-Encoding; -: none
    asks: str = ""  # further request fields; "v1" is the file's own tag
    posts: str = ""  # the request's body, in contents
    look: str = "answer"  # the facts to compare
    shows: str = ""  # further fields to compare
    against: str = ""  # directives of a virtual host whose answer should be larger


def _read(text):
    text = re.sub(r"(?m)^#.*\n", "", text)
    text = re.sub(r"\n {4,}", "  ", re.sub(r"(\||\\n)\n {4,}", r"\1", text))
    names, common, why = {}, {}, ""
    for line in text.splitlines():
        first, *rest = re.split(" {2,}", line.strip().replace(r"\n", "\n").replace(r"\t", "\t"))
        entry = {"why": why, **common} if line[0] == " " else {}
        for part in rest:
            name, _, value = part.partition("=")
            entry.update(names[name] if name in names else {name: value})
        if line[0] == "@":
            names[first] = entry
        elif line[0] == "[":
            chapter, common, why = first.strip("[]"), entry, ""
        else:
            why = entry["why"]
            yield from _spread(chapter, first.strip("="), entry)


def _spread(chapter, differs, entry):
    values = {"over": "gzip|br", "each": "", "at": Row.at, "accepts": Row.accepts, **entry}
    for coding, x, *chosen in itertools.product(*(value.split("|") for value in values.values())):
        facts = (fact.rpartition(":") for fact in differs.split())
        differs_here = " ".join(fact for only, _, fact in facts if only in ("", coding))
        texts = (text.replace("{x}", x).replace("{c}", coding).replace("{f}", _FILTERS[coding])
                 for text in chosen)
        row = dict(zip(list(values)[2:], texts))
        text = "; ".join(f"{name} {', '.join(value.splitlines())}" for name, value in row.items()
                         if value and name not in ("why", "log", "look"))
        yield Row(chapter, text, differs_here, **row)


ROWS = list(dict.fromkeys(_read(Path(__file__).with_name("rows.txt").read_text("utf-8"))))
