"""What has changed and is to be looked at again before the next plan."""

from typing import Any

import msgspec

from fairlead.manifest.translate.family import UnitKey
from fairlead.model.axes import WorkloadName
from fairlead.model.workload import PodId


class Dirty(msgspec.Struct, kw_only=True):
    """All that a state may not be in line with."""

    units: set[UnitKey] = set()  # to be read again
    parts: list[Any] = []  # that were read and may need other axes
    workloads: set[WorkloadName] = set()
    replaced: set[WorkloadName] = set()  # by another workload of the same name
    foreign: set[PodId] = set()
    nodes: set[str] = set()
    queues: bool = False
    catalogue: bool = False
