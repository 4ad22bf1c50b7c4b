"""A driver's line to its scheduler, which may break and be taken up again."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import dask
from dask.utils import parse_timedelta
from distributed import Client
from distributed.comm import CommClosedError

ATTEMPT = 3.0  # seconds of one attempt, so that Ctrl-C is heard in between
PAUSE = 0.2  # seconds between attempts
MESSAGES = 10  # that Dask may remember of each connection, instead of a thousand


class Line:
    """A client, and another one in its place when the connection is lost.

    Dask's client connects again too, but under its old name: a scheduler that hears of the loss
    only afterwards ends the new connection with the old one. And it does not connect again to a
    scheduler that was shut down and restarted. So here every connection has a new client.
    """

    def __init__(self, client: Client) -> None:
        self.address: str = client.scheduler.address
        self._given, self._security = client, client.security
        self._take(client)

    def _take(self, client: Client) -> None:
        self.client, self._stream = client, client.scheduler_comm
        _forget_messages(self._stream)

    def forget_messages(self) -> None:
        """Let the scheduler forget what it has sent to those workers that it has now."""
        self.client.run_on_scheduler(_forget_all_messages)

    @property
    def is_broken(self) -> bool:
        """Whether the connection was lost, even if Dask has made another one by now."""
        lost = self.client.scheduler_comm is not self._stream or self._stream.closed()
        return lost or self.client.status != "running"

    def check(self) -> None:
        """Raise if the line is broken."""
        if self.is_broken:
            raise CommClosedError("the connection was lost")

    @property
    def patience(self) -> float:
        """Seconds that a scheduler has to answer: Dask's setting, 30 by default."""
        seconds: float = parse_timedelta(dask.config.get("distributed.comm.timeouts.connect"))
        return seconds

    def restore(self, is_enough: Callable[[], bool]) -> bool:
        """Connect again; whether it worked, before ``is_enough`` or patience was lost."""
        end = time.monotonic() + self.patience
        while (left := end - time.monotonic()) > 0 and not is_enough():
            try:
                client = self._connect(min(ATTEMPT, left))
            except OSError:
                time.sleep(PAUSE)
            else:
                self.close()
                self._take(client)
                return True
        return False

    def _connect(self, seconds: float) -> Client:
        return Client(
            self.address,
            security=self._security,
            timeout=seconds,
            set_as_default=False,
            loop=self._given.loop,  # one of its own would outlive an attempt that fails
        )

    def close(self) -> None:
        """End what was begun here; the client that was given is left to its owner."""
        if self.client is not self._given:
            self.client.close()


def _forget_messages(stream: Any) -> None:
    """Keep Dask from remembering what it sent: there are checkpoints in it, up to 1 MB each."""
    stream.recent_message_log = deque(maxlen=MESSAGES)


def _forget_all_messages(dask_scheduler: Any) -> None:
    for stream in dask_scheduler.stream_comms.values():
        _forget_messages(stream)
