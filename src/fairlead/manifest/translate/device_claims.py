"""How many GPUs the claims for devices of each pod come to."""

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from fairlead.manifest.core.device_claims import DeviceClaimObject, DeviceClaimTemplateObject
from fairlead.manifest.core.objects import Object, PodObject
from fairlead.manifest.translate.family import Mirror, Unit, UnitKey


class DeviceClaims:
    """The claims and templates of a mirror, and the units whose pods name them."""

    def __init__(self, mirror: Mirror) -> None:
        """Follow *mirror*."""
        claims = mirror.of(DeviceClaimObject)
        templates = mirror.of(DeviceClaimTemplateObject)
        self._gpus_of: dict[type, Callable[[str], int]] = {
            DeviceClaimObject: lambda name: _gpus(claims.get(name)),
            DeviceClaimTemplateObject: lambda name: _gpus(templates.get(name)),
        }
        self._users: dict[tuple[type, str], set[UnitKey]] = {}

    def resolve(self, unit: Unit[object]) -> None:
        """Let the pods of *unit* have the number of GPUs that they claim."""
        for name, pod in unit.pods.items():
            if pod.device_claims:
                gpus = self._claimed(pod, unit.key)
                if gpus != pod.claimed_gpus:
                    unit.pods[name] = replace(pod, claimed_gpus=gpus)

    def affected(self, old: Object | None, new: Object | None) -> Iterable[UnitKey]:
        """Return the units whose pods named a claim that changed; some may be gone."""
        one = old if new is None else new
        if not isinstance(one, DeviceClaimObject | DeviceClaimTemplateObject):
            return ()
        return self._users.get((type(one), one.key()), ())

    def _claimed(self, pod: PodObject, unit: UnitKey) -> int:
        total = 0
        for kind, name in pod.device_claims:
            full = f"{pod.namespace}/{name}"
            self._users.setdefault((kind, full), set()).add(unit)
            total += self._gpus_of[kind](full)
        return total


def _gpus(claim: DeviceClaimObject | DeviceClaimTemplateObject | None) -> int:
    """Return how many GPUs a claim comes to; 0 for one that is not there."""
    return 0 if claim is None else claim.gpus
