"""`configtest` refuses every bad value of every directive with a reason; good values pass."""

import re
from typing import NamedTuple

import pytest

from kit import Server, env


class Values(NamedTuple):
    """The arguments of a directive. A bad one is a text, or (text, part that the message
    repeats)."""

    allowed: list  # named by the message about a bad value
    bad: list
    good: list


ON_OFF = ["On", "Off"]
TIME = ["100ms", "60s"]
GOALS = ["cpu", "time", "above", "5Mbit", "LEAST", "most", "MOST", "cost", "PRICE", "GB"]

VALUES = {
    "Elastic": Values(ON_OFF, ["Maybe", "1"], ["On", "Off", "on"]),
    "ElasticTypes": Values(
        ["/"],
        ["html", "text/", "/html", "text/html/plain", "text/ht*", "-",
         ('"text/html; charset=utf-8"', "text/html; charset=utf-8"),
         ("text/html +application", "application")],
        ["text/html", "text/* application/*+json", "+image/x-pcx", "-text/css",
         "+image/x-pcx -text/css"]),
    "ElasticCodings": Values(
        ["gzip", "br", "once"],
        ["deflate", ("gzip lzma", "lzma"), "identity", "*", ("gzip gzip", "gzip gzip"),
         ("gzip br x-gzip", "gzip br x-gzip")],
        ["gzip", "br", "gzip br", "BR GZIP"]),
    "ElasticWholeBody": Values(
        ["bytes", "2G", "K", "M", "G"], ["2G", "-1", "M", "1 2", "1X", "1MB"],
        ["0", "1000", "64K", "2m", "1G"]),
    "ElasticMaxTime": Values(
        ["Off", "1ms", "60s"], ["0", "0ms", "61s", "60001ms", "-5ms", "500us", "On"],
        ["Off", "off", "1ms", "20ms", "2", "60s"]),
    "ElasticPoolMemory": Values(
        ["bytes"], ["Off", "99999999999999999999", "9007199254740993G"],
        ["0", "64M", "1000000000"]),
    "ElasticVhosts": Values(["0", "64"], ["-1", "65", "all", "1.5"], ["0", "16", "64"]),
    "ElasticMaxMemory": Values(
        ["Off", "bytes"], ["On", "-1", "9007199254740993G"], ["Off", "0", "64M", "1000000000"]),
    "ElasticLevel": Values(
        ["gzip", "1", "12", "br", "0", "11", "zstd", "19", "stock"],
        ["deflate 1 9", "gzip 0", "gzip 0 9", "gzip -1", "gzip high", "gzip 6x", "gzip 1 9x",
         "gzip 1.5", "gzip 4294967297", "gzip 99999999999999999999", ('gzip ""', ""), "gzip 13",
         "gzip 1 13", "gzip 6 3", "br -1", "br 12", "br 0 12", "br 11 0", "gzip stock 5",
         "br stock 4", "zstd stock 2", "gzip stock 13", "gzip 1 stock", "gzip stock stock",
         "gzip stocks", "stock", "gzip stock 6 9", "zstd 0", "zstd 20", "zstd 3 20"],
        ["gzip 1", "gzip 9", "gzip 1 9", "gzip 4 4", "br 0", "br 11", "br 0 11", "gzip stock",
         "gzip Stock 6", "gzip stock 9", "br stock 11", "br STOCK"]),
    "ElasticCPU": Values(
        ["0", "100"],
        [("80 50", "80"), ("50 50", "50"), ("-1 50", "-1"), ("50 101", "101"),
         ("low high", "low"), ("50 8O", "8O"), ("nan 80", "nan")],
        ["50 80", "0 100", "0 1", "99 100"]),
    "ElasticInterval": Values(
        TIME, ["99ms", "-1s", "61s", "61", "60001ms", "1h", "500xs", "99999999999999999999s",
               "2sdfgh", "1.5s", '""', "1 s", "0x10", "18446744073709551617ms"],
        ["500ms", "2s", "5", "60s", "60"]),
    "ElasticControl": Values(
        ["step", "mix", "external", "off"], ["fast", "predict", "on", "step mix"],
        ["step", "off", "mix", "Step", "external"]),
    "ElasticLoad": Values(["auto", "stat", "cgroup"], ["all", "stat auto", "psi"],
                           ["auto", "stat", "CGROUP"]),
    # The unit tests have more goals and patterns.
    "ElasticGoal": Values(
        GOALS, ["speed", "latency p95 5ms", "time 5MB/s", "time auto 2Mbit/s 1Mbit/s",
                "time 5 Mbit/s", "price", "cost 0.04/h", "cpu 50", "cost 0.04 0.08",
                "cost 0/h 0/GB"],
        ["cpu", "time", "time 20Mbit/s", "time auto 500kbit/s 1Gbit/s", "cost 0.04/h 0.08/GB"]),
    "ElasticIdle": Values(
        ["Off", "0", "100", "top"],
        ["On", "101", "-1", "10x", "top", "10 bottom", "Off top", "10 top top", '""'],
        ["Off", "off", "10", "0", "2.5 top", "100 TOP"]),
    "ElasticPosition": Values(["path"], ["a b"],
                               ["/run/elastic.position", "run/elastic.position"]),
    "ElasticBypass": Values(["100", "Off"], ["101", "-1", "hot", "95x"], ["Off", "95", "100"]),
    "ElasticMinSize": Values(
        ["auto"], ["-1", "small", "1.5", "12x", "99999999999999999999999"],
        ["auto", "0", "1000"]),
    "ElasticMTU": Values(
        ["576", "65535", "auto"], ["575", "65536", "0", "-1500", "jumbo", "1500b"],
        ["auto", "576", "65535"]),
    "ElasticPrecompressed": Values(ON_OFF, ["Maybe"], ["On", "Off"]),
    "ElasticPrecompressedRoot": Values(["folder"], ['""', "a b"],
                                        ["/var/cache/precompressed", "precompressed/"]),
    "ElasticETag": Values(["weak", "suffix", "keep", "remove"], ["strong", "AddSuffix"],
                           ["weak", "suffix", "keep", "remove"]),
    "ElasticPadding": Values(
        ["Off", "0", "4096"], ["-1", "4097", "some", "12x", "1K", "1.5", "On", "32 64",
                               "99999999999999999999999"],
        ["Off", "off", "0", "1", "32", "4096"]),
    "ElasticExplain": Values(ON_OFF, ["Maybe"], ["On", "Off"]),
    "ElasticCache": Values(ON_OFF, ["Maybe"], ["On", "Off"]),
    "ElasticCacheStore": Values(
        ["shmcb", "8192", "4294967294"],
        ["dbm", "redis", "redis:", "memcached:127.0.0.1", "shmcbs", "(67108864)", '""', "shmcb a",
         "shmcb:(8191)", "shmcb:(4294967295)", "shmcb:(64M)", "shmcb:(8192", "shmcb:(8192)x",
         ("shmcb:/" + "a" * 5000 + "(65536)", "aaaa")],
        ["shmcb", "shmcb:(8192)", "shmcb:/run/elastic-cache(16777216)",
         "shmcb:/run/elastic-cache"]),
    "ElasticCacheKey": Values(["path"], ["a b", '""'], ["/nonexistent/key"]),
    "ElasticCacheScope": Values(["server", "all"], ["vhost", "1"], ["server", "all", "All"]),
    "ElasticCacheMaxSize": Values(["bytes", "K"], ["-1", "2G", "much", "Off"],
                                   ["0", "64K", "1M", "100000"]),
    "ElasticDictionary": Values(
        ["Off", "match", "DESTINATION"],
        ["On", "match", ("match=", "empty"), ('id="a"', "a"), ('match="/a" b', "b"),
         ('match="/a" matches="/b"', "matches"), ('match="/(a)"', "/(a)"),
         ('match="https://a/b"', "https://a/b"), ('match="/a" revisit', "revisit"),
         ('match="/a/**"', "right behind a *"), ('match="?a"', "it has no path"),
         ('match="/a?b?c"', "there may be one ?"), ('match="/a<b"', "is escaped"),
         ('match="/a/../b"', "segments . and .."),
         ('match="/' + "a" * 512 + '"', "it is too long"),
         ('match="/a" id="\xe9"', "id="), ('match="/a" id="' + "x" * 1025 + '"', "id="),
         ('match="/a" match-dest="document scripts"', "scripts"),
         ('match="/a" match-dest=("document")', "document"),
         ('match="/a" match-dest="' + "style " * 43 + '"', "too long")],
        ["Off", "off", 'match="/a/*"', "match=/a", 'match="*.js"',
         'match="/a.js?v=*" match-dest="document" id="v 1"',
         'MATCH="/a" match-dest="" id=""', 'match-dest="script style" match="/"']),
    "ElasticDictionaryLink": Values(
        ["Off", "URL"], ["a b", '""', "</a>", '"/a b"'],
        ["/dict", "https://example.org/dict?a=b", "Off"]),
    "ElasticDictionaryFile": Values(
        ["Off", "path", "PATTERN", "DESTINATION", "NAME", "PORT"],
        ['""', ("/etc/hosts match=a/*", "a/*"), ('/etc/hosts match="/("', "/("),
         ("/etc/hosts match-dest=page", "page"), ("/etc/hosts id=x", "id=x"),
         ("/etc/hosts host=", "host="), ("/etc/hosts host=a/b", "a/b"),
         ("/etc/hosts host=a:0", "a:0"), ("/etc/hosts host=*.a", "*.a"),
         ("/etc/hosts host=[::1", "[::1"), ("/etc/hosts more", "more")],
        ["Off", "/etc/hosts", '/etc/hosts match="/a?v=*" match-dest=""',
         '/etc/hosts host="a.example [::1]:8443 B:80" match-dest="document frame"']),
    "ElasticDictionaryStore": Values(
        ["folder", "1M"], ['""', "/tmp 1K", "/tmp lots", "/tmp 64M 1", "/tmp -1"],
        ["/tmp", "/tmp 1M", "/tmp 2G"]),
    "ElasticProcStat": Values([], [], ["/proc/stat", "/nonexistent/stat"]),
}

