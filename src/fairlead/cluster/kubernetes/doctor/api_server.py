"""Checks of the API server itself: its version, and its clock."""

from datetime import UTC, datetime
from typing import Final

from fairlead.cluster.kubernetes.client.objects import read_object
from fairlead.cluster.kubernetes.client.session import Session
from fairlead.cluster.kubernetes.doctor.diagnosis import Diagnosis

_OLDEST: Final = (1, 27)
_OLDEST_WITH_FENCE: Final = (1, 30)
_MOST_SKEW_S: Final = 5.0


async def check_version(session: Session) -> Diagnosis:
    """Look at the release of the API server."""
    found = read_object(await session.ask("GET", "/version"), "GET /version")
    text = str(found.get("gitVersion"))
    digits = ["".join(filter(str.isdigit, str(found.get(key)))) for key in ("major", "minor")]
    version = tuple(int(each or 0) for each in digits)
    if version < _OLDEST:
        cure = "upgrade the cluster to Kubernetes 1.27 or newer"
        return Diagnosis(check="version", level="error", found=f"Kubernetes {text}", cure=cure)
    if version < _OLDEST_WITH_FENCE:
        cure = "install with --no-fence, or upgrade to 1.30 or newer"
        said = f"Kubernetes {text}, which has no ValidatingAdmissionPolicy for the fence"
        return Diagnosis(check="version", level="warning", found=said, cure=cure)
    return Diagnosis(check="version", level="ok", found=f"Kubernetes {text}")


async def check_clock(session: Session) -> Diagnosis:
    """Compare the clock of the API server with that of this machine."""
    before = datetime.now(UTC)
    theirs = await session.server_time()
    after = datetime.now(UTC)
    if theirs is None:
        said = "the API server does not say what time it is"
        return Diagnosis(check="clock", level="note", found=said)
    middle = before + (after - before) / 2
    # The server writes whole seconds, and the answer took a while.
    skew_s = abs((theirs - middle).total_seconds() + 0.5)
    if skew_s <= _MOST_SKEW_S + (after - before).total_seconds():
        return Diagnosis(check="clock", level="ok", found="agrees with that of this machine")
    return Diagnosis(
        check="clock",
        level="warning",
        found=f"the clocks of the API server and of this machine differ by {skew_s:.0f} s",
        cure="let both follow a time server (NTP): protected run times and usage rest on it",
    )
