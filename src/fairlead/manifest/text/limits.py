"""How much one input may hold: every bound of the readers in one place.

Each is far above what a real cluster needs (a list of ten thousand pods is about 60 MiB of YAML and
two million values) and low enough that hostile input cannot exhaust the machine.
"""

MAX_FILE_BYTES = 64 * 2**20
MAX_DOCUMENTS = 100_000  # in one file, items of lists included
MAX_DEPTH = 64  # mappings and lists within each other
MAX_NODES = 4_000_000  # written values in one document
MAX_ALIASED_NODES = 100_000  # values in one document that only aliases repeat
MAX_NUMBER_LENGTH = 320  # characters; the longest plain integer that fits a double has 309
MAX_FINDINGS = 10_000  # of each severity; the others are counted
