"""Tags: each rule of AlterETag, each form of tag, each filter."""

from .. import sites
from ..row import PAGE, PLACES, answer, page
from .output import GZIPPED

_FORMS = ('"x"', 'W/"x"', "x", '""', 'W/""', '"x-gzip"', '"x-br"', '"x', 'w/"x"', "W/x",
          '"a-gzip-b"')

_RULES = ("unset", "AddSuffix", "NoChange", "Remove")

SITE = "etags"
sites.SITES[SITE] = sites.Site("".join(
    sites.vhost(rule.lower(), *([] if rule == "unset" else
                                [f"DeflateAlterETag {rule}", f"BrotliAlterETag {rule}"]))
    for rule in _RULES))


def rows():
    for rule in _RULES:
        host = rule.lower()
        for place in PLACES:
            for form in _FORMS:
                yield answer(f"{place}, {rule}: {form}", place, (f"ETag: {form}",), place,
                             host=host)
            yield page(f"{place}, {rule}: a file's", place, place, host=host)
            yield page(f"{place}, {rule}: identity", place, None, host=host)
        encoded = {"body": GZIPPED, "expect": PAGE, "host": host}
        for form in _FORMS:
            yield answer(f"INFLATE, {rule}: {form}", "inflate",
                         (f"ETag: {form}", "Content-Encoding: gzip"), None, **encoded)
        yield answer(f"INFLATE;DEFLATE, {rule}", "inflate-gzip",
                     ('ETag: "x"', "Content-Encoding: gzip"), **encoded)
