"""The same random requests to this module, in both of its ways, and to the stock modules; each
answer is compared with the identity's."""

import contextlib
import time

from .site import KINDS, MOST, Site, failing, make_origin

# Of how many batches the stock modules get one: what is compared with them is the judge.
STOCK_EVERY = 8


def compare_identities(sites):
    """The bodies as they are must be the same behind all of them."""
    first = sites[0].identities
    for other in sites[1:]:
        for resource in set(first) & set(other.identities):
            if first[resource][:2] != other.identities[resource][:2]:
                yield f"{resource}: the identity of {other.kind} differs"


def _excuse_failures(case, answer, wrong):
    """A failure explains an end that shows, and an error. To HTTP/1.0, where a body
    without a length ends with the connection, no other end can be shown."""
    unshown = case.request.version == "HTTP/1.0" and "cut short" in wrong \
        and not ("Content-Length" in answer.headers or "Transfer-Encoding" in answer.headers)
    if not answer.complete or answer.status >= 400 or unshown:
        return "broken off or refused"
    return None


def run(plan, made):
    excuses = {"stock": lambda *complaint: "stock's complaints"}
    if plan.failing:
        excuses |= {"elastic": _excuse_failures, "drop-in": _excuse_failures}
    with contextlib.ExitStack() as stack:
        memory, options = stack.enter_context(failing(*["memory", "calls"] * bool(plan.failing)))
        origin = stack.enter_context(make_origin())
        # The stock module ends a process where brotli has no memory.
        sites = [stack.enter_context(Site(kind, origin, **options, **plan.options))
                   for kind in KINDS if kind in plan.kinds
                   and not (plan.failing and kind == "stock")]
        memory.share(plan.failing)
        began, number = time.monotonic(), plan.first
        while made.count < plan.count and len(made.failures) < MOST \
                and time.monotonic() - began < plan.seconds:
            for site in sites:
                if site.kind != "stock" or number % STOCK_EVERY == 0:
                    site.ask(plan, made, number, excuses.get(site.kind))
            number += 1
        memory.share(0)
        made.failures += compare_identities(sites)
        for site in sites:
            if site.kind != "stock":
                made.failures += site.troubles()
                made.figures["encoded"] += site.encoded
