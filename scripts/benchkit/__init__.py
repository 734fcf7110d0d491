"""The parts of the experiments of scripts/bench.

tools      programs and modules, by name, with the package of each that is missing
build      the module under test, built if it is missing
run        one run: work directory, processes, tables; nothing else survives it

packages   Debian packages of web pages, downloaded and unpacked
corpus     the bodies, deterministic, and their composition
web        larger corpora: web files, sites, a page with images, pieces of a dynamic page
releases   releases of npm packages
codecs     bodies in a coding and back; codeckit has the libraries

server     private servers on free ports: httpd
others     nginx, lighttpd, h2o, Caddy, HAProxy, Varnish
setups     ways to compress, and an httpd with one of them
fpm        php-fpm and its pages
handler    a page that httpd itself writes
site       a dynamic site: servers in front of an application, and their log
beside     the servers of the experiment peers
legs       the ways to compress of the experiments load and gain
regimes    pages at a load, for legs of known capacity
differences  servers with dictionaries, and visits to them
system_b   elasticd and the plugins instead of the module

link       two network namespaces, joined by a link of a given rate
capture    frames of an interface
visit      a pipelined visit of a page, captured

http1      responses from a stream
load       wrk and h2load in a closed loop, their output parsed
arrivals   random arrivals that follow a curve
spikes     a load near capacity, and more for a while
clients    an open loop over HTTP/1.1 of clients that give up or ask again
sample     CPU, memory and the module's counters of a server while a load runs
rounds     legs, checked once and then measured in interleaved rounds

stats      medians, percentiles, ratios and their intervals
overhead   the cost of compression: CPU beyond that of the same response without it
regret     the figures of a leg relative to the best one of its regime, and their tables
findings   a figure with its interval, beside the source's or an aim
machine    the machine and versions of the figures
plot       matplotlib, set up once
results    the files of an experiment
report     one HTML page of them, by the template report.html, and a JSON beside it
readme     README's tables and chart
instructions  the instructions of a response in httpd, counted by valgrind

An experiment is a module of benchkit.experiments; docs/internals/bench.md describes its parts.
"""
