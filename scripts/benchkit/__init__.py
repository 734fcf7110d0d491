"""The kit that every experiment of scripts/bench stands on.

tools     programs and modules, by name, with the package of each that is missing
build     the module under test, built where it is not yet
run       one run: work directory, processes, results; nothing else survives it
progress  how far it is, and how long it will take

packages  Debian packages of web pages, downloaded and unpacked
corpus    the bodies, deterministic
web       larger corpora: web files, sites, a page with images; and their composition
pages     the user's own pages, from a folder or a list of URLs

server    private servers on free ports: httpd
nginx     nginx
fpm       php-fpm and its pages
handler   pages that httpd itself writes
site      a dynamic site: httpd in front of either, and its log
codecs    compression libraries called directly
guess     which library made a body

link      a private network namespace whose loopback has an Ethernet's MTU and rate
net       two network namespaces joined by veth
capture   frames, off an interface
visit     a program: a pipelined visit of a page, captured; visitor keeps it running
download  first byte and whole page through links

load      wrk (closed loop) and h2load (also open loop), their output parsed
arrivals  random arrivals that follow a curve; curves of access logs
replay    arrivals sent to a server, an open loop
sample    CPU, memory and the module's counters of a server while a load runs
rounds    legs, checked once and then measured in interleaved rounds
beyond    what compression costs beyond the same response without it
asides    what peers measures beside its sizes
memory    prefork children: one that is idle, and all of them at work
position  the position file, which holds an effort where an experiment wants it
modes     the parts of the experiment of that name

stats     medians, percentiles, ratios and their intervals
verdict   whether a finding holds, does not, or cannot be told
machine   what the figures were measured on
pace      how fast it was meanwhile
plot      matplotlib, set up once
outcome   what an experiment leaves
report    one HTML page of it
agreement how far the verdicts of two runs agree

An experiment is a module of benchkit.experiments; docs/internals/bench.md says what it has.
"""
