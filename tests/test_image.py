"""The Containerfile and the Deployment say the same; tools/check_image.sh tries out the rest."""

import re

import yaml

from fairlead import __version__
from tests.shared_folder import ROOT

CONTAINERFILE = (ROOT / "Containerfile").read_text()


def test_the_image_runs_as_the_user_of_the_deployments() -> None:
    user = re.search(r"^USER (\d+):(\d+)$", CONTAINERFILE, re.MULTILINE)
    assert user
    for name in ("scheduler", "shadow"):
        deployment = yaml.safe_load((ROOT / f"deploy/{name}/deployment.yaml").read_text())
        context = deployment["spec"]["template"]["spec"]["securityContext"]
        assert context["runAsNonRoot"]
        assert (context["runAsUser"], context["runAsGroup"]) == tuple(map(int, user.groups()))


def test_everything_that_is_copied_into_the_image_exists() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINERFILE, re.MULTILINE)
    names = [name for line in copied for name in line.split()]
    assert "src" in names
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_the_commands_that_build_it_name_this_version() -> None:
    assert re.findall(r"-t fairlead:(\S+)", CONTAINERFILE) == [__version__] * 2
