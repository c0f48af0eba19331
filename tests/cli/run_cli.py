"""Runs the command line in this process and keeps what it printed."""

import contextlib
import io
import json
import sys
from typing import Any
from unittest import mock

import msgspec

from fairlead.cli.main import main


class Ran(msgspec.Struct, frozen=True):
    """What a command printed, and how it ended."""

    exit_code: int
    out: str
    err: str

    @property
    def answer(self) -> str:
        """What was printed after the first line, which names the rules, and the blank one."""
        rules, blank, rest = self.out.split("\n", 2)
        assert rules.startswith("rules: ")
        assert not blank
        return rest


def run_cli(*arguments: str, stdin: bytes = b"") -> Ran:
    """Run ``fairlead`` with *arguments*."""
    out, err = io.StringIO(), io.StringIO()
    given = io.TextIOWrapper(io.BytesIO(stdin))
    code: object = 0
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "stdin", given),
    ):
        try:
            main(list(arguments), prog_name="fairlead")
        except SystemExit as leaving:
            code = leaving.code
    assert isinstance(code, int)
    return Ran(code, out.getvalue(), err.getvalue())


def of_shard(text: str) -> Any:
    """Return the only entry of ``shards[]`` in a JSON document."""
    (shard,) = json.loads(text)["shards"]
    return shard
