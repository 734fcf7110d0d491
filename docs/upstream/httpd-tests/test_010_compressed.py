import gzip
import os

import pytest

from pyhttpd.conf import HttpdConf

# What a client may rely on that keeps compressed responses: their ETag yields 304, the 304 says
# which response it is about, HEAD says what GET says, and a range fits to what was sent before.
# The configuration is that of conf/httpd.conf.template: AddOutputFilterByType DEFLATE text/plain.


class TestCompressed:

    BODY = "".join(f"line {i} of a text\n" for i in range(2000))

    @pytest.fixture(autouse=True, scope='class')
    def _class_scope(self, env):
        docs = os.path.join(env.server_docs_dir, "test1")
        os.makedirs(docs, exist_ok=True)
        with open(os.path.join(docs, "compressed.txt"), "w") as fd:
            fd.write(self.BODY)
        # An age makes the ETag a strong one.
        os.utime(os.path.join(docs, "compressed.txt"), (1000000000, 1000000000))
        brotli = ""
        if env.has_shared_module("brotli"):
            brotli = f"""
            <IfModule !brotli_module>
                LoadModule brotli_module "{env.libexec_dir}/mod_brotli.so"
            </IfModule>
            """
        conf = HttpdConf(env, extras={
            'base': brotli,
            f"test1.{env.http_tld}": """
            <Location "/set/">
                SetOutputFilter DEFLATE
            </Location>
            Alias "/set" "${DOCS}"
            """.replace("${DOCS}", docs),
        })
        conf.add_vhost_test1()
        conf.install()
        assert env.apache_restart() == 0

    def ask(self, env, path="/compressed.txt", coding="gzip", options=None, **fields):
        args = list(options or [])
        if coding:
            args += ["-H", f"Accept-Encoding: {coding}"]
        for name, value in fields.items():
            args += ["-H", f"{name.replace('_', '-')}: {value}"]
        r = env.curl_get(env.mkurl("http", "test1", path), options=args)
        assert r.exit_code == 0, f"{r}"
        return r.response

    def coding(self, response):
        return response["header"].get("content-encoding")

    @pytest.fixture()
    def kept(self, env):
        """A compressed response, as a client keeps it."""
        response = self.ask(env)
        assert response["status"] == 200
        assert self.coding(response) == "gzip"
        return response

    def test_filters_010_01_compressed(self, kept):
        assert gzip.decompress(kept["body"]).decode() == self.BODY
        assert "accept-encoding" in kept["header"]["vary"].lower()

    # The two representations have different ETags, and the plain one has Vary too.
    def test_filters_010_02_plain(self, env, kept):
        plain = self.ask(env, coding=None)
        assert plain["status"] == 200
        assert self.coding(plain) is None
        assert plain["body"].decode() == self.BODY
        assert "accept-encoding" in plain["header"]["vary"].lower()
        assert plain["header"]["etag"] != kept["header"]["etag"]

    # The ETag of the compressed response yields 304, alone, weak, or in a list. PR 45023
    @pytest.mark.parametrize("form", ["{0}", "W/{0}", '"other", {0}', '{0}, "other-gzip"'])
    @pytest.mark.parametrize("path", ["/compressed.txt", "/set/compressed.txt"])
    def test_filters_010_03_not_modified(self, env, kept, form, path):
        response = self.ask(env, path, If_None_Match=form.format(kept["header"]["etag"]))
        assert response["status"] == 304
        assert not response.get("body")

    # And the 304 says which response it is about.
    @pytest.mark.parametrize("path", ["/compressed.txt", "/set/compressed.txt"])
    def test_filters_010_04_etag_of_304(self, env, kept, path):
        response = self.ask(env, path, If_None_Match=kept["header"]["etag"])
        assert response["status"] == 304
        assert response["header"]["etag"] == kept["header"]["etag"]
        assert "accept-encoding" in response["header"].get("vary", "").lower()
        assert self.coding(response) is None

    # A client that holds the plain response is told of that one.
    @pytest.mark.parametrize("path", ["/compressed.txt", "/set/compressed.txt"])
    @pytest.mark.parametrize("coding", [None, "gzip"])
    def test_filters_010_05_plain_304(self, env, path, coding):
        plain = self.ask(env, coding=None)
        response = self.ask(env, path, coding=coding, If_None_Match=plain["header"]["etag"])
        assert response["status"] == 304
        assert response["header"]["etag"] == plain["header"]["etag"]

    # A client that takes no gzip (any more), and one that holds something else, get a body.
    def test_filters_010_06_modified(self, env, kept):
        response = self.ask(env, coding="identity", If_None_Match=kept["header"]["etag"])
        assert response["status"] == 200
        assert response["body"].decode() == self.BODY
        for tag in ['"other-gzip"', '"-gzip"', '"gzip"', "-gzip", '"']:
            response = self.ask(env, If_None_Match=tag)
            assert response["status"] == 200, tag
            assert gzip.decompress(response["body"]).decode() == self.BODY

    def test_filters_010_07_date(self, env, kept):
        response = self.ask(env, If_Modified_Since=kept["header"]["last-modified"])
        assert response["status"] == 304

    # HEAD has the fields of GET.
    @pytest.mark.parametrize("coding", [None, "gzip"])
    def test_filters_010_08_head(self, env, coding):
        get = self.ask(env, coding=coding)
        head = self.ask(env, coding=coding, options=["-I"])
        assert head["status"] == 200
        for name in ["content-encoding", "etag", "vary", "content-type"]:
            assert head["header"].get(name) == get["header"].get(name), name

    def test_filters_010_09_head_304(self, env, kept):
        response = self.ask(env, options=["-I"], If_None_Match=kept["header"]["etag"])
        assert response["status"] == 304
        assert response["header"]["etag"] == kept["header"]["etag"]

    # Either a range is of the bytes that the same ETag had before, or all is sent again.
    def test_filters_010_10_range(self, env, kept):
        tag, body = kept["header"]["etag"], kept["body"]
        response = self.ask(env, Range="bytes=100-", If_Range=tag)
        if response["status"] == 206:
            assert response["header"]["etag"] == tag
            assert self.coding(response) == "gzip"
            assert body[:100] + response["body"] == body
        else:
            assert response["status"] == 200

    # A range of the plain response has its ETag, and no coding.
    def test_filters_010_11_plain_range(self, env):
        plain = self.ask(env, coding=None)
        response = self.ask(env, coding=None, Range="bytes=10-19",
                            If_Range=plain["header"]["etag"])
        assert response["status"] == 206
        assert self.coding(response) is None
        assert response["body"].decode() == self.BODY[10:20]

    # mod_brotli does the same with its own suffix.
    @pytest.mark.parametrize("options", [[], ["-I"]])
    def test_filters_010_12_brotli(self, env, options):
        if not env.has_shared_module("brotli"):
            pytest.skip("mod_brotli is not there")
        kept = self.ask(env, coding="br")
        assert kept["status"] == 200
        assert self.coding(kept) == "br"
        response = self.ask(env, coding="br", options=options,
                            If_None_Match=f'"x", W/{kept["header"]["etag"]}')
        assert response["status"] == 304
        assert response["header"]["etag"] == kept["header"]["etag"]
        assert "accept-encoding" in response["header"].get("vary", "").lower()
        assert self.coding(response) is None
        response = self.ask(env, coding="gzip", If_None_Match=kept["header"]["etag"])
        assert response["status"] == 200
        assert self.coding(response) == "gzip"
