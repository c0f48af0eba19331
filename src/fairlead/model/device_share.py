"""Which devices of its node a pod shares with others, and how much of each it holds.

A pod that asks for whole devices gets any that are idle, so they need no numbers. Shared devices
do: two halves are one device only if they are halves of the same one. A number means something
on its node alone, and for as long as a pod shares that device.
"""

from typing import Final

import msgspec

from fairlead.model.axes import Amounts

SHARED_GPU: Final = "nvidia.com/gpu"  # the only resource whose devices are shared
WHOLE_DEVICE_E9: Final = 10**9

_HUNDREDTH_E9: Final = WHOLE_DEVICE_E9 // 100
_HUNDREDTH: Final = 10  # amounts of devices are in thousandths


class DeviceShare(msgspec.Struct, frozen=True, kw_only=True):
    """The same part of each of some devices, in billionths of a device.

    A part given in memory is cut down to billionths. Parts of whole MiB that fit a device together
    fit after that cut, and no others do, while pods times MiB per device stay below 10**9.
    """

    devices: tuple[int, ...]
    part_e9: int


def besides_shares(requests: Amounts, shared_gpu: int) -> Amounts:
    """Return what a pod that shares devices asks for besides; *shared_gpu* is their resource."""
    return (*requests[:shared_gpu], 0, *requests[shared_gpu + 1 :])


def counted_by_parts(requests: Amounts, shared_gpu: int, share: DeviceShare) -> Amounts:
    """Return *requests* with the parts that a pod has for the devices that it asked for.

    A part counts in hundredths of a device, half up. That of a pod read from elsewhere may hold
    what strangers have of the device, so no more counts than was asked for.
    """
    hundredths = (share.part_e9 + _HUNDREDTH_E9 // 2) // _HUNDREDTH_E9
    parts = len(share.devices) * hundredths * _HUNDREDTH
    counted = min(parts, requests[shared_gpu])
    return (*requests[:shared_gpu], counted, *requests[shared_gpu + 1 :])
