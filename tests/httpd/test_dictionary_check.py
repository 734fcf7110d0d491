"""`scripts/dictionary check` reports each fault that a site, a proxy or a cache may have."""

import pathlib
import re
import subprocess

import pytest

from kit import at, bodies, env
from kit.cache import MODULES as CACHE, ROOT, make_directory
from kit.dictionary import DICT, PAGE, PINNED, WEEK, ask, learn, start

pytestmark = pytest.mark.skipif(not env.HAS_ZSTD, reason="needs libzstd")

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "dictionary"
ELEMENT = b'<base href="/"><link rel="x Compression-Dictionary" href="element/dict.html">'
PUBLIC = 'Header set Access-Control-Allow-Origin "*"'
NO_CACHE = 'Header set Cache-Control "no-cache"'
TEN_MINUTES = 'Header set Cache-Control "public, max-age=600"'


def site(name, page=(), dictionary=(), rule=None, link=None):
    """Below /NAME: a page that names the dictionary there."""
    rule, link = rule or f'match="/{name}/*"', link or f"/{name}/dict.html"
    lines = "\n".join([f"ElasticDictionary {rule}", WEEK, *dictionary])
    return at(name, f"ElasticDictionaryLink {link}", NO_CACHE, *page) \
        + f"<LocationMatch ^/{name}/(dict|each)>\n{lines}\n</LocationMatch>\n"


# {site: (its configuration, the lines that are not "ok", as {subject: (verdict, text)})}
SITES = {
    "good": ({}, {}),
    "element": ({"link": "Off"}, {}),
    "named": ({"rule": r'match="/named/*" match-dest="document script" id="v \"1"'}, {}),
    "relative": ({"rule": 'match="p*.html"'}, {}),
    "unlinked": ({"link": "Off"}, {"link": ("problem", "names no dictionary.*DictionaryLink")}),
    "gone": ({"link": "/gone/none"}, {"dictionary": ("problem", "the status 404")}),
    "denied": ({"page": ["Require all denied"]}, {"page": ("problem", "the status 403")}),
    "elsewhere": ({"rule": 'match="/other/*"'},
                  {"dictionary": ("problem", 'match="/other/\\*" does not match')}),
    "script": ({"rule": 'match="/script/*" match-dest="script"'},
               {"dictionary": ("problem", "does not match .* as document")}),
    "short": ({"dictionary": [TEN_MINUTES]}, {"dictionary": ("advice", "600 seconds.*max-age")}),
    "private": ({"dictionary": ['Header set Cache-Control "private, max-age=600"']}, {
        "dictionary": ("problem", "is missing; Cache-Control: private")}),
    "cookie": ({"dictionary": ["Header set Set-Cookie a=b"]},
               {"dictionary": ("problem", "is missing.*without a cookie")}),
    "forever": ({"dictionary": ["Header unset Cache-Control"]},
                {"dictionary": ("problem", "Cache-Control: is missing.*max-age")}),
    "none": ({"rule": "Off"}, {"dictionary": ("problem", "missing.*set ElasticDictionary")}),
    "noise": ({}, {"page": ("advice", "identity"),
                   "difference": ("problem", "shares too little")}),
    "off": ({"page": ["Elastic Off"]}, {
        "page": ("advice", "identity came.*Elastic On"),
        "difference": ("problem", "as identity all the same"), "Vary": ("problem", "is missing")}),
    "cloud": ({"page": ["Header set CF-Ray 1"]},
              {"in front": ("advice", "cf-ray: 1.*Cloudflare.*passthrough")}),
    "cgi": ({"link": "/cgi/each.cgi"},
            {"dictionary": ("problem", "another one each time.*make it a file")}),
    "broken": ({}, {
        "difference": ("problem", "is broken: the dcz body is for another dictionary"),
        "Vary": ("problem", "those with another dictionary get dcz.*private")}),
}

