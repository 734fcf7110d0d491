"""scripts/mutants --mechanical: a machine breaks each decision, and some test must see it."""

import collections
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import threading
import time

from . import places

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Where it is decided what is shared, named, sent in part, bounded, and who may see it.
FILES = ("src/httpd/cache/*.c", "src/httpd/response/*.c", "src/httpd/files/*.c",
         "src/httpd/dictionary/*.c", "src/httpd/request/visitor.c", "src/core/decide.c",
         "src/core/dictionary.c", "src/core/entry.c", "src/core/etag.c", "src/core/http.c")
SAME = ROOT / "tests/mutants/mechanical.txt"

KILLED, SURVIVED, NOT_RUN, SAME_THING = "killed", "survived", "not run", "the same"

UNIT_SECONDS = 20
UNIT = "tests/unit/unit"


def read_same(path=SAME):
    """{key: why a fault there changes nothing that anybody sees}"""
    found, key = {}, None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        word, _, value = line.strip().partition(" ")
        if word == "fault":
            key = value.strip()
            found[key] = ""
        elif word == "why" and key:
            found[key] = value.strip()
        elif word and not word.startswith("#"):
            raise ValueError(f"{path}:{number}: what is '{word}'?")
    return found


class Broken:
    """A copy of the tree whose build has all faults, each of them asleep."""

    def __init__(self, copy, folder):
        self.copy = copy
        self.folder = folder
        self.tree = pathlib.Path(copy.directory)
        self.run_file = folder / "run"
        self.sources = []

    @property
    def faults(self):
        return [fault for source in self.sources for fault in source.faults]

    def build(self):
        for command in (("autoreconf", "--install", "--force"),
                        ("./configure", "--quiet", "CFLAGS=-O0 -w"),
                        ("make", "-s", "build-flags", "reasons.inc")):
            self.copy.must(*command)
        words = (self.tree / "build-flags").read_text(encoding="utf-8").split()
        flags = [word for word, before in zip(words, ["", *words])
                 if word.startswith(("-D", "-std=", "-isystem")) or before == "-isystem"]
        flags += [f"-I{self.tree}{below}" for below in ("", "/include", "/src")]
        files = [str(path.relative_to(self.tree))
                 for pattern in FILES for path in sorted(self.tree.glob(pattern))]
        self.sources = places.find(self.tree, files, flags)
        for source in self.sources:
            (self.tree / source.file).write_bytes(source.written())
        self.copy.must("make", "-s", f"-j{os.cpu_count()}", "mod_elastic.la", "elasticd", UNIT)

    # --- what runs what

    def unit(self, suite, **environ):
        """True if the suite passes."""
        status, _ = self.copy.run("timeout", str(UNIT_SECONDS), UNIT, CK_FORK="no",
                                  CK_RUN_SUITE=suite, CK_VERBOSITY="silent", **environ)
        return status == 0

    def record_unit(self):
        suites = sorted({name for path in (self.tree / "tests/unit").glob("*.c")
                         for name in re.findall(r"^CASE\((\w+)", path.read_text(), re.M)})
        found = {}
        for suite in suites:
            self.run_file.write_bytes(bytes(65536))
            if self.unit(suite, EL_FAULTS_RUN=str(self.run_file)):
                found[suite] = [n for n, ran in enumerate(self.run_file.read_bytes()) if ran]
            else:
                print(f"left out: unit tests of {suite}: they fail without a fault")
        return found

    def record_httpd(self, words):
        self.pytest(("-q", *words), EL_FAULTS_RECORD=str(self.folder / "record")).wait()
        found = {}
        for path in self.folder.glob("record.*.json"):
            found.update(json.loads(path.read_text()))
        return found

    def pytest(self, options, **environ):
        """Starts the tests against httpd. Their output is in a file of the folder."""
        name = hashlib.sha1(repr((options, environ)).encode()).hexdigest()[:8]
        with open(self.folder / f"pytest-{name}.log", "w", encoding="utf-8") as log:
            return subprocess.Popen(
                ["scripts/lib/httpd-tests", ".", "-p", "mutantkit.plugin", *options],
                cwd=self.tree, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                env={**os.environ, "ELASTIC_LIMIT": "86400",
                     "PYTHONPATH": str(ROOT / "scripts"), **environ})


class Server:
    """A pytest that has collected all tests, and runs chosen ones with a chosen fault."""

    def __init__(self, broken, number, tests):
        path = broken.folder / f"socket{number}"
        path.unlink(missing_ok=True)
        files = sorted({test.partition("::")[0] for test in tests})
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
            listening.listen(1)
            listening.settimeout(120)
            self.process = broken.pytest(("-q", *files), EL_FAULTS_SOCKET=str(path),
                                         ELASTIC_JOBS="0")
            self.link, _ = listening.accept()
        self.lines = self.link.makefile()

    def ask(self, fault, tests, seconds):
        """The test that fails, None, "too long" or "died"."""
        job = json.dumps({"fault": fault, "tests": tests, "seconds": seconds})
        self.link.sendall(job.encode() + b"\n")
        return json.loads(self.lines.readline())

    def stop(self):
        self.lines.close()
        self.link.close()
        self.process.wait(timeout=60)


