"""Lets ``python -m fairlead`` do what the ``fairlead`` command does."""

from fairlead.cli.main import main

if __name__ == "__main__":
    main(prog_name="fairlead")
