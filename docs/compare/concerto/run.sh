#!/bin/sh
# Runs the order in Concerto, kills it at three points, resumes it, answers its questions and
# counts the payments. Needs `concerto` in PATH.
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cp -r "$here" "$here/../pay.sh" "$work" && cd "$work/concerto" || exit 1

for point in before after waiting; do
	rm -rf job payments.txt
	[ $point = waiting ] || echo $point > kill
	{ concerto run --journal job --park; } > /dev/null 2>&1 # the shell reports the kill on stderr
	asked=
	if [ $point != waiting ]; then
		concerto runs resume job > /dev/null 2>&1
		# Concerto cannot know whether the payment was made. A person looks and says it.
		if [ -e payments.txt ]; then asked='done:{"outcome":"ok","output":"paid"}'; else asked=retry; fi
		concerto runs answer job u2 "$asked" > /dev/null || exit 1
		concerto runs resume job > /dev/null 2>&1
	fi
	question=$(concerto runs show job | sed -n 's/^waits *\(q[0-9]*\) ship.*/\1/p')
	concerto runs answer job "$question" true > /dev/null || exit 1
	done=$(concerto runs resume job 2> /dev/null | sed -n 's/^\[done\] //p')
	echo "$point: $(grep -c . payments.txt) payment, $done${asked:+, asked what became of the payment: $asked}"
done
