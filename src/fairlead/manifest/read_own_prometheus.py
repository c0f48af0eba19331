"""Reads where a Prometheus is and how it knows us: a part of our own settings for past use.

What is half said is refused, because it would come to light only when a server does not answer: a
user without a password, an address that is nowhere, two ways to log in.
"""

from typing import Final
from urllib.parse import urlsplit

from fairlead.manifest.core.read_address import read_address
from fairlead.manifest.core.read_length import positive_ms
from fairlead.manifest.kai.quota_axes import KAI_AXES
from fairlead.manifest.kai.read_usage import METRIC_PARAMETERS
from fairlead.manifest.text.cursor import Cursor
from fairlead.usage.settings import Credentials, PrometheusSource

_USUAL: Final = PrometheusSource()
_MUST_NOT_BE_EMPTY: Final = ("url", "urlVariable", "user", "passwordFile", "tokenFile", "caFile")


def read_own_prometheus(usage: Cursor) -> PrometheusSource | None:
    """Read the section ``prometheus`` below *usage*; None where there is none."""
    section = usage.mapping("prometheus")
    source = PrometheusSource(
        url=read_address(section, "url"),
        url_variable=section.text("urlVariable", ""),
        metrics=_given(section.mapping("metrics"), METRIC_PARAMETERS),
        guarantee_metrics=_given(section.mapping("guarantees"), KAI_AXES),
        query_timeout_ms=positive_ms(section, "queryTimeout", _USUAL.query_timeout_ms),
        fetch_interval_ms=positive_ms(section, "fetchInterval", _USUAL.fetch_interval_ms),
        wait_timeout_ms=positive_ms(section, "waitTimeout", _USUAL.wait_timeout_ms),
        credentials=Credentials(
            user=section.text("user", ""),
            password_file=section.text("passwordFile", ""),
            token_file=section.text("tokenFile", ""),
            ca_file=section.text("caFile", ""),
        ),
    )
    if not usage.has("prometheus"):
        return None
    if not usage.is_refused("prometheus"):
        _refuse_empty_texts(section)
        _check_address(section)
        _check_login(section, source)
    return source


def _given(section: Cursor, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    found = {name: section.text(name, "") for name in names}
    return tuple(sorted((name, text) for name, text in found.items() if text))


def _refuse_empty_texts(section: Cursor) -> None:
    for key in _MUST_NOT_BE_EMPTY:
        if not section.is_refused(key) and section.text(key, None) == "":
            message = "found an empty text, which names nothing"
            section.error(key, "missing-field", message, f"write what it is, or remove {key}")


def _check_address(section: Cursor) -> None:
    has_url, has_variable = section.has("url"), section.has("urlVariable")
    if has_url and has_variable:
        message = "found urlVariable beside url, expected one place where the address is"
        section.error("urlVariable", "contradiction", message, "keep one of the two")
    if not has_url and not has_variable:
        message = "found neither url nor urlVariable, expected the address of a server"
        fix = "add url, such as http://prometheus.monitoring:9090"
        section.error("url", "missing-field", message, fix)


def _check_login(section: Cursor, source: PrometheusSource) -> None:
    """Report what is half or twice said about who we are."""
    has_user, has_password = section.has("user"), section.has("passwordFile")
    if section.has("tokenFile") and (has_user or has_password):
        beside = "user" if has_user else "passwordFile"
        message = f"found tokenFile beside {beside}, expected one way to log in"
        section.error("tokenFile", "contradiction", message, "keep one of the two")
    elif has_user and not has_password:
        message = "found user without passwordFile, with which the password would be empty"
        section.error("passwordFile", "missing-field", message, "add the file that holds it")
    elif has_password and not has_user:
        message = "found passwordFile without user, expected both"
        section.error("user", "missing-field", message, "add the user whose password it is")
    if urlsplit(source.url).username and (has_user or section.has("tokenFile")):
        beside = "user" if has_user else "tokenFile"
        message = f"found a user in the address beside {beside}, expected one way to log in"
        section.error("url", "contradiction", message, "remove the one in the address")