# (directive, bad argument, the part that the message repeats, the values that it allows)
BAD = [(name, *((bad, bad.strip('"')) if isinstance(bad, str) else bad), values.allowed)
       for name, values in VALUES.items() for bad in values.bad]

# One good value of each.
ALL = {name: values.good[-1] for name, values in VALUES.items()}

UPPER = 'ExtFilterDefine upper mode=output ftype=20 cmd="/usr/bin/tr a-z A-Z"\n'
STORE = "ElasticDictionaryStore /tmp\n"

# No message mentions these.
GOOD = [
    "elastic on",
    *(f"{STORE if name == 'ElasticDictionary' else ''}{name} {good}"
      for name, values in VALUES.items() for good in values.good),
    "\n".join(f"{name} {value}" for name, value in ALL.items()),
    "ElasticInterval 500ms",
    # Filters that work.
    "SetOutputFilter INFLATE;ELASTIC\nSetInputFilter DEFLATE",
    "SetOutputFilter SUBSTITUTE;DEFLATE\nAddOutputFilter DEFLATE;SUBSTITUTE html",
    "SetOutputFilter DEFLATE;BUFFER\nSetOutputFilter None\nSetOutputFilter elsewhere",
    "<IfModule mod_brotli.c>\nSetOutputFilter BROTLI_COMPRESS\n</IfModule>",
    UPPER + "SetOutputFilter upper;ELASTIC",
    "SetOutputFilter DEFLATE;CACHE\nCacheEnable disk /\nCacheRoot {root}"]

