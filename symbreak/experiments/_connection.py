"""How a driver gets to a Dask cluster: an address, a scheduler file, a client, or one made here."""

from __future__ import annotations

import ipaddress
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from distributed import Client, LocalCluster, Nanny, Security, Worker, WorkerPlugin
from distributed.comm.addressing import get_address_host

from symbreak._support.checks import check_count, check_path
from symbreak._support.processes import detached_start, without_script
from symbreak.experiments._errors import ClusterError

#: Bytes of a scheduler file; Dask's have some hundred, and some more for each worker.
MAX_SCHEDULER_FILE = 10_000_000


@contextmanager
def connect(
    cluster: str | Path | Client,
    *,
    workers: int = 0,
    tls_ca: str | Path | None = None,
    tls_cert: str | Path | None = None,
    tls_key: str | Path | None = None,
) -> Iterator[Client]:
    """A client of a cluster, for ``run_study(..., cluster=client)``.

    Args:
        cluster: ``"local"``, a cluster made here for as long as it is needed; the address of a
            scheduler, such as ``"tcp://host:8786"``; a scheduler file; or a client, which is left
            open.
        workers: Processes of a local cluster; 0 means one per core.
        tls_ca: Certificate of the authority that signed the others', as a PEM file.
        tls_cert: Certificate of this driver.
        tls_key: Its private key.

    Without certificates those of Dask's configuration are used, if there are any.

    Raises:
        ClusterError: if the scheduler does not answer.
        ValueError: if ``cluster`` is none of these, or certificates are incomplete.
    """
    security = _security(tls_ca, tls_cert, tls_key)
    if isinstance(cluster, Client):
        if cluster.status != "running":
            raise ClusterError(f"the client is {cluster.status}; make one that is connected.")
        yield cluster
        return
    if isinstance(cluster, str) and cluster == "local":
        with _local_cluster(workers) as client:
            yield client
        return
    if check_count("workers", workers, 0):
        raise ValueError("workers are for a local cluster; another one has those that it has.")
    where = _where(cluster)
    try:
        client = Client(**where, security=security, set_as_default=False)
    except (OSError, TypeError) as error:  # the latter if certificates are missing
        raise ClusterError(
            f"the scheduler at {cluster} does not answer ({error}). Is it running, and does it "
            "want certificates?"
        ) from error
    with client:
        yield client


def _where(cluster: str | Path) -> dict[str, str]:
    """The argument of ``Client`` that says where the scheduler is."""
    if isinstance(cluster, str) and "://" in cluster:
        return {"address": cluster}
    if check_path("cluster", cluster).is_file():
        _check_scheduler_file(Path(cluster))
        return {"scheduler_file": str(cluster)}
    raise ValueError(
        "cluster must be 'local', an address such as tcp://host:8786, a scheduler file that "
        f"exists, or a client, got {str(cluster)!r}."
    )


def _check_scheduler_file(path: Path) -> None:
    """Refuse what no scheduler has written; Dask would wait for it, or fail in its own words."""
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(MAX_SCHEDULER_FILE))
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("address"), str):
        raise ValueError(
            f"{str(path)!r} is not the file of a scheduler (dask scheduler makes one)."
        )


def _security(*files: str | Path | None) -> Security | None:
    """Certificates as Dask takes them; None leaves them to its configuration."""
    if all(file is None for file in files):
        return None
    if any(file is None for file in files):
        raise ValueError("tls needs all three: the authority, the certificate and its key.")
    for file in files:
        if not check_path("a certificate or key", file).is_file():
            raise ValueError(f"there is no certificate or key {str(file)!r}.")
    ca, cert, key = map(str, files)
    security = Security(
        tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key, require_encryption=True
    )
    try:
        security.get_connection_args("client")
    except OSError as error:
        raise ValueError(f"a certificate or key cannot be used ({error}).") from error
    return security


@contextmanager
def _local_cluster(workers: int) -> Iterator[Client]:
    """A scheduler and worker processes that listen on the loopback interface alone."""
    with detached_start():  # Ctrl-C is the driver's
        cluster = LocalCluster(
            n_workers=workers or os.cpu_count() or 1,
            threads_per_worker=1,
            worker_class=_Nanny,
            host="127.0.0.1",
            # no dashboard; Dask's other HTTP pages take any port that is free
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
        )
    with cluster, Client(cluster, set_as_default=False) as client:
        client.register_plugin(_Silence())
        yield client


class _Nanny(Nanny):
    """Starts its worker, also again after its death, without the user's script."""

    async def instantiate(self) -> Any:
        with without_script():
            return await super().instantiate()


class _Silence(WorkerPlugin):
    """Keeps Dask's log of a worker from the terminal of its user.

    A heartbeat that fails while all is being closed would be a traceback there.
    """

    name = "symbreak-silence"

    def setup(self, worker: Worker) -> None:
        logging.getLogger("distributed").handlers = [logging.NullHandler()]


def is_exposed(address: str) -> bool:
    """Whether anyone on the way to an address could listen, or pretend to be there."""
    scheme, _, _ = address.partition("://")
    if scheme in ("tls", "wss", "inproc"):
        return False
    host = get_address_host(address)
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"
