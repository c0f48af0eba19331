"""What a queue or cohort contributes to the quota tree."""

from decimal import Decimal

import msgspec

from fairlead.model.axes import Amounts, Limits


class QuotaNode(msgspec.Struct, frozen=True, kw_only=True):
    """One queue or cohort with the quota that it contributes, one entry per axis.

    An axis outside ``listed`` is guaranteed 0 and has no limits. It still differs from a listed 0:
    a node's dominant share reads only axes that it, or a node below it, lists.
    """

    name: str
    parent: str | None  # None: a root
    weight: Decimal
    guaranteed: Amounts
    borrow_limit: Limits
    lend_limit: Limits
    listed: frozenset[int]