NO_FILTER = "no loaded module has the filter"
COMPRESSED = "the filter upper gets compressed bytes; name it first"

# (lines, the one warning): what has no effect, and filters that cannot work.
WARNED = [
    ("ElasticInterval 100ms", "ElasticInterval"), ("ElasticInterval 499ms", "ElasticInterval"),
    ("ElasticDictionaryStore /nonexistent", "Store /nonexistent: the folder cannot be read"),
    ("DeflateWindowSize 8", "DeflateWindowSize: zlib has no window of 8 bits for gzip; 9 is used"),
    ("SetOutputFilter BROTLI_COMPRESS;DEFLATE", f"SetOutputFilter: {NO_FILTER} BROTLI_COMPRESS"),
    ("<Location /a>\nAddOutputFilter DEFLATE;brotli_compress html\n</Location>",
     f"AddOutputFilter: {NO_FILTER} brotli_compress"),
    ("SetInputFilter BROTLI_COMPRESS", f"SetInputFilter: {NO_FILTER} BROTLI_COMPRESS"),
    (UPPER + "SetOutputFilter ELASTIC;upper", COMPRESSED),
    (UPPER + '<Location /a>\n<If "true">\nSetOutputFilter "DEFLATE;upper"\n</If>\n</Location>',
     COMPRESSED)]

