"""The same random requests to this module, in both of its ways, and to the stock modules; each
answer is compared with the identity's."""

import contextlib
import time

from . import cases, outcome
from .failing import failing
from .site import Site, kinds, make_origin
from .target import Target, said

# Of how many batches the stock modules get one: what is compared with them is the judge.
STOCK_EVERY = 8

# Beyond these complaints a server is beyond doubt.
MOST = 30


def compare_identities(targets):
    """The bodies as they are must be the same behind all of them."""
    first = targets[0]
    for other in targets[1:]:
        for resource in set(first.identities) & set(other.identities) - {"PROPFIND"}:
            if first.identities[resource][:2] != other.identities[resource][:2]:
                yield f"{resource}: the identity of {first.name} and of {other.name} differ"


def _is_excused(share, complaint):
    """Whether memory that runs out explains it: an end that shows, or an error. To HTTP/1.0, where a
    body without a length ends with the connection, no other end can be shown."""
    case, answer, wrong = complaint
    unshown = case.request.version == "HTTP/1.0" and "cut short" in wrong \
        and not answer.headers.keys() & {"content-length", "transfer-encoding"}
    return share and (not answer.whole or answer.status >= 500 or unshown)


def run(plan):
    """`plan.failing`: the share of allocations that fail, in percent."""
    with contextlib.ExitStack() as stack:
        origin = make_origin()
        stack.callback(origin.stop)
        memory, options = stack.enter_context(failing(*("memory",) if plan.failing else ()))
        targets = []
        for kind in kinds():
            # The stock module ends a process where brotli has no memory.
            if kind.name not in plan.kinds or (plan.failing and kind.name == "stock"):
                continue
            targets.append(Target(Site(kind, origin, **{**options, **plan.options})))
            stack.callback(targets[-1].site.close)
            stack.callback(targets[-1].close)
        return _compare(plan, targets, memory)


def _compare(plan, targets, memory):
    made = outcome.Outcome()
    began = time.monotonic()
    memory.share(plan.failing)
    number = plan.first
    while plan.goes_on(made.count, began) and len(made.failures) < MOST:
        for target in targets:
            _compare_batch(plan, made, target, number)
        number += 1
    memory.share(0)
    made.seconds = time.monotonic() - began
    made.failures += compare_identities(targets)
    for target in targets:
        if target.name != "stock":
            made.failures += target.site.troubles()
            made.figures["encoded"] += target.encoded()
    return made


def _compare_batch(plan, made, target, number):
    is_stock = target.name == "stock"
    if is_stock and number % STOCK_EVERY:
        return
    # Tags differ from server to server, and so do conditions that are made of them.
    protocol, batch = cases.batch(plan.seed, number, target.judge.seen)
    for complaint in target.ask(protocol, batch):
        if is_stock:
            made.figures["stock's complaints"] += 1
        elif _is_excused(plan.failing, complaint):
            made.figures["broken off or refused"] += 1
        else:
            made.failures.append(said(number, target, protocol, complaint))
    made.count += 0 if is_stock else len(batch)
