"""Fixtures of the tests against a real httpd: a plugin of pytest.

httpd          function: httpd(config, **kw) starts a Server for one test
httpd_shared   the same for a whole module; make it a module-scoped fixture of your own:

                   @pytest.fixture(scope="module")
                   def server(httpd_shared):
                       return httpd_shared("Elastic On", files={...})

origin         session: a scriptable origin server, see kit/origin.py
driven         function: driven(config, **kw) starts one whose load is scripted, see kit/driven.py
way            module: each way that adds our filter to a chain, see kit/neighbours.py
protocol       the protocol to use; see the marker `protocols` and ELASTIC_PROTOCOLS. The server
               needs tls=True, h2=True

After every test the error logs of all servers are read. A line that the test did not announce with
server.expect_log(pattern) fails it. `start=False` makes a server without starting it, for
configtest().
"""

import functools

import pytest

from . import driven as driven_kit
from . import elsewhere, env, faults, messages, neighbours
from .origin import Origin
from .process import need
from .server import Server

_servers = []  # servers whose logs have not been checked yet

# The parameter of tests that have no protocol to run on; such tests are deselected.
_NOWHERE = "nowhere"


def pytest_configure(config):
    config.pluginmanager.register(messages)


def pytest_generate_tests(metafunc):
    if "protocol" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("protocols")
        names = env.protocols(None if marker is None else marker.args)
        metafunc.parametrize("protocol", names or [_NOWHERE])


@functools.cache
def _left_out():
    possible = {"dcb": env.HAS_DCB, "debian": env.IS_DEBIAN, "root": env.IS_ROOT,
                "network": elsewhere.possible(), "unsanitized": not env.PRELOAD,
                "buckets": faults.reach_apr_util()}
    return [name for name, here in possible.items() if not here]


def pytest_terminal_summary(terminalreporter):
    names = [*_left_out(), *(f"package {name}" for name in sorted(env.LACKING))]
    if names:
        terminalreporter.line(f"left out here, by their markers: {', '.join(names)}")


def pytest_collection_modifyitems(config, items):
    def runs(item):
        if any(map(item.get_closest_marker, _left_out())):
            return False
        if any(marker.args[0] in env.LACKING for marker in item.iter_markers("package")):
            return False
        return getattr(item, "callspec", None) is None or \
            item.callspec.params.get("protocol") != _NOWHERE

    # Slow files first, so that no worker starts one when the others have finished.
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
    dropped = [item for item in items if not runs(item)]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if runs(item)]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keeps the tests of a file that share a server together; other tests go to any free worker."""
    from xdist.scheduler import LoadScopeScheduling

    @functools.cache
    def shares(file):
        text = (config.rootpath / file).read_text()
        return "httpd_shared" in text or 'scope="module"' in text

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            return file if shares(file) else nodeid

    return Scheduling(config, log)


def _need(elastic):
    if elastic and not env.MODULE:
        pytest.skip("ELASTIC_MODULE does not name a mod_elastic.so")
    need(env.HTTPD, "apache2-bin")
    need("curl")
    need("openssl")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if env.NO_SKIP and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be: {call.excinfo.value}"


@pytest.fixture(autouse=True)
def _checked_logs():
    """Reads every server's log after each test; set up first, so that it runs last."""
    yield
    complaints = {server.root: server.complaints() for server in _servers}
    for server in [server for server in _servers if not server.is_running()]:
        _servers.remove(server)
        server.remove()
    for root, lines in complaints.items():
        assert not lines, f"unexpected lines in the log of {root}:\n" + "\n".join(lines)


def _factory(made):
    def make(config="Elastic On", start=True, **kw):
        _need(kw.get("elastic", True))
        server = Server(config, **kw)
        if start:
            try:
                server.start()
            except Exception:
                server.remove()
                raise
        made.append(server)
        _servers.append(server)
        return server

    return make


@pytest.fixture
def httpd(_checked_logs):
    made = []
    yield _factory(made)
    for server in made:
        server.stop()


@pytest.fixture(scope="module")
def httpd_shared():
    made = []
    yield _factory(made)
    complaints = []
    for server in made:  # each of them, before any may fail the test
        server.stop()
        complaints += [f"{server.root}: {line}" for line in server.complaints()]
        _servers[:] = [other for other in _servers if other is not server]
        server.remove()
    assert not complaints, "unexpected lines at the end:\n" + "\n".join(complaints)


@pytest.fixture
def driven(httpd):
    return functools.partial(driven_kit.start_driven, httpd)


@pytest.fixture(**neighbours.EACH_WAY)
def way(request):
    return request.param


@pytest.fixture(scope="session")
def origin():
    server = Origin()
    yield server
    server.stop()
