"""`configtest` refuses every bad value of every directive, and says why; good values pass."""

import re

import pytest

from kit import Server, env

# (directive, bad argument text, the part of it that the message repeats, what the message allows)
BAD = [
    ("Elastic", "Maybe", "Maybe", ["On", "Off"]),
    ("Elastic", "1", "1", ["On", "Off"]),
    ("ElasticTypes", "html", "html", ["/"]),
    ("ElasticTypes", "text/", "text/", ["/"]),
    ("ElasticTypes", "/html", "/html", ["/"]),
    ("ElasticTypes", "text/html/plain", "text/html/plain", ["/"]),
    ("ElasticTypes", '"text/html; charset=utf-8"', "text/html; charset=utf-8", ["/"]),
    ("ElasticTypes", "text/ht*", "text/ht*", ["/"]),
    ("ElasticTypes", "text/html +application", "application", ["/"]),
    ("ElasticTypes", "-", "-", ["/"]),
    ("ElasticCodings", "deflate", "deflate", ["gzip", "br"]),
    ("ElasticCodings", "gzip lzma", "lzma", ["gzip", "br"]),
    ("ElasticCodings", "identity", "identity", ["gzip", "br"]),
    ("ElasticCodings", "*", "*", ["gzip", "br"]),
    ("ElasticWholeBody", "2G", "2G", ["2G"]),
    ("ElasticWholeBody", "-1", "-1", ["bytes"]),
    ("ElasticWholeBody", "1X", "1X", ["K", "M", "G"]),
    ("ElasticWholeBody", "1MB", "1MB", ["K", "M", "G"]),
    ("ElasticWholeBody", "M", "M", ["bytes"]),
    ("ElasticWholeBody", "1 2", "1 2", ["bytes"]),
    ("ElasticMaxTime", "0", "0", ["Off", "1ms", "60s"]),
    ("ElasticMaxTime", "0ms", "0ms", ["Off", "1ms", "60s"]),
    ("ElasticMaxTime", "61s", "61s", ["Off", "1ms", "60s"]),
    ("ElasticMaxTime", "60001ms", "60001ms", ["Off", "1ms", "60s"]),
    ("ElasticMaxTime", "-5ms", "-5ms", ["Off", "1ms", "60s"]),
    ("ElasticMaxTime", "500us", "500us", ["Off", "1ms", "60s"]),
    ("ElasticMaxTime", "On", "On", ["Off", "1ms", "60s"]),
    ("ElasticPoolMemory", "Off", "Off", ["bytes"]),
    ("ElasticPoolMemory", "99999999999999999999", "99999999999999999999", ["bytes"]),
    ("ElasticPoolMemory", "9007199254740993G", "9007199254740993G", ["bytes"]),
    ("ElasticLevel", "deflate 1 9", "deflate", ["gzip", "br"]),
    ("ElasticLevel", "gzip 0", "0", ["1"]),
    ("ElasticLevel", "gzip 0 9", "0", ["1"]),
    ("ElasticLevel", "gzip 13", "13", ["1", "12"]),
    ("ElasticLevel", "gzip 1 13", "13", ["1", "12"]),
    ("ElasticLevel", "gzip -1", "-1", ["1"]),
    ("ElasticLevel", "gzip 6 3", "6", ["3"]),
    ("ElasticLevel", "gzip high", "high", ["1"]),
    ("ElasticLevel", "gzip 6x", "6x", ["1"]),
    ("ElasticLevel", "gzip 1 9x", "9x", ["1"]),
    ("ElasticLevel", "gzip 1.5", "1.5", ["1"]),
    ("ElasticLevel", "gzip 4294967297", "4294967297", ["1"]),
    ("ElasticLevel", "gzip 99999999999999999999", "99999999999999999999", ["1"]),
    ("ElasticLevel", 'gzip ""', "", ["1"]),
    ("ElasticLevel", "br -1", "-1", ["0", "11"]),
    ("ElasticLevel", "br 12", "12", ["0", "11"]),
    ("ElasticLevel", "br 0 12", "12", ["0", "11"]),
    ("ElasticLevel", "br 11 0", "11", ["0"]),
    ("ElasticLevel", "zstd 0", "0", ["1", "19"]),
    ("ElasticLevel", "zstd 20", "20", ["1", "19"]),
    ("ElasticLevel", "zstd 3 20", "20", ["1", "19"]),
    ("ElasticCPU", "80 50", "80", ["0", "100"]),
    ("ElasticCPU", "50 50", "50", ["0", "100"]),
    ("ElasticCPU", "-1 50", "-1", ["0", "100"]),
    ("ElasticCPU", "50 101", "101", ["0", "100"]),
    ("ElasticCPU", "low high", "low", ["0", "100"]),
    ("ElasticCPU", "50 8O", "8O", ["0", "100"]),
    ("ElasticCPU", "nan 80", "nan", ["0", "100"]),
    ("ElasticInterval", "99ms", "99ms", ["100ms", "60s"]),
    ("ElasticInterval", "0", "0", ["100ms", "60s"]),
    ("ElasticInterval", "-1s", "-1s", ["100ms", "60s"]),
    ("ElasticInterval", "61s", "61s", ["100ms", "60s"]),
    ("ElasticInterval", "61", "61", ["100ms", "60s"]),
    ("ElasticInterval", "60001ms", "60001ms", ["100ms", "60s"]),
    ("ElasticInterval", "1h", "1h", ["100ms", "60s"]),
    ("ElasticInterval", "often", "often", ["100ms", "60s"]),
    ("ElasticInterval", "500xs", "500xs", ["100ms", "60s"]),
    ("ElasticInterval", "99999999999999999999s", "99999999999999999999s", ["100ms", "60s"]),
    ("ElasticControl", "fast", "fast", ["step", "mix", "predict", "external", "off"]),
    ("ElasticControl", "on", "on", ["step", "off"]),
    ("ElasticControl", "step mix", "step mix", ["step", "off"]),
    ("ElasticLoad", "all", "all", ["auto", "stat", "cgroup", "psi"]),
    ("ElasticLoad", "stat psi", "stat psi", ["auto", "stat", "cgroup", "psi"]),
    ("ElasticGoal", "speed", "speed", ["cpu", "latency", "p95", "cost"]),
    ("ElasticGoal", "latency p95 0ms", "latency p95 0ms", ["cpu", "latency", "p95", "cost"]),
    ("ElasticGoal", "latency p99 5ms", "latency p99 5ms", ["cpu", "latency", "p95", "cost"]),
    ("ElasticGoal", "cost 0.04 0.08", "cost 0.04 0.08", ["PRICE", "GB"]),
    ("ElasticGoal", "cost 0/h 0/GB", "cost 0/h 0/GB", ["PRICE", "GB"]),
    ("ElasticPosition", "a b", "a b", ["path"]),
    ("ElasticBypass", "101", "101", ["100", "Off"]),
    ("ElasticBypass", "-1", "-1", ["100", "Off"]),
    ("ElasticBypass", "hot", "hot", ["100", "Off"]),
    ("ElasticBypass", "95x", "95x", ["100", "Off"]),
    ("ElasticMinSize", "-1", "-1", ["auto"]),
    ("ElasticMinSize", "small", "small", ["auto"]),
    ("ElasticMinSize", "1.5", "1.5", ["auto"]),
    ("ElasticMinSize", "12x", "12x", ["auto"]),
    ("ElasticMinSize", "99999999999999999999999", "99999999999999999999999", ["auto"]),
    ("ElasticMTU", "575", "575", ["576", "65535", "auto"]),
    ("ElasticMTU", "65536", "65536", ["576", "65535", "auto"]),
    ("ElasticMTU", "0", "0", ["576", "65535", "auto"]),
    ("ElasticMTU", "-1500", "-1500", ["576", "65535", "auto"]),
    ("ElasticMTU", "jumbo", "jumbo", ["576", "65535", "auto"]),
    ("ElasticMTU", "1500b", "1500b", ["576", "65535", "auto"]),
    ("ElasticPrecompressed", "Maybe", "Maybe", ["On", "Off"]),
    ("ElasticETag", "strong", "strong", ["weak", "suffix", "keep", "remove"]),
    ("ElasticETag", "AddSuffix", "AddSuffix", ["weak", "suffix", "keep", "remove"]),
]

