"""How much one input may hold: every bound of the readers in one place.

Each is above what a real cluster needs, and low enough that hostile input cannot exhaust the
machine. Ten thousand pods, as ``kubectl get pods -A -o yaml`` prints them, are 40 to 60 MiB and
3.1 million keys and values: 311 for a pod of one container.
"""

MAX_FILE_BYTES = 64 * 2**20
MAX_DOCUMENTS = 100_000  # in one file, empty ones and items of lists included
MAX_DEPTH = 64  # mappings and lists within each other
MAX_FILE_NODES = 3_500_000  # keys and values in one file
MAX_NODES = 500_000  # keys and values in one document of YAML, or in one item of a list
MAX_ALIASED_NODES = 500_000  # values in one file that only aliases repeat
MAX_NUMBER_LENGTH = 320  # characters; the longest plain integer that fits a double has 309
MAX_FINDINGS = 10_000  # of each severity; the others are counted

# Numbers. What is far beyond these is a slip of the pen. The bound of amounts is `MAX_QUANTITY`.
MAX_NUMBER = 10**18  # weights, counts, priorities, and what is written as a plain number
MAX_DECIMALS = 18  # of a weight or another factor, which are never rounded
MAX_SHARED_DEVICES = 64  # of one node, of which a pod has a part each; nodes have up to 16
MAX_COUNT = 2**31 - 1  # pods of a group, and whatever else Kubernetes keeps in 32 bits
