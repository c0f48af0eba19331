"""What a pod that asks for part of a GPU is charged."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

import msgspec

from fairlead.errors import Severity
from fairlead.manifest.core.objects import ByResource, NodeObject, PodObject
from fairlead.manifest.core.read_gpu_share import FRACTION, MEMORY
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.notation import GPU
from fairlead.model.quantity import show_amount
from fairlead.model.workload import GpuShare

_DEVICE: Final = 1000  # thousandths
_STEP: Final = 10  # KAI counts a share in hundredths


class SharedGpus:
    """Turns shares of devices into amounts; what is odd about a share becomes a finding."""

    def __init__(self, nodes: Iterable[NodeObject]) -> None:
        """Remember how much memory the devices of each node have."""
        self._memory_mib = {each.name: each.gpu_memory_mib for each in nodes if each.gpu_memory_mib}
        self._smallest_mib = min(self._memory_mib.values(), default=None)

    def charged(self, pod: PodObject, findings: Findings) -> PodObject:
        """Return the pod with its share in hundredths and, among its requests, as an amount."""
        share = pod.gpu_share
        if share is None:
            return pod
        _refuse_whole_devices(pod, share, findings)
        if share.thousandths is not None:
            part = _rounded(pod, _as_written(pod, share.thousandths), findings)
            share = msgspec.structs.replace(share, thousandths=part)
        else:
            part = self._part_of_memory(pod, share.memory_mib or 0, findings)
        requests: ByResource = {**pod.requests, GPU: share.devices * part}
        return msgspec.structs.replace(pod, gpu_share=share, requests=requests)

    def _part_of_memory(self, pod: PodObject, memory_mib: int, findings: Findings) -> int:
        """Return the part of a device that so much memory is.

        The device is that of the pod's node once it has one, till then the smallest there is.
        """
        device_mib = self._memory_mib.get(pod.node or "", self._smallest_mib)
        if device_mib is None:
            message = "found a share in memory, but no node says how much its devices have; "
            message += "a whole device is counted"
            fix = "label the nodes with nvidia.com/gpu.memory, in MiB"
            _report(findings, pod, "warning", MEMORY, "missing-reference", message, fix)
            return _DEVICE
        return _hundredths(Fraction(memory_mib, device_mib))


def _rounded(pod: PodObject, exact: Fraction, findings: Findings) -> int:
    part = _hundredths(exact)
    if part == 0:
        message = "found a share below half a hundredth of a device, expected 0.01 or more"
        _report(findings, pod, "error", FRACTION, "out-of-range", message, 'write "0.01" or more')
        return _STEP  # if it runs all the same: a pod that has a device holds some of it
    if part != exact * _DEVICE:
        kept = show_amount(GPU, part)
        message = f"found a share finer than a hundredth of a device; taken as {kept}"
        _report(findings, pod, "warning", FRACTION, "rounded", message, f'write "{kept}"')
    return part


def _refuse_whole_devices(pod: PodObject, share: GpuShare, findings: Findings) -> None:
    if any(amount and name.endswith("/gpu") for name, amount in pod.requests.items()):
        key = MEMORY if share.thousandths is None else FRACTION
        message = f"found {key} beside a request for whole devices, expected one of the two"
        _report(findings, pod, "error", key, "contradiction", message, "remove one of the two")


def _report(
    findings: Findings,
    pod: PodObject,
    severity: Severity,
    key: str,
    code: str,
    message: str,
    fix: str,
) -> None:
    place = ("metadata", "annotations", key)
    pod.source.report(findings, severity, code, place, message, fix)


def _as_written(pod: PodObject, thousandths: int) -> Fraction:
    """Return the share as its annotation says it: rounding twice could end elsewhere."""
    text = pod.annotations.get(FRACTION)
    return Fraction(text) if text else Fraction(thousandths, _DEVICE)


def _hundredths(part: Fraction) -> int:
    """Return a part of a device in thousandths, rounded to the nearest hundredth, half up."""
    steps = part * (_DEVICE // _STEP) + Fraction(1, 2)
    return steps.numerator // steps.denominator * _STEP
