# shellcheck shell=bash
# Builds out of the source tree, under build/. Sourced by bash scripts that set el_root.

el_build_root=${ELASTIC_BUILD_DIR:-$el_root/build}

# el_quietly LOG COMMAND...: runs it with its output in LOG, and shows the end of that if it fails.
el_quietly() {
    local log=$1
    shift
    if ! "$@" >>"$log" 2>&1; then
        tail -n 40 "$log" >&2
        echo "failed: $* (all of it: $log)" >&2
        return 1
    fi
}

# el_jobs: the number of make's jobs.
el_jobs() {
    nproc 2>/dev/null || echo 2
}

el_build_generate() {
    local made=$el_root/Makefile.in source
    for source in configure.ac Makefile.am m4/elastic.m4; do
        if [ ! -e "$el_root/configure" ] || [ "$el_root/$source" -nt "$made" ]; then
            el_quietly "$1" autoreconf --install --force "$el_root" || return 1
            return 0
        fi
    done
}

# el_build_source: prints the folder to build from. configure refuses to run beside a source tree in
# which it ran before, because make would find that build's objects; then the folder is an updated
# copy without them.
el_build_source() {
    local copy=$el_build_root/source list=$el_build_root/source.list
    if [ ! -e "$el_root/config.status" ]; then
        echo "$el_root"
        return 0
    fi
    mkdir -p "$copy" &&
        (cd "$el_root" && find . \( -path ./.git -o -path ./build -o -path ./out \
            -o -path "./${el_build_root#"$el_root"/}" -o -name autom4te.cache -o -name .libs \
            -o -name .deps -o -name __pycache__ \) -prune -o -type f ! -name '*.o' ! -name '*.l[ao]' \
            ! -name .dirstamp ! -path ./Makefile ! -path ./libtool ! -path ./test-env \
            ! -path './config.*' ! -path ./build-flags -print | LC_ALL=C sort) >"$list" &&
        (cd "$copy" && find . -type f | LC_ALL=C sort | LC_ALL=C comm -13 "$list" - |
            xargs -r -d '\n' rm -f) &&
        (cd "$el_root" && xargs -d '\n' cp -pu --parents -t "$copy") <"$list" &&
        echo "$copy"
}

# The findings of configure: libraries with their versions, and a python3 for the tests.
el_build_found() {
    local name
    for name in zlib libbrotlienc libdeflate libisal libzstd libcrypto check; do
        echo "$name $(pkg-config --modversion "$name" 2>/dev/null)"
    done
    # Not imported: that takes as long as the rest of a build in which nothing changed.
    echo "python3 $(/usr/bin/python3 -c 'from importlib.util import find_spec
print(*map(bool, map(find_spec, ("pytest", "brotli", "zstandard", "h2"))))' 2>&1 | tail -n 1)"
}

# el_build NAME [CONFIGURE-OPTION...]: updates the build in build/NAME; only el_targets, if set.
el_build() {
    local name=$1 dir=$el_build_root/$1 log source asked
    shift
    log=$dir/build.log
    mkdir -p "$dir" || return 1
    echo "Building $dir"
    : >"$log"
    (
        # Two scripts must not generate the same files at once.
        flock 9
        el_build_generate "$log" && source=$(el_build_source) && cd "$dir" || exit 1
        asked=$(printf '%s\n' "$source $*" && el_build_found)
        if [ ! -e Makefile ] || [ "$source/configure" -nt config.status ] ||
            [ "$(cat options 2>/dev/null)" != "$asked" ]; then
            el_quietly "$log" "$source/configure" "$@" || exit 1
            printf '%s\n' "$asked" >options
        fi
        # shellcheck disable=SC2086 # several targets
        el_quietly "$log" make -j"$(el_jobs)" ${el_targets-} || exit 1
    ) 9>"$el_build_root/.lock" || return 1
    grep -E 'warning:' "$log" || true
}
