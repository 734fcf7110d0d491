"""The ways to compress that the experiment load puts to the same visits."""

import dataclasses

from benchkit import plot, setups


@dataclasses.dataclass(frozen=True)
class Leg:
    """A way to compress: a Setup of httpd's, or for a number nginx with gzip of that level."""

    setup: object
    accept: str = "gzip"
    adaptive: bool = False  # whether what it does depends on what it has seen
    pinned: tuple = ()  # the kinds of clients of which an operator might pin it
    colour: str = ""  # of its curve


IDENTITY, DEFAULT, DEFAULT_GZIP = "not compressed", "default", "default, gzip"
# By the rate of ElasticGoal in Mbit/s, for clients of gzip; that of the default is 5.
BY_RATE = {5: DEFAULT_GZIP, 20: "time 20", 100: "time 100"}
LEGS = {
    IDENTITY: Leg(setups.NOTHING, "identity", colour="#777777"),
    "gzip 1": Leg(setups.ours("gzip", 1), pinned=("all", "gzip"), colour=plot.GZIP),
    "mod_deflate 1": Leg(setups.mod_deflate(1)),
    "mod_deflate 6": Leg(setups.mod_deflate(6), colour=plot.IDENTITY),
    "zstd 1": Leg(setups.ours("zstd", 1), "zstd", pinned=("all",)),
    "zstd 4": Leg(setups.ours("zstd", 4), "zstd", pinned=("all",)),
    "br 5": Leg(setups.ours("br", 5), "br", pinned=("all",)),
    DEFAULT: Leg(setups.DEFAULT, setups.ALL_CODINGS, True, colour=plot.KEPT),
    DEFAULT_GZIP: Leg(setups.Setup("Elastic On\n"), "gzip", True),
    **{BY_RATE[rate]: Leg(setups.Setup(f"Elastic On\nElasticGoal time {rate}Mbit/s\n"), "gzip", True)
       for rate in (20, 100)},
    "gzip 3": Leg(setups.ours("gzip", 3), pinned=("all", "gzip")),
    "gzip 6": Leg(setups.ours("gzip", 6), pinned=("all", "gzip")),
    "mod_brotli 5": Leg(setups.mod_brotli(5), "br"),
    "nginx 1": Leg(1, colour=plot.THRESHOLD),
    "nginx 6": Leg(6, colour=plot.BR),
}
