"""scripts/mutants --mechanical: what counts as success, and what a test's process says."""

import os
import signal
import types

import pytest

from mutantkit import mechanical, plugin


def fault(number):
    return types.SimpleNamespace(number=number, file="src/x.c", line=1, function="f", kind="negated",
                                 text=f"x{number}", key=f"src/x.c f: negated: x{number}")


class Broken:
    """A build with ten faults."""

    def __init__(self, copy, folder):
        self.folder = folder
        self.faults = [fault(number) for number in range(1, 11)]

    def build(self):
        pass

    def record_unit(self):
        return {}

    def record_httpd(self, _):
        return {"test_a.py::test_a": [1, [one.number for one in self.faults]]}


def server(answers):
    """One that gives those answers by a fault's number, and fails at those it has not."""

    class Server:
        def __init__(self, *_):
            self.lines = types.SimpleNamespace(close=lambda: None)

        def ask(self, number, tests, _):
            return None if number == 0 else answers[number]

        def stop(self):
            pass

    return Server


KILLS = dict.fromkeys(range(1, 11), "test_a.py::test_a")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("answers, words, status, said", [
    (KILLS, [], 0, ""), ({**KILLS, 3: None}, [], 1, "survived"), ({**KILLS, 3: "died"}, [], 0, ""),
    ({1: KILLS[1]}, [], 1, "9 of 10 faults have no verdict"),
    (KILLS, ["x7"], 0, ""), (KILLS, ["nowhere"], 1, "there is no such fault")])
def test_only_verdicts_of_all_faults_are_a_success(monkeypatch, tmp_path, capsys, answers, words,
                                                   status, said):
    monkeypatch.setattr(mechanical, "Broken", Broken)
    monkeypatch.setattr(mechanical, "Server", server(answers))
    monkeypatch.setattr(mechanical, "read_same", dict)
    options = types.SimpleNamespace(share="0/1", words=words, tests=[], seconds=60, jobs=1)
    assert mechanical.run(options, tmp_path, lambda folder: None) == status
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("does, answer", [
    (lambda service: None, None), (lambda service: setattr(service, "failed", "test_a"), "test_a"),
    (lambda service: os.kill(os.getpid(), signal.SIGKILL), "died"),
    (lambda service: signal.pause(), "too long")])
def test_a_process_that_says_nothing_has_not_passed(monkeypatch, does, answer):
    service = plugin.Service("")
    item = types.SimpleNamespace(
        config=types.SimpleNamespace(hook=types.SimpleNamespace(
            pytest_runtest_protocol=lambda item, nextitem: does(service))),
        session=types.SimpleNamespace(_setupstate=types.SimpleNamespace(
            teardown_exact=lambda _: None)))
    assert service.run_in_child({"fault": 1, "seconds": 1 if answer == "too long" else 60},
                                [item]) == answer
