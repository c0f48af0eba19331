"""A real Prometheus server for tests: its past is written before it starts, or it scrapes.

``PROMETHEUS_BIN`` names the program, else it is looked for on the PATH; promtool lies beside it.
Where there is none, tests skip and say so, unless ``FAIRLEAD_REQUIRE_PROMETHEUS`` is set.
"""

import http.client
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

READY_WITHIN_S = 60
WRITTEN_WITHIN_S = 300
LONGEST_BLOCK = "384h"  # of the past; promtool reads its input once for every block
ENDED_WITHIN_S = 20


def program() -> Path | None:
    """Where Prometheus is on this machine; None if it is not."""
    found = os.environ.get("PROMETHEUS_BIN") or shutil.which("prometheus")
    return Path(found) if found else None


def required_program() -> Path:
    """Prometheus, or else a visible skip; a failure where it is required."""
    found = program()
    if found is not None:
        return found
    missing = "no prometheus on the PATH, nor in PROMETHEUS_BIN"
    if os.environ.get("FAIRLEAD_REQUIRE_PROMETHEUS"):
        pytest.fail(missing)
    pytest.skip(missing)


def exposition(series: Iterable[tuple[str, Callable[[int], object]]], moments: range) -> str:
    """OpenMetrics text: each series with its value at each of *moments* (s); None: absent."""
    lines = []
    family = ""
    for name, value_at in series:
        if name.partition("{")[0] != family:
            family = name.partition("{")[0]
            lines.append(f"# TYPE {family} gauge")
        for at_s in moments:
            value = value_at(at_s)
            if value is not None:
                lines.append(f"{name} {value} {at_s}")
    return "\n".join([*lines, "# EOF", ""])


def write_past(binary: Path, folder: Path, text: str) -> None:
    """Fill the data folder of a server that is to start with what *text* tells."""
    file = folder / "past.txt"
    file.write_text(text, encoding="utf-8")
    promtool = shutil.which(binary.with_name("promtool")) or "promtool"
    command = [promtool, "tsdb", "create-blocks-from", "openmetrics"]
    subprocess.run(
        [*command, f"--max-block-duration={LONGEST_BLOCK}", str(file), str(folder / "data")],
        check=True,
        capture_output=True,
        timeout=WRITTEN_WITHIN_S,
    )


@contextmanager
def running(
    binary: Path, folder: Path, *, configuration: str = "", lookback: str = "5m"
) -> Iterator[str]:
    """A server on the data below *folder*; gives its address, and ends it afterwards."""
    (folder / "prometheus.yaml").write_text(configuration or "global: {}\n", encoding="utf-8")
    port = _free_port()
    command = [
        str(binary),
        f"--config.file={folder / 'prometheus.yaml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        "--storage.tsdb.retention.time=100y",
        f"--query.lookback-delta={lookback}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=error",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _wait_until_ready(process, port, folder / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(ENDED_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline_s = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline_s:
        if process.poll() is not None:
            break
        if _is_ready(port):
            return
        time.sleep(0.1)
    raise AssertionError(f"Prometheus did not start: {log.read_text(encoding='utf-8')[-2000:]}")


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/-/ready")
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()
