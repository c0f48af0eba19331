"""Credential plugins: real programs that are run, expire, fail, hang and ask."""

import asyncio
import json
import logging
import os
import sys
import time
from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent
from typing import Any, TypeVar

import msgspec
import pytest

from fairlead.cluster.kubernetes.client.exec_plugin import ExecPlugin, ExecSettings
from fairlead.cluster.kubernetes.client.tls import trusting
from fairlead.errors import ClusterError
from tests.cluster.kubernetes.client.handshake import client_seen_by_server
from tests.cluster.kubernetes.client.kubeconfigs import (
    access_by,
    kubeconfig,
    token_of,
    written,
)
from tests.cluster.kubernetes.client.set_clock import SetClock
from tests.text_table import rows

V1 = "client.authentication.k8s.io/v1"
ENVIRON = {"PATH": os.environ["PATH"]}

# Counts its runs in a file beside it, and gives that number with the status that a file names.
COUNTING = """
    runs = folder / "runs"
    count = int(runs.read_text()) + 1 if runs.exists() else 1
    runs.with_suffix(".new").write_text(str(count))
    runs.with_suffix(".new").replace(runs)
    status = {"token": f"token-{count}"}
    expiry = folder / "expiry"
    if expiry.exists():
        status["expirationTimestamp"] = expiry.read_text()
    give(status)
"""

T = TypeVar("T")


def program(folder: Path, body: str, name: str = "plugin") -> Path:
    """Write a plugin: *body* may use ``folder``, ``info`` and ``give(status)``."""
    head = f"""\
        #!{sys.executable} -IS
        import json, os, pathlib, sys, time
        folder = pathlib.Path(__file__).parent
        info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
        def give(status):
            kind = "ExecCredential"
            print(json.dumps(dict(apiVersion=info["apiVersion"], kind=kind, status=status)))
    """
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(dedent(head) + dedent(body), encoding="utf-8")
    file.chmod(0o755)
    return file


def plugin(file: Path | str, time: SetClock | None = None, **more: Any) -> ExecPlugin:
    settings = more.pop("settings", {})
    return ExecPlugin(
        ExecSettings(api_version=V1, command=str(file), **settings),
        trusting(None),
        ENVIRON,
        clock=(time or SetClock()).clock,
        **more,
    )


