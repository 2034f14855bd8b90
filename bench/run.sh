#!/usr/bin/env bash
# Measures everything and writes the tables of bench/README.md. Needs lua5.4 and
# python3. With arguments it measures what they say: bench/run.sh -only fib.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- -write
go run ./bench "$@"
