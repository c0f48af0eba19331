"""Help, versions, exit codes, completion, colours, and what is imported when."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead import __version__
from fairlead.cli.group import COMMANDS, SUMMARIES, fairlead
from fairlead.policy.contract import POLICY_NAMES
from tests.cli.manifests import NODE, kai_queue, pod_group, write
from tests.cli.run_cli import run_cli
from tests.cli.simulated import write_scenario


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(name: str) -> None:
    ran = run_cli(name, "--help")
    assert ran.exit_code == 0
    assert "Examples:" in ran.out
    assert f"  fairlead {name}" in ran.out


def test_the_list_of_commands_says_what_each_says_itself() -> None:
    for name in COMMANDS:
        command = fairlead.get_command(None, name)  # type: ignore[arg-type]  # it asks no context
        assert command is not None
        assert command.get_short_help_str(200).rstrip(".") == SUMMARIES[name].rstrip(".")


def test_the_version_is_the_packages() -> None:
    assert run_cli("--version").out == f"fairlead {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("no-such-verb",),
        ("queues",),
        ("queues", "--no-such"),
        ("explain",),
        ("queues", "-o", "x"),
        ("validate", "-f", ""),
        ("queues", "--diff", "", "x"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_exit_2_and_says_where_help_is(arguments: tuple[str, ...]) -> None:
    ran = run_cli(*arguments)
    assert ran.exit_code == 2
    assert "--help" in ran.err
    assert ran.out == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script(shell: str) -> None:
    ran = run_cli("completion", shell)
    assert ran.exit_code == 0
    assert "_FAIRLEAD_COMPLETE" in ran.out


def _python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def completed(words: str, *, begun: str = "") -> list[str]:
    """Return what bash is offered after *words* for the word that is *begun*: TYPE,VALUE lines."""
    ran = _python(
        "-m",
        "fairlead",
        _FAIRLEAD_COMPLETE="bash_complete",
        COMP_WORDS=f"{words} {begun}",
        COMP_CWORD=str(len(words.split())),
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_completion_offers_every_command() -> None:
    assert completed("fairlead") == [f"plain,{name}" for name in COMMANDS]
    assert completed("fairlead", begun="q") == ["plain,queues"]


def test_completion_offers_the_options_of_a_command() -> None:
    offered = completed("fairlead queues", begun="--")
    assert "plain,--capacity" in offered
    assert "plain,--diff" in offered
    assert completed("fairlead queues", begun="--st") == ["plain,--strict"]
    assert "plain,--diff" not in completed("fairlead explain", begun="--")


@pytest.mark.parametrize(
    "words",
    [
        "fairlead queues -f",
        "fairlead queues --diff",
        "fairlead queues --diff old",
        "fairlead validate",
        "fairlead explain research",
    ],
)
def test_completion_offers_files_where_a_path_stands(words: str) -> None:
    assert completed(words, begun="exa") == ["file,exa"]  # the shell lists the files itself


def test_completion_offers_the_words_of_a_choice() -> None:
    assert completed("fairlead queues --policy") == [f"plain,{name}" for name in POLICY_NAMES]
    assert completed("fairlead explain -o") == [
        "plain,text",
        "plain,wide",
        "plain,json",
        "plain,yaml",
    ]
    assert completed("fairlead completion") == ["plain,bash", "plain,zsh", "plain,fish"]


def test_help_imports_no_more_than_it_needs() -> None:
    program = (
        "import sys; sys.argv = ['fairlead', '--help']\n"
        "from fairlead.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in sys.modules if m.startswith(('fairlead', 'yaml'))], file=sys.stderr)"
    )
    ran = _python("-c", program)
    assert ran.returncode == 0
    loaded = set(json.loads(ran.stderr.replace("'", '"')))
    entry = {"fairlead", "fairlead.cli", "fairlead.cli.main"}
    assert loaded == entry | {
        "fairlead.cli.group",
        "fairlead.errors",
        "fairlead.explain",
        "fairlead.explain.registry",
    }


def test_python_dash_m_works_like_the_command() -> None:
    assert _python("-m", "fairlead", "--version").stdout == f"fairlead {__version__}\n"


def test_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    names = [kai_queue(f"q{at}") for at in range(300)]
    file = write(tmp_path, "c.yaml", NODE, *names)
    command = f"{sys.executable} -m fairlead queues -f {file} -o json | head -1"
    # A shell, because the pipe is what is tested; the command is all ours.
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)  # noqa: S602
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("command", ["--help", "plan --help", "queues -f c.yaml -o json"])
def test_a_reader_that_has_left_is_no_error(tmp_path: Path, command: str) -> None:
    write(tmp_path, "c.yaml", NODE, kai_queue("a"), pod_group("j", "a", 1))
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run(
        [sys.executable, "-m", "fairlead", *command.split()],
        stdout=writing,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        check=False,
    )
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("--help", 1, "error: cannot write the output: standard output is closed"),
        ("plan -f c.yaml", 1, "error: cannot write the output: standard output is closed"),
        ("validate -f c.yaml", 1, "error: cannot write the output: standard output is closed"),
        ("no-such-verb", 2, "Error: No such command 'no-such-verb'."),
    ],
)
def test_a_closed_standard_output_is_told(
    tmp_path: Path, command: str, code: int, message: str
) -> None:
    write(tmp_path, "c.yaml", NODE, kai_queue("a"), pod_group("j", "a", 1))
    # Only a shell closes it; the command is all ours.
    ran = subprocess.run(  # noqa: S602
        f"{sys.executable} -m fairlead {command} >&-",
        shell=True,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert (ran.returncode, ran.stderr.splitlines()[-1]) == (code, message)


def test_a_full_disk_is_no_traceback(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    file = write(tmp_path, "c.yaml", NODE, kai_queue("a"))
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "fairlead", "queues", "-f", file],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].startswith("error: cannot write the output")
    assert "Traceback" not in ran.stderr


NO_UTF_8 = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_a_name_that_the_locale_cannot_write_is_no_traceback(tmp_path: Path) -> None:
    """Neither where it would be written nor where it is read."""
    if sys.platform == "darwin":
        pytest.skip("there, names of files are always UTF-8")
    file, to = write_scenario(tmp_path, 'policies: [{name: "règles", policy: kai}]'), tmp_path / "o"
    simulate = ("-m", "fairlead", "simulate", file, "--to", str(to))
    refused = _python(*simulate, **NO_UTF_8)
    problem = "which has letters that no file can have here, in ascii"
    assert (refused.returncode, refused.stdout) == (1, "")
    assert f"{file}:18: error: $.spec.policies[0].name" in refused.stderr
    assert problem in refused.stderr
    assert "fix: set a locale with UTF-8" in refused.stderr
    assert not to.exists()

    assert _python(*simulate, LC_ALL="C.UTF-8").returncode == 0
    read = _python("-m", "fairlead", "compare", str(to), str(to), **NO_UTF_8)
    assert (read.returncode, read.stdout) == (1, "")
    assert problem in read.stderr
    assert "Traceback" not in read.stderr


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TERM": "xterm"}, None),  # as the output is a terminal or not
        ({}, None),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, None),
        ({"TERM": "dumb"}, False),
    ],
    ids=str,
)
def test_colour_is_only_for_who_wants_and_shows_it(
    environment: dict[str, str], expected: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fairlead.cli.input.findings import use_colour

    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert use_colour() is expected


def test_an_empty_name_of_a_file_is_told_as_such() -> None:
    ran = run_cli("validate", "-f", "")
    assert (ran.exit_code, ran.out) == (2, "")
    assert "found an empty path" in ran.err


@pytest.mark.parametrize(
    "environment",
    [{}, {"COMP_WORDS": "fairlead"}, {"COMP_CWORD": "1"}, {"COMP_WORDS": "", "COMP_CWORD": "x"}],
    ids=str,
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_without_the_words_of_a_shell_is_no_traceback(
    shell: str, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("COMP_WORDS", "COMP_CWORD"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("_FAIRLEAD_COMPLETE", f"{shell}_complete")
    ran = run_cli()
    assert (ran.exit_code, ran.out) == (2, "")
    assert ran.err.startswith("error: _FAIRLEAD_COMPLETE is set, but COMP_WORDS or COMP_CWORD")


@pytest.mark.parametrize("module", ["click", "fairlead.cli.group", "fairlead.cli.cluster.validate"])
def test_an_interruption_during_an_import_is_no_traceback(module: str) -> None:
    program = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from fairlead.cli.main import main\n"
        "main(['validate', '-f', 'x'], prog_name='fairlead')\n"
    )
    ran = _python("-c", program)
    assert (ran.returncode, ran.stdout, ran.stderr.strip()) == (130, "", "interrupted")
