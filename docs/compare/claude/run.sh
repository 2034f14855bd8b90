#!/bin/sh
# Feeds the same calls to the hook of settings.json and to the policy in Concerto.toml, in the form
# in which Claude Code sends them to a hook. Needs python3, and `concerto` in PATH.
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cp "$here/policy.py" "$here/Concerto.toml" "$work" && cd "$work" || exit 1
export XDG_STATE_HOME="$work/state"
concerto guard trust > /dev/null || exit 1 # a policy allows nothing before

# Claude Code reads the exit code of a hook: 2 denies the call, and any other failure is ignored.
judge() {
	printf '{"session_id":"s","cwd":"%s","permission_mode":"default","hook_event_name":"PreToolUse","tool_use_id":"t","tool_name":"%s","tool_input":%s}' "$work" "$1" "$2" > call.json
	out=$(python3 policy.py < call.json 2> /dev/null)
	case $? in
	0) hook=${out:+allows}; hook=${hook:-leaves it to the settings} ;;
	2) hook=denies ;;
	*) hook='fails, and the call is made' ;;
	esac
	printf '%s %s\n  hook: %s\n  Concerto: %s\n' "$1" "$2" "$hook" "$(concerto guard test --json call.json 2>&1 | sed "s,$work/,,")"
}

judge Bash '{"command":"go test ./..."}'
judge Bash '{"command":"git push origin main"}'
judge Bash '{"command":"git status && git push origin main"}'
judge Bash '{"command":"go test ./... ; cat .env"}'
judge Read '{"file_path":".env"}'
judge Read '{"path":".env"}'
sed -i.bak 's/deny = \["git/dney = ["git/' Concerto.toml
sed -i.bak 's/git push"/git psuh"/' policy.py
echo 'With a misspelled rule:'
judge Bash '{"command":"git push origin main"}'
