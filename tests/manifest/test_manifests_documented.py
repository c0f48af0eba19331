"""The reference of manifests names every kind and version that is read, and every bound."""

import re

import pytest

from fairlead.manifest.core.owners.made_pods import MAX_MADE_PODS
from fairlead.manifest.kai.reading.pod_group import LAST_START, PREEMPTION_DELAY, STALE_SINCE
from fairlead.manifest.kai.reading.shard import FLAGS
from fairlead.manifest.kinds import KINDS
from fairlead.manifest.kueue.assembly.workloads import MAX_ADMITTED_PODS
from fairlead.manifest.text import limits
from fairlead.model.quantity import MAX_QUANTITY
from tests.shared_folder import ROOT

PAGE = (ROOT / "docs" / "reference" / "manifests.md").read_text(encoding="utf-8")
SECTIONS = re.split(r"^#+ ", PAGE, flags=re.MULTILINE)
BOUNDS = {
    "bytes in one file, or on standard input": f"{limits.MAX_FILE_BYTES // 2**20} MiB",
    "objects in one file, items of lists and empty documents included": f"{limits.MAX_DOCUMENTS:,}",
    "mappings and lists within each other": f"{limits.MAX_DEPTH}",
    "keys and values in one file": f"{limits.MAX_FILE_NODES:,}",
    "keys and values in one document of YAML, or one item of a list": f"{limits.MAX_NODES:,}",
    "values in one file that aliases repeat": f"{limits.MAX_ALIASED_NODES:,}",
    "characters of one number": f"{limits.MAX_NUMBER_LENGTH}",
    "an amount, in its own unit, such as bytes or GPUs": (
        f"2^{MAX_QUANTITY.bit_length()} - 1, as in Kubernetes"
    ),
    "any other number": f"10^{len(str(limits.MAX_NUMBER)) - 1}",
    "decimals of a weight or another factor": f"{limits.MAX_DECIMALS}",
    "pods of a group, and priorities": f"{limits.MAX_COUNT:,}",
    "shared devices of one pod": f"{limits.MAX_SHARED_DEVICES}",
    "admitted pods of all Kueue workloads": f"{MAX_ADMITTED_PODS:,}",
    "findings of each severity that are kept; further ones are only counted": (
        f"{limits.MAX_FINDINGS:,}"
    ),
}


@pytest.mark.parametrize(("group", "kind"), KINDS)
def test_a_section_names_the_kind_with_all_its_versions(group: str, kind: str) -> None:
    assert group in PAGE
    versions = [re.compile(rf"[`/]{version}`") for version in KINDS[group, kind].versions]
    assert any(
        re.search(rf"\b{kind}\b", section) and all(each.search(section) for each in versions)
        for section in SECTIONS
    )


@pytest.mark.parametrize("name", [*FLAGS, LAST_START, STALE_SINCE, PREEMPTION_DELAY])
def test_the_page_names_every_flag_and_annotation_of_kais_that_is_read(name: str) -> None:
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("bound", BOUNDS)
def test_the_page_states_the_bound(bound: str) -> None:
    assert f"| {bound} | {BOUNDS[bound]} |" in PAGE


def test_the_page_states_every_bound_of_the_readers() -> None:
    stated = [name for name in vars(limits) if name.startswith("MAX_")]
    assert len(stated) + 2 == len(BOUNDS)  # and those of amounts and of Kueue's workloads


def test_the_page_says_of_how_many_pods_owners_are_made() -> None:
    assert f"No pods are made for an owner that wants more than {MAX_MADE_PODS:,}." in PAGE
