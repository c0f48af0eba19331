#!/bin/sh
# Checks of the image what can be checked without a container runtime: the tree that the
# Containerfile copies is made by the same script, cannot be written to, and runs as the user of the
# image, who has neither rights nor a home. Checked: the packages in it are those that
# pyproject.toml asks for at run time, and what they need; commands start and answer; the arguments
# of the Deployment are understood; nothing is written anywhere that can be.
#
# Not checked: the Containerfile itself, its base image and its Python, and the limits of a container.
set -eu
cd "$(dirname "$0")/.."

user=65532
scratch=$(mktemp -d)
tree=$scratch/fairlead
trap 'chmod -R u+w "$scratch" && rm -rf "$scratch"' EXIT

refuse() {
    echo "check_image: $*" >&2
    exit 1
}

# Without rights: root gives them up, any other user has none that matter here.
unprivileged() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs \
            --inh-caps=-all --bounding-set=-all env -i "$@"
    else
        env -i "$@"
    fi
}

# The Pythons of root's home, if that is where they are, cannot be reached by another user.
choose_python() {
    { tools/find_pythons.sh --everywhere | cut -d ' ' -f 2-; ls /usr/bin/python3 2>/dev/null; } |
        while read -r each; do
            if unprivileged sh -c '"$0" -c "import sys; sys.exit(sys.version_info < (3, 11))"' "$each" \
                2>/dev/null; then
                echo "$each"
                break
            fi
        done
}

python=$(choose_python)
[ -n "$python" ] || refuse "the user $user can run no Python 3.11 or newer of this machine"
builder=$(tools/find_pythons.sh | tail -n 1 | cut -d ' ' -f 2-)

chmod 755 "$scratch"
tools/install_tree.sh "$python" "$tree" "$builder"
cp -R examples/elastic-quota "$scratch/input"
chmod -R a-w,a+rX "$tree" "$scratch/input"
mkdir "$scratch/home" "$scratch/tmp"
chmod 777 "$scratch/home" "$scratch/tmp"
touch "$scratch/marker"

run() {
    (cd / && unprivileged HOME="$scratch/home" TMPDIR="$scratch/tmp" PATH="$tree/bin:/usr/bin:/bin" \
        PYTHONDONTWRITEBYTECODE=1 "$@")
}

echo "image: Python $(run python -c 'import platform; print(platform.python_version())'), user $(run id -u)"
run sh -c '! touch "$0/probe" 2>/dev/null' "$tree" || refuse "the tree can be written to"

run python - <<'PYTHON'
import re
from importlib.metadata import distributions, requires

def key(name):
    return re.sub(r"[-_.]+", "-", name).lower()

def needed(name, seen):
    if key(name) not in seen:
        seen.add(key(name))
        for each in requires(name) or ():
            wanted, _, condition = each.partition(";")
            if "extra" not in condition:
                found = re.match(r"[\w.-]+", wanted)[0]
                if key(found) in installed:  # else its condition does not hold for this Python
                    needed(found, seen)
    return seen

installed = {key(each.metadata["Name"]) for each in distributions()}
superfluous = installed - needed("fairlead", set())
assert not superfluous, f"not needed at run time: {sorted(superfluous)}"
print(f"image: {len(installed)} packages: {' '.join(sorted(installed))}")
PYTHON

run fairlead --version
run fairlead --help >/dev/null
run fairlead run --help >/dev/null
run fairlead plan -f "$scratch/input" >/dev/null
run fairlead deploy --no-crds >/dev/null

# As in the Deployment, but without a cluster: one line that says so, and no traceback.
arguments=$(sed -n '/^          args:/,/^          env:/s/^            - //p' deploy/scheduler/deployment.yaml)
# shellcheck disable=SC2086  # one word each
if run fairlead $arguments >"$scratch/run.log" 2>&1; then
    refuse "fairlead run ended well without a cluster"
fi
grep -q 'found no kubeconfig' "$scratch/run.log" || refuse "$(cat "$scratch/run.log")"

written=$(find "$tree" "$scratch/home" "$scratch/tmp" "$scratch/input" -newer "$scratch/marker")
[ -z "$written" ] || refuse "written: $written"
echo "image: $(du -sm "$tree" | cut -f 1) MB besides Python; nothing was written"
