"""Label conditions, node terms, taints: the truth tables of Kubernetes."""

import pytest

from fairlead.model.selector import (
    Effect,
    LabelRequirement,
    LabelSelector,
    NodeTerm,
    Operator,
    PodTerm,
    Taint,
    Toleration,
)

#   operator       values      a=1    a=5    (no a)
TRUTH = """
    In             1,2         yes    no     no
    NotIn          1,2         no     yes    yes
    Exists         -           yes    yes    no
    DoesNotExist   -           no     no     yes
    Gt             3           no     yes    no
    Lt             3           yes    no     no
    Gt             x           no     no     no
    Gt             -           no     no     no
"""


@pytest.mark.parametrize("row", TRUTH.strip().splitlines())
def test_a_condition_on_labels(row: str) -> None:
    name, values, *expected = row.split()
    operators: dict[str, Operator] = {
        operator: operator for operator in ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
    }
    required = LabelRequirement(
        key="a", operator=operators[name], values=() if values == "-" else tuple(values.split(","))
    )
    cases: list[dict[str, str]] = [{"a": "1"}, {"a": "5"}, {}]
    assert [required.matches(labels) for labels in cases] == [word == "yes" for word in expected]


def test_a_selector_without_conditions_selects_everything() -> None:
    assert LabelSelector().matches({})


def test_every_condition_of_a_selector_must_hold() -> None:
    has_a = LabelRequirement(key="a", operator="Exists")
    has_b = LabelRequirement(key="b", operator="Exists")
    both = LabelSelector(requirements=(has_a, has_b))
    assert both.matches({"a": "", "b": ""})
    assert not both.matches({"a": ""})


def test_a_node_term_looks_at_labels_and_name_and_an_empty_one_selects_nothing() -> None:
    by_name = LabelRequirement(key="metadata.name", operator="In", values=("n1",))
    big = LabelRequirement(key="size", operator="In", values=("big",))
    term = NodeTerm(labels=(big,), names=(by_name,))
    assert term.matches("n1", {"size": "big"})
    assert not term.matches("n2", {"size": "big"})
    assert not term.matches("n1", {})
    assert not NodeTerm().matches("n1", {"size": "big"})


EFFECTS: list[tuple[Effect | None, bool]] = [
    ("NoExecute", True),
    (None, True),
    ("NoSchedule", False),
]


@pytest.mark.parametrize(("effect", "covered"), EFFECTS)
def test_a_toleration_covers_its_effect_or_all(effect: Effect | None, covered: bool) -> None:
    taint = Taint(key="gpu", value="yes", effect="NoExecute")
    assert Toleration(key="gpu", value="yes", effect=effect).tolerates(taint) is covered


def test_a_toleration_compares_the_value_unless_the_key_is_enough() -> None:
    taint = Taint(key="gpu", value="yes", effect="NoSchedule")
    assert not Toleration(key="gpu", value="no").tolerates(taint)
    assert Toleration(key="gpu", operator="Exists").tolerates(taint)
    assert not Toleration(key="other", operator="Exists").tolerates(taint)
    assert Toleration(operator="Exists").tolerates(taint)
    assert not Toleration().tolerates(taint)


# Which pods a term means: a pod with the label app=web, in a namespace with the label team=x.
#   selector  namespaces  namespaces with  pod in a  pod in b
POD_TERMS = """
    web         a           -                yes       no
    web         a,b         -                yes       yes
    web         -           -                no        no
    web         -           x                yes       yes
    web         -           y                no        no
    web         b           y                no        yes
    web         -           all              yes       yes
    all         a           -                yes       no
    none        a           all              no        no
    db          a           all              no        no
"""


@pytest.mark.parametrize("row", POD_TERMS.strip().splitlines())
def test_a_pod_term_means_pods_of_its_namespaces_that_its_selector_finds(row: str) -> None:
    wanted, names, with_team, *expected = row.split()

    def selector(key: str, value: str) -> LabelSelector | None:
        if value in ("none", "-"):
            return None
        one = LabelRequirement(key=key, operator="In", values=(value,))
        return LabelSelector(requirements=() if value == "all" else (one,))

    term = PodTerm(
        topology_key="zone",
        selector=selector("app", wanted),
        namespaces=() if names == "-" else tuple(names.split(",")),
        namespace_selector=selector("team", with_team),
    )
    found = [term.matches(namespace, {"team": "x"}, {"app": "web"}) for namespace in ("a", "b")]
    assert found == [word == "yes" for word in expected]
