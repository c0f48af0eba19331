"""The lines of an answer that does not end, each bounded in length and in time."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp

from fairlead.cluster.kubernetes.client.errors import AT_ONCE_S, SilentError, TooLongAnswerError
from fairlead.cluster.kubernetes.client.unreachable import unreachable


class Lines:
    """An open stream, read line by line, once."""

    def __init__(
        self, content: aiohttp.StreamReader, asked: str, idle_s: float, max_bytes: int
    ) -> None:
        self.asked = asked
        self._content = content
        self._idle_s = idle_s
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield each complete line; what was cut off at the end is left out.

        Raises SilentError if a line takes longer than the idle deadline, however many of its bytes
        come before; TooLongAnswerError beyond the bound; UnreachableError if the connection breaks.
        """
        clock = asyncio.get_running_loop()
        until_s = clock.time() + self._idle_s
        begun = bytearray()
        while piece := await self._piece(until_s):
            first, *others = piece.split(b"\n")
            begun += first
            if len(begun) > self._max_bytes:
                found = f"a line of the stream has more than {self._max_bytes:,} bytes"
                raise TooLongAnswerError(self.asked, found)
            if not others:
                continue
            for line in (bytes(begun), *others[:-1]):
                if line.strip():
                    yield line
            begun = bytearray(others[-1])
            until_s = clock.time() + self._idle_s

    async def _piece(self, until_s: float) -> bytes:
        try:
            async with asyncio.timeout_at(until_s):
                return await self._content.readany()
        except TimeoutError:
            found = f"no line of the stream within {self._idle_s:g} s"
            raise SilentError(self.asked, found, retry_after_s=AT_ONCE_S) from None
        except (aiohttp.ClientError, OSError) as error:
            raise unreachable(self.asked, error, is_sent=True) from None
