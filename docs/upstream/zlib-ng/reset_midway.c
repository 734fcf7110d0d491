/*
 * deflateReset() after a body that was left midway, at level 1: is the next body intact?
 *
 * Native zlib-ng:      cc -I. reset_midway.c libz-ng.a -o reset_midway
 * zlib, or as zlib:    cc -DZLIB_API reset_midway.c -lz -o reset_midway
 */
#include <stdio.h>
#include <string.h>
#ifdef ZLIB_API
#include <zlib.h>
#define Z(name) name
typedef z_stream stream_t;
#else
#include <zlib-ng.h>
#define Z(name) zng_##name
typedef zng_stream stream_t;
#endif

int main(void)
{
    static unsigned char text[4096], packed[8192], back[8192];
    int bad = 0;

    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = "deflate, reset, deflate\n"[(i * i / 7) % 24];
    }
    for (int level = 0; level <= 9; level++) {
        stream_t out = {0}, in = {0};
        int rv;

        Z(deflateInit2)(&out, level, Z_DEFLATED, 15, 8, Z_DEFAULT_STRATEGY);
        out.next_in = text, out.avail_in = sizeof(text);
        out.next_out = packed, out.avail_out = sizeof(packed);
        Z(deflate)(&out, Z_NO_FLUSH); /* a body that nobody wants any more */
        Z(deflateReset)(&out);
        out.next_in = text, out.avail_in = sizeof(text); /* the next one */
        out.next_out = packed, out.avail_out = sizeof(packed);
        rv = Z(deflate)(&out, Z_FINISH);
        Z(inflateInit2)(&in, 15);
        in.next_in = packed, in.avail_in = (unsigned)out.total_out;
        in.next_out = back, in.avail_out = sizeof(back);
        rv = rv == Z_STREAM_END ? Z(inflate)(&in, Z_FINISH) : rv;
        if (rv != Z_STREAM_END || in.total_out != sizeof(text)
            || memcmp(back, text, sizeof(text))) {
            printf("level %d: damaged (%d, %s)\n", level, rv, in.msg ? in.msg : "no message");
            bad = 1;
        }
        Z(deflateEnd)(&out), Z(inflateEnd)(&in);
    }
    printf("%s\n", bad ? "damaged" : "all levels intact");
    return bad;
}
