#!/bin/sh
# Lists the Pythons of this machine that Fairlead supports, oldest first, one per minor
# version: "3.11 /path/to/python". Looks on the PATH; with --everywhere also among the
# versions that pyenv and uv keep. Prints nothing when there is none.
set -eu

# Written so that any Python, however old, can say what it is. A virtual environment
# names the Python beneath it, so that one may be replaced while it is active.
describe='
import sys
if sys.version_info >= (3, 11) and sys.version_info[3] == "final":
    print("%d.%d %s" % (sys.version_info[:2] + (getattr(sys, "_base_executable", sys.executable),)))
'

candidates() {
    old_ifs=$IFS
    IFS=:
    for folder in $PATH; do
        for file in "$folder"/python3 "$folder"/python3.[1-9] "$folder"/python3.[1-9][0-9]; do
            echo "$file"
        done
    done
    IFS=$old_ifs
    if [ "${1:-}" = --everywhere ]; then
        for folder in "${PYENV_ROOT:-${HOME:-}/.pyenv}/versions" "${HOME:-}/.local/share/uv/python"; do
            for file in "$folder"/*/bin/python3; do
                echo "$file"
            done
        done
    fi
}

# A stable sort, so that of equal minor versions the first on the PATH is kept.
candidates "${1:-}" | while IFS= read -r file; do
    [ -x "$file" ] && "$file" -c "$describe" </dev/null 2>/dev/null || true
done | sort -s -t. -k1,1n -k2,2n | awk '!seen[$1]++'
