"""The paper's surveys of live sites, and the same questions asked here.

Table 1: sites are downloaded from an httpd with this module, as the source downloaded 465 live
ones.
Table 2: which web server Debian's packages name, of which the sites are some.
"""

import itertools
import pathlib
import shutil
import time

from benchkit import fpm, server, stats, tools
from benchkit.dictionary import manual, wiki
from benchkit.setups import LEVEL_6
from benchkit.web import APPLICATION, Site

VIEWS = ("", "&do=edit", "&do=revisions", "&do=index", "&do=recent", "&do=login", "&do=media")
CODINGS = ("gzip", "deflate")
APART = 1.0  # seconds between two downloads of a page, in which a clock goes on

# {developer: (share of the source's sites in %, Debian's packages of the server)}
SERVERS = {"Apache": (40.3, ["apache2"]), "nginx": (23.9, ["nginx"]), "gws": (15.3, []),
           "Microsoft": (6.5, []), "lighttpd": (1.7, ["lighttpd"]), "YTS": (0.9, []),
           "PWS": (1.1, []), "others": (10.2, ["caddy", "merecat", "micro-httpd", "mini-httpd",
                                               "webfs", "yaws"])}
LISTS = pathlib.Path("/var/lib/apt/lists")  # without them apt knows what is installed, no more
NAMED = ("--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances")


def application(run):
    """(its paths, version, lines of an httpd's configuration, modules) of a PHP application: views
    of its articles. BenchError where something is missing.
    """
    pages, _ = manual.pages(run)
    texts = wiki.articles(pages)
    names = wiki.names_of(texts, run.scale.pages)
    if not names:
        raise tools.BenchError("there is no manual whose sections could be its articles")
    one = wiki.Wiki(run, {name: texts[name] for name in names})
    return ([wiki.path_of(name) + view for name, view in zip(names, itertools.cycle(VIEWS))],
            one.version, one.snippet, fpm.MODULES)


def download(run, sites):
    """(the sites, the application as one more; a row of each; why the application is missing)."""
    paths, version, snippet, modules, note = [], "", "", (), ""
    try:
        paths, version, snippet, modules = application(run)
    except tools.BenchError as problem:
        note = f"{APPLICATION} is not among the sites: {problem}"
    httpd = server.Httpd(run, "survey", snippet + LEVEL_6 + "Elastic On\n", modules)
    # A site of --pages may have any name, and a folder no such path.
    asked = {site.name: [f"/{place}/{number}.html" for number in range(len(site.pages))]
             for place, site in enumerate(sites)} | ({APPLICATION: paths} if paths else {})
    for place, site in enumerate(sites):
        (httpd.site / str(place)).mkdir()
        for path, body in zip(asked[site.name], site.pages):
            (httpd.site / path[1:]).write_bytes(body)
    httpd.start()
    first = {name: responses(httpd, paths) for name, paths in asked.items()}
    time.sleep(APART)
    rows = [row_of(httpd, name, first[name], paths) for name, paths in asked.items()]
    httpd.stop()
    return [*sites, *(Site(APPLICATION, version, tuple(body for _, _, body in first[APPLICATION]))
                      for _ in paths[:1])], rows, note


def responses(httpd, paths, coding="identity"):
    found = [httpd.get(path, {"Accept-Encoding": coding}) for path in paths]
    for path, (status, _, _) in zip(paths, found):
        if status != 200:
            raise tools.BenchError(f"{path} gave {status}")
    return found


def row_of(httpd, name, first, paths):
    again, *encoded = (responses(httpd, paths, coding) for coding in ("identity", *CODINGS))
    sizes, sent = ([len(body) for _, _, body in some] for some in (first, encoded[0]))
    return {"site": name, "pages": len(paths), "bytes": sum(sizes), "gzip_bytes": sum(sent),
            "ratio": round(stats.ratio(sum(sent), sum(sizes)), 4),
            "dynamic": all(one[2] != other[2] for one, other in zip(first, again)),
            **{coding: any(headers.get("Content-Encoding") == coding for _, headers, _ in some)
               for coding, some in zip(CODINGS, encoded)}}


def table_1(rows):
    """The source's table 1, with a column of what was downloaded here."""
    ratios = sorted(row["ratio"] for row in rows)
    pages = sum(row["pages"] for row in rows)

    def share(key):
        return f"{100 * stats.ratio(sum(row[key] for row in rows), len(rows)):.0f} %"

    def average(key):
        return f"{stats.ratio(sum(row[key] for row in rows), pages):,.0f}"

    return [{"question": question, "the paper": there, "here": here} for question, there, here in (
        ("sites", "465", str(len(rows))),
        ("sites that support gzip", "92 %", share("gzip")),
        ("sites that support deflate", "9 %", share("deflate")),
        ("average download, compressed, bytes", "22,526", average("gzip_bytes")),
        ("average page, not compressed, bytes", "101,786", average("bytes")),
        ("compression ratio: best, median, worst", "11 %, 25 %, 53 %", ", ".join(
            f"{100 * ratio:.0f} %" for ratio in (ratios[0], stats.median(ratios), ratios[-1]))),
        ("sites whose pages differ each time", "66 %", share("dynamic")))]


def named(package):
    """How many of Debian's packages, without its own parts, need, recommend or suggest one."""
    try:
        text = tools.output_of("apt-cache", "rdepends", *NAMED, package)
    except tools.BenchError:  # Debian has it no more
        return 0
    return len({line.strip(" |") for line in text.splitlines()[2:] if package not in line})


def table_2():
    """The source's table 2, with a column of Debian's packages; nothing where apt has no
    lists.
    """
    if not shutil.which("apt-cache") or not any(LISTS.glob("*_Packages*")):
        return []
    counts = {developer: sum(map(named, packages)) for developer, (_, packages) in SERVERS.items()}
    total = sum(counts.values())
    return [{"developer": developer, "the paper: sites": f"{share} %",
             "here: packages": counts[developer],
             "here": f"{100 * counts[developer] / total:.1f} %"}
            for developer, (share, _) in SERVERS.items()] if total else []
