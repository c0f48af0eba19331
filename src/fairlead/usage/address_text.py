"""The address of a server without its login, for messages.

A typing error may be anywhere, also where a parser would look for the password. So nothing is
parsed here: whatever could be a login is left out, rather too much than too little.
"""

import re
from typing import Final

# The last two signs are what some keyboards write for @.
_LOGIN: Final = re.compile(r"^([a-z][a-z0-9+.-]*:/+)?.*[@\uff20\ufe6b]", re.DOTALL | re.IGNORECASE)


def without_login(address: str) -> str:
    """Return *address* with "..." for all between its scheme and its last ``@``.

    Law: nothing that is before the last ``@`` is shown but a scheme that a slash follows; an
    address without any ``@`` stays as it is. Cost: O(length).
    """
    return _LOGIN.sub(lambda found: f"{found[1] or ''}...@", address, count=1)
