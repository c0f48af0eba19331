"""Reads the annotations with which a pod asks for part of a GPU."""

import re
from collections.abc import Mapping
from typing import Final

from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.limits import MAX_SHARED_DEVICES
from fairlead.manifest.text.path import quote
from fairlead.model.workload import GpuShare

FRACTION: Final = "gpu-fraction"
MEMORY: Final = "gpu-memory"
DEVICES: Final = "gpu-fraction-num-devices"

_DECIMAL = re.compile(r"0?\.([0-9]{1,18})|0")
_WHOLE = re.compile(r"0*([0-9]{1,18})")
_THOUSANDTHS: Final = 3  # digits


def read_gpu_share(top: Cursor, annotations: Mapping[str, str]) -> GpuShare | None:
    """Return the share of each device that the *annotations* of a pod ask for, if they do."""
    fraction, memory = annotations.get(FRACTION), annotations.get(MEMORY)
    if fraction is None and memory is None:
        return None
    if fraction is not None and memory is not None:
        _refuse(top, MEMORY, memory, f"no {MEMORY} beside {FRACTION}", "remove one of the two")
        return None
    devices = _devices(top, annotations.get(DEVICES, "1"))
    if memory is not None:
        memory_mib = _whole(top, MEMORY, memory)
        return GpuShare(devices=devices or 1, memory_mib=memory_mib) if memory_mib else None
    thousandths = _thousandths(top, fraction or "")
    return GpuShare(devices=devices or 1, thousandths=thousandths) if thousandths else None


def _devices(top: Cursor, text: str) -> int:
    number = _whole(top, DEVICES, text)
    if number > MAX_SHARED_DEVICES:
        message = f"found {quote(text)}, expected at most {MAX_SHARED_DEVICES} devices of one node"
        place = ("metadata", "annotations", DEVICES)
        top.error(place, "out-of-range", message, "write how many devices of a node it needs")
        return 1
    return number


def _whole(top: Cursor, key: str, text: str) -> int:
    match = _WHOLE.fullmatch(text)
    number = int(match[1]) if match else 0
    if number == 0:
        _refuse(top, key, text, "a whole number of at least 1", f'write it as {key}: "1"')
    return number


def _thousandths(top: Cursor, text: str) -> int:
    """Count a part of a device in thousandths, rounded up; a rule set may round later."""
    match = _DECIMAL.fullmatch(text)
    digits = (match[1] or "") if match else ""
    if not int(digits or 0):
        _refuse(top, FRACTION, text, "a part of a device, above 0 and below 1", 'write "0.5"')
        return 0
    shown = digits.ljust(_THOUSANDTHS, "0")
    return int(shown[:_THOUSANDTHS]) + (int(shown[_THOUSANDTHS:] or 0) > 0)


def _refuse(top: Cursor, key: str, text: str, expected: str, fix: str) -> None:
    place = ("metadata", "annotations", key)
    top.error(place, "bad-quantity", f"found {quote(text)}, expected {expected}", fix)