# The same for a site behind a proxy, with the proxy's configuration.
PROXIED = {
    "passed": ([], {}),
    "via": (['Header set Via "1.1 a"'], {"in front": ("advice", "via: 1.1 a.*dcb, dcz through")}),
    "uncoded": (["Header unset Content-Encoding"], {
        "page": ("problem", "what comes as identity is not what comes without.*--resolve")}),
    "plain": (["RequestHeader unset Accept-Encoding"], {
        "page": ("advice", "Accept-Encoding through"),
        "difference": ("problem", "as identity all the same.*--resolve")}),
    "edited": (['RequestHeader edit* Accept-Encoding ", dc." ""'], {
        "difference": ("advice", "comes as br all the same.*dcz in Accept-Encoding through")}),
    "unnamed": (["RequestHeader unset Available-Dictionary"],
                {"difference": ("advice", "comes as br.*let Available-Dictionary")}),
    "unvaried": (["Header unset Vary"], {"Vary": ("problem", "is missing for browsers")}),
    "kept": (["Header set Vary Accept-Encoding",
              'Header set Cache-Control "private, max-age=90000"'], {
        "Vary": ("advice", "accept-encoding for browsers.*Header merge Vary")}),
    "unused": (["Header unset Use-As-Dictionary"],
               {"dictionary": ("problem", "is missing.*--resolve")}),
    "malformed": (['Header set Use-As-Dictionary "match=/a b"'],
                  {"dictionary": ("problem", "Dictionary: match=/a b")}),
    "stored": (["Header set Cache-Control no-store"],
               {"dictionary": ("problem", "for 0 seconds")}),
}


# Pages other than page.html.
# Pages other than page.html.
PAGES = {"element": "element.html", "noise": "noise.html", "broken": "broken.cgi"}
CGI = {
    "each.cgi": f"head('Content-Type: text/plain')\nout({DICT!r})\nout(str(time.time()))\n",
    "broken.cgi": f"""\
named = 'HTTP_AVAILABLE_DICTIONARY' in os.environ
head('Content-Type: text/html', *['Content-Encoding: dcz', 'Vary: Accept-Encoding'] * named)
out(b'damaged' if named else {PAGE!r})
""",
}


OTHERS = site("cached", page=[TEN_MINUTES]) + site("public", [PUBLIC]) + "".join(
    site(name, link=f"http://localhost:{{port}}/{to}/dict.html")
    for name, to in (("far", "good"), ("open", "public"))) \
    + at("release", 'ElasticDictionary match="/release/app.*.js"', WEEK)


@pytest.fixture(scope="module")
def server(httpd_shared):
    return start(
        httpd_shared, PINNED + "SetEnvIf X-Forwarded-Proto https HTTPS=on\n"
        + "".join(site(name, **given) for name, (given, _) in SITES.items())
        + "".join(map(site, PROXIED)) + OTHERS, tls=True, cgi=CGI, allow_log=["AH01630"],
        files={"noise.html": bodies.noise(9000), "element.html": ELEMENT + PAGE,
               "app.1.js": bodies.text(30_000)})


@pytest.fixture(scope="module")
def proxy(httpd_shared, server):
    """Terminates TLS, with the configuration of PROXIED."""
    sites = "".join(f"<Location /{name}>\n" + "\n".join(lines) + "\n</Location>\n"
                    for name, (lines, _) in PROXIED.items())
    made = httpd_shared(
        f"{ROOT}CacheQuickHandler Off\nCacheIgnoreCacheControl On\nProxyPreserveHost On\n"
        f"ProxyPass / http://127.0.0.1:{server.port}/\n"
        f"RequestHeader set X-Forwarded-Proto https\n{sites}"
        "<Location /cached/page.html>\nCacheEnable disk\nHeader unset Vary\n</Location>\n",
        modules=("proxy", "proxy_http", *CACHE), tls=True, elastic=False, start=False)
    make_directory(made)
    return made.start()


