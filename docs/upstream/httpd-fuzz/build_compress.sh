# shellcheck shell=bash
# For the end of projects/apache-httpd/build.sh, in httpd's built tree: the filters of mod_deflate
# and mod_brotli. The Dockerfile also needs the packages zlib1g-dev and libbrotli-dev.
# The variables with a default name another APR or PCRE where httpd was built with one.
: "${APR_FLAGS=-I./srclib/apr/include -I./srclib/apr-util/include}"
: "${APR_LIBS=./srclib/apr/.libs/libapr-2.a -luuid -lcrypt -lexpat -l:libbsd.a}"
: "${PCRE_LIBS=${static_pcre-}}"
: "${LINK=${INITIAL_CXX-$CC} ${CXXFLAGS-$CFLAGS}}"
flags="-I./include -I./os/unix -I./server -I./modules/ssl $APR_FLAGS"
for target in DEFLATE_IN INFLATE_OUT DEFLATE_OUT BROTLI_OUT; do
    name=fuzz_$(echo "$target" | tr '[:upper:]' '[:lower:]')
    module=mod_deflate
    [ "$target" = BROTLI_OUT ] && module=mod_brotli
    # shellcheck disable=SC2086
    $CC $CFLAGS $flags -c "modules/filters/$module.c" -o "fuzz_$module.o"
    # shellcheck disable=SC2086
    $CC $CFLAGS $flags -DFUZZ_$target -c "$SRC/fuzz_compress.c" -o "$name.o"
    # shellcheck disable=SC2086
    $LINK $LIB_FUZZING_ENGINE "$name.o" "fuzz_$module.o" -o "$OUT/$name" ./modules.o buildmark.o \
        -Wl,--start-group ./server/.libs/libmain.a ./modules/core/.libs/libmod_so.a \
        ./modules/http/.libs/*.a ${MORE_LIBS-} \
        ./server/mpm/event/.libs/libevent.a ./os/unix/.libs/libos.a -Wl,--end-group \
        $APR_LIBS $PCRE_LIBS -Wl,-Bstatic -lbrotlienc -lbrotlidec -lbrotlicommon -lz -Wl,-Bdynamic \
        -lm -ldl -lpthread
done
# Bodies to begin with, for the two that decode. The bytes that say how stand behind them.
rm -rf compress_seeds
mkdir -p compress_seeds/in compress_seeds/out
for lines in 1 100 5000; do
    for how in '\0177\0177' '\0177\0177\0177' '\0177\0177\0177\0177\0177' '\0000\0000\0000\0000'; do
        { seq "$lines" | gzip -n && printf %b "$how"; } >"compress_seeds/in/$lines-${#how}"
    done
    for how in '\0377\0210\0001' '\0377\0210\0377\0210\0001' '\0001\0200\0001\0210\0001'; do
        { seq "$lines" | gzip -n && printf %b "$how"; } >"compress_seeds/out/$lines-${#how}"
    done
done
(cd compress_seeds/in && python3 -m zipfile -c "$OUT/fuzz_deflate_in_seed_corpus.zip" ./*)
(cd compress_seeds/out && python3 -m zipfile -c "$OUT/fuzz_inflate_out_seed_corpus.zip" ./*)
