"""The checks put to this module, the stock modules and other servers: tests/conformance/compare.

Prints the table of docs/results/conformance.md; with --markdown FILE it is written there.
"""

import argparse
import datetime
import os
import pathlib
import platform
import pwd
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]
sys.path.append(str(ROOT / "tests" / "httpd"))  # where kit is
sys.dont_write_bytecode = True

from benchkit import build, corpus, machine, others, server, tools  # noqa: E402
from benchkit.run import Run  # noqa: E402
from benchkit.setups import NOTHING  # noqa: E402
from conformance.__main__ import BROKEN, KEPT, SKIPPED, verdicts  # noqa: E402
from conformance.checks import Target  # noqa: E402

SITE = """
ScriptSock {folder}/cgi.sock
<Directory {site}>
    Options ExecCGI
    AddHandler cgi-script .cgi
</Directory>
<Location "/no-transform.html">
    Header set Cache-Control no-transform
</Location>
AddEncoding gzip .gz
AddType text/html .gz
"""
STOCK = ("SetOutputFilter {filters}\n<Location /upload.cgi>\n    SetInputFilter DEFLATE\n"
         "</Location>\n")
OURS = """
Elastic On
ElasticInflate On
ElasticDictionaryStore "{folder}/dictionaries"
<Location "/dictionary.html">
    ElasticDictionary match="/*" match-dest="document"
    Header set Cache-Control "public, max-age=604800"
</Location>
"""
PATHS = {"upload": "/upload.cgi", "events": "/events.cgi", "no_transform": "/no-transform.html",
         "encoded": "/encoded.gz"}
LIGHTTPD = 'deflate.mimetypes = ("text/html")\ndeflate.allowed-encodings = ("zstd", "br", "gzip")\n'
SCRIPTS = {
    "upload.cgi": "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nexec cat\n",
    "events.cgi": "#!/bin/sh\nprintf 'Content-Type: text/event-stream\\n\\ndata: 1\\n\\n'\n"
                  "sleep 1\nprintf 'data: 2\\n\\n'\n"}
MARKS = {KEPT: "✓", BROKEN: "✗", SKIPPED: "–"}


def write_site(site):
    import gzip

    page = corpus.text(40_000)
    for name, body in (("index.html", page), ("no-transform.html", page),
                       ("dictionary.html", page[:30_000]), ("encoded.gz", gzip.compress(page))):
        (site / name).write_bytes(body)
    for name, text in SCRIPTS.items():
        (site / name).write_text(text, encoding="ascii")
        (site / name).chmod(0o755)


def httpd(run, snippet, site, **options):
    made = server.Httpd(run, run.new_name("httpd"), SITE + snippet, site=site,
                        **{"modules": ("cgid", "headers"), **options})
    store = made.folder / "dictionaries"
    store.mkdir(mode=0o700)
    if server.unprivileged_user():
        user = pwd.getpwnam(server.unprivileged_user())
        os.chown(store, user.pw_uid, user.pw_gid)
    return made.start()


def stock(filters):
    return lambda run, site: httpd(run, STOCK.replace("{filters}", filters), site, elastic=False,
                                   modules=("cgid", "headers", "filter", "deflate", "brotli"))


def other(kind, snippet):
    def make(run, site):
        if issubclass(kind, others.Proxy):
            origin = NOTHING.serve(run, run.new_name("origin"), site=site).start()
            return kind(run, run.new_name("server"), snippet, origin, site=site).start()
        return kind(run, run.new_name("server"), snippet, site=site).start()
    return make


SERVERS = {
    "mod_elastic": (lambda run, site: httpd(run, OURS, site),
                    {**PATHS, "dictionary": "/dictionary.html"}),
    "mod_deflate": (stock("DEFLATE"), PATHS),
    "mod_brotli, mod_deflate": (stock("BROTLI_COMPRESS;DEFLATE"), PATHS),
    "nginx": (other(others.Nginx, "gzip on;\ngzip_vary on;\n"), {}),
    "lighttpd": (other(others.Lighttpd, LIGHTTPD), {}),
    "h2o": (other(others.H2o, "compress: ON\n"), {}),
    "Caddy": (other(others.Caddy, "    encode zstd gzip\n"), {}),
    "HAProxy": (other(others.Haproxy,
                      "    compression algo gzip\n    compression type text/html\n"), {}),
    "Varnish": (other(others.Varnish, "    set beresp.do_gzip = true;\n"), {})}


def table(found):
    names = list(found)
    lines = ["| check | level | section | " + " | ".join(names) + " |",
             "|---|---|---|" + "---|" * len(names)]
    for check in next(iter(found.values())):
        cells = [MARKS[found[name][check][0]] for name in names]
        lines.append(f"| {check.area}: {check.text} | {check.level} | {check.section} | "
                     + " | ".join(cells) + " |")
    lines += ["", "What is broken:", ""]
    lines += [f"- {name}: {check.text}: {why} ({check.level})" for name in names
              for check, (verdict, why) in found[name].items() if verdict == BROKEN]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="tests/conformance/compare", description=__doc__)
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE")
    asked = parser.parse_args()
    build.ensure(tools.say)
    found, notes, programs = {}, [], []
    with Run("conformance") as run:
        site = run.folder("site")
        write_site(site)
        for name, (make, paths) in SERVERS.items():
            try:
                made = make(run, site)
            except tools.BenchError as problem:
                notes.append(f"{name} is left out: {problem}.")
                continue
            found[name] = verdicts(Target(made.url(""), "/index.html", **paths))
            programs += [made.name] if made.name != "httpd" else []
        versions = [machine.httpd_version(), *map(machine.tool_version, programs)]
    text = "\n".join([
        "# HTTP's rules for compression, asked of several servers", "",
        "    tests/conformance/compare --markdown FILE", "",
        f"{datetime.date.today()}, {platform.freedesktop_os_release()['PRETTY_NAME']}; "
        f"{', '.join(versions)}; each with its compression turned on, "
        "else [as in the benchmarks](README.md#how-the-servers-were-configured), nginx with "
        "`gzip_vary on`. ✓ kept, ✗ broken, – not asked (the server has no such feature, or "
        "nothing was set up for it). `tests/conformance/run --base URL` asks any server.", "",
        *(f"{note}\n" for note in notes), table(found)])
    if asked.markdown:
        asked.markdown.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
