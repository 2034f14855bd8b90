#!/bin/sh
# Runs the order in LangGraph in two forms, kills it at three points, starts it again, answers its
# question and counts the payments. Needs Node 20 and npm; installs the packages of package.json
# in a temporary directory.
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cp "$here/order.mjs" "$here/package.json" "$work" && cd "$work" || exit 1
if ! npm ping > /dev/null 2>&1; then
	echo "skipped: npm is not reachable"
	exit 0
fi
{ npm install --no-audit --no-fund && npm rebuild better-sqlite3; } > npm.log 2>&1 || { cat npm.log; exit 1; }
export PAY="$here/../pay.sh" FORM

for FORM in two one; do
	for point in before after waiting; do
		rm -f payments.txt order.db*
		[ $point = waiting ] || echo $point > kill
		{ node order.mjs run; } > /dev/null 2>&1
		[ $point = waiting ] || node order.mjs run > /dev/null
		done=$(node order.mjs true)
		echo "$FORM, $point: $(grep -c . payments.txt) payments, $done"
	done
done
