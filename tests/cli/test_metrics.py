"""``fairlead metrics``: printed, served, and refused."""

import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.kueue_manifests import flavor, queue
from tests.cli.manifests import NODE, kai_queue, pod_group, write
from tests.cli.run_cli import run_cli
from tests.store.scraped import by_label, scraped

CLUSTER = (NODE, kai_queue("a", quota=2), pod_group("ja", "a", 9))


def test_the_exposition_is_printed(tmp_path: Path) -> None:
    ran = run_cli("metrics", "-f", write(tmp_path, "c.yaml", *CLUSTER))
    assert (ran.exit_code, ran.err) == (0, "")
    assert by_label(ran.out, "kai_queue_fair_share_gpu", "queue_name") == {"a": 9}


def test_only_who_serves_tells_how_the_input_is(tmp_path: Path) -> None:
    ran = run_cli("metrics", "-f", write(tmp_path, "c.yaml", *CLUSTER))
    assert "fairlead_input_errors" not in scraped(ran.out)


def test_the_capacity_can_be_stated(tmp_path: Path) -> None:
    file = write(tmp_path, "c.yaml", *CLUSTER[1:])
    assert run_cli("metrics", "-f", file).exit_code == 1
    ran = run_cli("metrics", "-f", file, "--capacity", "gpu=3,cpu=1,memory=1Gi")
    assert by_label(ran.out, "kai_queue_fair_share_gpu", "queue_name") == {"a": 3}


def test_the_queues_of_other_rule_sets_are_told_too(tmp_path: Path) -> None:
    file = write(tmp_path, "c.yaml", flavor("cold"), queue("q", cold=4))
    ran = run_cli("metrics", "-f", file)
    assert by_label(ran.out, "kueue_cluster_queue_nominal_quota", "cluster_queue") == {"q": 4}


def test_names_that_no_terminal_shows_are_escaped_as_prometheus_reads_them(tmp_path: Path) -> None:
    odd = kai_queue("a").replace("spec:\n", 'spec:\n  displayName: "x\\"\\n\\\\y"\n')
    ran = run_cli("metrics", "-f", write(tmp_path, "c.yaml", NODE, odd, pod_group("j", "a", 1)))
    assert ran.exit_code == 0, ran.err
    assert by_label(ran.out, "kai_queue_info", "queue_display_name") == {'x"\n\\y': 1}


@pytest.mark.parametrize("text", ["x", "host:", "host:x", "host:99999", "1:-1", "", "9.5", "٣"])
def test_an_address_that_is_none_is_wrong_usage(tmp_path: Path, text: str) -> None:
    ran = run_cli("metrics", "-f", write(tmp_path, "c.yaml", *CLUSTER), "--listen", text)
    assert (ran.exit_code, ran.out) == (2, "")
    assert "expected PORT or HOST:PORT" in ran.err


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (("-f", "-"), "standard input can be read only once"),
    ],
)
def test_what_cannot_be_read_anew_is_not_served(
    tmp_path: Path, more: tuple[str, ...], complaint: str
) -> None:
    file = write(tmp_path, "c.yaml", *CLUSTER)
    ran = run_cli("metrics", "-f", file, "--listen", "0", *more)
    assert (ran.exit_code, ran.out) == (2, "")
    assert complaint in " ".join(ran.err.split())


def test_an_input_that_is_wrong_from_the_start_is_not_served(tmp_path: Path) -> None:
    ran = run_cli("metrics", "-f", str(tmp_path / "none.yaml"), "--listen", "0")
    assert (ran.exit_code, ran.out) == (1, "")
    assert "none.yaml" in ran.err


@contextmanager
def served(*arguments: str, log: Path) -> Iterator[str]:
    """Run ``fairlead metrics --listen``, and give the address that it says."""
    with log.open("w") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "fairlead", "metrics", "--listen", "0", *arguments], stderr=err
        )
    try:
        while not (found := re.search(r"serving (\S+)\n", log.read_text())):
            assert process.poll() is None, log.read_text()
            threading.Event().wait(0.01)
        yield found[1]
    finally:
        process.terminate()
        process.wait(30)


def scrape(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as response:
        body: bytes = response.read()
    return body.decode()


def test_the_files_are_read_for_every_scrape_and_a_mistake_in_them_is_survived(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    file = write(tmp_path, "c.yaml", *CLUSTER)
    share = "kai_queue_fair_share_gpu"
    with served("-f", file, log=log) as url:
        assert url.startswith("http://127.0.0.1:")
        assert by_label(scrape(url), share, "queue_name") == {"a": 9}
        write(tmp_path, "c.yaml", *CLUSTER[:2], pod_group("ja", "a", 5))
        text = scrape(url)
        assert by_label(text, share, "queue_name") == {"a": 5}
        assert scraped(text)["fairlead_input_errors"] == {(): 0}
        for broken in ("kind: [", NODE):
            write(tmp_path, "c.yaml", broken)
            for _ in range(2):
                text = scrape(url)
                assert by_label(text, share, "queue_name") == {"a": 5}
                assert scraped(text)["fairlead_input_errors"][()] > 0
        write(tmp_path, "c.yaml", *CLUSTER)
        assert by_label(scrape(url), share, "queue_name") == {"a": 9}
    lines = log.read_text().splitlines()
    assert sum("metrics stay what they were" in line for line in lines) == 2
    assert lines[-1] == "the input can be read again"
