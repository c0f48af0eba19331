"""What the loop asks of an election: whether, and in which term, this process may act."""

import asyncio
from typing import Protocol


class Leadership(Protocol):
    """Whether this process is the one of several replicas that acts. Asked by any thread."""

    def hindrance(self) -> str:
        """Return why no act may begin now; "": it may."""

    def term(self) -> str:
        """Return which leader, in which term, sends an act; "": acts do not say so."""

    def is_leader(self) -> bool:
        """Return whether this process leads."""

    async def gained(self) -> None:
        """Wait until this process leads and no former leader can act any more."""

    async def lost(self) -> str:
        """Wait until this process does not lead any more; returns why."""

    async def release(self) -> None:
        """Let another replica lead; nothing acts any more."""


class Alone:
    """A single process, which always leads: two of them would act against each other."""

    def hindrance(self) -> str:
        """Return "": nothing stands in the way."""
        return ""

    def term(self) -> str:
        """Return "": acts name no term."""
        return ""

    def is_leader(self) -> bool:
        """Return True."""
        return True

    async def gained(self) -> None:
        """Return at once."""

    async def lost(self) -> str:
        """Wait for ever."""
        never: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        return await never

    async def release(self) -> None:
        """Do nothing."""
