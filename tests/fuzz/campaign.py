"""A long run of changed models against the tool, guided by coverage or drawn at random; failures are kept, it goes on.

    python -m tests.fuzz.campaign --runs 200000 --folder fuzz
    python -m tests.fuzz.campaign --runs 50000 --folder fuzz-drawn --drawn
    python -m tests.fuzz.campaign --runs 20000 --folder fuzz-commands --drawn --commands

The folder gets the inputs that reached something new, one file for each different failure, and the figures.  Guidance
keeps to what is near its corpus; what is drawn goes everywhere a little, and has found what guidance had not.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

SECONDS = 10
"""Processor time of one execution beyond which it counts as hanging."""

MEMORY = 1 << 30
"""Bytes an execution may take beyond what the tool takes at its start; no model here is larger than a megabyte."""

LONGEST = 160
"""Bytes that choose the changes of one execution."""

SHARES = {"check": 9, "run": 2, "language": 7, "prove": 1}
"""Of nineteen executions so many are of each target; a proof takes the longest."""
COMMAND_SHARES = {"fix": 4, "bound": 4, "equivalent": 4, "diff": 4, "verify": 4, "rules": 4, "audit": 1,
                  "compare": 1, "files beside a model": 12}  # fmt: skip
"""The same of the targets of command_targets.py; these two hash the installation and start a process."""


class Hangs(BaseException):
    """An execution takes too long; no handler of the tool catches it."""


def hang(*_: object) -> None:
    raise Hangs


class Campaign:
    """Counts executions, keeps failures."""

    def __init__(self, folder: Path, runs: int, targets: dict, shares: dict[str, int]) -> None:
        self.folder, self.runs, self.targets = folder.resolve(), runs, targets
        self.order = [name for name, share in shares.items() for _ in range(share)]
        self.executions: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.seconds: Counter[str] = Counter()
        self.slowest: dict[str, float] = dict.fromkeys(shares, 0.0)
        self.started = time.time()

    def one(self, data: bytes) -> None:
        """One execution; the first byte chooses the target."""
        name = self.order[(data[0] if data else 0) % len(self.order)]
        before = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            self.targets[name](data[1:])
        except (Exception, Hangs) as error:  # noqa: BLE001  whatever is raised is what is looked for
            signal.setitimer(signal.ITIMER_PROF, 0)
            self.keep(name, data[1:], error)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        taken = time.process_time() - before
        self.executions[name] += 1
        self.seconds[name] += taken
        self.slowest[name] = max(self.slowest[name], taken)
        if self.executions.total() % 500 == 0 or self.executions.total() >= self.runs:
            self.tell()

    def keep(self, name: str, data: bytes, error: BaseException) -> None:
        """One file for each kind and place of failure, with the shortest input that shows it."""
        frames = traceback.extract_tb(error.__traceback__)
        places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames if "sonnx" in frame.filename]
        kind = f"{type(error).__name__} at {places[-1] if places and not isinstance(error, Hangs) else name}"
        self.failures[f"{name}: {kind}"] += 1
        path = self.folder / "failures" / f"{name}-{hashlib.sha256(kind.encode()).hexdigest()[:10]}.txt"
        if path.exists() and len(path.read_text().split("\n")[0]) <= 2 * len(data):
            return
        text = "".join(traceback.format_exception(error))[-6000:]
        path.write_text(f"{data.hex()}\n{name}: {kind}\n{text}", encoding="utf-8", errors="replace")

    def tell(self) -> None:
        """Write the figures."""
        figures = {
            "executions": self.executions.total(),
            "by target": dict(self.executions),
            "failures": dict(self.failures),
            "slowest (CPU s)": {name: round(value, 2) for name, value in self.slowest.items()},
            "CPU s": {name: round(value) for name, value in self.seconds.items()},
            "wall s": round(time.time() - self.started),
            "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        }
        (self.folder / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")


def main() -> None:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200_000)
    parser.add_argument("--folder", type=Path, default=Path("fuzz"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drawn", action="store_true", help="draw the changes at random, without atheris")
    parser.add_argument("--commands", action="store_true", help="whole command lines: command_targets.py")
    options = parser.parse_args()
    for name in ("corpus", "failures"):
        (options.folder / name).mkdir(parents=True, exist_ok=True)
    module = "tests.fuzz.command_targets" if options.commands else "tests.fuzz.targets"
    if options.drawn:
        targets = import_module(module).TARGETS
    else:
        import atheris

        with atheris.instrument_imports(include=["sonnx"]):
            targets = import_module(module).TARGETS
    shares = COMMAND_SHARES if options.commands else SHARES
    campaign = Campaign(options.folder, options.runs, dict(targets), shares)
    for target in targets.values():  # everything is loaded before memory is bounded
        target(b"")
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY, -1))
    signal.signal(signal.SIGPROF, hang)
    if options.drawn:
        draw = random.Random(options.seed)
        for _ in range(options.runs):
            campaign.one(draw.randbytes(draw.randrange(2, LONGEST)))
        return
    arguments = [f"-runs={options.runs}", f"-seed={options.seed}", f"-max_len={LONGEST}", "-rss_limit_mb=0",
                 "-timeout=600", "-print_final_stats=1", "-verbosity=1", str(options.folder / "corpus")]  # fmt: skip
    atheris.Setup([sys.argv[0], *arguments], campaign.one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
