"""KAI's kinds, its section of the settings, and how its objects are translated."""

from typing import Final

from fairlead.manifest.bundle import Bundle, Kind, SettingsSection, UntypedDocument, one_object
from fairlead.manifest.kai.family import KaiFamily
from fairlead.manifest.kai.reading.own_usage import USAGE_SECTION, read_own_usage
from fairlead.manifest.kai.reading.pod_group import read_kai_pod_group
from fairlead.manifest.kai.reading.queue import read_kai_queue
from fairlead.manifest.kai.reading.shard import read_kai_config, read_kai_shard
from fairlead.manifest.kai.reading.share_simulation import (
    is_share_simulation,
    read_share_simulation,
)

KAI: Final = Bundle(
    policy="kai",
    queues="KAI Queue",
    kinds={
        ("scheduling.run.ai", "Queue"): one_object(read_kai_queue, "v2", is_queue=True),
        ("scheduling.run.ai", "PodGroup"): one_object(read_kai_pod_group, "v2alpha2"),
        ("kai.scheduler", "SchedulingShard"): one_object(read_kai_shard, "v1"),
        ("kai.scheduler", "Config"): one_object(read_kai_config, "v1"),
    },
    untyped=UntypedDocument(
        title="share simulation",
        matches=is_share_simulation,
        kind=Kind(read=read_share_simulation, versions=(), policy="kai", is_queue=True),
    ),
    # No other rule set looks at past use yet.
    section=SettingsSection(name=USAGE_SECTION, title="past usage", read=read_own_usage),
    family=KaiFamily,
)
