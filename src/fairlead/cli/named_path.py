"""A path that somebody names on the command line."""

from typing import Any

import click


class NamedPath(click.Path):
    """Refuses a name that is empty: it would mean the folder in which the command runs."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or tell what is wrong with it."""
        if value == "":
            what = "folder" if self.dir_okay and not self.file_okay else "file"
            self.fail(
                f"found an empty name, perhaps of a variable that is not set: name a {what}",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)