GOOD = [
    "Elastic On", "Elastic Off", "elastic on",
    "ElasticTypes text/html", "ElasticTypes text/* application/*+json", "ElasticTypes +image/x-pcx",
    "ElasticTypes -text/css", "ElasticTypes +image/x-pcx -text/css",
    "ElasticCodings gzip", "ElasticCodings br", "ElasticCodings gzip br", "ElasticCodings BR GZIP",
    "ElasticLevel gzip 1", "ElasticLevel gzip 9", "ElasticLevel gzip 1 9", "ElasticLevel gzip 4 4",
    "ElasticLevel br 0", "ElasticLevel br 11", "ElasticLevel br 0 11",
    "ElasticCPU 50 80", "ElasticCPU 0 100", "ElasticCPU 0 1", "ElasticCPU 99 100",
    "ElasticInterval 500ms", "ElasticInterval 2s", "ElasticInterval 5", "ElasticInterval 60s",
    "ElasticInterval 60",
    "ElasticControl step", "ElasticControl off", "ElasticControl mix", "ElasticControl Predict",
    "ElasticControl external", "ElasticLoad auto", "ElasticLoad stat", "ElasticLoad CGROUP",
    "ElasticLoad psi", "ElasticGoal cpu", "ElasticGoal latency p95 5ms",
    "ElasticGoal cost 0.04/h 0.08/GB", "ElasticPosition /run/elastic.position",
    "ElasticPosition run/elastic.position",
    "ElasticBypass Off", "ElasticBypass 95", "ElasticBypass 100",
    "ElasticMinSize auto", "ElasticMinSize 0", "ElasticMinSize 1000",
    "ElasticMTU auto", "ElasticMTU 576", "ElasticMTU 65535",
    "ElasticPrecompressed On", "ElasticPrecompressed Off",
    "ElasticETag weak", "ElasticETag suffix", "ElasticETag keep", "ElasticETag remove",
    "ElasticWholeBody 0", "ElasticWholeBody 1000", "ElasticWholeBody 64K", "ElasticWholeBody 2m",
    "ElasticWholeBody 1G", "ElasticPoolMemory 0", "ElasticPoolMemory 64M",
    "ElasticPoolMemory 1000000000",
    "ElasticMaxTime Off", "ElasticMaxTime off", "ElasticMaxTime 1ms", "ElasticMaxTime 20ms",
    "ElasticMaxTime 2", "ElasticMaxTime 60s",
    "ElasticProcStat /proc/stat", "ElasticProcStat /nonexistent/stat",
]

