#!/usr/bin/env bash
# Makes the checkout's environment: link.sh PYTHON PACKAGES VENV. The third-party packages stay in PACKAGES;
# VENV adds them by a path file and installs this checkout in editable form.
set -euo pipefail
python=$1 packages=$2 venv=$3
rm -rf "$venv"
"$python" -m venv --without-pip "$venv"
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$packages/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$site/packages.pth"
"$packages/bin/python" -m pip --python "$venv/bin/python" install --quiet --disable-pip-version-check \
  --no-deps --no-build-isolation --no-index --editable .
