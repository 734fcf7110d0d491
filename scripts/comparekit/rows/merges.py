"""What a virtual host keeps of the server's directives, and a place of those around it."""

from .. import facts, sites
from ..row import PAGE, PLACES, page
from .input import post

_SERVER = sites.FILTER_NOTES + """\
DeflateAlterETag NoChange
BrotliAlterETag NoChange
<Location /in>
DeflateInflateLimitRequestBody 10000
</Location>
<Location /in/ratio>
DeflateInflateRatioLimit 100
</Location>
<Location /in/larger>
DeflateInflateLimitRequestBody 100000
</Location>
"""

_OTHERS = {
    "DeflateMemLevel 8": "gzip", "DeflateWindowSize 14": "gzip", "DeflateBufferSize 8000": "gzip",
    "DeflateCompressionLevel 5": "gzip", "BrotliCompressionQuality 4": "br",
    "BrotliCompressionWindow 20": "br", "BrotliCompressionMaxInputBlock 20": "br",
    "DeflateInflateRatioLimit 100": "gzip",
}

SITE = "merges"
sites.SITES[SITE] = sites.Site(
    sites.vhost("nothing")
    + sites.vhost("both", "DeflateAlterETag Remove", "BrotliAlterETag Remove")
    + "".join(sites.vhost(line.lower().replace(" ", "-"), line) for line in _OTHERS),
    before=_SERVER, cgi={"ratio/echo.cgi": sites.ECHO, "larger/echo.cgi": sites.ECHO})


def _kept(server, answer, expect):
    """Whether the server's notes and tag rule hold."""
    notes = server.filter_notes(answer)
    coding = answer.coding or "gzip"
    tag = answer.headers.get("ETag", facts.ABSENT)
    rule = "removed" if tag == facts.ABSENT else "kept"
    return {
        "coding": answer.coding or "identity", "body": facts.of_body(answer, expect),
        "the server's notes": "kept" if notes[f"{coding}-in"] != "-" else "lost",
        "the server's AlterETag": "lost" if tag.endswith(f'-{coding}"') else rule,
    }


def rows():
    for place in PLACES:
        for host in ("nothing", "both"):
            yield page(f"{place}, host {host}", place, place, host=host, look=_kept)
    for line, place in _OTHERS.items():
        yield page(f"host with {line}", place, place, host=line.lower().replace(" ", "-"),
                   look=_kept)
    for inner, text in (("", "alone"), ("/ratio", "within it another ratio"),
                        ("/larger", "within it 100000 bytes")):
        yield post(f"a place's limits, {text}", PAGE, f"/in{inner}/echo.cgi", host="nothing",
                   limits=("/in: 10000 bytes",))