# What is not in every build is a warning there, which names the coding.
for line in ("ElasticLevel zstd 1 19", "ElasticLevel zstd 3", "ElasticLevel zstd stock",
             "ElasticCodings zstd br gzip", "ElasticCodings zstd"):
    GOOD += [line] * env.HAS_ZSTD
    WARNED += [(line, "zstd")] * (not env.HAS_ZSTD)
for line in ("ElasticLevel gzip 10", "ElasticLevel gzip 1 12", "ElasticLevel gzip stock 12",
             "ElasticLevel gzip 11 12"):
    GOOD += [line] * env.HAS_LIBDEFLATE
    WARNED += [(line, "gzip")] * (not env.HAS_LIBDEFLATE)


@pytest.fixture(scope="module")
def check():
    """check(lines) returns (accepted, output). Uses a server of its own, which never runs, so there
    is no log to check and nothing to stop."""
    if not env.MODULE:
        pytest.skip("ELASTIC_MODULE does not name a mod_elastic.so")
    server = Server(modules=("socache_shmcb", "ext_filter", "substitute", "buffer", "cache",
                             "cache_disk"), records=("elastic", "deflate"))

    def run(lines):
        server.configure(lines)
        return server.configtest()

    yield run
    server.remove()


def refusal(check, lines):
    """Why httpd refuses the lines, without the line that names the file."""
    ok, output = check(lines)
    assert not ok, f"accepted: {lines}\n{output}"
    _, found, message = output.partition("Syntax error on line")
    assert found, f"refused without a syntax error: {lines}\n{output}"
    return message.partition("\n")[2]


@pytest.mark.parametrize("name,argument,given,allowed", BAD,
                         ids=[f"{row[0]}={row[1]}" for row in BAD])
def test_bad_value_is_refused_with_what_is_allowed(check, name, argument, given, allowed):
    message = refusal(check, f"{name} {argument}")
    assert name in message
    rest = message.replace(name, "", 1)
    assert given in rest
    rest = rest.replace(given, "", 1) if given else message
    for word in allowed:
        assert word == "/" and "/" in rest or word in re.findall(r"[A-Za-z0-9]+", rest), message


@pytest.mark.parametrize("line", [
    *sorted(ALL), "ElasticCPU 50", "ElasticLevel gzip", "ElasticLevel 6",
    *(f"{name} {ALL[name]} 1 2 3" for name in sorted(set(ALL) - {"ElasticTypes",
                                                                 "ElasticCodings"}))])
def test_another_number_of_arguments_is_refused(check, line):
    assert line.split()[0] in refusal(check, line)


@pytest.mark.parametrize("lines", GOOD)
def test_good_value_passes_without_a_word(check, lines):
    ok, output = check(lines)
    assert ok and "elastic:" not in output and "Elastic" not in output, output


@pytest.mark.parametrize("lines,warning", WARNED)
def test_what_has_no_effect_is_a_warning(check, lines, warning):
    ok, output = check(lines)
    assert ok and "warn" in output and output.count("elastic: ") == 1 and warning in output, output
