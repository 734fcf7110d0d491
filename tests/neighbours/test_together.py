"""All modules that go together in one server, beside ours."""

from kit import env
from kit.server import StartFailed

import asked
import beside
import modules

# What must be answered for a module to stay among them.
_PAGES = [ask for ask in asked.ASKS if ask.name in ("static, large", "script", "proxied", "POST")]


def together(rows):
    def joined(name):
        return {key: value for row in rows for key, value in getattr(row, name).items()}

    return modules.Near(lines="".join(row.lines for row in rows), files=joined("files"),
                        cgi=joined("cgi"), private=joined("private"),
                        noise="|".join(row.noise for row in rows if row.noise), tls=True, h2=True,
                        asks=tuple(ask for row in rows for ask in row.asks
                                   if not ask.path.startswith("/m/")),
                        with_=tuple(dict.fromkeys(name for row in rows for name in row.names)))


def _serves(rows, origin):
    """Whether the stock modules do with all these."""
    trio = beside.Trio(together(rows), origin, kinds=())
    try:
        trio.start()
        sample = asked.Sample(trio.servers[beside.STOCK])
        return all(sample.ask(ask).status == 200 for ask in _PAGES)
    except StartFailed:
        return False
    finally:
        trio.stop()
        trio.remove()


def _going(rows, origin, good=()):
    """As many as serve, those in `good` among them; halves where not all do."""
    if not rows or _serves([*good, *rows], origin):
        return [*good, *rows]
    if len(rows) == 1:
        return [*good]
    half = len(rows) // 2
    return _going(rows[half:], origin, _going(rows[:half], origin, good))


def test_together(origin, record_property):
    rows = [row for row in modules.rows() if not (row.apart or row.out) and row.mpm == env.MPM]
    going = _going(rows, origin)
    names = sorted(row.name for row in rows if row not in going)
    record_property("module", f"all together, {len(going)} (without {', '.join(names)})")
    assert len(going) > 60
    said = beside.compared(together(going), origin, record_property)
    assert not said, said
