"""The command: arguments, the pass over all files, the exit status."""

import argparse
import concurrent.futures
import os
import signal
import sys
import threading
import time

from precompresskit import encoders, files, tally as tallies, watch


def pass_over(maker, options):
    """One pass over all files; returns its tally. `maker` is made once for all passes."""
    tally = tallies.Tally()
    sources = files.find_sources(options, tally)
    tally.expect(size for _, size, _ in sources.values())
    if options.prune:
        files.prune(files.find_orphans(options, tally), tally)
    progress = sys.stderr.isatty() and not options.quiet

    def compress(path):
        maker.make_all(path, sources[path], tally)
        tally.add(done=1, done_bytes=sources[path][1])

    # Largest first, so that the threads end at about the same time.
    largest = sorted(sources, key=lambda path: sources[path][1], reverse=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        try:
            # An interrupt may come when only some files are submitted.
            pending = {pool.submit(compress, path) for path in largest}
            while pending:
                done, pending = concurrent.futures.wait(pending, timeout=0.2)
                for job in done:
                    job.result()
                if progress:
                    tally.show_progress()
        except BaseException:
            maker.stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
        finally:
            tally.clear_line()
    return tally


def run(options, codecs):
    """All passes: one, or with --watch one after each change. Returns the exit status."""
    maker = files.Maker(codecs, threading.Event())
    watcher = watch.Watch() if options.watch else None
    first = True
    while True:
        started = time.monotonic()
        if watcher:
            # Before the pass, so that later changes are noticed.
            for top in options.dirs:
                watcher.add(top)
        tally = pass_over(maker, options)
        if not options.quiet and (first or tally.has_changed):
            print(tally.report(time.monotonic() - started), flush=True)
        first = False
        if not watcher:
            return 1 if tally.errors else 0
        watcher.wait()


def parse_extensions(text):
    names = frozenset(part.strip().lstrip("*.").lower() for part in text.split(","))
    if not all(name.isalnum() for name in names):
        raise argparse.ArgumentTypeError(f"'{text}': give extensions such as html,css,js")
    return names


def parse_jobs(text):
    if not text.isdigit() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"'{text}': give a number from 1 to 1024")
    return int(text)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        super().error(tallies.shown(message))


def make_parser():
    parser = Parser(
        description="Makes .gz, .br and .zst files of static files, for ElasticPrecompressed.",
        epilog="Exit status: 0 all done, or --watch ended; 1 some file failed, 2 wrong usage or a "
               "missing library, 130 interrupted.")
    parser.add_argument("dirs", nargs="+", metavar="DIR", help="directory to go through")
    parser.add_argument("--root", metavar="FOLDER",
                        help="write the precompressed files below FOLDER, at the paths of their "
                             "files below the one DIR: ElasticPrecompressedRoot")
    parser.add_argument("--types", type=parse_extensions, default=files.EXTENSIONS,
                        metavar="EXT,...", help="file name extensions to compress (default: %s)"
                        % ",".join(sorted(files.EXTENSIONS)))
    parser.add_argument("--all", action="store_true", help="compress files of every type")
    parser.add_argument("--no-gz", dest="gz", action="store_false", help="write no .gz files")
    parser.add_argument("--no-br", dest="br", action="store_false", help="write no .br files")
    parser.add_argument("--zst", action="store_true", default=None,
                        help="fail without libzstd (default: write .zst files where it is)")
    parser.add_argument("--no-zst", dest="zst", action="store_false", help="write no .zst files")
    parser.add_argument("--prune", action="store_true",
                        help="remove precompressed files of the types above whose source is gone")
    parser.add_argument("--watch", action="store_true",
                        help="go on, and update the precompressed files whenever files change")
    parser.add_argument("--jobs", "-j", type=parse_jobs, default=os.cpu_count() or 1,
                        metavar="N", help="files at a time (default: the number of CPUs)")
    parser.add_argument("--quiet", "-q", action="store_true", help="report errors only")
    return parser


def parse_arguments(arguments):
    parser = make_parser()
    options = parser.parse_args(arguments)
    for directory in options.dirs:
        if not os.path.isdir(directory):
            parser.error(f"{directory} is not a directory")
    if options.root:
        check_root(parser, options)
    return options


def check_root(parser, options):
    """--root mirrors one tree; neither may contain the other."""
    if len(options.dirs) != 1:
        parser.error("--root takes one DIR")
    if not os.path.isdir(options.root):
        parser.error(f"{options.root} is not a directory")
    root, top = os.path.realpath(options.root), os.path.realpath(options.dirs[0])
    if os.path.commonpath([root, top]) in (root, top):
        parser.error(f"{options.root} and {options.dirs[0]} lie within each other")


def interrupt(*_):
    raise KeyboardInterrupt


def main(arguments):
    options = parse_arguments(arguments)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        return run(options, encoders.choose_codecs(options))
    except encoders.Missing as problem:
        tallies.complain(problem)
        return 2
    except OSError as problem:
        tallies.complain(problem)
        return 1
    except (KeyboardInterrupt, encoders.Interrupted):
        if options.watch:
            return 0
        tallies.complain("interrupted; the files written so far are whole")
        return 130
