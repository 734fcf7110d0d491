"""scripts/mutants --mechanical: what counts as success, and what a test's process says."""

import os
import signal
import types

import pytest

from mutantkit import Trouble, mechanical, plugin

TEST = "test_a.py::test_a"
NUMBERS = range(1, 11)
# What a server answers of a fault: how many tests passed, which one failed, whether it was late.
KILLED, ALIVE = (0, TEST, False), (1, None, False)


def fault(number):
    return types.SimpleNamespace(number=number, file="src/x.c", line=1, function="f", kind="negated",
                                 text=f"x{number}", key=f"src/x.c f: negated: x{number}")


class Broken:
    """A build with ten faults."""

    faults = [fault(number) for number in NUMBERS]

    def __init__(self, copy, folder):
        self.folder = folder

    def build(self):
        pass


def servers(answers):
    """Servers that give those answers by a fault's number, and break where there is none."""

    class Server:
        def __init__(self, *_):
            pass

        def ask(self, number, tests):
            if number == 0:
                return len(tests), None, False
            if number not in answers:
                raise ValueError("it has ended")
            return answers[number]

        def stop(self):
            pass

        kill = stop

    return Server


ALL = dict.fromkeys(NUMBERS, KILLED)


@pytest.mark.parametrize("answers, words, status, said", [
    (ALL, [], 0, "0.0 %"), ({**ALL, 3: ALIVE}, [], 1, "survived"),
    ({number: ALL[number] for number in NUMBERS if number != 3}, [], 1, "not judged"),
    ({**ALL, 3: ALIVE}, ["x7"], 0, "0.0 %"), (ALL, ["nowhere"], None, "")])
def test_only_verdicts_of_all_faults_are_a_success(monkeypatch, tmp_path, capsys, answers, words,
                                                   status, said):
    monkeypatch.setattr(mechanical, "Broken", Broken)
    monkeypatch.setattr(mechanical, "Server", servers(answers))
    monkeypatch.setattr(mechanical, "read_same", dict)
    monkeypatch.setattr(mechanical, "load_or_record", lambda *_: ({}, {TEST: [1, NUMBERS, True]}))
    options = types.SimpleNamespace(share="0/1", words=words, tests=[], seconds=60, jobs=1)
    if status is None:
        with pytest.raises(Trouble):
            mechanical.run(options, tmp_path, None)
    else:
        assert mechanical.run(options, tmp_path, None) == status
        assert said in capsys.readouterr().out


@pytest.mark.parametrize("does, answer", [
    (lambda service: None, {"passed": 1, "failed": None, "late": False}),
    (lambda service: setattr(service, "failed", TEST),
     {"passed": 0, "failed": TEST, "late": False}),
    (lambda service: os.kill(os.getpid(), signal.SIGKILL),
     {"passed": 0, "failed": TEST, "late": False}),
    (lambda service: signal.pause(), {"passed": 0, "failed": TEST, "late": True})])
def test_a_process_that_says_nothing_has_not_passed(does, answer):
    service = plugin.Service("")
    item = types.SimpleNamespace(
        nodeid=TEST, config=types.SimpleNamespace(hook=types.SimpleNamespace(
            pytest_runtest_protocol=lambda item, nextitem: does(service))),
        session=types.SimpleNamespace(_setupstate=types.SimpleNamespace(
            teardown_exact=lambda _: None)))
    limit = 1 if answer["late"] else 60
    assert service.run_in_child({"fault": 1, "limits": [limit]}, [item]) == answer
