"""Which queue each account of Slurm is: a file of lines ``ACCOUNT: QUEUE``."""

from pathlib import Path

import yaml

from fairlead.errors import FairleadError
from fairlead.model.axes import QueueName

MAX_BYTES = 2**20


class QueueMap:
    """Knows the queue of an account, and which accounts were asked for or named, but not both."""

    def __init__(self, queues: dict[str, str | None]) -> None:
        """Fix the queues; None leaves an account out."""
        self.unmapped: set[str] = set()
        self.unused = set(queues)
        self._queues = queues

    def queue_of(self, account: str) -> QueueName | None:
        """Return the queue of *account*, which is that of its own name if nothing else is said."""
        if account not in self._queues:
            if not account:
                raise FairleadError(
                    'sacct has jobs without an account: say their queue with a line "": QUEUE in '
                    "the file of --queue-map"
                )
            self.unmapped.add(account)
            return QueueName(account)
        self.unused.discard(account)
        queue = self._queues[account]
        return None if queue is None else QueueName(queue)


def read_queue_map(file: str) -> QueueMap:
    """Read the file; raises FairleadError that says what is expected."""
    expected = "expected lines such as physics: team-physics"
    try:
        with Path(file).open("rb") as data:
            text = data.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            raise FairleadError(f"cannot read {file}: found more than 1 MiB, {expected}")
        found = yaml.load(text, Loader=yaml.CSafeLoader)
    except OSError as wrong:
        raise FairleadError(f"cannot read {file}: {wrong.strerror or wrong}") from wrong
    except (yaml.YAMLError, RecursionError, ValueError) as wrong:
        # The last is of what looks like a number or a date, and is none.
        raise FairleadError(f"cannot read {file}: found no YAML, {expected}") from wrong
    if not isinstance(found, dict) or not all(
        isinstance(account, str) and (queue is None or (isinstance(queue, str) and queue))
        for account, queue in found.items()
    ):
        raise FairleadError(
            f"cannot read {file}: found something else than names, {expected}; put names that look "
            "like numbers in quotes"
        )
    return QueueMap(found)
