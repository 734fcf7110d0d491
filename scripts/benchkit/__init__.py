"""What the experiments of scripts/bench are made of.

tools      programs and modules, by name, with the package of each that is missing
build      the module under test, built where it is not yet
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
regimes    pages at a load, put to legs whose capacity is known
differences  servers with dictionaries, and visits to them
system_b   elasticd and the plugins in the module's place

link       two network namespaces, joined by a link of a given rate
capture    frames, off an interface
visit      a pipelined visit of a page, captured

http1      responses out of a stream
load       wrk and h2load in a closed loop, their output parsed
arrivals   random arrivals that follow a curve
spikes     a load near capacity, and more for a while
clients    an open loop over HTTP/1.1 of clients that give up, or ask again
sample     CPU, memory and the module's counters of a server while a load runs
rounds     legs, checked once and then measured in interleaved rounds

stats      medians, percentiles, ratios and their intervals
overhead   what compression costs: CPU beyond that of the same response without it
regret     what a leg takes to the best one of its regime, and the tables of it
findings   a figure with its interval, beside the source's or an aim
machine    what the figures were measured on
plot       matplotlib, set up once
results    what an experiment leaves
report     one HTML page of it, by the template report.html, and a JSON beside
readme     README's tables and chart
instructions  what a response takes in httpd, counted by valgrind

An experiment is a module of benchkit.experiments; docs/internals/bench.md says what it has.
"""
