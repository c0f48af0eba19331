"""What is installed, under which names, and with which rights."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead import __version__
from fairlead.cli.live.run import command as run
from fairlead.cluster.kubernetes.acting.requests import TERM
from fairlead.cluster.kubernetes.install.render import (
    DEFAULT_IMAGE,
    MAX_SCHEDULER_NAME,
    Installation,
    installation_text,
    kind_texts,
)
from fairlead.cluster.kubernetes.reading.kinds import kinds_to_read
from fairlead.cluster.kubernetes.watching.kinds import kinds_to_watch
from fairlead.policy.contract import POLICY_NAMES, PolicyName
from tests.shared_folder import ROOT

DEPLOY = ROOT / "deploy"
DEFAULT = Installation()
OTHER = Installation(
    namespace="batch", scheduler_name="night", image="registry.example/f:2", replicas=3
)
SHADOW = Installation(is_shadow=True)
WRITES = {"create", "update", "patch", "delete", "deletecollection", "*", "bind", "escalate"}


def objects(installation: Installation) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(installation_text(installation, ())))


def one(installation: Installation, kind: str, name_end: str = "") -> dict[str, Any]:
    found = [
        each
        for each in objects(installation)
        if each["kind"] == kind and each["metadata"]["name"].endswith(name_end)
    ]
    assert len(found) == 1
    return found[0]


def identity(each: dict[str, Any]) -> tuple[str, str, str]:
    metadata = each["metadata"]
    return each["kind"], metadata.get("namespace", ""), metadata["name"]


def texts_in(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for key, inner in value.items():
                if key not in ("app.kubernetes.io/name", "mountPath", "value"):
                    yield from texts_in(inner)
        case list():
            for inner in value:
                yield from texts_in(inner)
        case str():
            yield value


def test_every_file_is_part_of_a_kustomization() -> None:
    listed = {
        (file.parent / name).resolve()
        for file in DEPLOY.rglob("kustomization.yaml")
        for name in yaml.safe_load(file.read_text())["resources"]
    }
    unlisted = {
        file.resolve()
        for file in DEPLOY.resolve().rglob("*.yaml")
        if file.name != "kustomization.yaml"
    } - listed
    assert unlisted == set()
    assert [str(each) for each in listed if not each.exists()] == []


def test_each_document_is_one_object_with_a_name_of_its_own() -> None:
    for installation in (DEFAULT, OTHER, SHADOW):
        names = [identity(each) for each in objects(installation)]
        assert len(set(names)) == len(names)


def test_an_installation_under_another_name_says_nothing_of_the_default_one() -> None:
    """What is left of the word is our own: the annotation, the container and the prefix."""
    ours = {"fairlead-night-scheduler", "fairlead-night-viewer", "fairlead-night-fence", "fairlead"}
    container = [
        "fairlead"
        for each in objects(OTHER)
        if each["kind"] == "Deployment"
        and each["spec"]["template"]["spec"]["containers"][0]["name"] == "fairlead"
    ]
    found = [text for each in objects(OTHER) for text in texts_in(each) if "fairlead" in text]
    assert [text for text in found if text == "fairlead"] == container
    others = {text for text in found if text not in ours and TERM not in text}
    assert others == {
        "request.userInfo.username == 'system:serviceaccount:batch:fairlead-night-scheduler'"
    }


def test_schedulers_of_two_names_share_no_object_of_the_cluster() -> None:
    second = Installation(scheduler_name="night")
    shared = set(map(identity, objects(DEFAULT))) & set(map(identity, objects(second)))
    assert shared == {("Namespace", "", "fairlead-system")}


def test_a_shadow_of_that_name_shares_no_object_with_the_scheduler() -> None:
    shared = set(map(identity, objects(DEFAULT))) & set(map(identity, objects(SHADOW)))
    assert shared == {("Namespace", "", "fairlead-system")}


def test_a_namespace_of_another_name_is_not_ours_to_create() -> None:
    assert [each for each in objects(OTHER) if each["kind"] == "Namespace"] == []


def test_the_longest_name_of_a_scheduler_makes_no_name_too_long() -> None:
    installation = Installation(scheduler_name="x" * MAX_SCHEDULER_NAME)
    longest = max(len(each["metadata"]["name"]) for each in objects(installation))
    assert longest == 63


def test_the_choices_of_an_installation_reach_its_deployment() -> None:
    spec = one(OTHER, "Deployment")["spec"]
    container = spec["template"]["spec"]["containers"][0]
    assert spec["replicas"] == 3
    assert container["image"] == "registry.example/f:2"


def test_the_default_image_is_of_this_version() -> None:
    container = one(DEFAULT, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == DEFAULT_IMAGE == f"fairlead:{__version__}"


def arguments(installation: Installation) -> list[str]:
    container = one(installation, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    name, *given = map(str, container["args"])
    assert name == "run"
    return given


@pytest.mark.parametrize(
    ("installation", "policy", "scheduler"),
    [
        (DEFAULT, "elastic-quota", "fairlead"),
        (OTHER, "elastic-quota", "night"),
        (SHADOW, "elastic-quota", None),  # that of the scheduler whose objects it reads
        (Installation(is_shadow=True, policy="kueue"), "kueue", None),
        (Installation(is_shadow=True, policy="kai", scheduler_name="my-kai"), "kai", "my-kai"),
    ],
)
def test_the_arguments_of_the_container_are_those_of_the_command(
    installation: Installation, policy: str, scheduler: str | None
) -> None:
    read = run.make_context("run", arguments(installation)).params
    assert (read["policy"], read["scheduler_name"]) == (policy, scheduler)
    assert read["shadow"] is installation.is_shadow
    assert read["listen"] == ("0.0.0.0", 9464)


def test_the_fence_names_the_account_and_the_lease_of_its_scheduler() -> None:
    for installation in (DEFAULT, OTHER):
        account = one(installation, "ServiceAccount")["metadata"]
        policy = one(installation, "ValidatingAdmissionPolicy")
        binding = one(installation, "ValidatingAdmissionPolicyBinding")
        (condition,) = policy["spec"]["matchConditions"]
        user = f"system:serviceaccount:{account['namespace']}:{account['name']}"
        assert condition["expression"] == f"request.userInfo.username == '{user}'"
        assert binding["spec"]["policyName"] == policy["metadata"]["name"]
        lease = binding["spec"]["paramRef"]
        role = one(installation, "Role")
        named = [each["resourceNames"] for each in role["rules"] if "resourceNames" in each]
        assert [lease["name"]] in named
        assert lease["namespace"] == role["metadata"]["namespace"] == account["namespace"]


def test_the_fence_looks_at_the_annotation_that_acts_carry() -> None:
    policy = one(DEFAULT, "ValidatingAdmissionPolicy")
    sent = {each["name"]: each["expression"] for each in policy["spec"]["variables"]}["sent"]
    assert f"object.metadata.annotations['{TERM}']" in sent


def test_the_fence_can_be_left_out_and_nothing_else_changes() -> None:
    without = Installation(has_fence=False)
    left_out = [each for each in objects(DEFAULT) if each not in objects(without)]
    assert [each["kind"] for each in left_out] == [
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ]
    assert [each for each in objects(without) if each not in objects(DEFAULT)] == []


def test_kinds_are_printed_first_and_only_those_that_are_asked_for() -> None:
    assert set(kind_texts()) == {
        "elasticquotas.scheduling.x-k8s.io",
        "podgroups.scheduling.x-k8s.io",
    }
    text = installation_text(DEFAULT, {"podgroups.scheduling.x-k8s.io"})
    names = [identity(each) for each in yaml.safe_load_all(text)]
    assert names[0] == ("CustomResourceDefinition", "", "podgroups.scheduling.x-k8s.io")
    assert [kind for kind, _, _ in names].count("CustomResourceDefinition") == 1


def plural(kind: str) -> str:
    return kind.lower() + ("es" if kind.endswith("s") else "s")


def granted(role: dict[str, Any]) -> set[tuple[str, str, str]]:
    """What a role allows for all objects of a kind: group, resource and verb."""
    return {
        (group, resource, verb)
        for rule in role["rules"]
        if "resourceNames" not in rule
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def readable(kinds: Iterator[tuple[str, str]], *verbs: str) -> set[tuple[str, str, str]]:
    return {(group, plural(kind), verb) for group, kind in kinds for verb in verbs}


NOT_SERVED = {("config.kueue.x-k8s.io", "Configuration"), ("fairlead", "Settings")}


def test_the_scheduler_may_watch_what_it_decides_by_and_little_else() -> None:
    role = granted(one(DEFAULT, "ClusterRole", "-scheduler"))
    watched = readable(iter(kinds_to_watch("elastic-quota")), "list", "watch")
    assert watched <= role
    assert role - watched == {
        ("", "pods", "get"),
        ("", "pods/binding", "create"),
        ("", "pods/eviction", "create"),
        ("", "pods/status", "patch"),
        ("", "events", "create"),
        ("", "events", "patch"),
        ("scheduling.x-k8s.io", "elasticquotas/status", "patch"),
        ("scheduling.sigs.k8s.io", "elasticquotas/status", "patch"),
    }


def test_the_shadow_may_watch_the_kinds_of_all_rule_sets_and_nothing_else() -> None:
    role = granted(one(SHADOW, "ClusterRole", "-shadow"))
    kinds = {kind for policy in POLICY_NAMES for kind in kinds_to_watch(policy)} - NOT_SERVED
    assert role == readable(iter(kinds), "list", "watch")


def test_the_viewer_may_read_and_watch_what_the_read_only_commands_read() -> None:
    role = granted(one(DEFAULT, "ClusterRole", "-viewer"))
    kinds = set(kinds_to_read(None)) - NOT_SERVED
    assert role == readable(iter(kinds), "list", "watch")


@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_neither_shadow_nor_viewer_can_write(policy: PolicyName) -> None:
    shadow = objects(Installation(is_shadow=True, policy=policy))
    roles = [each for each in shadow if each["kind"] in ("Role", "ClusterRole")]
    for role in (*roles, one(DEFAULT, "ClusterRole", "-viewer")):
        verbs = {verb for rule in role["rules"] for verb in rule["verbs"]}
        assert verbs & WRITES == set()
        assert not any("secrets" in rule["resources"] for rule in role["rules"])


def test_the_folder_of_the_repository_is_that_of_the_package() -> None:
    package = ROOT / "src/fairlead/cluster/kubernetes/install"
    assert DEPLOY.is_symlink()
    assert Path(DEPLOY.resolve()) == package.resolve()
