# shellcheck shell=sh
# For the scripts that run tests: what they need is there, or they say what is not. Sourced by them.
#
# ELASTIC_NO_SKIP=1: skipped tests fail.

# skip WHAT REASON...: ends the script.
skip() {
    what=$1
    shift
    echo "SKIP: $what: $*"
    [ -z "${ELASTIC_NO_SKIP:-}" ] || exit 1
    exit 0
}

# need_python WHAT MODULE...: sets `python` to one that has the modules.
need_python() {
    python=${ELASTIC_PYTHON:-python3} tests=$1
    shift
    missing=$("$python" -c 'import importlib.util, sys
print(*("python3-" + name for name in sys.argv[1:] if not importlib.util.find_spec(name)))' "$@") ||
        missing=python3
    [ -z "$missing" ] || skip "$tests" "not there: $missing"
}
