"""What clients see of a planted server."""

import math

from benchkit import clients


def of(pairs, patience=1.0, began=0.0, cpu=()):
    """clients.Seen of (at, seconds) of visits; those that took longer than they waited are lost."""
    return clients.Seen(began, [
        clients.Result(clients.Visit(at, "/"), seconds if seconds <= patience else math.inf, 1, 1,
                       0.0) for at, seconds in pairs], list(cpu), patience=patience)