def run(*words_):
    """(exit status, what is said, what is said of errors) of `check`."""
    done = subprocess.run([env.PYTHON, SCRIPT, "check", *map(str, words_)], capture_output=True,
                          text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def check(server, path, expected, *options, url=None):
    """What `check` says is this, as {subject: (verdict, rest of the line)}, and its exit status."""
    status, said, errors = run(url or f"https://localhost:{server.tls_port}{path}",
                               "--cafile", server.root / "tls.pem", *options)
    assert errors == ""
    *lines, sums = said.splitlines()
    rows = [re.fullmatch(r"(ok|advice|problem) +(\S+(?: \S+)*?) {2,}(.*)", line) for line in lines]
    assert all(rows), said
    verdicts = [row[1] for row in rows]
    assert sums == (f"{verdicts.count('problem')} problems, {verdicts.count('advice')} pieces of "
                    "advice")
    assert all((". Change: " in row[3]) == (row[1] != "ok") for row in rows), said
    found = {row[2]: (row[1], row[3]) for row in rows if row[1] != "ok"}
    assert re.search("Chromium uses no dictionary under", found.pop("certificate")[1])
    assert set(found) == set(expected), found
    for subject, (verdict, pattern) in expected.items():
        assert found[subject][0] == verdict and re.search(pattern, found[subject][1]), \
            found[subject]
    assert status == any(verdict == "problem" for verdict, _ in expected.values())


@pytest.mark.parametrize("name", SITES)
def test_what_is_wrong_with_a_site(server, name):
    check(server, f"/{name}/{PAGES.get(name, 'page.html')}", SITES[name][1])


@pytest.mark.parametrize("name", PROXIED)
def test_what_is_wrong_with_a_proxy(proxy, name):
    check(proxy, f"/{name}/page.html", PROXIED[name][1])


def test_a_release_is_a_dictionary_for_the_next_one(server):
    check(server, "/release/app.1.js", {})


@pytest.mark.parametrize("name", ["far", "open"])
def test_a_dictionary_of_another_origin(server, name):
    """Such a dictionary is useless for the page, and the browser does not request it."""
    check(server, f"/{name}/page.html", {
        "link": ("problem", f"at http://localhost:{server.port}.*serve it where the page")})


def test_the_origin_is_asked_past_what_is_in_front(server, proxy):
    check(proxy, "/unvaried/page.html", {}, "--resolve", f"127.0.0.1:{server.tls_port}",
          "--cafile", server.root / "tls.pem")
    # Without https.
    check(server, "", {"https": ("problem", "serve it by https"),
                       "link": ("problem", "names no dictionary")},
          "--resolve", f"127.0.0.1:{server.port}", url="http://www.example.org/good/page.html")


@pytest.mark.parametrize("first, rows", [
    (None, {"difference": ("advice", "br all the same"),
            "Vary": ("problem", "browsers without codings get br.*honour Vary")}),
    (DICT, {"page": ("problem", "the coding is dcz, which was not asked for.*honour Vary")})],
    ids=["br", "dcz"])
def test_a_cache_that_does_not_honour_vary(proxy, first, rows):
    """The cache sends everybody the first client's response."""
    path, host = f"/cached/page.html?{first is None}", f"localhost:{proxy.tls_port}"
    learn(proxy, "/cached/dict.html", "tls", Host=host)
    answer = ask(proxy, path, "br, dcz", first, "tls", Host=host)
    assert answer.coding == ("dcz" if first else "br")
    check(proxy, path, {**rows, "in front": ("advice", "age: ")})


@pytest.mark.parametrize("words, status, said", [
    ([], 2, "usage: "), (["ftp://a/"], 2, "an http or https URL is needed"),
    (["https://a/", "--resolve", "a/b"], 2, "give an address"),
    (["http://localhost:1/"], 1, "http://localhost:1/: .*refused"),
    (["https://a/", "--cafile", "/nowhere"], 1, "No such file"),
    (["https://localhost:{port}/"], 1, "certificate")])  # that nobody vouches for
def test_what_cannot_be_asked(server, words, status, said):
    ended, _, errors = run(*(word.format(port=server.tls_port) for word in words))
    assert ended == status and re.search(said, errors) and "Traceback" not in errors
