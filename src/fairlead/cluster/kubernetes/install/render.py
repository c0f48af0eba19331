"""The YAML of an installation under its own names: what kustomize makes of this folder, as text.

The files are complete as they are, for one installation by the defaults. Here they are put together
in the order of their kustomizations, comments included, and the few values that an installation
chooses are exchanged. Which values are possible is checked by the caller.
"""

import re
from collections.abc import Collection, Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

import msgspec
import yaml

from fairlead import __version__
from fairlead.policy.contract import PolicyName

DEFAULT_NAMESPACE: Final = "fairlead-system"
DEFAULT_SCHEDULER_NAME: Final = "fairlead"
DEFAULT_IMAGE: Final = f"fairlead:{__version__}"
DEFAULT_REPLICAS: Final = 2
MAX_SCHEDULER_NAME: Final = 63 - len("fairlead--scheduler")
"""The longest name of a scheduler, because a Service is named after it."""

_KUSTOMIZATION: Final = "kustomization.yaml"
_OBJECT_NAMES: Final = re.compile(r"\bfairlead-(?=(?:scheduler|shadow|viewer|fence)\b)")
_SHADOW_FLAG: Final = "            - --shadow\n"
# The name of the scheduler stands in a label, in an argument, and as the name of its Lease.
_SCHEDULER_NAMES: Final = re.compile(
    r"(app\.kubernetes\.io/instance: |--scheduler-name=|resourceNames: \[|^    name: )"
    r"fairlead(?=\]?$)",
    re.MULTILINE,
)


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """What an installation chooses; the defaults are those of the files."""

    policy: PolicyName = "elastic-quota"
    is_shadow: bool = False
    namespace: str = DEFAULT_NAMESPACE
    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    image: str = DEFAULT_IMAGE
    replicas: int = DEFAULT_REPLICAS  # of the scheduler; a shadow has one
    has_fence: bool = True


def installation_text(wanted: Installation, kinds: Collection[str]) -> str:
    """Return the YAML of an installation, with the definitions of *kinds*: names of CRDs.

    A shadow needs no kinds and no fence. A namespace of another name than the default has to exist:
    it may be home to more than Fairlead, and deleting what is printed must not delete it.
    """
    root = files(__package__)
    folders = [root / "shadow"] if wanted.is_shadow else [root]
    texts = [text for name, text in kind_texts().items() if name in kinds]
    texts += [_named(text, wanted) for folder in folders for text in _texts(folder, wanted)]
    return "---\n".join(texts)


def kind_texts() -> dict[str, str]:
    """Return the definitions of kinds that Fairlead needs, by name."""
    crds = files(__package__) / "crds"
    texts = [(crds / name).read_text(encoding="utf-8") for name in _resources(crds)]
    return {yaml.safe_load(text)["metadata"]["name"]: text for text in texts}


def _texts(folder: Traversable, wanted: Installation) -> Iterator[str]:
    """Yield the files of a kustomization in its order, without those that are not wanted."""
    for name in _resources(folder):
        if name.endswith(".yaml"):
            yield (folder / name).read_text(encoding="utf-8")
            continue
        part = name.removeprefix("../")
        is_left_out = {
            "namespace": wanted.namespace != DEFAULT_NAMESPACE,
            "fence": not wanted.has_fence,
        }
        if not is_left_out.get(part, False):
            yield from _texts(files(__package__) / part, wanted)


def _resources(folder: Traversable) -> list[str]:
    text = (folder / _KUSTOMIZATION).read_text(encoding="utf-8")
    found: list[str] = yaml.safe_load(text)["resources"]
    return found


def _named(text: str, wanted: Installation) -> str:
    """Exchange what an installation chooses."""
    name = wanted.scheduler_name
    prefix = "fairlead-" if name == DEFAULT_SCHEDULER_NAME else f"fairlead-{name}-"
    text = _SCHEDULER_NAMES.sub(rf"\g<1>{name}", text)
    text = _OBJECT_NAMES.sub(prefix, text)
    if wanted.is_shadow and name != DEFAULT_SCHEDULER_NAME:
        # By default it looks at pods of the scheduler whose objects it reads.
        text = text.replace(_SHADOW_FLAG, f"{_SHADOW_FLAG}            - --scheduler-name={name}\n")
    for default, chosen in (
        (DEFAULT_NAMESPACE, wanted.namespace),
        (f"image: {DEFAULT_IMAGE}", f"image: {wanted.image}"),
        (f"replicas: {DEFAULT_REPLICAS}", f"replicas: {wanted.replicas}"),
        ("--policy=elastic-quota", f"--policy={wanted.policy}"),
    ):
        text = text.replace(default, chosen)
    return text
