"""What the experiments of scripts/bench are made of.

tools      programs and modules, by name, with the package of each that is missing
build      the module under test, built where it is not yet
run        one run: work directory, processes, results; nothing else survives it
progress   how far it is, and how long it will take

packages   Debian packages of web pages, downloaded and unpacked
corpus     the bodies, deterministic, and their composition
web        larger corpora: web files, sites, kinds of files, a page with images
survey     the paper's surveys of live sites, asked here
pages      the user's own pages, from a folder or a list of URLs
codecs     bodies in a coding and back; codeckit has the libraries
identify_encoder  which library made a body

server     private servers on free ports: httpd
nginx      nginx
others     lighttpd, h2o, Caddy, HAProxy, Varnish
setups     ways to compress, and an httpd with one of them
fpm        php-fpm and its pages
handler    pages that httpd itself writes
site       a dynamic site: httpd in front of either, and its log
system_b   elasticd and PHP's plugin in the module's place
controller servers with a mode of the controller, and its trace
limit      a control group with a limit of CPU time
position   the position file, which keeps an effort where an experiment needs it

net        links of a given rate: two network namespaces, or a loopback that is shaped
capture    frames, off an interface
visit      a pipelined visit of a page, captured
download   first byte and whole page through links

http1      responses out of a stream
load       wrk and h2load, closed loops and a fixed rate, their output parsed
arrivals   random arrivals that follow a curve; curves of access logs
clients    an open loop over HTTP/1.1 of clients that give up, or ask again
days       a day's demand, replayed to one server after another
sample     CPU, memory and the module's counters of a server while a load runs
memory     prefork children: one that is idle, and all of them at work
rounds     legs, checked once and then measured in interleaved rounds
streaming  a streamed page, and precompressed siblings
modes      the parts of the experiment of that name
frontier   those of frontier, and of flood
once       those of once
dictionary those of dictionary

stats      medians, percentiles, ratios and their intervals
overhead   what compression costs: CPU beyond that of the same response without it
verdict    whether a finding holds, does not, or cannot be decided, and by which bound
headline   an experiment's question and answer, and how far its figure is like the source's
survival   the largest spike that a server survives
machine    what the figures were measured on
machine_speed  how fast it was meanwhile
plot       matplotlib, set up once
outcome    what an experiment leaves
report     one HTML page of it, by the template report.html, and a JSON beside
svg        plots made small for it
recheck    whether published figures come out again
instructions  what a response takes in httpd, counted by valgrind

An experiment is a module of benchkit.experiments; docs/internals/bench.md says what it has.
"""
