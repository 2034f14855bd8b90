#!/bin/sh
# Records the runs and the tape here again, by the concerto that is in the PATH. That is for who changes what runs do: then
# `engine` of internal/tape or `format` of runtime/journal rises, and what stands here is kept beside the new, as what older
# versions have written.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/program/* "$work"
cd "$work"
head -c 270000 /dev/zero | tr '\0' 'x' >large.txt
export KEPT_TOKEN=a-secret-of-nobody
concerto run --journal finished --emit ndjson --answer go=yes --answer last=true main.conc >finished.out
echo small >large.txt # there is one blob
code=0; concerto run --journal parked --park --answer go=yes main.conc >parked.out || code=$?
test "$code" -eq 75
concerto run --record run.tape --emit ndjson --answer go=yes --answer last=true main.conc >run.out
rm -rf "$here"/finished "$here"/parked
for run in finished parked; do
	rm -rf "$run/tmp" "$run/hosts" "$run/lock" "$run"/keeper.*
	cp -r "$run" "$here"
done
cp run.tape run.out finished.out "$here"
