# SPDX-License-Identifier: Apache-2.0
"""A program that is loaded once, says "ready ...", and then runs for the milliseconds of each line it is sent."""
import contextlib
import shlex
import subprocess
import tempfile


class NotReady(Exception):
    pass


def in_turns(workers, rounds):
    """Each worker once a round, with its name: every second round backwards, so that who comes after whom does not matter."""
    for turn in range(rounds):
        yield from list(workers.items())[::-1 if turn % 2 else 1]


class Worker:
    def __init__(self, command):
        with tempfile.TemporaryFile("w+", errors="replace") as errors:
            try:
                self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
            except OSError as reason:
                raise NotReady(f"{shlex.join(command)} is not ready: {reason.strerror}") from reason
            said = self.process.stdout.readline().strip()
            if said.startswith("ready"):
                return
            self.end()
            errors.seek(0)
            why = [line for line in errors.read().splitlines() if line.strip()] or [said or "it said nothing"]
            raise NotReady(f"{shlex.join(command)} is not ready: {why[-1].strip()}")

    def ask(self, *words):
        """The words of its answer: runs, least and what else the program tells, in milliseconds."""
        with contextlib.suppress(BrokenPipeError):
            print(*words, file=self.process.stdin, flush=True)
        if said := self.process.stdout.readline().split():
            return said
        raise NotReady(f"{shlex.join(self.process.args)} ended with {self.process.wait(timeout=30)} while it was measured")

    def end(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()
