#!/bin/sh
# Makes the environment in folder $1 and installs Fairlead into it, editable, with the
# versions of constraints.txt: with uv when it is there, else with venv and pip.
# $2, if not empty, is the Python to use. Run from the root of the repository.
set -eu

venv=$1
wanted=${2:-}
python=

refuse() {
    echo "fairlead: $1" >&2
    exit 1
}

is_supported() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

choose_python() {
    if [ -n "$wanted" ]; then
        python=$(command -v "$wanted") ||
            refuse "there is no $wanted; name a Python 3.11 or newer: make PYTHON=/path/to/python3"
        is_supported "$python" ||
            refuse "$wanted is $("$wanted" -V 2>&1); Fairlead needs 3.11 or newer: make PYTHON=/path/to/python3"
        return
    fi
    python=$(tools/find_pythons.sh | tail -n 1 | cut -d ' ' -f 2-)
    if [ -z "$python" ]; then
        seen=$(python3 -V 2>&1) || seen="no python3"
        refuse "Fairlead needs Python 3.11 or newer and the PATH has $seen; install one, or say where it is: make PYTHON=/path/to/python3"
    fi
}

have_uv() {
    command -v uv >/dev/null 2>&1
}

# An environment is kept when its Python works and can install.
is_usable() {
    is_supported "$venv/bin/python" || return 1
    have_uv || "$venv/bin/python" -m pip --version >/dev/null 2>&1
}

make_venv() {
    choose_python
    if [ -e "$venv" ] && [ ! -e "$venv/pyvenv.cfg" ]; then
        refuse "$venv is in the way and is no environment of Python; move it elsewhere"
    fi
    rm -rf "$venv"
    if have_uv; then
        uv venv --quiet --python "$python" "$venv"
        return
    fi
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        refuse "$python has no venv or ensurepip module; install it (on Debian and Ubuntu: apt install python$version-venv) or install uv"
    "$python" -m venv "$venv"
}

install() {
    if have_uv; then
        uv pip install --quiet --python "$venv/bin/python" "$@"
    else
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
    fi || refuse "could not install $* (see above); is the package index in reach?"
}

is_usable || make_venv
echo "fairlead: installing into $venv ($("$venv/bin/python" -V))"
# The build tool is installed first, and used from there, so that it too is pinned.
install -c constraints.txt hatchling
install -c constraints.txt --no-build-isolation -e '.[dev]'
