"""The lines for httpd's configuration: one file for all sites, made of their state alone."""

import os

NAME = "elastic-dictionary"  # of the file, without .conf

HEAD = """\
# By elastic-dictionary, which writes this file anew; `elastic-dictionary disable` removes it.
<IfModule elastic_module>
"""

STORE = """\
ElasticDictionaryStore "{store}"
"""

# With its port, so that no other origin of the host has a part in it, such as that of plain http.
SITE = """\
ElasticDictionaryFile "{path}" match="/*" match-dest="document" host="{host}"
"""

VERSIONED = """\
<LocationMatch "{rule.location}">
    ElasticDictionary match="{rule.match}" match-dest="{rule.dest}"
</LocationMatch>
"""

END = """\
</IfModule>
"""


def text_of(state, folder):
    """None: no site has a dictionary."""
    if not state or not state.sites:
        return None
    store = STORE.format(store=state.store) if state.store else ""
    sites = "".join(SITE.format(path=os.path.join(folder, site.dictionary), host=site.host_port)
                    for site in state.sites)
    rules = {VERSIONED.format(rule=rule): None for site in state.sites for rule in site.rules}
    return HEAD + store + sites + "".join(rules) + END
