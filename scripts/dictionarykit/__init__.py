"""The parts of scripts/dictionary: each file uses those above it in this list. codeckit has the
libraries.

failure       what every command may raise
exchange      URLs; one request and its response, within bounds, and what it says of itself
robots        robots.txt
sources       URLs of a file, a sitemap, a page's markup
pieces        what two visits have in common; what of a dictionary is on pages
visit         the pages, as a visitor without cookies gets them, twice
report        what a reader gets, the tables, and what of the network may be shown
state         what is known of the sites, its folder and files, and the configuration made of it
versioned     scripts and styles with a version in their URL -> rules
making        pages -> dictionaries to try, and the best on pages held back
unprivileged  a process that may do nothing, for what comes from the network
httpd         this machine's httpd: its settings, its reload, a visitor whom it takes for a stranger
timer         who renews
change        from one state to another, as a whole
check         the site as a browser gets it
status        the subcommands status and disable
enable        the subcommands enable and renew
cli           the command line
"""
