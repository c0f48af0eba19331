"""Which objects belong to which owner, as objects come and go."""

from fairlead.manifest.core.objects import PodObject
from fairlead.manifest.core.owners.kinship import Dependent, Kinship
from fairlead.manifest.core.owners.objects import OwnerObject
from fairlead.manifest.core.owners.standing import standing
from fairlead.manifest.core.read_pod import read_pod
from tests.manifest.owners.owner_texts import owner_text, read_owner
from tests.manifest.yaml_text import cursor_of

DEPLOYMENT = "apps/v1/Deployment"
REPLICA_SET = "apps/v1/ReplicaSet"
SELECTOR = "selector: {matchLabels: {app: web, tier: front}}, replicas: 2, TEMPLATE"


def owned_by(kind: str, name: str, uid: str) -> str:
    api_version, _, own = kind.rpartition("/")
    return (
        f"ownerReferences: [{{apiVersion: {api_version}, kind: {own}, name: {name}, uid: '{uid}', "
        "controller: true}]"
    )


def pod(name: str, metadata: str) -> PodObject:
    cursor, _ = cursor_of(
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: lab, {metadata}}}, "
        "spec: {containers: [{name: c}]}}"
    )
    found = read_pod(cursor)
    assert found is not None
    return found


class Family:
    """Owners and pods that come and go."""

    def __init__(self, *there: Dependent) -> None:
        self.owners: dict[str, OwnerObject] = {}
        self.kinship = Kinship(self.owners)
        for each in there:
            self.put(each)

    def put(self, each: Dependent) -> set[str]:
        if isinstance(each, OwnerObject):
            self.owners[each.key()] = each
        self.kinship.put(each)
        return self.kinship.affected(each)

    def drop(self, each: Dependent) -> set[str]:
        found = self.kinship.affected(each)
        if isinstance(each, OwnerObject):
            del self.owners[each.key()]
        self.kinship.drop(each)
        return found

    def of(self, owner: OwnerObject) -> list[str]:
        return sorted(each.key() for each in self.kinship.dependents(owner))


WEB = read_owner(owner_text(DEPLOYMENT, SELECTOR, metadata="uid: d-1", name="web"))
SET = read_owner(
    owner_text(
        REPLICA_SET,
        "replicas: 2, TEMPLATE",
        metadata=f"uid: r-1, {owned_by(DEPLOYMENT, 'web', 'd-1')}",
        name="web-1",
    )
)
OF_SET = pod("p", f"labels: {{app: web, tier: front}}, {owned_by(REPLICA_SET, 'web-1', 'r-1')}")


def test_a_pod_belongs_to_its_controller_and_that_to_the_next() -> None:
    family = Family(WEB, SET, OF_SET)
    assert [each.name for each in family.kinship.chain(OF_SET)] == ["web-1", "web"]
    assert family.of(SET) == ["lab/p"]
    assert family.of(WEB) == ["ReplicaSet.apps/lab/web-1"]


def test_a_pod_whose_controller_is_unknown_is_found_by_its_labels() -> None:
    assert Family(WEB, OF_SET).of(WEB) == ["lab/p"]
    assert Family(OF_SET, WEB).of(WEB) == ["lab/p"]  # in whatever order they come
    assert Family(WEB, pod("p", "labels: {app: web}")).of(WEB) == []  # not all of its labels


def test_another_uid_is_another_owner() -> None:
    other = pod("p", owned_by(REPLICA_SET, "web-1", "r-2"))
    assert Family(SET, other).of(SET) == []
    assert Family(SET, pod("p", owned_by(REPLICA_SET, "web-1", ""))).of(SET) == ["lab/p"]
    from_file = read_owner(owner_text(REPLICA_SET, "TEMPLATE", name="web-1"))
    assert Family(from_file, other).of(from_file) == ["lab/p"]  # its file says no uid


def test_owners_that_a_change_matters_to() -> None:
    family = Family(WEB)
    web, own = WEB.key(), SET.key()
    assert family.put(OF_SET) == {own, web}  # by its controller, and by labels
    assert family.put(SET) == {own, web}  # the pod is not the Deployment's by labels any more
    assert family.of(WEB) == [own]
    assert family.drop(SET) == {own, web}
    assert family.of(WEB) == ["lab/p"]
    assert family.drop(OF_SET) == {own, web}
    assert family.of(WEB) == []


def test_owners_in_a_circle_end_the_walk() -> None:
    one = read_owner(
        owner_text("batch/v1/Job", "TEMPLATE", name="x", metadata=owned_by("batch/v1/Job", "z", ""))
    )
    two = read_owner(
        owner_text("batch/v1/Job", "TEMPLATE", name="z", metadata=owned_by("batch/v1/Job", "x", ""))
    )
    family = Family(one, two)
    assert len(family.kinship.chain(one)) == 10
    assert family.kinship.affected(one) == {one.key(), two.key()}


JOB = "batch/v1/Job"
STANDINGS = {
    "due": owner_text(JOB, "TEMPLATE"),
    "finished": owner_text(JOB, "completions: 1, TEMPLATE", status="succeeded: 1"),
    "scheduled": owner_text("batch/v1/CronJob", "jobTemplate: {spec: {TEMPLATE}}"),
    "suspended": owner_text(JOB, "suspend: true, TEMPLATE", status="active: 1"),
    "pods-missing": owner_text(JOB, "TEMPLATE", status="active: 1"),
    "nothing-wanted": owner_text(DEPLOYMENT, "replicas: 0, TEMPLATE"),
    "too-many": owner_text(DEPLOYMENT, "replicas: 20001, TEMPLATE"),
}


def test_how_owners_stand_that_have_nothing_in_the_input() -> None:
    for expected, text in STANDINGS.items():
        owner = read_owner(text)
        assert standing(owner, Family(owner).kinship) == expected


def test_an_owner_of_a_pod_makes_no_more() -> None:
    found = {}
    for name, text in STANDINGS.items():
        owner = read_owner(text)
        mine = pod("p", owned_by(f"{owner.api_version}/{owner.owner_kind}", "x", ""))
        found[name] = standing(owner, Family(owner, mine).kinship)
    assert found == {**dict.fromkeys(STANDINGS, "has-dependents"), "finished": "finished"}
