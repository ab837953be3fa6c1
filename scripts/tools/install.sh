#!/usr/bin/env bash
# Installs the tools of `npm run test:emulator` and `npm run test:tools` into .local/tools; nothing outside of it changes.
# Needs Python 3.10 or newer with venv. Needs Maven and a JDK 17 or newer for event-ruler, which is left out without them.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=.local/tools
mkdir -p "$tools"

python3 -m venv "$tools/python"
"$tools/python/bin/pip" install --quiet --disable-pip-version-check -r scripts/tools/requirements.txt

if command -v mvn >/dev/null && command -v javac >/dev/null; then
  mvn --batch-mode --quiet -f scripts/tools/event-ruler/pom.xml dependency:copy-dependencies \
    -DoutputDirectory="$PWD/$tools/event-ruler" -DincludeScope=runtime
  javac -encoding UTF-8 -cp "$tools/event-ruler/*" -d "$tools/event-ruler" scripts/tools/event-ruler/Match.java
else
  echo 'event-ruler is left out: it needs Maven and a JDK' >&2
fi
