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

from . import Trouble, places

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Where it is decided what is shared, named, sent in part, bounded, and who may see it.
FILES = ("src/httpd/cache/*.c", "src/httpd/response/*.c", "src/httpd/files/*.c",
         "src/httpd/dictionary/*.c", "src/httpd/request/visitor.c", "src/core/decide.c",
         "src/core/dictionary.c", "src/core/entry.c", "src/core/etag.c", "src/core/http.c")
SAME = ROOT / "tests/mutants/mechanical"

# All but the first are alive. In part: it survived, and tests that come by it were left unrun for
# want of seconds. Not reached: no test comes by it. Not judged: no test was able to run.
VERDICTS = KILLED, SURVIVED, IN_PART, NOT_REACHED, NOT_JUDGED, SAME_THING = \
    "killed", "survived", "in part", "not reached", "not judged", "the same"

UNIT = "tests/unit/unit"

# Without it what a loop reads behind an array would often be of no consequence.
ENDS_BEYOND_ARRAYS = "-fsanitize=bounds-strict -fsanitize-undefined-trap-on-error"

# Seconds that a suite may take, most of which need less than one; that a test against
# httpd may take in addition to so many times its usual time; until a pytest has collected all tests.
SUITE_SECONDS, TEST_SECONDS, LONGER, START_SECONDS = 30, 20, 10, 600


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
            raise Trouble(f"{path}:{number}: what is '{word}'?")
    return found


class Broken:
    """A copy of the tree whose build has all faults, each of them asleep, and one whose unit tests
    run under sanitizers: they see what lies outside of an array."""

    def __init__(self, make_copy, folder):
        for name in ("tree", "sanitized"):
            shutil.rmtree(folder / name, ignore_errors=True)
        self.copy, self.sanitized = make_copy(folder / "tree"), make_copy(folder / "sanitized")
        self.folder = folder
        self.tree = folder / "tree"
        self.run_file = folder / "run"
        self.sources = []

    @property
    def faults(self):
        return [fault for source in self.sources for fault in source.faults]

    def build(self):
        for copy, *options in ((self.copy, f"CFLAGS=-O0 -w {ENDS_BEYOND_ARRAYS}"),
                               (self.sanitized, "CFLAGS=-O1 -g -w", "--enable-asan",
                                "--enable-ubsan")):
            for command in (("autoreconf", "--install", "--force"),
                            ("./configure", "--quiet", *options),
                            ("make", "-s", "build-flags", "reasons.inc")):
                copy.must(*command)
        words = (self.tree / "build-flags").read_text(encoding="utf-8").split()
        flags = [word for word, before in zip(words, ["", *words])
                 if word.startswith(("-D", "-std=", "-isystem")) or before == "-isystem"]
        flags += [f"-I{self.tree}{below}" for below in ("", "/include", "/src")]
        files = [str(path.relative_to(self.tree))
                 for pattern in FILES for path in sorted(self.tree.glob(pattern))]
        self.sources = places.find(self.tree, files, flags)
        for source in self.sources:
            for copy in (self.copy, self.sanitized):
                (copy.directory / source.file).write_bytes(source.written())
        jobs = f"-j{os.cpu_count()}"
        self.copy.must("make", "-s", jobs, "mod_elastic.la", "elasticd")
        self.sanitized.must("make", "-s", jobs, UNIT)

    # --- what runs what

    def unit(self, suite, **environ):
        """True if the suite passes."""
        status, _ = self.sanitized.run("timeout", str(SUITE_SECONDS), UNIT, CK_FORK="no",
                                       CK_RUN_SUITE=suite, CK_VERBOSITY="silent", **environ)
        return status == 0

    def record_unit(self):
        """{suite: faults}, the fastest suite first"""
        suites = sorted({name for path in (self.tree / "tests/unit").glob("*.c")
                         for name in re.findall(r"^CASE\((\w+)", path.read_text(), re.M)})
        found, took = {}, {}
        for suite in suites:
            self.run_file.write_bytes(bytes(65536))
            began = time.monotonic()
            if self.unit(suite, EL_FAULTS_RUN=str(self.run_file)):
                found[suite] = [n for n, ran in enumerate(self.run_file.read_bytes()) if ran]
                took[suite] = time.monotonic() - began
            else:
                print(f"left out: unit tests of {suite}: they fail without a fault", flush=True)
        return {suite: found[suite] for suite in sorted(found, key=took.get)}

    def record_httpd(self, words):
        """{test: [seconds, faults, whether it passed]}"""
        for path in self.folder.glob("record.*"):
            path.unlink()
        status = self.pytest(("-q", *words), EL_FAULTS_RECORD=str(self.folder / "record")).wait()
        found = {}
        for path in self.folder.glob("record.*.json"):
            found.update(json.loads(path.read_text()))
        if status not in (0, 1, 5):  # passed, failed, and none chosen by `words`
            raise Trouble(f"the tests against httpd ended with {status}: see {self.folder}")
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

    def __init__(self, broken, number, took):
        path = broken.folder / f"socket{number}"
        path.unlink(missing_ok=True)
        self.took = took
        files = sorted({test.partition("::")[0] for test in took})
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
            listening.listen(1)
            listening.settimeout(START_SECONDS)
            self.process = broken.pytest(("-q", *files), EL_FAULTS_SOCKET=str(path),
                                         ELASTIC_JOBS="0")
            self.link, _ = listening.accept()
        self.lines = self.link.makefile()

    def ask(self, fault, tests):
        """(how many tests passed, the next one, which failed, or None, whether it took too long)"""
        limits = [TEST_SECONDS + LONGER * self.took[test] for test in tests]
        job = json.dumps({"fault": fault, "tests": tests, "limits": limits})
        self.link.sendall(job.encode() + b"\n")
        answer = json.loads(self.lines.readline())
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer["passed"], answer["failed"], answer["late"]

    def stop(self):
        self.lines.close()
        self.link.close()
        self.process.wait(timeout=60)

    def kill(self):
        self.lines.close()
        self.link.close()
        self.process.terminate()


