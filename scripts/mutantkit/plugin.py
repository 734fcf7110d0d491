"""pytest's side of scripts/mutants --mechanical: `-p mutantkit.plugin`.

With EL_FAULTS_RECORD=PREFIX it notes which faults' places each test comes by, in PREFIX.WORKER.json
({test: [seconds, faults, whether it passed]}). With EL_FAULTS_SOCKET it collects once and then
serves. It reads a line {"fault": N, "tests": [...], "limits": [seconds...]}, and answers with
{"passed": N, "failed": TEST or null, "late": whether it took too long}, or with {"error": WHY}. A
child process of its own runs the tests of each line, one after the other.
"""

import contextlib
import json
import mmap
import os
import pathlib
import select
import signal
import socket
import time

import pytest

MOST = 65536  # EL_FAULTS_MOST of fault.h
STOP = 20     # seconds that a test which took too long has for stopping its servers
PASSED = b"."


class Record:
    """Which faults' places each test comes by."""

    def __init__(self, prefix):
        self.file = pathlib.Path(f"{prefix}.{os.environ.get('PYTEST_XDIST_WORKER', 'main')}")
        self.file.write_bytes(bytes(MOST))
        self.file.chmod(0o666)
        self.found, self.failed = {}, set()
        os.environ["EL_FAULTS_RUN"] = str(self.file)
        with self.file.open("r+b") as file:
            self.map = mmap.mmap(file.fileno(), MOST)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        self.map[:] = bytes(MOST)
        began = time.monotonic()
        yield
        faults = [number for number, ran in enumerate(self.map[:]) if ran]
        self.found[item.nodeid] = [time.monotonic() - began, faults,
                                   item.nodeid not in self.failed]

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self):
        self.file.with_name(self.file.name + ".json").write_text(json.dumps(self.found))


class Service:
    """Runs chosen tests with a chosen fault."""

    def __init__(self, path):
        self.path = path
        self.failed = None

    def pytest_runtest_logreport(self, report):
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    def pytest_runtestloop(self, session):
        items = {item.nodeid: item for item in session.items}
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(self.path)
            for line in link.makefile():
                job = json.loads(line)
                unknown = [test for test in job["tests"] if test not in items]
                answer = {"error": f"there is no test {unknown[0]}"} if unknown else \
                    self.run_in_child(job, [items[test] for test in job["tests"]])
                link.sendall(json.dumps(answer).encode() + b"\n")
        return True

    def run_in_child(self, job, items):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            self.be_child(job["fault"], items, writing)
        os.close(writing)
        passed, failed, late = 0, None, False
        for item, limit in zip(items, job["limits"]):
            late = not select.select([reading], [], [], limit)[0]
            if late or os.read(reading, 1) != PASSED:
                failed = item.nodeid
                break
            passed += 1
        self.end(child, reading, late)
        return {"passed": passed, "failed": failed, "late": late}

    @staticmethod
    def end(child, reading, late):
        """Waits for the child, which stops its servers first; the pipe ends with it."""
        for number in (signal.SIGINT, signal.SIGKILL):
            if late:
                os.kill(child, number)
            if select.select([reading], [], [], STOP)[0] and not os.read(reading, 1):
                break
            late = True
        os.waitpid(child, 0)
        os.close(reading)

    def be_child(self, fault, items, writing):
        """Writes a byte for each test."""
        os.environ["EL_FAULT"] = str(fault)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with contextlib.suppress(BaseException):  # also the signal of a test that took too long
            for item, following in zip(items, [*items[1:], None]):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if self.failed:
                    break
                os.write(writing, PASSED)
        with contextlib.suppress(BaseException):
            items[0].session._setupstate.teardown_exact(None)
        os._exit(0)


def pytest_configure(config):
    if "EL_FAULTS_RECORD" in os.environ and not hasattr(config, "workerinput") and \
            getattr(config.option, "numprocesses", None):
        return  # the workers record
    if "EL_FAULTS_RECORD" in os.environ:
        config.pluginmanager.register(Record(os.environ["EL_FAULTS_RECORD"]))
    if "EL_FAULTS_SOCKET" in os.environ:
        config.pluginmanager.register(Service(os.environ["EL_FAULTS_SOCKET"]))
