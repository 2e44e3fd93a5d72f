#!/usr/bin/env bash
# Installs the pinned third-party packages into a virtual environment of their own: install.sh PYTHON TARGET.
# Two checkouts may race: each builds in a folder of its own, the first rename wins.
set -euo pipefail
python=$1 target=$2
work=$(mktemp -d "$target.XXXXXX")
trap 'rm -rf "$work"' EXIT

"$python" -m venv "$work"
mapfile -t packages < <("$python" - <<'PY'
import tomllib

project = tomllib.load(open("pyproject.toml", "rb"))["project"]
print("\n".join([*project["dependencies"], *(p for extra in project["optional-dependencies"].values() for p in extra)]))
PY
)
"$work/bin/python" -m pip install --disable-pip-version-check --progress-bar off \
  --constraint constraints.txt "${packages[@]}" | grep --line-buffered -E '^(Collecting|Building|Installing|Successfully)' || true
"$work/bin/python" -m pip check
# Scripts name their interpreter by its full path.
grep -rlIF "$work" "$work/bin" | xargs -r sed -i "s|$work|$target|g"
touch "$work/ready"
rm -rf "$target"
mv -T "$work" "$target"