def run(call: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(call)


def problem_of(file: Path | str, **more: Any) -> str:
    with pytest.raises(ClusterError) as problem:
        run(plugin(file, **more).token())
    assert problem.value.retry_after_s == 10
    return str(problem.value)


# Each line: seconds passed, how long the next credential of the plugin is valid ("-": no end said),
# what happened, and which run the token of the next request is from.
RENEWED = {
    "a minute before it expires": """
        s    valid  event    token
        0    600    -        1
        539  600    -        1
        540  600    -        2
        1079 600    -        2
        1080 600    -        3
    """,
    "never, where no end is said": """
        s     valid  event  token
        0     -      -      1
        99999 -      -      1
    """,
    "after a refusal, but not within 10 s of the run before": """
        s    valid  event    token
        0    -      -        1
        9    -      refused  1
        10   -      -        2
        11   -      -        2
        30   -      refused  3
    """,
    "every 10 s, where a clock is wrong or it is short": """
        s    valid  event    token
        0    -3600  -        1
        9    -3600  -        1
        10   30     -        2
        19   30     -        2
        20   30     -        3
    """,
}


@pytest.mark.parametrize("table", RENEWED.values(), ids=RENEWED.keys())
def test_a_plugin_is_run_again(table: str, tmp_path: Path) -> None:
    time, file = SetClock(), program(tmp_path, COUNTING)
    credentials = plugin(file, time)
    start_s = time.now_s
    for row in rows(table):
        time.now_s = start_s + int(row["s"])
        (tmp_path / "expiry").unlink(missing_ok=True)
        if row["valid"] != "-":
            (tmp_path / "expiry").write_text(
                _timestamp(time.clock.wall_s() + int(row["valid"])), encoding="utf-8"
            )
        if row["event"] == "refused":
            credentials.refused()
        assert run(credentials.token()) == f"token-{row['token']}", row


def _timestamp(wall_s: float) -> str:
    return datetime.fromtimestamp(wall_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_requests_at_the_same_time_wait_for_one_run(tmp_path: Path) -> None:
    credentials = plugin(program(tmp_path, COUNTING))

    async def many() -> set[str | None]:
        return set(await asyncio.gather(*(credentials.token() for _ in range(8))))

    assert run(many()) == {"token-1"}


def test_a_plugin_that_failed_is_not_run_for_each_request(tmp_path: Path) -> None:
    """Ten seconds later it is, and then what it said before is forgotten."""
    time = SetClock()
    credentials = plugin(program(tmp_path, COUNTING + "\n    sys.exit(count < 2)"), time)
    for _ in range(3):
        with pytest.raises(ClusterError, match="ended with exit code 1"):
            run(credentials.token())
        time.now_s += 3
    time.now_s += 1
    assert run(credentials.token()) == "token-2"


def test_a_credential_serves_to_its_end_while_the_plugin_fails(tmp_path: Path) -> None:
    """Valid for 100 s, so asked for again at 40 s; the plugin fails, and at 100 s all fails."""
    time = SetClock()
    written(tmp_path, _timestamp(time.clock.wall_s() + 100), "expiry")
    credentials = plugin(program(tmp_path, COUNTING + "\n    sys.exit(count > 1)"), time)
    for passed_s in (0, 40, 59):
        time.now_s = 1000 + passed_s
        assert run(credentials.token()) == "token-1"
    time.now_s = 1100
    with pytest.raises(ClusterError):
        run(credentials.token())


def test_a_plugin_gives_a_certificate(tmp_path: Path, certificates: Path) -> None:
    """Another one after a refusal, in the same context."""
    body = f"""
        certificates = pathlib.Path({str(certificates)!r})
        name = (folder / "name").read_text()
        give(dict(
            clientCertificateData=(certificates / f"{{name}}.pem").read_text(),
            clientKeyData=(certificates / f"{{name}}.key").read_text(),
        ))
    """
    time, context = SetClock(), trusting((certificates / "ca.pem").read_bytes())
    settings = ExecSettings(api_version=V1, command=str(program(tmp_path, body)))
    credentials = ExecPlugin(settings, context, ENVIRON, clock=time.clock)
    for name in ("first", "second"):
        written(tmp_path, name, "name")
        credentials.refused()
        assert run(credentials.token()) is None
        assert client_seen_by_server(context, certificates) == name
        time.now_s += 10


TELLS_ALL = """
    given = dict(info=info, args=sys.argv[1:], home=os.environ.get("HOME"), key=os.environ["KEY"])
    given["stdin"] = sys.stdin.read()
    (folder / "given").write_text(json.dumps(given))
    give({"token": "t"})
"""


def test_a_plugin_is_run_as_the_kubeconfig_says(tmp_path: Path, certificates: Path) -> None:
    """A relative command starts in the folder of the kubeconfig."""
    program(tmp_path / "bin", TELLS_ALL)
    cluster = f"""
        server: https://api.example/
        certificate-authority: {certificates / "ca.pem"}
        tls-server-name: inner.example
        proxy-url: http://proxy:3128
        extensions:
        - name: other
          extension: {{a: b}}
        - name: client.authentication.k8s.io/exec
          extension: {{audience: [x, 1, 1.5, null]}}
    """
    user = """
        exec:
          apiVersion: client.authentication.k8s.io/v1beta1
          command: bin/plugin
          args: [get, token]
          env: [{name: KEY, value: value}]
          provideClusterInfo: true
    """
    file = written(tmp_path, kubeconfig(cluster=cluster, user=user))
    access = access_by(file, ENVIRON | {"HOME": "at-home", "KEY": "replaced"})
    assert token_of(access) == "t"
    given = json.loads((tmp_path / "bin" / "given").read_text())
    authority = given["info"]["spec"]["cluster"].pop("certificate-authority-data")
    assert msgspec.convert(authority, bytes, strict=False) == (certificates / "ca.pem").read_bytes()
    assert given == {
        "info": {
            "apiVersion": "client.authentication.k8s.io/v1beta1",
            "kind": "ExecCredential",
            "spec": {
                "interactive": False,
                "cluster": {
                    "server": "https://api.example/",
                    "tls-server-name": "inner.example",
                    "proxy-url": "http://proxy:3128",
                    "config": {"audience": ["x", 1, 1.5, None]},
                },
            },
        },
        "args": ["get", "token"],
        "home": "at-home",
        "key": "value",
        "stdin": "",
    }


def test_a_plugin_that_does_not_ask_is_told_nothing_of_the_cluster(tmp_path: Path) -> None:
    body = 'assert "cluster" not in info["spec"]\ngive({"token": "t"})'
    assert run(plugin(program(tmp_path, body)).token()) == "t"


def test_a_command_without_a_slash_is_found_on_the_path(tmp_path: Path) -> None:
    program(tmp_path, 'give({"token": "t"})', "our-plugin")
    settings = ExecSettings(api_version=V1, command="our-plugin")
    environ = {"PATH": f"{tmp_path}:{ENVIRON['PATH']}"}
    assert run(ExecPlugin(settings, trusting(None), environ).token()) == "t"


def test_a_missing_plugin_is_told_with_how_to_install_it() -> None:
    assert problem_of("no-such-plugin", settings={"install_hint": "get it from\nthe shop"}) == (
        "the credential plugin no-such-plugin is not installed, or not to be found on the PATH\n"
        "get it from\nthe shop"
    )


BROKEN = {
    "it fails": (
        "print('hidden'); sys.stderr.write('not logged in\\x1b[31m\\n'); sys.exit(3)",
        "ended with exit code 3:\nnot logged in?[31m",
    ),
    "it fails in silence": ("sys.exit(1)", "and wrote no reason to its standard error"),
    "no JSON": ("print('hidden')", "printed something else, expected an ExecCredential of"),
    "no UTF-8": ("os.write(1, b'\"\\xff')", "printed something else"),
    "another type": ("give({'token': 5})", "printed Expected `str`, got `int` - at `$.status.to"),
    "another version": ("info['apiVersion'] = 'v1'; give({'token': 'hidden'})", "another kind or"),
    "no status": ("give(None)", "gave neither status.token nor status.clientCertificateData"),
    "half a pair": ("give({'clientKeyData': 'hidden'})", "expected both"),
    "no pair": (
        "give({'clientKeyData': 'hidden', 'clientCertificateData': 'hidden'})",
        "gave no certificate that can be used: found no certificate in PEM form",
    ),
    "no token": ("give({'token': 'hidden\\nX: y'})", "gave a token that is not a single line"),
    "no time": (
        "give({'token': 'hidden', 'expirationTimestamp': 'tomorrow'})",
        "gave a status.expirationTimestamp that is not such as",
    ),
}


@pytest.mark.parametrize(("body", "told"), BROKEN.values(), ids=BROKEN.keys())
def test_what_is_wrong_with_a_plugin_is_told_without_secrets(
    body: str, told: str, tmp_path: Path
) -> None:
    problem = problem_of(program(tmp_path, body))
    assert told in problem
    assert "hidden" not in problem


def test_a_file_that_is_no_program_is_told(tmp_path: Path) -> None:
    file = written(tmp_path, "neither", "plugin")
    file.chmod(0o755)
    assert problem_of(file).endswith("cannot be run: Exec format error")


def wait_until_ended(pid: str) -> None:
    """Wait for the end of a process, which may be that of a zombie: the signal has been sent."""
    until_s = time.monotonic() + 30
    while has_process(pid):
        assert time.monotonic() < until_s
        time.sleep(0.01)


def has_process(pid: str) -> bool:
    try:
        return "State:\tZ" not in Path("/proc", pid, "status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_plugin_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    """Its child holds the pipe for as long as it lives."""
    body = """
        child = os.fork()
        if child:
            (folder / "child").write_text(str(child))
        time.sleep(60)
    """
    file = program(tmp_path, body)
    assert problem_of(file, timeout_s=2).endswith("did not answer within 2 s")
    wait_until_ended((tmp_path / "child").read_text())


def test_a_plugin_goes_on_when_a_request_is_given_up(tmp_path: Path) -> None:
    """It takes longer than the first request may; the second one gets what it says."""
    waits = "while not (folder / 'go').exists(): time.sleep(0.01)"
    credentials = plugin(program(tmp_path, COUNTING + f"\n    {waits}"))

    async def given_up_once() -> str | None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await credentials.token()
        written(tmp_path, "", "go")
        return await credentials.token()

    assert run(given_up_once()) == "token-1"


def test_the_end_of_the_program_ends_the_plugin(tmp_path: Path) -> None:
    body = "(folder / 'new').write_text(str(os.getpid()))\n(folder / 'new').rename(folder / 'pid')"
    credentials = plugin(program(tmp_path, body + "\ntime.sleep(60)"))

    async def given_up() -> None:
        asking = asyncio.create_task(credentials.token())
        while not (tmp_path / "pid").exists():
            await asyncio.sleep(0.01)
        asking.cancel()

    run(given_up())
    wait_until_ended((tmp_path / "pid").read_text())


@pytest.mark.parametrize(
    ("mode", "may_ask", "answer"),
    [
        ("IfAvailable", True, "True yes"),
        ("Always", True, "True yes"),
        ("Never", True, "False "),
        ("IfAvailable", False, "False "),
    ],
)
def test_a_plugin_asks_only_where_a_person_may_answer(
    mode: str, may_ask: bool, answer: str, tmp_path: Path
) -> None:
    """Standard input of this process is a pipe with one answer in it."""
    body = "give({\"token\": f\"{info['spec']['interactive']} {sys.stdin.read()}-\"})"
    file = program(tmp_path, body)
    reads, writes = os.pipe()
    os.write(writes, b"yes")
    os.close(writes)
    kept = os.dup(0)
    os.dup2(reads, 0)
    try:
        token = run(plugin(file, settings={"interactive": mode}, may_ask=may_ask).token())
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(reads)
    assert token == f"{answer}-"


def test_neither_logs_nor_reprs_show_a_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    file = program(tmp_path, 'give({"token": "hidden-token"})')
    settings = {"args": ("hidden-arg",), "env": (("K", "hidden-value"),)}
    credentials = plugin(file, settings=settings)
    assert asyncio.run(credentials.token(), debug=True) == "hidden-token"
    shown = ExecSettings(api_version=V1, command="c", **settings)  # type: ignore[arg-type]
    assert "hidden" not in caplog.text + repr(credentials) + repr(shown)
