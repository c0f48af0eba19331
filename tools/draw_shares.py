"""Draws the picture of the README from the worked KAI example: the GPUs of each queue.

Run it when the example or the rule changes: ``python tools/draw_shares.py``. A test compares the
picture with what this would draw.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "images" / "fair-shares.svg"

LEFT, TOP, ROW, BAR, GPU = 150, 72, 36, 10, 19  # in pixels
FONT = 'font-family="system-ui, sans-serif" font-size="13"'
INK, FAINT, HELD, DUE, OWN = "#24292f", "#57606a", "#2a7ab0", "#e8a33d", "#5a9e6f"


def shares() -> list[dict[str, object]]:
    """Ask fairlead itself."""
    arguments = ["queues", "-f", "examples/kai/monday", "-o", "json"]
    command = [sys.executable, "-m", "fairlead", *arguments]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    queues: list[dict[str, object]] = json.loads(ran.stdout)["shards"][0]["queues"]
    return queues


def picture(queues: list[dict[str, object]]) -> str:
    """Return the drawing: per queue, its guarantee, its fair share and what it holds."""
    height = TOP + ROW * len(queues) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {height}" {FONT}>',
        f'<rect width="700" height="{height}" fill="#ffffff"/>',
        _text(16, 26, "32 GPUs, two departments, five teams", size=16, weight="600"),
        *_legend(),
    ]
    for place, queue in enumerate(queues):
        parts.extend(_row(TOP + ROW * place, queue))
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _row(top: int, queue: dict[str, object]) -> list[str]:
    gpu = queue["resources"]["gpu"]  # type: ignore[index]  # as documented for QueueShares
    own, due, held = (_gpus(gpu[key]) for key in ("guaranteed", "fairShare", "allocated"))
    depth = int(str(queue["depth"]))
    label = f"holds {held:g}, fair share {due:g}"
    widest = max(own, due, held)
    return [
        _text(16 + 18 * depth, top + 17, str(queue["name"]), weight="400" if depth else "600"),
        _bar(top, due, DUE, BAR),
        _bar(top, own, OWN, BAR),
        _bar(top + BAR, held, HELD, BAR),
        _text(LEFT + round(widest * GPU) + 8, top + 17, label, fill=FAINT),
    ]


def _gpus(quantity: str) -> float:
    return float(quantity[:-1]) / 1000 if quantity.endswith("m") else float(quantity)


def _bar(top: int, gpus: float, fill: str, height: int) -> str:
    width = round(gpus * GPU)
    return f'<rect x="{LEFT}" y="{top + 3}" width="{width}" height="{height}" fill="{fill}"/>'


def _legend() -> list[str]:
    parts = []
    words_of = {OWN: "guaranteed", DUE: "fair share beyond it, by weight", HELD: "held now"}
    for (fill, words), left in zip(words_of.items(), (16, 134, 366), strict=True):
        parts.append(f'<rect x="{left}" y="40" width="12" height="12" fill="{fill}"/>')
        parts.append(_text(left + 18, 51, words))
    return parts


def _text(
    left: int, base: int, words: str, *, size: int = 13, weight: str = "400", fill: str = INK
) -> str:
    return (
        f'<text x="{left}" y="{base}" font-size="{size}" font-weight="{weight}" '
        f'fill="{fill}">{words}</text>'
    )


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(shares()), encoding="utf-8")