class Judge:
    """Which tests are asked of a fault, in which order."""

    def __init__(self, unit, httpd, seconds):
        self.suites, self.tests = collections.defaultdict(list), collections.defaultdict(list)
        for suite, faults in unit.items():
            for fault in faults:
                self.suites[fault].append(suite)
        self.took = {test: took for test, (took, _) in httpd.items()}
        for test, (_, faults) in httpd.items():
            for fault in faults:
                self.tests[fault].append(test)
        self.seconds = seconds
        self.kills = collections.Counter()
        self.lock = threading.Lock()

    def chosen(self, fault):
        """Tests of at most `seconds` together: first those that saw faults nearby, then by turns
        from each file the shortest."""
        turn, order = collections.Counter(), []
        for test in sorted(self.tests[fault.number], key=self.took.get):
            file = test.partition("::")[0]
            turn[file] += 1
            near = self.kills[fault.function, test], self.kills[fault.file, test]
            order.append((-near[0], -near[1], turn[file], self.took[test], test))
        chosen, left = [], self.seconds
        for *_, took, test in sorted(order):
            if took <= left:
                chosen.append(test)
                left -= took
        return chosen

    def judge(self, fault, broken, server):
        """(verdict, by what)"""
        for suite in self.suites[fault.number]:
            if not broken.unit(suite, EL_FAULT=str(fault.number)):
                return KILLED, suite
        with self.lock:
            tests = self.chosen(fault)
        if not tests:
            return (SURVIVED, "unit tests only") if self.suites[fault.number] else (NOT_RUN, "")
        for _ in range(3):
            failed = server.ask(fault.number, tests, 30 + 4 * self.seconds)
            if failed is None:
                break
            again = [failed] if failed in tests else tests
            if server.ask(0, again, 30 + 4 * self.seconds) is None:
                with self.lock:
                    self.kills[fault.function, failed] += 1
                    self.kills[fault.file, failed] += 1
                return KILLED, failed
            tests = [test for test in tests if test != failed]  # it fails without a fault, too
        return SURVIVED, f"{len(tests)} of {len(self.tests[fault.number])} tests"


def in_share(fault, share):
    """Each fault is in one of the shares, whatever becomes of the others."""
    number, of = map(int, share.split("/"))
    return int(hashlib.sha1(fault.key.encode()).hexdigest(), 16) % of == number % of


def load_or_record(broken, words):
    path = broken.folder / "runs.json"
    if path.exists():
        return json.loads(path.read_text())
    print("Running the tests, to see which places each one comes by", flush=True)
    runs = {"unit": broken.record_unit(), "httpd": broken.record_httpd(words)}
    path.write_text(json.dumps(runs))
    return runs


def try_all(broken, faults, judge, jobs):
    """[(fault, verdict, by)]"""
    waiting, done, lock = collections.deque(faults), [], threading.Lock()
    answers = (broken.folder / "verdicts.tsv").open("a", encoding="utf-8")

    def work(number):
        server = Server(broken, number, judge.took)
        with contextlib.closing(server.lines), contextlib.suppress(IndexError):
            while True:
                fault = waiting.popleft()
                began = time.monotonic()
                verdict, by = judge.judge(fault, broken, server)
                with lock:
                    done.append((fault, verdict, by))
                    print(f"{verdict:8} {time.monotonic() - began:5.1f} s  {fault.file}:{fault.line}"
                          f" {fault.kind}: {fault.text[:90]}  [{by}]", flush=True)
                    print(verdict, fault.key, by, sep="\t", file=answers, flush=True)
        server.stop()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def print_table(done):
    verdicts = (KILLED, SURVIVED, NOT_RUN, SAME_THING)
    print(f"\n{'file':34}{'faults':>8}" + "".join(f"{name:>10}" for name in verdicts) +
          f"{'survive':>10}")
    for file in [*sorted({fault.file for fault, *_ in done}), "all"]:
        count = collections.Counter(verdict for fault, verdict, _ in done
                                    if file in (fault.file, "all"))
        judged = count.total() - count[SAME_THING]
        share = 100 * (count[SURVIVED] + count[NOT_RUN]) / judged if judged else 0
        print(f"{file:34}{count.total():8}" + "".join(f"{count[name]:10}" for name in verdicts) +
              f"{share:8.1f} %")


def run(options, folder, make_copy):
    """Exits with 0 where at most three of a hundred survive."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / "tree", ignore_errors=True)
    os.chmod(folder, 0o755)
    broken = Broken(make_copy(folder / "tree"), folder)
    print("Building a copy of the tree with all faults", flush=True)
    broken.build()
    same = read_same()
    keys = collections.Counter(fault.key for fault in broken.faults)
    for key in sorted(same.keys() - keys.keys()):
        print(f"FAIL: {SAME.name}: no such fault: {key}")
    runs = load_or_record(broken, options.tests)
    chosen = [fault for fault in broken.faults if in_share(fault, options.share) and
              (not options.words or any(word in fault.key for word in options.words))]
    if not chosen:
        print("FAIL: there is no such fault")
        return 1
    done = [(fault, SAME_THING, same[fault.key]) for fault in chosen if fault.key in same]
    done += try_all(broken, [fault for fault in chosen if fault.key not in same],
                    Judge(runs["unit"], runs["httpd"], options.seconds), options.jobs)
    print_table(done)
    if len(done) < len(chosen):
        print(f"FAIL: {len(chosen) - len(done)} of {len(chosen)} faults have no verdict")
    alive = sum(verdict in (SURVIVED, NOT_RUN) for _, verdict, _ in done)
    return 0 if alive <= 0.03 * len(done) and len(done) == len(chosen) \
        and same.keys() <= keys.keys() else 1
