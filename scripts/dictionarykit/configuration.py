"""The lines for httpd's configuration."""

import re
import typing

from dictionarykit import files, httpd

LIFETIME = 30 * 24 * 3600  # seconds; those who come once a month have it still

HEAD = """\
# By elastic-dictionary, for {site}. It writes this file anew;
# `elastic-dictionary disable` removes it.
<IfModule elastic_module>
"""

END = """\
</IfModule>
"""

HEADERS = """\
<IfModule !headers_module>
    LoadModule headers_module {path}
</IfModule>
"""

STORE = """\
ElasticDictionaryStore "{store}"
"""

# The alias has the names themselves, so that it hides nothing else of any site, and comes before
# what sends requests to a backend. Who has the dictionary need not be told of it, which would take
# 80 bytes of each page; pages vary by that field anyway, and other responses shall not.
SITE = """\
<IfModule proxy_module>
    ProxyPassMatch "^{url}({names})$" "!"
</IfModule>
AliasMatch "^{url}({names})$" "{folder}/$1"
<Directory "{folder}">
    <Files "{pattern}">
        Require all granted
        ForceType text/plain
        ElasticPrecompressed On
        ElasticDictionary match="/*" match-dest="document"
        Header set Cache-Control "public, max-age={lifetime}"
        Header unset Set-Cookie
        Header always unset Set-Cookie
    </Files>
</Directory>
<If "%{{HTTP_HOST}} =~ m#^{host}(:[0-9]+)?$#i \
&& req_novary('Available-Dictionary') != '{held}'">
    ElasticDictionaryLink "{url}{name}"
</If>
"""

VERSIONED = """\
<LocationMatch "{location}">
    ElasticDictionary match="{match}" match-dest="{dest}"
{lifetime}</LocationMatch>
"""

SET_LIFETIME = """\
    Header setifempty Cache-Control "public, max-age={lifetime}"{condition}
"""


class Site(typing.NamedTuple):
    """What the configuration of a site is made of."""

    site: str  # its URL
    host: str
    folder: str  # of its dictionaries
    url: str  # path of the dictionaries on the site
    store: str = ""  # to be set; "": it is set elsewhere
    load_headers: bool = False


def of_rule(rule):
    lifetime = ""
    if not rule.has_lifetime:
        condition = f' "expr=%{{QUERY_STRING}} =~ /{rule.query}/"' if rule.query else ""
        lifetime = SET_LIFETIME.format(lifetime=LIFETIME, condition=condition)
    return VERSIONED.format(location=rule.location, match=rule.match, dest=rule.dest,
                            lifetime=lifetime)


def text_of(site, names, held, rules):
    """`names` of dictionaries, of which documents name the first to whom has not sent `held`, its
    Available-Dictionary; rules of versioned files."""
    whole = HEAD.format(site=site.site)
    if site.load_headers:
        whole += HEADERS.format(path=httpd.HEADERS_MODULE)
    if site.store:
        whole += STORE.format(store=site.store)
    whole += SITE.format(
        url=site.url, names="|".join(map(re.escape, names)), folder=site.folder,
        pattern=files.PATTERN, lifetime=LIFETIME, host=re.escape(site.host), name=names[0],
        held=held)
    return whole + "".join(map(of_rule, rules)) + END
