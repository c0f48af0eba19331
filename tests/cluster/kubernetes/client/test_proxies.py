"""The proxy that the environment names."""

from pathlib import Path

import pytest

from fairlead.cluster.kubernetes.client.proxies import proxy_in_environment
from fairlead.errors import ClusterError
from tests.cluster.kubernetes.client.kubeconfigs import access_by, kubeconfig, written
from tests.text_table import rows

# Whether a request to the server goes by the proxy, with these exceptions in NO_PROXY.
EXCEPTIONS = """
    server                      exceptions             proxied
    https://api.example         -                      yes
    https://localhost           -                      no
    https://127.0.0.2           -                      no
    https://[::1]               -                      no
    https://api.example         *                      no
    https://api.example         other.example          yes
    https://api.example         api.example            no
    https://API.example         other,Api.Example      no
    https://in.api.example      api.example            no
    https://myapi.example       api.example            yes
    https://api.example         .example               no
    https://example             .example               yes
    https://api.example         *.example              no
    https://example             *.example              yes
    https://api.example:6443    api.example:6443       no
    https://api.example         api.example:6443       yes
    https://api.example         api.example:443        no
    http://api.example          api.example:80         no
    https://10.1.2.3            10.1.2.3               no
    https://10.1.2.3:6443       10.1.2.3:6443          no
    https://10.1.2.4            10.1.2.3               yes
    https://10.1.2.3            10.1.0.0/16            no
    https://10.2.2.3            10.1.0.0/16            yes
    https://10.1.2.3            10.1.0.0/99            yes
    https://api.example         10.1.0.0/16            yes
    https://[fd00::1]:6443      fd00::/8               no
    https://[fd00::1]:6443      fd00::1                no
    https://[fd00::1]:6443      [fd00::1]              yes
    https://[fd00::1]:6443      [fd00::1]:6443         no
    https://[fd00::1]:6443      [fd00::1]:443          yes
"""


@pytest.mark.parametrize("row", rows(EXCEPTIONS), ids=lambda row: " ".join(row.values()))
def test_exceptions_are_understood_as_go_does(row: dict[str, str]) -> None:
    environ = {
        "HTTPS_PROXY": "http://proxy:3128",
        "HTTP_PROXY": "http://proxy:3128",
        "NO_PROXY": row["exceptions"].replace("-", ""),
    }
    proxy = proxy_in_environment(row["server"], environ)
    assert proxy == ("http://proxy:3128" if row["proxied"] == "yes" else "")


@pytest.mark.parametrize(
    ("environ", "proxy"),
    [
        ({}, ""),
        ({"HTTP_PROXY": "http://other:1"}, ""),  # the server speaks https
        ({"https_proxy": "http://lower:1"}, "http://lower:1"),
        ({"https_proxy": "http://lower:1", "HTTPS_PROXY": "http://upper:1"}, "http://upper:1"),
        ({"HTTPS_PROXY": "me:pass@proxy:1"}, "http://me:pass@proxy:1"),
        ({"HTTPS_PROXY": "http://proxy:1", "no_proxy": "api.example"}, ""),
    ],
)
def test_the_variable_goes_by_the_scheme_of_the_server(environ: dict[str, str], proxy: str) -> None:
    assert proxy_in_environment("https://api.example", environ) == proxy


@pytest.mark.parametrize("value", ["socks5://me:hidden@proxy:1", "http://me:hidden@", "a:hidden"])
def test_a_proxy_that_cannot_be_used_is_told_without_its_login(value: str) -> None:
    with pytest.raises(ClusterError, match="the variable HTTPS_PROXY names no proxy") as problem:
        proxy_in_environment("https://api.example", {"HTTPS_PROXY": value})
    assert "hidden" not in str(problem.value)


def test_the_proxy_of_a_kubeconfig_goes_before_that_of_the_environment(tmp_path: Path) -> None:
    environ = {"HTTPS_PROXY": "http://environment:1"}
    assert access_by(written(tmp_path, kubeconfig()), environ).proxy == "http://environment:1"
    named = kubeconfig(cluster="server: https://api.example\nproxy-url: http://named:1")
    assert access_by(written(tmp_path, named), environ).proxy == "http://named:1"
