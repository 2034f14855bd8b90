#!/bin/sh
# Records the runs and the tape in DIR with the concerto in the PATH. A change of what runs do raises `engine` of
# internal/record/tape or `format` of internal/record/journal, and then needs a new DIR, engineN: what older versions recorded stays.
#
#   testdata/kept/record.sh engine2
set -eu
from=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$from/${1:?name the directory to record into, such as engine2}"
here=$from/$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$from"/program/* "$work"
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
