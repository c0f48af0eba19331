"""A real browser without a window, driven through its debugging pipe.

Chromium speaks its DevTools protocol over two pipes, messages of JSON that end in a zero byte: that
needs no library and no port. Tests use it where it is installed and are skipped, visibly, where it
is not; where FAIRLEAD_REQUIRE_CHROMIUM is set they fail instead.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from typing import Any, Final

import pytest

FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
# Chromium reads from 3 and writes to 4. Put there by a process of its own: a function between fork
# and exec is not safe where other tests have left threads.
LAUNCH: Final = """
import fcntl, os, sys
pipes = [fcntl.fcntl(int(each), fcntl.F_DUPFD, 10) for each in sys.argv[1:3]]
for place, pipe in enumerate(pipes, start=3):
    os.dup2(pipe, place)
os.execvp(sys.argv[3], sys.argv[3:])
"""
PATIENCE_S: Final = 60
KEYS: Final = {"ArrowRight": 39, "ArrowLeft": 37, "Tab": 9, "Escape": 27, "Home": 36, "Enter": 13}


class BrowserError(AssertionError):
    """The page or the browser did not do what was asked."""


def chromium() -> str:
    """Return where Chromium is; skip the test, or fail where it is required, if it is not."""
    found = os.environ.get("CHROMIUM_BIN") or shutil.which("chromium")
    if found is None:
        missing = "needs chromium: install it, or set CHROMIUM_BIN"
        if os.environ.get("FAIRLEAD_REQUIRE_CHROMIUM"):
            pytest.fail(missing)
        pytest.skip(missing)
    return found


class Page:
    """One page, its errors and what a person does to it."""

    def __init__(self, sent: int, heard: int) -> None:
        """Take the pipes: what is written to *sent* is answered on *heard*."""
        self._sent = sent
        self._heard = heard
        self._rest = b""
        self._count = 0
        self._session: str | None = None
        self._events: list[dict[str, Any]] = []
        self.errors: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask the browser and return its answer; what happens meanwhile is written down."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._sent, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._notice(answer)

    def open(
        self,
        file: Path,
        *,
        width: int = 1280,
        height: int = 900,
        theme: str = "",
        fragment: str = "",
    ) -> None:
        """Show *file* at a *fragment* of it, and wait until it is drawn."""
        self.resize(width, height)
        self.prefer(theme)
        if fragment:  # from the same document to its fragment nothing would be loaded
            self._load("about:blank")
        self._load(f"{file.as_uri()}#{fragment}" if fragment else file.as_uri())
        self.settle()

    def _load(self, url: str) -> None:
        self._events.clear()
        self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._notice(self._next())

    def resize(self, width: int, height: int) -> None:
        """Let the window be so large."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def prefer(self, theme: str) -> None:
        """Let the system prefer *theme*: light, dark or nothing."""
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def settle(self) -> None:
        """Wait until two frames have been drawn."""
        frames = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        self.run(frames)

    def run(self, script: str) -> Any:
        """Return what *script* gives, awaited."""
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise BrowserError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def click(self, x: float, y: float) -> None:
        """Press and release the mouse there."""
        self.drag((x, y), (x, y))

    def drag(self, begin: tuple[float, float], end: tuple[float, float]) -> None:
        """Press the mouse at one place and release it at another."""
        self._mouse("mouseMoved", *begin)
        self._mouse("mousePressed", *begin)
        self._mouse("mouseMoved", *end)
        self._mouse("mouseReleased", *end)
        self.settle()

    def press(self, key: str) -> None:
        """Press and release a key."""
        code = KEYS.get(key, ord(key.upper()[0]))
        text = {"text": key} if len(key) == 1 else {}
        down = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **down, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **down)
        self.settle()

    def screenshot(self, file: Path, *, whole: bool = False) -> None:
        """Write what is seen, or the whole page, to *file*."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(b64decode(shot["data"]))

    def _mouse(self, kind: str, x: float, y: float) -> None:
        self.call(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x,
            y=y,
            button="none" if kind == "mouseMoved" else "left",
            buttons=0 if kind == "mouseReleased" else 1,
            clickCount=0 if kind == "mouseMoved" else 1,
        )

    def _notice(self, event: dict[str, Any]) -> None:
        self._events.append(event)
        told = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(str(told["exceptionDetails"]))
            case "Log.entryAdded" if told["entry"]["level"] == "error":
                self.errors.append(told["entry"]["text"])
            case "Runtime.consoleAPICalled" if told["type"] in ("error", "warning", "assert"):
                self.errors.append(str(told["args"]))
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])

    def _next(self) -> dict[str, Any]:
        until_s = time.monotonic() + PATIENCE_S
        while b"\0" not in self._rest:
            ready, _, _ = select([self._heard], [], [], max(0, until_s - time.monotonic()))
            part = os.read(self._heard, 1 << 20) if ready else b""
            if not part:
                raise BrowserError("the browser does not answer")
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        decoded: dict[str, Any] = json.loads(message)
        return decoded


@contextmanager
def opened_browser(folder: Path) -> Iterator[Page]:
    """Run a browser whose profile is in *folder*, and end it."""
    program = chromium()
    their_in, sent = os.pipe()
    heard, their_out = os.pipe()
    launch = [sys.executable, "-c", LAUNCH, str(their_in), str(their_out)]
    process = subprocess.Popen(
        [*launch, program, *FLAGS, f"--user-data-dir={folder}", "about:blank"],
        pass_fds=(their_in, their_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(their_in)
    os.close(their_out)
    try:
        yield Page(sent, heard)
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
        os.close(sent)
        os.close(heard)