class Judge:
    """Which tests are asked of a fault, in which order."""

    def __init__(self, unit, httpd, seconds):
        self.suites, self.tests = collections.defaultdict(list), collections.defaultdict(list)
        for suite, faults in unit.items():
            for fault in faults:
                self.suites[fault].append(suite)
        self.took = {test: took for test, (took, _, passed) in httpd.items() if passed}
        for test in self.took:
            for fault in httpd[test][1]:
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
        """(verdict, by what). A test kills if it fails with the fault and passes without it, alone.
        One that takes too long must do so twice, because the machine may have been busy."""
        suites, environ = self.suites[fault.number], {"EL_FAULT": str(fault.number)}
        failed = []
        for suite in suites:
            if not broken.unit(suite, **environ):
                if broken.unit(suite) and not broken.unit(suite, **environ):
                    return KILLED, suite
                failed.append(suite)
        with self.lock:
            tests = self.chosen(fault)
        passed, covering, left = 0, len(self.tests[fault.number]), tests
        while left:
            ran, test, late = server.ask(fault.number, left)
            passed += ran
            if test is None:
                break
            sure = ran == 0 and not late
            if server.ask(0, [test])[0] and (sure or not server.ask(fault.number, [test])[0]):
                with self.lock:
                    self.kills[fault.function, test] += 1
                    self.kills[fault.file, test] += 1
                return KILLED, test
            left = left[ran + 1:]  # that test fails without a fault, too
        return self.say_alive(suites, failed, passed, covering)

    @staticmethod
    def say_alive(suites, failed, passed, covering):
        """What survives says how many of the tests that come by it have not judged it."""
        ran = f"{len(suites) - len(failed)} of {len(suites)} suites, {passed} of {covering} tests"
        if not suites and not covering:
            return NOT_REACHED, ""
        if not passed and len(suites) == len(failed):
            return NOT_JUDGED, ran
        return (IN_PART if failed or passed < covering else SURVIVED), ran


def in_share(fault, share):
    """Each fault is in one of the shares, whatever becomes of the others."""
    number, of = map(int, share.split("/"))
    return int(hashlib.sha1(fault.key.encode()).hexdigest(), 16) % of == number % of


def numbers_now(old_keys, keys):
    """For each fault of an earlier run the numbers that it has now: its own, and those of all new
    faults in its function."""
    new = collections.defaultdict(list)
    for key in keys.keys() - old_keys:
        new[key.partition(":")[0]].append(keys[key])
    return [[*new[key.partition(":")[0]], *([keys[key]] if key in keys else [])]
            for key in old_keys]


