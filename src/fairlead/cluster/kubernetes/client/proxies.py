"""Which proxy the environment names for a server, by the rules of Go's programs such as kubectl.

A kubeconfig may name one itself, which then counts.
"""

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from fairlead.errors import ClusterError

Address = IPv4Address | IPv6Address


def proxy_in_environment(server: str, environ: Mapping[str, str]) -> str:
    """Return the URL of the proxy for *server*, "" for none.

    HTTPS_PROXY or HTTP_PROXY names it, by the scheme of the server; NO_PROXY lists exceptions, and
    this machine is always one. Raises ClusterError, which never shows the value, since it may hold
    a login.
    """
    url = urlsplit(server)
    name = f"{url.scheme}_proxy"
    proxy = _variable(environ, name)
    host = (url.hostname or "").lower()
    port = url.port or (443 if url.scheme == "https" else 80)
    if not proxy or _is_excepted(host, port, _variable(environ, "no_proxy")):
        return ""
    try:
        given = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        is_possible = given.scheme in ("http", "https") and bool(given.hostname) and given.port != 0
    except ValueError:
        is_possible = False
    if not is_possible:
        raise ClusterError(
            f"the variable {name.upper()} names no proxy such as http://proxy:3128; correct it, or "
            f"add {host} to NO_PROXY"
        )
    return given.geturl()


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name.upper(), "") or environ.get(name, "")


def _is_excepted(host: str, port: int, listed: str) -> bool:
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    exceptions = (each.strip().lower() for each in listed.split(","))
    return any(_matches(each, host, address, port) for each in exceptions if each)


def _matches(exception: str, host: str, address: Address | None, port: int) -> bool:
    """Return whether an exception means the host: ``*``, a network, or a host with or without port.

    A name means itself and all names below it; with a dot in front only those below it.
    """
    if exception == "*":
        return True
    if "/" in exception:
        try:
            return address is not None and address in ip_network(exception, strict=False)
        except ValueError:
            return False
    name, its_port = _split_port(exception)
    if its_port not in ("", str(port)):
        return False
    wanted = _address(name)
    if wanted is not None:
        return wanted == address
    name = name.removeprefix("*")
    return host == name or host.endswith(name if name.startswith(".") else f".{name}")


def _split_port(text: str) -> tuple[str, str]:
    if _address(text) is not None:
        return text, ""
    name, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        return text, ""
    return name.removeprefix("[").removesuffix("]"), port


def _address(text: str) -> Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None
