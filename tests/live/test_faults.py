"""Whatever fails at whichever write: nothing is lost, bound twice or overcommitted.

FAIRLEAD_FAULT_SECONDS says for how long, a minute by default, and FAIRLEAD_FAULT_SEED which of all
faults are run then. `make soak-live` runs all of them.
"""

import os
import random
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from tests.live.audited import denials
from tests.live.faults.campaign import Campaign, Runner, conduct, in_turns, record, say
from tests.live.faults.fault import Kind
from tools.k8s.cluster import Cluster

SECONDS = float(os.environ.get("FAIRLEAD_FAULT_SECONDS") or 60)
SEED = int(os.environ.get("FAIRLEAD_FAULT_SEED") or random.SystemRandom().randrange(10**6))


@pytest.fixture(scope="module")
def runner(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """Gives what runs worlds on the cluster of the tests."""
    return Runner(cluster, tmp_path_factory.mktemp("faults"))


@pytest.fixture(scope="module")
def campaign(runner: Runner, pytestconfig: pytest.Config) -> Iterator[Campaign]:
    """Gives all faults, and says in the end how many of them were run."""
    campaign = record(runner)
    yield campaign
    capture = pytestconfig.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else nullcontext():
        say(f"\nseed {SEED}: {campaign.summary()}")


@pytest.mark.parametrize("kind", Kind)
def test_a_fault_at_any_write_leaves_the_same_outcome_and_breaks_no_rule(
    campaign: Campaign, runner: Runner, kind: Kind
) -> None:
    after_bytes = runner.cluster.audit_log.stat().st_size
    own = [pair for pair in campaign.pairs if pair[1].kind is kind]
    chosen = in_turns(own, random.Random(SEED))
    wrong = conduct(campaign, runner, chosen, seconds=SECONDS / len(Kind))
    assert denials(runner.cluster, "fairlead", after_bytes) == []
    assert not wrong, "\n".join([f"FAIRLEAD_FAULT_SEED={SEED}", *wrong])
