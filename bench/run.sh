#!/usr/bin/env bash
# Measures everything and writes the tables of bench/README.md. Needs lua5.4,
# python3 and PostgreSQL. With arguments it measures what they say: bench/run.sh -only fib.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -gt 0 ]; then
  go run ./bench "$@"
else
  go run ./bench -write
  go run ./bench/engine -write
fi
