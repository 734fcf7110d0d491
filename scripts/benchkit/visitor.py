"""The client of a visit (visit.py), kept running in its network namespace."""

import json
import subprocess
import sys

from benchkit import net, tools, visit


class Visitor:
    """Makes one visit after another; ends with the run."""

    def __init__(self, run, side):
        argv = [*side.prefix, tools.find("taskset"), "-c", str(run.load_cpu), sys.executable,
                "-m", "benchkit.visit"]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, cwd=tools.ROOT / "scripts")
        run.at_end(self.end)

    def end(self):
        self.process.kill()
        self.process.communicate()

    def visit(self, server, path, coding="", **orders):
        """What the visitor saw, as visit.report() says; BenchError where the visit failed."""
        wanted = {"images": 0, "buffer": 1024, "timer": 0.05, "delayed": False, **orders}
        print(json.dumps(vars(visit.Orders(server.address, server.port, path, coding, net.DEVICE,
                                           **wanted))), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise tools.BenchError("the visitor ended")
        seen = json.loads(line)
        if "problem" in seen:
            raise tools.BenchError(f"a visit failed: {seen['problem']}")
        if seen["largest_frame"] > net.MTU + 14:
            raise tools.BenchError(f"a frame of {seen['largest_frame']} bytes was captured: the "
                                   "system bundles segments, and packets cannot be counted")
        return seen
