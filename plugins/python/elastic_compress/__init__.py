"""Compression for WSGI and ASGI applications that takes the effort which elasticd publishes.

    from elastic_compress import ElasticWSGI
    application = ElasticWSGI(application)

See docs/manual/elasticd.md of mod_elastic.
"""

from .asgi import ElasticASGI
from .position import Follower
from .wsgi import ElasticWSGI

__all__ = ["ElasticASGI", "ElasticWSGI", "Follower"]