# Known, but not in every build: (line, what the warning names, whether this build has it)
CLAMPED = [
    ("ElasticLevel zstd 1 19", "zstd", env.HAS_ZSTD),
    ("ElasticLevel zstd 3", "zstd", env.HAS_ZSTD),
    ("ElasticCodings zstd br gzip", "zstd", env.HAS_ZSTD),
    ("ElasticCodings zstd", "zstd", env.HAS_ZSTD),
    ("ElasticLevel gzip 10", "gzip", env.HAS_LIBDEFLATE),
    ("ElasticLevel gzip 1 12", "gzip", env.HAS_LIBDEFLATE),
    ("ElasticLevel gzip 11 12", "gzip", env.HAS_LIBDEFLATE),
]

GLOBAL = {
    "ElasticCPU": "50 80", "ElasticInterval": "1s", "ElasticControl": "step",
    "ElasticBypass": "95", "ElasticProcStat": "/proc/stat", "ElasticLoad": "auto",
    "ElasticGoal": "cpu", "ElasticPosition": "/run/elastic.position", "ElasticPoolMemory": "64M",
}
PER_SERVER = {"ElasticMTU": "1500"}
PER_DIRECTORY = {
    "Elastic": "On", "ElasticTypes": "text/html", "ElasticCodings": "gzip",
    "ElasticLevel": "gzip 1 9", "ElasticMinSize": "auto", "ElasticPrecompressed": "On",
    "ElasticETag": "weak", "ElasticWholeBody": "1M", "ElasticMaxTime": "20ms",
}
ALL = {**GLOBAL, **PER_SERVER, **PER_DIRECTORY}

VHOST = "<VirtualHost 127.0.0.1:{port}>\nServerName v\n%s\n</VirtualHost>"
DIRECTORY = '<Directory "/srv">\n%s\n</Directory>'
LOCATION = '<Location "/x">\n%s\n</Location>'
FILES = '<Files "*.html">\n%s\n</Files>'


