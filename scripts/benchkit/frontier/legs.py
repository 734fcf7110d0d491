"""Ways to compress, and a server for each: the default, modes, pinned setups, and other modules."""

import dataclasses

from benchkit import fpm, nginx, server, setups, tools

DEFAULT, MODES, PINNED, OTHERS, NONE = "default", "modes", "pinned", "others", "none"

# What browsers send; and clients that know gzip alone, as many behind proxies.
ACCEPT = {"all": "gzip, deflate, br, zstd", "gzip": "gzip"}

# The ranges of ElasticLevel's defaults: what is above them is made for files compressed once.
LEVELS = {"gzip": range(1, 10), "br": range(0, 7), "zstd": range(1, 10)}
# The default is ElasticGoal time.
SETTINGS = {"step": "ElasticControl step\n", "mix": "ElasticControl mix\n"}

# A response waits for no worker but those of PHP: with httpd's own few, it would be those that an
# overload is measured by.
THREADS = 64
SNIPPET = """
ListenBacklog 4096
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
<Directory {site}>
    Options +Includes
</Directory>
"""
MODULES = (*fpm.MODULES, "include")

NGINX = """
        location ~ \\.php$ {{
            fastcgi_pass unix:{socket};
            fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
            fastcgi_param QUERY_STRING $query_string;
            fastcgi_param REQUEST_METHOD $request_method;
            fastcgi_buffers 32 8k;
        }}
        location ~ \\.shtml$ {{
            types {{ text/html shtml; }}
            ssi on;
        }}
        gzip on;
        gzip_comp_level {level};
"""


@dataclasses.dataclass(frozen=True)
class Leg:
    """One way to compress."""

    name: str
    family: str
    setup: setups.Setup | None = None
    nginx_level: int = 0
    codings: tuple = ("gzip",)  # one of which its responses have; "" for none
    clients: tuple = ("all", "gzip")  # kinds of clients that get just this
    adaptive: bool = False  # whether what it does depends on what it has seen

    @property
    def accept(self):
        return ACCEPT[self.clients[0]]

    def serve(self, run, site):
        """Its server, started."""
        folder = run.new_name("server")
        if self.nginx_level:
            made = nginx.Nginx(run, folder, NGINX.format(
                socket=fpm.socket_of(run), level=self.nginx_level), site=site.folder)
        else:
            made = self.setup.serve(run, folder, site.snippet + SNIPPET, MODULES,
                                    site=site.folder, threads=THREADS)
        made.start()
        made.helpers = site.helpers
        return made


def mode(name, clients="all"):
    """This module with SETTINGS; by default without any further line."""
    settings = "" if name == "default" else SETTINGS[name]
    return Leg(name if clients == "all" else f"{name}, gzip", MODES if settings else DEFAULT,
               setups.Setup(f"Elastic On\n{settings}"),
               codings=tuple(LEVELS) if clients == "all" else ("gzip",), clients=(clients,),
               adaptive=True)


def pinned(coding, level):
    clients = ("all", "gzip") if coding == "gzip" else ("all",)
    return Leg(f"{coding} {level}", PINNED, setups.ours(coding, level), codings=(coding,),
               clients=clients)


def stock(level):
    return Leg(f"mod_deflate {level}", OTHERS, setups.mod_deflate(level))


def brotli(level):
    return Leg(f"mod_brotli {level}", OTHERS, setups.mod_brotli(level), codings=("br",),
               clients=("all",))


def of_nginx(level):
    return Leg(f"nginx {level}", OTHERS, nginx_level=level)


IDENTITY = Leg("not compressed", NONE, setups.NOTHING, codings=("",))


def all_legs():
    """Every leg that there is."""
    found = [mode("default"), mode("default", "gzip"), IDENTITY]
    found += [mode(name, clients) for clients in ACCEPT for name in SETTINGS]
    found += [pinned(coding, level) for coding, levels in LEVELS.items() for level in levels]
    found += [make(level) for make in (stock, brotli, of_nginx) for level in range(1, 10)]
    return [*found, brotli(0)]


def chosen(names):
    """The legs of these names, in their order."""
    by_name = {leg.name: leg for leg in all_legs()}
    return [by_name[name] for name in names]


def serve_all(run, site, legs):
    """({name: (leg, server)} of all that can be had here, notes on the others)."""
    codings = {"gzip", *server.built_in(run, "br", "zstd")}
    made, notes = {}, []
    for leg in legs:
        try:
            if leg.family == PINNED and leg.codings[0] not in codings:
                raise tools.BenchError(f"the module has no {leg.codings[0]} built in")
            made[leg.name] = leg, leg.serve(run, site)
        except tools.BenchError as problem:
            if leg.family in (DEFAULT, NONE):
                raise
            notes.append(f"{leg.name}: {problem}")
    return made, notes
