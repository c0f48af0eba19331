"""Pods of other schedulers in short."""

from fairlead.model.axes import Amounts
from fairlead.model.node import ForeignPod
from fairlead.model.workload import PodId


def foreign_pod(
    name: str, node: str, requests: Amounts, *, leaving: bool = False, asked_about: bool = False
) -> ForeignPod:
    return ForeignPod(
        id=PodId(name),
        name=name,
        node=node,
        requests=requests,
        leaving=leaving,
        asked_about=asked_about,
    )
