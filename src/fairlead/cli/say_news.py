"""What is said again and again by a command that goes on, and is news only once."""

from collections.abc import Mapping

import click

from fairlead.explain.printable import printable


class SayNews:
    """Says on standard error what it did not say the time before."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self._said: frozenset[str] = frozenset()

    def __call__(self, texts: Mapping[str, str]) -> None:
        """Say those of *texts* whose keys are new; what is not among them is over.

        A key is what makes a text another one: ages and moments may change without being news.
        """
        for key, text in texts.items():
            if key not in self._said:
                click.echo(printable(text), err=True)
        self._said = frozenset(texts)
