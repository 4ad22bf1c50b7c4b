"""A driver's line to its scheduler, which may break and be taken up again."""

from __future__ import annotations

import time
from collections.abc import Callable

import dask
from dask.utils import parse_timedelta
from distributed import Client
from distributed.comm import CommClosedError

ATTEMPT = 3.0  # seconds of one attempt, so that Ctrl-C is heard in between
PAUSE = 0.2  # seconds between attempts


class Line:
    """A client, and another one in its place when the connection is lost.

    Dask's client connects again too, but under its old name. A scheduler that hears of the loss
    only then takes the new connection for the lost one and forgets what came by it; nothing would
    ever come back. So this is somebody new each time.
    """

    def __init__(self, client: Client) -> None:
        self.address: str = client.scheduler.address
        self._given, self._security = client, client.security
        self._take(client)

    def _take(self, client: Client) -> None:
        self.client, self._stream = client, client.scheduler_comm

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
        return Client(self.address, security=self._security, timeout=seconds, set_as_default=False)

    def close(self) -> None:
        """End what was begun here; the client that was given is left to its owner."""
        if self.client is not self._given:
            self.client.close()
