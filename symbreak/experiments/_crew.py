"""Who works on a cluster: workers that join and leave, and whether they are what is needed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from symbreak.experiments._connection import is_exposed
from symbreak.experiments._errors import ClusterError
from symbreak.experiments._line import Line
from symbreak.experiments._slices import describe_after, describe_here, differences
from symbreak.experiments._workers import ClusterNews

LOOK_EVERY = 1.0  # seconds between looks at who is there


class Crew:
    """The workers that may work, as far as the driver knows."""

    def __init__(
        self, line: Line, on_cluster: Callable[[ClusterNews], object], imports: Sequence[str]
    ) -> None:
        self._line, self._on_cluster, self._imports = line, on_cluster, imports
        self._threads: dict[str, int] = {}  # by address
        self._cpus: dict[str, str] = {}
        self._looked = -float("inf")

    @property
    def n_threads(self) -> int:
        """How many runs can go on at once."""
        return sum(self._threads.values())

    def like(self, cpu: str) -> list[str] | None:
        """The workers with a kind of CPU, if there are also others."""
        same = [address for address, theirs in self._cpus.items() if theirs == cpu]
        return same if same and len(same) < len(self._cpus) else None

    def warn_if_exposed(self) -> None:
        """Say it if others could listen."""
        if is_exposed(self._line.address):
            self.tell(
                f"Warning: {self._line.address} is not on this machine and the connection is not "
                "encrypted: whoever can reach it can run code on the workers and here. Use TLS, "
                "or a tunnel.",
                warning=True,
            )

    def check_scheduler(self) -> None:
        """Refuse a scheduler that does not fit: it unpickles what is handed out."""
        try:
            answer = self._line.client.run_on_scheduler(describe_here)
        except OSError:
            raise
        except Exception as error:  # whatever unpickling raises there
            answer = error
        if fault := _fault(answer):
            raise _refusal(f"the scheduler at {self._line.address}: {fault}")

    def look_again(self) -> None:
        """Let the next look be now: somebody came or went."""
        self._looked = -float("inf")

    def look(self, *, begun: bool) -> None:
        """Notice who joined or left; what does not fit is refused, or sent away if work has begun.

        Raises:
            ClusterError: if a worker does not fit and nothing has begun.
        """
        if time.monotonic() - self._looked < LOOK_EVERY:
            return
        first = not begun and self._looked == -float("inf")
        self._line.check()
        there: dict[str, int] = self._line.client.nthreads()
        self._looked = time.monotonic()
        left = set(self._threads) - set(there)
        joined = self._fitting(sorted(set(there) - set(self._threads)), begun)
        self._threads = {a: n for a, n in there.items() if a in self._threads or a in joined}
        self._cpus = {a: cpu for a, cpu in (self._cpus | joined).items() if a in there}
        if joined or left or first:
            self.tell(_presence(len(joined), len(left), self._threads))
        self._compare_cpus(joined)

    def _fitting(self, joined: list[str], begun: bool) -> dict[str, str]:
        """The CPUs of those that may work, by address."""
        if not joined:
            return {}
        self._line.forget_messages()
        answers = self._line.client.run(
            describe_after, self._imports, workers=joined, on_error="return"
        )
        # who has left again answers with an OSError, and is asked again if it comes back
        answers = {a: answer for a, answer in answers.items() if not isinstance(answer, OSError)}
        faults = {a: fault for a, answer in answers.items() if (fault := _fault(answer))}
        if faults:
            words = "; ".join(f"worker {address}: {fault}" for address, fault in faults.items())
            if not begun:
                raise _refusal(words)
            self._line.client.retire_workers(list(faults))
            self.tell(f"Warning: sent away {words}.", warning=True)
        return {a: answer["cpu"] for a, answer in answers.items() if a not in faults}

    def _compare_cpus(self, joined: Mapping[str, str]) -> None:
        here = describe_here()["cpu"]
        if others := sorted(set(joined.values()) - {here}):
            self.tell(
                f"Warning: workers have other CPUs or a BLAS for other ones ({'; '.join(others)}) "
                f"than this machine ({here}): results may differ in rounding. Every record says "
                "which made it.",
                warning=True,
            )

    def tell(self, text: str, *, warning: bool = False) -> None:
        """Say what happens to the cluster."""
        self._on_cluster(ClusterNews(text, len(self._threads), warning))


def _fault(answer: Any) -> str:
    """What is wrong with a process that answered ``describe_here``; nothing if all is well."""
    if isinstance(answer, Exception):
        return f"it cannot load this symbreak ({answer!r})"
    return differences(answer, describe_here())


def _refusal(words: str) -> ClusterError:
    return ClusterError(f"{words}. Install there what is here, or leave it out; nothing was run.")


def _presence(joined: int, left: int, threads: Mapping[str, int]) -> str:
    """Who came and went, in words."""
    changes = [f"{n} {word}" for n, word in ((joined, "joined"), (left, "left")) if n]
    n = len(threads)
    there = f"{n} worker{'' if n == 1 else 's'} with {sum(threads.values())} threads"
    if not n:
        there = "no workers; waiting for some"
    return f"cluster: {', '.join(changes)}: {there}" if changes else f"cluster: {there}"
