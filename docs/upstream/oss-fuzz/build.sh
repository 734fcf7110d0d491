#!/bin/bash
# Builds the targets of tests/fuzz. httpd and APR are those of the system's packages, and linked
# statically as far as filters call them: what they never call ends the target.
set -euo pipefail
cd "$SRC/mod_elastic"
work=$(mktemp -d)
read -ra cflags <<<"${CFLAGS-}"
common=(-std=c11 -D_GNU_SOURCE -DELASTIC_WITH_ZSTD '-DELASTIC_VERSION="0"'
    -Iinclude -Isrc -Itests/fuzz -I"$work")
# httpd's rings use addresses that belong to no object.
for flag in -I"$(apxs -q INCLUDEDIR)" $(apxs -q EXTRA_CPPFLAGS) \
    $(pkg-config --cflags apr-1 apr-util-1); do
    case $flag in
    -I*) common+=(-isystem "${flag#-I}") ;;
    *) common+=("$flag") ;;
    esac
done
case ${SANITIZER-} in
undefined) common+=('-fno-sanitize=null,object-size') ;;
esac

# compile FOLDER SOURCE...: objects in $work/FOLDER.
compile() {
    local folder=$1 source
    shift
    mkdir -p "$work/$folder"
    for source in "$@"; do
        "$CC" "${cflags[@]}" "${common[@]}" -c "$source" \
            -o "$work/$folder/$(basename "$source" .c).o"
    done
}

awk -f scripts/lib/reasons.awk docs/manual/troubleshooting.md >"$work/reasons.inc"
compile core src/core/*.c
compile engines src/engines/*.c
compile host src/host/*.c
for folder in src/httpd/*/; do
    compile "httpd/$(basename "$folder")" "$folder"*.c
done
compile httpd/main src/httpd/mod_elastic.c
compile server tests/fuzz/server.c
# tests/fuzz/server.c has a clock of its own, in which nothing sleeps.
objcopy -W apr_sleep "$("$CC" -print-file-name=libapr-1.a)" "$work/libapr-1.a"
objcopy -W el_clock_nsec -W el_clock_usec -W el_clock_sec -W el_clock_cpu_nsec \
    "$work/host/process.o"
{
    echo '#include <stdlib.h>'
    comm -23 \
        <(nm -u "$work"/httpd/*/*.o "$work"/server/*.o |
            awk '$2 ~ /^ap_/ { print $2 }' | sort -u) \
        <(nm --defined-only "$work"/httpd/*/*.o "$work"/server/*.o |
            awk 'NF == 3 { print $3 }' | sort -u) |
        sed 's/.*/void &(void);\nvoid &(void) { abort(); }/'
} >"$work/missing.c"
compile server "$work/missing.c"

compile targets tests/fuzz/parsers.c tests/fuzz/fuzz_*.c
targets=$(scripts/lib/fuzz --list)
for target in $targets; do
    name=fuzz_$target
    objects=("$work"/core/*.o "$work"/engines/*.o)
    libraries=(-L"$work" '-Wl,-Bstatic' -lbrotlienc -lbrotlidec -lbrotlicommon -lzstd -lz)
    if [ -e "tests/fuzz/$name.c" ]; then
        objects+=("$work/targets/$name.o" "$work"/host/*.o "$work"/httpd/*/*.o "$work"/server/*.o)
        libraries+=(-laprutil-1 -lapr-1 -luuid -lcrypt)
    else
        objects+=("$work/targets/parsers.o")
        libraries+=("-Wl,--defsym=fuzz_target=$name")
    fi
    # shellcheck disable=SC2086
    ${CXX:-$CC} ${CXXFLAGS:-$CFLAGS} $LIB_FUZZING_ENGINE "${objects[@]}" "${libraries[@]}" \
        -lcrypto -Wl,-Bdynamic -lm -ldl -lpthread -o "$OUT/$name"
    if [ -d "tests/fuzz/corpus/$target" ]; then
        (cd "tests/fuzz/corpus/$target" &&
            python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" ./*)
    fi
done
rm -rf "$work"
