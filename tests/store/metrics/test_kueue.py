"""Kueue's metrics: its labels, its units, and nothing that a state cannot know."""

import math
from pathlib import Path

from fairlead.store.metrics.exposition import exposition
from fairlead.store.metrics.registry import state_families
from tests.cli.kueue_manifests import FAIR, flavor, queue, workload
from tests.cli.manifests import write
from tests.manifest.reading import load_or_raise
from tests.store.scraped import by_label, scraped
from tests.text_table import rows

LIMITED = queue("a", "pool", cold=4).replace(
    "nominalQuota: 4", "nominalQuota: 4, borrowingLimit: 2500m, lendingLimit: 1"
)
# a has 4 cores and uses 6: it borrows 2 of b's 8. One waits in a, two wait in b.
WORLD = (
    flavor("cold"),
    LIMITED,
    queue("b", "pool", cold=8),
    workload("a1", "a", 6, has="cold"),
    workload("a2", "a", 1),
    workload("b1", "b", 9),
    workload("b2", "b", 9, minute=1),
)
NOT_ADMITTED = """    - {type: Admitted, status: "False", reason: UnsatisfiedAdmissionChecks}
"""


def told(folder: Path, *documents: str) -> str:
    assembled = load_or_raise([write(folder, "c.yaml", *documents)])
    return exposition(state_families(assembled.state, assembled.settings, None)).decode()


EXPECTED = """
    name                                      a      b
    kueue_cluster_queue_nominal_quota         4      8
    kueue_cluster_queue_borrowing_limit       2.5    inf
    kueue_cluster_queue_lending_limit         1      inf
    kueue_cluster_queue_resource_reservation  6      0
    kueue_cluster_queue_resource_usage        6      0
    kueue_reserving_active_workloads          1      0
    kueue_admitted_active_workloads           1      0
"""


def test_every_number_is_the_states_in_cores(tmp_path: Path) -> None:
    text = told(tmp_path, *WORLD)
    for row in rows(EXPECTED):
        found = by_label(text, row["name"], "cluster_queue")
        assert found == {"a": float(row["a"]), "b": float(row["b"])}, row["name"]


def test_the_labels_are_kueues(tmp_path: Path) -> None:
    labels = [
        dict(each) for each in scraped(told(tmp_path, *WORLD))["kueue_cluster_queue_nominal_quota"]
    ]
    assert labels[0] == {
        "cohort": "pool",
        "cluster_queue": "a",
        "flavor": "cold",
        "resource": "cpu",
        "replica_role": "standalone",
    }


def test_who_waits_in_a_stopped_queue_is_inadmissible(tmp_path: Path) -> None:
    name = "kueue_pending_workloads"
    text = told(tmp_path, *WORLD)
    assert by_label(text, name, "cluster_queue", status="active") == {"a": 1, "b": 2}
    assert by_label(text, name, "cluster_queue", status="inadmissible") == {"a": 0, "b": 0}
    stopped = WORLD[2].replace("namespaceSelector", "stopPolicy: Hold\n  namespaceSelector")
    text = told(tmp_path, *WORLD[:2], stopped, *WORLD[3:])
    assert by_label(text, name, "cluster_queue", status="active") == {"a": 1, "b": 0}
    assert by_label(text, name, "cluster_queue", status="inadmissible") == {"a": 0, "b": 2}


def test_a_workload_that_waits_for_checks_has_quota_and_is_not_admitted(tmp_path: Path) -> None:
    """Of a's 6 cores a3 has 1 reserved: 6 + 1 reserved, 6 used."""
    checked = workload("a3", "a", 1, has="cold")
    assert "  conditions:\n" in checked
    checked = checked.replace("  conditions:\n", f"  conditions:\n{NOT_ADMITTED}")
    text = told(tmp_path, *WORLD, checked)
    found = {
        name: by_label(text, f"kueue_{name}", "cluster_queue")["a"]
        for name in (
            "cluster_queue_resource_reservation",
            "cluster_queue_resource_usage",
            "reserving_active_workloads",
            "admitted_active_workloads",
        )
    }
    assert list(found.values()) == [7, 6, 2, 1]


def test_weighted_shares_are_told_where_they_decide(tmp_path: Path) -> None:
    assert "weighted_share" not in told(tmp_path, *WORLD)
    text = told(tmp_path, *WORLD, FAIR)
    # a borrows 2; 4 - 3 that it keeps + 8 = 9 can be lent: 2 * 1000 / 9
    shares = by_label(text, "kueue_cluster_queue_weighted_share", "cluster_queue", cohort="pool")
    assert shares == {"a": 2000 / 9, "b": 0}
    assert by_label(text, "kueue_cohort_weighted_share", "cohort") == {"pool": 0}


def test_a_borrower_of_weight_zero_has_an_infinite_share(tmp_path: Path) -> None:
    weightless = LIMITED.replace(
        "namespaceSelector", "fairSharing: {weight: 0}\n  namespaceSelector"
    )
    text = told(tmp_path, WORLD[0], weightless, *WORLD[2:], FAIR)
    shares = by_label(text, "kueue_cluster_queue_weighted_share", "cluster_queue")
    assert shares == {"a": math.inf, "b": 0}
