"""How a driver gets to a cluster: certificates, a local cluster, and what is refused."""

import logging
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("distributed", reason="needs the extra: pip install 'symbreak[cluster]'")

import psutil

from symbreak.experiments import ClusterError, run_study
from symbreak.experiments._connection import connect, is_exposed
from tests.experiments.dask_processes import DaskProcesses, start_on_cluster
from tests.experiments.processes import DEADLINE, finish, is_begun, results, wait_for

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills processes by signals")


def make_certificates(folder):
    """An authority, and a certificate of it for everyone here."""

    def openssl(*words):
        command = ["openssl", *words]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=DEADLINE)

    new = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl(*new, "-x509", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority")
    openssl(*new, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=symbreak")
    signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial")
    openssl("x509", "-req", "-in", "request.pem", *signing, "-out", "cert.pem")
    return [
        word
        for name, file in (("ca-file", "ca"), ("cert", "cert"), ("key", "key"))
        for word in (f"--tls-{name}", str(folder / f"{file}.pem"))
    ]


def configured(tls):
    """The same certificates in Dask's configuration."""
    ca, certificate, key = tls[1::2]
    return {
        "COMM__TLS__CA_FILE": ca,
        "COMM__TLS__CLIENT__CERT": certificate,
        "COMM__TLS__CLIENT__KEY": key,
    }


def test_tls_lets_in_only_who_has_a_certificate(study, local, tmp_path):
    tls = make_certificates(tmp_path)
    store = tmp_path / "a.db"
    with DaskProcesses(tmp_path, tls=tls) as processes:
        processes.add_worker()
        assert processes.address.startswith("tls://")
        options = [word.replace("--tls-ca-file", "--tls-ca") for word in tls]
        finish(start_on_cluster(study, store, processes.address, "--shard", "1/6", *options))
        with pytest.raises((ClusterError, ValueError), match=r"certificate|[Ss]ecurity|TLS"):
            run_study(study, store, cluster=processes.address)
        finish(
            start_on_cluster(study, store, processes.address, "--shard", "2/6", **configured(tls))
        )
    assert len(results(store)) == 2
    assert results(store).items() < local.items()


def test_incomplete_certificates_are_refused():
    with pytest.raises(ValueError, match="tls needs all three"), connect("local", tls_ca="ca.pem"):
        pass
    missing = dict.fromkeys(("tls_ca", "tls_cert", "tls_key"), "missing.pem")
    with (
        pytest.raises(ValueError, match="there is no certificate or key"),
        connect("tls://127.0.0.1:1", **missing),
    ):
        pass


def test_a_local_cluster_listens_on_this_machine_only_and_ends_with_its_driver(study, tmp_path):
    with start_on_cluster(study, tmp_path / "a.db", "local", "--workers", "2") as process:
        try:
            wait_for(is_begun(tmp_path / "a.db"))
            driver = psutil.Process(process.pid)
            family = [driver, *driver.children(recursive=True)]
            sockets = [c for each in family for c in each.net_connections() if c.status == "LISTEN"]
        finally:
            process.kill()
    assert len(sockets) >= 3
    assert {socket.laddr.ip for socket in sockets} == {"127.0.0.1"}
    wait_for(lambda: not any(each.is_running() for each in family))


# Has no guard against being imported by a worker.
SCRIPT = """
import os, signal
from symbreak.experiments import run_study
from symbreak.experiments._connection import connect
print("begun", flush=True)
with connect("local", workers=1) as client:
    def kill(update):
        if update.status == "running" and not killed:
            killed.extend(client.run(os.getpid).values())
            os.kill(killed[0], signal.SIGKILL)
    killed = []
    print(run_study("study.toml", "a.db", cluster=client, shard=(1, 6), checkpoint_every=0.1,
                    on_run=kill)[:2], len(killed))
"""


def test_a_worker_of_a_local_cluster_is_replaced_without_the_users_script(study, local, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    shutil.copy(study, tmp_path / "study.toml")
    command = [sys.executable, "script.py"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True)
    out, _ = finish(process)
    assert out == "begun (1, 0) 1"
    assert results(tmp_path / "a.db").items() < local.items()


def log_an_error():
    logging.getLogger("distributed.worker").error("heartbeat failed")
    print("asked", file=sys.stderr)


def test_workers_of_a_local_cluster_do_not_log_to_the_terminal(capfd):
    with connect("local", workers=1) as client:
        client.run(log_an_error)
    words = capfd.readouterr().err
    assert "asked" in words
    assert "heartbeat" not in words


@pytest.mark.parametrize(
    ("address", "exposed"),
    [
        ("tcp://127.0.0.1:8786", False),
        ("tcp://localhost:8786", False),
        ("tcp://[::1]:8786", False),
        ("tls://10.0.0.1:8786", False),
        ("tcp://10.0.0.1:8786", True),
        ("tcp://scheduler:8786", True),
        ("ws://10.0.0.1:8786", True),
    ],
)
def test_what_others_could_listen_to_is_known(address, exposed):
    assert is_exposed(address) is exposed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cluster", "scheduler"], "cluster must be 'local', an address"),
        (["--cluster", "tcp://x:1", "--workers", "2"], "workers are for a local cluster"),
        (["--tls-ca", "ca.pem"], "say which one with --cluster"),
    ],
)
def test_bad_options_are_refused(study, tmp_path, options, message):
    command = [sys.executable, "-m", "symbreak", "study", str(study), *options]
    done = subprocess.run(
        [*command, "--store", str(tmp_path / "a.db")],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


@pytest.mark.parametrize("content", ["", "no JSON", "[]", '{"address": 1}', "[" * 100_000])
def test_a_file_that_no_scheduler_has_written_is_refused(tmp_path, content):
    path = tmp_path / "scheduler.json"
    path.write_text(content)
    with pytest.raises(ValueError, match="is not the file of a scheduler"), connect(path):
        pass


def test_a_certificate_that_is_none_is_refused(tmp_path):
    path = tmp_path / "ca.pem"
    path.write_text("no certificate")
    tls = {"tls_ca": path, "tls_cert": path, "tls_key": path}
    with pytest.raises(ValueError, match="cannot be used"), connect("tls://127.0.0.1:1", **tls):
        pass


def test_without_dask_it_is_said_what_to_install(study, tmp_path):
    script = (
        "import sys\nsys.modules['distributed'] = None\n"
        "from symbreak.cli import main\n"
        f"sys.argv[1:] = ['study', {str(study)!r}, '--store', {str(tmp_path / 'a.db')!r}, "
        "'--cluster', 'local']\nmain()"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 1
    assert "pip install 'symbreak[cluster]'" in " ".join(done.stderr.split())
