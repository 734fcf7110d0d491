"""The servers for the rows, configured as the rows say."""

from kit import Origin, Server, at, faults, origin, procstat

from .contents import contents

# Before 2.4.64 mod_asis logs an error if a filter refuses its body, on either side.
_REFUSED = "AH01236: mod_asis: ap_pass_brigade failed"

# All files have this time, so that their tags are equal on both sides.
_MTIME = 1_700_000_000
TAG = f"-{_MTIME * 1_000_000:x}"

# The names of the filters' notes in rows.txt; the log has a line of them for each request.
NOTES = [f"{coding}-{what}" for coding in ("gzip", "br") for what in ("Input", "Output", "Ratio")]

_MODULES = ("filter", "asis", "bucketeer", "include", "proxy", "proxy_http", "negotiation")
_BASE = """\
AddHandler send-as-is .asis
AddOutputFilter INCLUDES shtml
AddType text/html shtml
KeepAliveTimeout 1
FileETag MTime Size
<Directory {docs}>
Options +Includes
AllowOverride Limit
</Directory>
CustomLog {root}/notes.log "%{X-Request}i NOTES"
""".replace("NOTES", " ".join("%%{%s}n" % name for name in NOTES))

# Sends a file like mod_asis; on request, waits for another file between the body's halves.
_SAY = """\
os.environ['REQUEST_METHOD'] == 'POST' and sys.stdin.buffer.read()
with open(os.environ['DOCUMENT_ROOT'] + '/' + os.environ['QUERY_STRING'], 'rb') as file:
    fields, _, body = file.read().partition(b'\\n\\n')
gate = os.environ.get('HTTP_X_GATE')
half = len(body) // 2 if gate else 0
out(fields + b'\\n\\n' + body[:half])
while gate and not os.path.exists(gate):
    time.sleep(0.01)
out(body[half:])
"""

# Sends the request body that it could read, and the request's fields.
_ECHO = """\
body = sys.stdin.buffer.read()
head('Content-Type: text/plain', *('%s-Told: %s' % (name, os.environ[key]) for name, key in (
    ('Length', 'CONTENT_LENGTH'), ('Coding', 'HTTP_CONTENT_ENCODING'), ('MD5', 'HTTP_CONTENT_MD5'))
    if key in os.environ))
out(body)
"""


class Site:
    """A stock or own server configured for these rows; a context manager."""

    def __init__(self, rows, is_ours):
        self._places = list(dict.fromkeys(r.at for r in rows if r.look != "configtest"))
        self._hosts = list(dict.fromkeys(["", *(r.host for r in rows), *(r.against for r in rows)]))
        self._answers = list(dict.fromkeys((row.sends, row.body) for row in rows))
        self._broken = Origin()
        self._broken.route("/large.html", origin.breaks_off(contents("large.html")[0]))
        self.server = Server(
            self._config(rows[0].server, is_ours), elastic=is_ours,
            modules=_MODULES if is_ours else (*_MODULES, "deflate", "brotli"),
            records=("deflate", "brotli", "elastic"),
            cgi={"say.cgi": _SAY, "echo.cgi": _ECHO, "limited/echo.cgi": _ECHO},
            files={"limited/.htaccess": b"DeflateInflateLimitRequestBody 1000"},
            allow_log=[_REFUSED, *(row.log for row in rows if row.log)])
        if rows[0].fault:
            self.server.wrapper = faults.wrapper(faults.library(self.server.docs, rows[0].fault))
        procstat.ProcStat(self.server.root / "stat")
        for name in {"page.html", "old.html.gz", *(row.body for row in rows)}:
            if sent := contents(name)[0]:
                self.server.write(name, sent, mtime=_MTIME)
        for number, (fields, name) in enumerate(self._answers):
            head = fields if "Content-Type" in fields else f"Content-Type: text/html\n{fields}"
            self.server.write(f"{number}.asis", head.strip().encode() + b"\n\n" + contents(name)[0])

    def _config(self, server, is_ours):
        # No sample shows any load, so levels stay at the stock values.
        parts = [_BASE, server, "ElasticProcStat {root}/stat" if is_ours else ""]
        parts += [at(str(number), lines.replace("{here}", f"/{number}"))
                  for number, lines in enumerate(self._places)]
        parts += [f"<VirtualHost 127.0.0.1:{{port}}>\nServerName h{number}\n{lines}\n</VirtualHost>"
                  for number, lines in enumerate(self._hosts)]
        return "\n".join(parts).replace("{itself}", "http://127.0.0.1:{port}").replace(
            "{broken}", self._broken.url)

    def __enter__(self):
        self.server.start()
        return self

    def __exit__(self, *_):
        self.server.stop()
        self._broken.stop()
        self.complaints = self.server.complaints()
        self.server.remove()

    def target(self, row):
        """The target of a row's request, its Accept-Encoding, and its further fields as pairs."""
        answer = f"{self._answers.index((row.sends, row.body))}.asis"
        name = {"handler": answer, "script": f"say.cgi?{answer}"}.get(row.by, row.body)
        tag = f"{len(contents(row.body)[0]):x}{TAG}" if row.by == "file" else "v1"
        fields = f"Host: h{self._hosts.index(row.host)}\n{row.asks}".replace("v1", tag).splitlines()
        return (f"/{self._places.index(row.at)}/{name}",
                None if row.accepts == "-" else row.accepts,
                [tuple(field.split(": ", 1)) for field in fields])