class Checker:
    """`httpd -t` on configurations that differ only in a snippet."""

    def __init__(self, server):
        self.server = server

    def run(self, snippet):
        """(whether httpd takes it, what it said)."""
        self.server.configure(snippet)
        return self.server.configtest()

    def message(self, snippet):
        """Why httpd refuses `snippet`, without the line that names the file."""
        ok, output = self.run(snippet)
        assert not ok, f"accepted: {snippet}\n{output}"
        _, found, message = output.partition("Syntax error on line")
        assert found, f"refused without a syntax error: {snippet}\n{output}"
        return message.partition("\n")[2]


@pytest.fixture(scope="module")
def check():
    """A server of our own: it never runs, so there is no log to check and nothing to stop."""
    if not env.MODULE:
        pytest.skip("ELASTIC_MODULE does not name a mod_elastic.so")
    server = Server()
    yield Checker(server)
    server.remove()


def words_of(message):
    return set(re.findall(r"[A-Za-z0-9]+", message))


@pytest.mark.parametrize("name,argument,given,allowed", BAD,
                         ids=[f"{row[0]}={row[1]}" for row in BAD])
def test_bad_value_is_refused_with_what_is_allowed(check, name, argument, given, allowed):
    message = check.message(f"{name} {argument}")
    assert name in message
    assert given in message.replace(name, "", 1)
    rest = message.replace(name, "", 1).replace(given, "", 1) if given else message
    for word in allowed:
        assert word == "/" and "/" in rest or word in words_of(rest), (word, message)


@pytest.mark.parametrize("name,argument", [(n, a) for n, a, _, _ in BAD
                                           if n in ("ElasticLevel", "ElasticETag", "Elastic")])
def test_bad_value_is_refused_in_a_section_too(check, name, argument):
    assert name in check.message(DIRECTORY % f"{name} {argument}")


@pytest.mark.parametrize("name", sorted(ALL))
def test_no_argument_is_refused(check, name):
    assert name in check.message(name)


@pytest.mark.parametrize("name", sorted(set(ALL) - {"ElasticTypes", "ElasticCodings"}))
def test_too_many_arguments_are_refused(check, name):
    assert name in check.message(f"{name} {ALL[name]} 1 2 3")


@pytest.mark.parametrize("line", ["ElasticCPU 50", "ElasticLevel gzip", "ElasticLevel 6"])
def test_missing_arguments_are_refused(check, line):
    assert line.split()[0] in check.message(line)


@pytest.mark.parametrize("line", GOOD)
def test_good_value_passes_without_a_word(check, line):
    ok, output = check.run(line)
    assert ok, output
    assert "elastic:" not in output and "Elastic" not in output, output


@pytest.mark.parametrize("line,names,built_in", CLAMPED)
def test_known_but_not_built_in_is_a_warning(check, line, names, built_in):
    ok, output = check.run(line)
    assert ok, output
    assert ("warn" in output and names in output) != built_in, output


@pytest.mark.parametrize("line,warns", [("ElasticInterval 100ms", True),
                                        ("ElasticInterval 499ms", True),
                                        ("ElasticInterval 500ms", False)])
def test_an_interval_below_half_a_second_warns_once(check, line, warns):
    ok, output = check.run(line)
    assert ok, output
    assert output.count("ElasticInterval") == (1 if warns else 0), output


def test_all_directives_together_pass(check):
    ok, output = check.run("\n".join(f"{name} {value}" for name, value in ALL.items()))
    assert ok, output


@pytest.mark.parametrize("name", sorted(GLOBAL))
@pytest.mark.parametrize("section", [VHOST, DIRECTORY, LOCATION, FILES],
                         ids=["vhost", "directory", "location", "files"])
def test_a_directive_of_the_whole_server_is_refused_in_a_section(check, section, name):
    assert name in check.message(section % f"{name} {GLOBAL[name]}")


@pytest.mark.parametrize("section", [DIRECTORY, LOCATION, FILES],
                         ids=["directory", "location", "files"])
def test_mtu_is_refused_in_a_directory(check, section):
    assert "ElasticMTU" in check.message(section % "ElasticMTU 1500")


def test_mtu_passes_in_a_vhost(check):
    ok, output = check.run(VHOST % "ElasticMTU 1500")
    assert ok, output


@pytest.mark.parametrize("name", sorted(PER_DIRECTORY))
@pytest.mark.parametrize("section", [VHOST, DIRECTORY, LOCATION, FILES],
                         ids=["vhost", "directory", "location", "files"])
def test_a_directive_of_directories_passes_in_sections(check, section, name):
    ok, output = check.run(section % f"{name} {PER_DIRECTORY[name]}")
    assert ok, output
