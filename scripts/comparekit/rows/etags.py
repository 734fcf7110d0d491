"""Tags: each rule of AlterETag, each form of tag, each filter."""

from .. import sites
from ..row import PAGE, answer, get
from .output import GZIPPED

FORMS = ('"x"', 'W/"x"', "x", '""', 'W/""', '"x-gzip"', '"x-br"', '"x', 'w/"x"', "W/x",
         '"a-gzip-b"')

_RULES = ("unset", "AddSuffix", "NoChange", "Remove")

sites.SITES["etags"] = sites.Site("".join(
    sites.vhost(rule.lower(), *([] if rule == "unset" else
                                [f"DeflateAlterETag {rule}", f"BrotliAlterETag {rule}"]))
    for rule in _RULES))


def rows():
    found = []
    for rule in _RULES:
        for place, ae in (("gzip", "gzip"), ("br", "br")):
            for form in FORMS:
                found.append(answer(f"etags/{place}, {rule}: {form}", place, (f"ETag: {form}",), ae,
                                    site="etags", host=rule.lower()))
            found.append(get(f"etags/{place}, {rule}: a file's", f"/{place}/page.html", ae,
                             site="etags", host=rule.lower()))
            found.append(get(f"etags/{place}, {rule}: identity", f"/{place}/page.html", None,
                             site="etags", host=rule.lower()))
        for form in FORMS:
            found.append(answer(f"etags/INFLATE, {rule}: {form}", "inflate",
                                (f"ETag: {form}", "Content-Encoding: gzip"), None, body=GZIPPED,
                                expect=PAGE, site="etags", host=rule.lower()))
        found.append(answer(f"etags/INFLATE;DEFLATE, {rule}", "inflate-gzip",
                            ('ETag: "x"', "Content-Encoding: gzip"), "gzip", body=GZIPPED,
                            expect=PAGE, site="etags", host=rule.lower()))
    return found
