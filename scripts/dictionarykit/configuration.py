"""The lines for httpd's configuration."""

from dictionarykit import files

LIFETIME = 30 * 24 * 3600  # seconds; those who come once a month have it still

SERVER = """\
# Once, outside of all virtual hosts; the folder belongs to httpd's user, with mode 700:
ElasticDictionaryStore "{store}"
"""

SITE = """\
Alias "{url}" "{folder}/"
<Directory "{folder}">
    <Files "{pattern}">
        Require all granted
        ForceType text/plain
        ElasticPrecompressed On
        ElasticDictionary match="{match}" match-dest="document"
        Header set Cache-Control "public, max-age={lifetime}"
    </Files>
</Directory>
ElasticDictionaryLink "{url}{name}"
"""


def server(options):
    return SERVER.format(store=options.store)


def site(options, name):
    """Where the site is configured; `name` is the dictionary that documents lead to."""
    return SITE.format(url=options.url, folder=options.out, pattern=files.PATTERN,
                       match=options.match, lifetime=LIFETIME, name=name)
