"""The tables of a run once more as Parquet, for programs that read columns (extra ``parquet``).

They are made from the CSV files, so that both say the same. Whole numbers beyond 64 bits, as sums
of bytes x ms can be, have no type there: such a column is of decimals.
"""

from pathlib import Path
from typing import Any, Final

from fairlead.errors import ResultError
from fairlead.sim.results.about import (
    EVICTIONS_FILE,
    JOBS_FILE,
    MEASURES_FILE,
    SERIES_FILE,
    RunAbout,
)
from fairlead.sim.results.csv_cells import FORMULA
from fairlead.sim.results.eviction_table import COLUMNS as EVICTION_COLUMNS
from fairlead.sim.results.files import not_written
from fairlead.sim.results.job_table import job_columns
from fairlead.sim.results.own_files import new_file
from fairlead.sim.results.run_writer import COLUMNS as MEASURE_COLUMNS
from fairlead.sim.results.series_table import COLUMNS as SERIES_COLUMNS

PARQUET_FILES: Final = tuple(
    name.replace(".csv", ".parquet")
    for name in (JOBS_FILE, EVICTIONS_FILE, SERIES_FILE, MEASURES_FILE)
)
_TEXTS: Final = frozenset(
    {"job", "queue", "user", "kind", "outcome", "cause", "beneficiary", "code", "reason"}
    | {"sentence", "resource", "scope", "name", "measure"}
)
_SUMS: Final = frozenset({"allocated", "entitled", "fair_share", "usage_e9", "capacity"})
_SUM_DIGITS: Final = 38  # the most that a decimal of 128 bits has


def require_parquet() -> None:
    """Raise `ResultError` that says what to install where it is missing."""
    try:
        import pyarrow.csv
        import pyarrow.parquet  # noqa: F401  # only whether they are there
    except ImportError:
        raise ResultError(
            "Parquet needs pyarrow, which is not installed: pip install 'fairlead[parquet]'"
        ) from None


def write_parquet(folder: Path, about: RunAbout) -> None:
    """Write each table of the run in *folder* beside its CSV file."""
    tables = {
        JOBS_FILE: job_columns(about.resources),
        EVICTIONS_FILE: EVICTION_COLUMNS,
        SERIES_FILE: SERIES_COLUMNS,
        MEASURES_FILE: MEASURE_COLUMNS,
    }
    for name, columns in tables.items():
        _convert(folder / name, {column: _type(column) for column in columns})


def _convert(file: Path, types: dict[str, Any]) -> None:
    import pyarrow.compute
    import pyarrow.csv
    import pyarrow.parquet

    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    convert = pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=False)
    try:
        table = pyarrow.csv.read_csv(file, parse_options=parse, convert_options=convert)
        for at, column in enumerate(table.column_names):
            if column in _TEXTS:
                texts = pyarrow.compute.replace_substring_regex(
                    table[column], pattern=f"^'('*{FORMULA})", replacement=r"\1"
                )
                table = table.set_column(at, column, texts)
        with new_file(file.with_suffix(".parquet"), 1, "wb") as stream:  # the folder of the run
            pyarrow.parquet.write_table(table, stream)
    except OSError as wrong:
        raise not_written(file.with_suffix(".parquet"), wrong) from None


def _type(column: str) -> Any:
    import pyarrow

    if column in _TEXTS:
        return pyarrow.string()
    if column in _SUMS:
        return pyarrow.decimal128(_SUM_DIGITS, 0)
    return pyarrow.float64() if column == "value" else pyarrow.int64()
