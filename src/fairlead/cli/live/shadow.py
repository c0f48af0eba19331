"""``fairlead run --shadow``: what Fairlead would do beside the scheduler that runs today."""

import asyncio
import json
from collections.abc import Sequence

import click

from fairlead.cli.live.serve_pages import serving
from fairlead.cli.live.shadow_report import shadow_document, shadow_table
from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.engine.engine import Engine
from fairlead.cluster.kubernetes.shadow.comparison import Comparison
from fairlead.cluster.kubernetes.shadow.live_shadow import LiveShadow
from fairlead.manifest.text.documents import Document
from fairlead.policy.contract import PolicyName
from fairlead.web.live_pages import json_answer, metrics_answer
from fairlead.web.page_server import Pages
from fairlead.web.shadow_metrics import ShadowMetrics


class ShadowPage:
    """The latest comparison as JSON, rendered where it is made so that no reader touches it."""

    def __init__(self, running: str) -> None:
        """Begin with nothing compared."""
        self._running = running
        self.text = _document_text(Comparison(), running)

    def compared(self, _engine: Engine, comparison: Comparison, _took_s: float) -> None:
        """Render a comparison."""
        self.text = _document_text(comparison, self._running)


def _document_text(comparison: Comparison, running: str) -> str:
    return json.dumps(shadow_document(comparison, running), indent=1) + "\n"


async def run_shadow(
    access: Access,
    policy: PolicyName,
    given: Sequence[Document],
    running: str,
    listen: tuple[str, int] | None,
    stop: asyncio.Event,
) -> None:
    """Compare until *stop* is set, then print what was found."""
    shadow = LiveShadow(access, policy, given)
    page, metrics = ShadowPage(running), ShadowMetrics()
    pages: Pages = {
        "/metrics": lambda: metrics_answer(metrics.text),
        "/shadow": lambda: json_answer(page.text),
    }
    try:
        async with serving(listen, shadow, pages):
            await shadow.run(stop, [page, metrics])
    finally:
        click.echo(shadow_table(shadow.comparison, running), nl=False)
