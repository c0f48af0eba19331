#!/bin/sh
# Makes what the image consists of: the new folder $2, an environment of the Python $1 with
# Fairlead, built as a wheel from the source here, and the packages that it needs to run, in the
# versions of constraints.txt. Neither pip nor the build tool is in it. Run from the root of the
# repository; $3 may name another Python that builds and installs, with venv and ensurepip.
set -eu

python=$1
tree=$2
builder=${3:-$python}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$builder" -m venv "$scratch/build"
pip() {
    "$scratch/build/bin/python" -m pip --disable-pip-version-check "$@"
}
pip install --quiet -c constraints.txt hatchling
pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$scratch" .

"$python" -m venv --without-pip "$tree"
pip --python "$tree/bin/python" install --quiet --only-binary :all: -c constraints.txt "$scratch"/*.whl