def load_or_record(broken, words):
    """Which faults each test comes by. Tests against httpd that have not changed since the last run
    are not run again; faults are kept by their keys, because numbers change with the sources."""
    path, keys = broken.folder / "runs.json", {fault.key: fault.number for fault in broken.faults}
    files = {file.name: hashlib.sha1(file.read_bytes()).hexdigest()
             for file in sorted((broken.tree / "tests/httpd").glob("test_*.py"))}
    old = json.loads(path.read_text()) if path.exists() else {}
    if old.get("words") != words:
        old = {"files": {}, "httpd": {}, "keys": []}
    stale = [file for file, digest in files.items() if old["files"].get(file) != digest]
    numbers = numbers_now(old["keys"], keys)
    httpd = {test: [took, sorted({n for was in faults for n in numbers[was - 1]}), passed]
             for test, (took, faults, passed) in old["httpd"].items()
             if test.partition("::")[0] in files.keys() - stale}
    print(f"Running the tests, to see which places each one comes by: those of {len(stale)} files",
          flush=True)
    if stale:
        httpd.update(broken.record_httpd([*words, *stale]))
        path.write_text(json.dumps({"words": words, "keys": list(keys), "files": files,
                                    "httpd": httpd}))
    for test, (_, _, passed) in sorted(httpd.items()):
        if not passed:
            print(f"left out: {test}: it fails without a fault")
    return broken.record_unit(), httpd


def try_all(broken, faults, judge, jobs):
    """[(fault, verdict, by)]"""
    waiting, done, lock = collections.deque(faults), [], threading.Lock()
    answers = (broken.folder / "verdicts.tsv").open("a", encoding="utf-8")

    def say(fault, verdict, by, began):
        with lock:
            done.append((fault, verdict, by))
            print(f"{verdict:8} {time.monotonic() - began:5.1f} s  {fault.file}:{fault.line}"
                  f" {fault.kind}: {fault.text[:90]}  [{by}]", flush=True)
            print(verdict, fault.key, by, sep="\t", file=answers, flush=True)

    def work(number):
        server = None
        with contextlib.suppress(IndexError):
            while True:
                fault, began = waiting.popleft(), time.monotonic()
                try:
                    server = server or Server(broken, number, judge.took)
                    say(fault, *judge.judge(fault, broken, server), began)
                except (OSError, ValueError) as error:
                    say(fault, NOT_JUDGED, repr(error), began)
                    if server:
                        server.kill()
                    server = None
        if server:
            server.stop()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(jobs)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    finally:
        waiting.clear()  # an interrupt waits only for the faults at hand
    return done


def alive_and_judged(done):
    count = collections.Counter(verdict for _, verdict, _ in done)
    judged = count.total() - count[SAME_THING]
    return judged - count[KILLED], judged


def print_table(done):
    print(f"\n{'file':34}{'faults':>8}" + "".join(f"{name:>12}" for name in VERDICTS) +
          f"{'alive':>10}")
    for file in [*sorted({fault.file for fault, *_ in done}), "all"]:
        chosen = [entry for entry in done if file in (entry[0].file, "all")]
        count = collections.Counter(verdict for _, verdict, _ in chosen)
        alive, judged = alive_and_judged(chosen)
        print(f"{file:34}{len(chosen):8}" + "".join(f"{count[name]:12}" for name in VERDICTS) +
              f"{100 * alive / max(1, judged):8.1f} %")


def check_same(broken):
    """{key: why} of the faults that change nothing, each of which must exist."""
    same = read_same()
    missing = sorted(same.keys() - {fault.key for fault in broken.faults})
    problems = [f"no such fault: {key}" for key in missing]
    problems += [f"no reason: {key}" for key, why in same.items() if not why]
    if problems:
        raise Trouble("\n  ".join([f"{SAME.relative_to(ROOT)}:", *problems]))
    return same


def run(options, folder, make_copy):
    """Exits with 0 if at most three of a hundred are alive."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.chmod(folder, 0o755)
    broken = Broken(make_copy, folder)
    print("Building a copy of the tree with all faults", flush=True)
    broken.build()
    same = check_same(broken)
    chosen = [fault for fault in broken.faults if in_share(fault, options.share) and
              (not options.words or any(word in fault.key for word in options.words))]
    if not chosen:
        raise Trouble("there is no such fault")
    judge = Judge(*load_or_record(broken, options.tests), options.seconds)
    print(f"Trying {len(chosen)} of {len(broken.faults)} faults", flush=True)
    done = [(fault, SAME_THING, same[fault.key]) for fault in chosen if fault.key in same]
    done += try_all(broken, [fault for fault in chosen if fault.key not in same], judge,
                    options.jobs)
    print_table(done)
    alive, judged = alive_and_judged(done)
    return 0 if alive <= 0.03 * judged else 1
