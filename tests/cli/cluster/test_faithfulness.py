"""What ``--faithful`` makes of the settings that an input brings."""

from pathlib import Path

import msgspec
import pytest

from fairlead.cli.input.options import with_faithfulness
from fairlead.policy.contract import Settings
from fairlead.policy.elastic_quota.settings import (
    FAITHFUL,
    ElasticQuotaSettings,
    PluginQuirks,
)
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kueue.settings import KueueOptions, KueueSettings
from tests.cli.run_cli import run_cli

PACKING = ElasticQuotaSettings(
    protect_min=True, scoring="MostAllocated", quirks=PluginQuirks(pool_all=True)
)
FAIR = KueueSettings(fair_sharing=True)
FAITHFUL_KUEUE = KueueSettings(fair_sharing=True, faithful=True)

# without the option, with it
CASES: dict[str, tuple[Settings, Settings, Settings]] = {
    "elastic-quota, our own mode": (ElasticQuotaSettings(), ElasticQuotaSettings(), FAITHFUL),
    "elastic-quota, faithful by its own settings": (FAITHFUL, FAITHFUL, FAITHFUL),
    "elastic-quota, where only the choice of nodes is not the plugin's": (
        PACKING,
        PACKING,
        msgspec.structs.replace(FAITHFUL, scoring="MostAllocated"),
    ),
    "kai": (KaiSettings(), KaiSettings(faithful=False), KaiSettings(faithful=True)),
    "kueue with options of ours": (
        msgspec.structs.replace(FAIR, options=KueueOptions(no_preemption_loops=True)),
        msgspec.structs.replace(FAIR, options=KueueOptions(no_preemption_loops=True)),
        FAITHFUL_KUEUE,
    ),
    "kueue, our own mode": (FAIR, FAIR, FAITHFUL_KUEUE),
    "kueue, faithful by its own settings": (FAITHFUL_KUEUE, FAITHFUL_KUEUE, FAITHFUL_KUEUE),
}


@pytest.mark.parametrize(("given", "without", "wanted"), CASES.values(), ids=CASES.keys())
def test_what_the_option_makes_of_settings(
    given: Settings, without: Settings, wanted: Settings
) -> None:
    assert with_faithfulness(given, faithful=False) == without
    assert with_faithfulness(given, faithful=True) == wanted


def test_elastic_quotas_without_nodes_cannot_be_planned(tmp_path: Path) -> None:
    file = tmp_path / "quota.yaml"
    file.write_text(
        "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: ElasticQuota\n"
        "metadata: {name: quota, namespace: vision}\nspec: {min: {cpu: 4}}\n"
    )
    ran = run_cli("plan", "-f", str(file))
    assert ran.exit_code == 1
    assert "there is nowhere to run: the input has no Node. Add the nodes" in ran.err
