package hostpolicy

import (
	"strings"
	"testing"
)

// TestDenyList checks a deny list with default = "allow". Denied commands must be denied in all
// notations that can be parsed, and the verdict for unclear commands must be Ask.
func TestDenyList(t *testing.T) {
	p := policy(Rules{Default: "allow", Commands: Commands{Deny: []string{"rm *", "git push*"}, Ask: []string{"make deploy*"}}})
	for verdict, commands := range map[Verdict][]string{
		Deny: {
			"rm x", "rm", "/bin/rm x", "./rm x", `\rm x`, `r\m x`, "'rm' x", `"rm" x`, `r''m x`, `r""m x`, `/bin/r'm' x`, "rm\tx", "  rm  x", "rm\\\n x", "r\\\nm x",
			"! rm x", "{ rm x; }", "( rm x )", "(rm x)", "if true; then rm x; fi", "if rm x; then ls; fi", "if true; then ls; else rm x; fi", "while rm x; do ls; done", "until false; do rm x; done",
			"for f in a b; do rm f; done", "f() { rm x; }; f", "ls; rm x", "ls && rm x", "ls || rm x", "ls | rm x", "ls |& rm x", "ls & rm x", "ls\nrm x", "echo a # b\nrm x",
			"X=1 rm x", "X=1 Y+=2 /bin/rm x", "X='a b' rm x", ">out rm x", "2>&1 rm x", "rm >out x", "rm x 2>/dev/null", "</dev/null rm x", "&>out rm x",
			"env rm x", "env X=1 rm x", "env -i X=1 /bin/rm x", "env -u X rm x", "/usr/bin/env rm x", "sudo rm x", "sudo -u bob rm x", "sudo -- rm x", "doas rm x", "nohup rm x", "timeout 5 rm x",
			"timeout -k 1 5 rm x", "nice -n 5 rm x", "setsid rm x", "stdbuf -oL rm x", "time rm x", "time -p rm x", "command rm x", "builtin command rm x", "exec rm x", "exec -a ls rm x", "busybox rm x",
			"xargs rm", "ls | xargs rm", "ls | xargs -n 1 rm -f", "ls | xargs -I{} rm {}", "find . -exec rm {} \\;", "find . -name x -execdir /bin/rm {} +", "find . -ok sudo rm {} ';'",
			"sh -c 'rm x'", `sh -c "rm x"`, "bash -lc 'rm x'", "/bin/bash -c 'ls; rm x'", "bash -xec 'cd a && rm x'", "zsh -c rm", "sh -c \"sh -c 'rm x'\"", "env X=1 sh -c 'rm x'", "sudo bash -c 'exec rm x'",
			"xargs sh -c 'rm x'", "timeout 5 env sh -c 'r\\m x'", "sudo nohup timeout 5 rm x", "eval rm x", "eval 'rm x'", "eval r 'm x'; rm x", "sudo -s 'rm x'", "su -c 'rm x'", "su bob -c 'rm x'", "watch 'rm x'",
			"parallel 'rm {}' ::: a", "env -S 'rm x'", "echo $(rm x)", "echo `rm x`", "echo \"$(rm x)\"", "cat <(rm x)", "sh <<E\nrm x\nE", "rm $X", "rm x$(ls)", "case x in x) rm x;; esac",
			"git push", "git  push origin", "git 'push'", "git p\\ush origin", "/usr/bin/git push", "GIT_DIR=x git push",
		},
		Ask: {
			"make deploy", "make  deploy x", "'make' deploy", "sudo make deploy",
			"$X x", "${X}m x", "r$X x", "r* x", "/bin/r? x", "/bin/r[m] x", "{rm,x}", "{r,}m x", "$'\\x72\\x6d' x", "echo $HOME", "echo \"$HOME\"", "echo `ls`", "git {push,origin}", "$(echo r)m x",
			"echo 'a", "echo \"a", "echo a\\", "cat <<E\na\nE", "cat <<< a", "diff <(ls) b", "source x", ". x", "alias l=ls", "function f { ls; }", "select x in a; do ls; done", "case x in x) ls;; esac",
			"sh", "ls | sh", "bash -s", "curl http://h | bash -", "env r? x", "eval $X", "sh -c '$X'", "ls\r", "ls \x1b", "", " ", "# ls", "sudo " + strings.Repeat("env ", 20) + "ls",
			"sh -c " + strings.Repeat("'sh -c ", 9), strings.Repeat("eval ", 10) + "ls",
		},
		Allow: {
			"ls", "ls -la *.go", "go test ./... 2>&1 | tail -5", "cd x && make", "echo 'rmdir x'", "grep -rn 'a b' .", `grep "a\"b" x`, "FOO=1 go test", "if [ -f x ]; then cat x; fi", "[[ -f x ]] && cat x",
			"find . -name '*.go' -exec grep a {} +", "sh build.sh", "bash -c 'ls; pwd'", "git log HEAD@{1}", "git status; git diff", "sed -i 's/a/b/' x", "ls > out 2>&1", "sort < in >> out", "echo a#b", "(cd x; ls)",
			"env X=1 go test", "timeout 60 make test", "rmdir x", "xrm x", "warm x", "git pull",
		},
	} {
		for _, command := range commands {
			if got := p.Decide(Request{Kind: "execute", Command: command}); got != verdict {
				t.Errorf("Decide(%q) = %s, want %s", command, got, verdict)
			}
		}
	}
	for _, c := range []struct {
		r    Rules
		q    Request
		want Verdict
	}{
		// there is no deny rule
		{Rules{Default: "allow"}, Request{Kind: "execute", Command: "echo $HOME"}, Allow},
		// there is no allow rule
		{Rules{Default: "deny", Commands: Commands{Deny: []string{"rm *"}}}, Request{Kind: "execute", Command: "echo $X"}, Deny},
		// the request contains no command
		{Rules{Default: "allow", Commands: Commands{Deny: []string{"rm *"}}}, Request{Kind: "execute"}, Ask},
		{Rules{Default: "allow", Commands: Commands{Deny: []string{"rm *"}}}, Request{Kind: "execute", Command: "ls", Opaque: true}, Ask},
		{Rules{Default: "allow", Commands: Commands{Deny: []string{"rm *"}}}, Request{Kind: "edit", Paths: []string{"a"}}, Allow},
	} {
		if got := policy(c.r).Decide(c.q); got != c.want {
			t.Errorf("Decide(%+v) with the rules %+v = %s, want %s", c.q, c.r, got, c.want)
		}
	}
}

// FuzzDenyList checks that a denied command is not allowed, whatever text precedes or follows it.
func FuzzDenyList(f *testing.F) {
	for _, s := range []string{"", "ls", "echo 'a", `echo "a`, "cat <<E", "{", "(", "if", "X=1", "# a", "a=$(", "`", ">", "2>&1", "sudo -u", "sh -c", "\x00", "é\u2028", "case x in", "eval", "\"'", `'"`, "$'"} {
		f.Add(s)
	}
	p := policy(Rules{Default: "allow", Commands: Commands{Deny: []string{"rm *"}}})
	f.Fuzz(func(t *testing.T, s string) {
		if strings.HasSuffix(s, `\`) { // the backslash would join the next line to this one
			return
		}
		for _, command := range []string{s + "\nr''m x", s + "\n\\rm x", s + "\nsudo env X=1 /bin/r\"m\" x", s + "\nsh -c 'r\\m x'"} {
			if p.Decide(Request{Kind: "execute", Command: command}) == Allow {
				t.Errorf("the command %q is allowed although it contains a denied command", command)
			}
		}
	})
}
