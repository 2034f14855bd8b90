#!/usr/bin/env bash
# Measures everything and writes the table of bench/README.md. Lua 5.4 must be
# on PATH (Debian: apt-get install lua5.4).
set -euo pipefail
cd "$(dirname "$0")/.."
command -v lua5.4 >/dev/null || { echo "bench: lua5.4 is not installed (Debian: apt-get install lua5.4)" >&2; exit 1; }
go run ./bench -write "$@"
