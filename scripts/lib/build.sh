# Builds out of the source tree, under build/. Sourced by bash scripts that set el_root.

el_build_root=${ELASTIC_BUILD_DIR:-$el_root/build}

# el_quietly LOG COMMAND...: runs it with its output in LOG, whose end is shown when it fails.
el_quietly() {
    local log=$1
    shift
    if ! "$@" >>"$log" 2>&1; then
        tail -n 40 "$log" >&2
        echo "failed: $* (all of it: $log)" >&2
        return 1
    fi
}

# el_jobs: how many jobs make may run.
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

# el_build NAME [CONFIGURE-OPTION...]: the build in build/NAME, brought up to date; of el_targets,
# where that is set.
el_build() {
    local name=$1 dir=$el_build_root/$1 log
    shift
    log=$dir/build.log
    mkdir -p "$dir" || return 1
    echo "Building $dir"
    : >"$log"
    (
        # Two scripts at once must not generate the same files.
        flock 9
        el_build_generate "$log" || exit 1
        cd "$dir" || exit 1
        if [ ! -e Makefile ] || [ "$el_root/configure" -nt config.status ] ||
            [ "$(cat options 2>/dev/null)" != "$*" ]; then
            el_quietly "$log" "$el_root/configure" "$@" || exit 1
            printf '%s\n' "$*" >options
        fi
        # shellcheck disable=SC2086 # several targets
        el_quietly "$log" make -j"$(el_jobs)" ${el_targets-} || exit 1
    ) 9>"$el_build_root/.lock" || return 1
    grep -E 'warning:' "$log" || true
}
