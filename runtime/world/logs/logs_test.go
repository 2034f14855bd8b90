package logs

import (
	"bytes"
	"context"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

func TestLevels(t *testing.T) {
	for level, want := range map[string]string{
		"debug": "debug: a\ninfo: b {\"k\":1}\nwarn: c\nerror: d\nW: x\nwarn: odd 7\n",
		"info":  "info: b {\"k\":1}\nwarn: c\nerror: d\nW: x\nwarn: odd 7\n",
		"":      "info: b {\"k\":1}\nwarn: c\nerror: d\nW: x\nwarn: odd 7\n",
		"warn":  "warn: c\nerror: d\nwarn: odd 7\n",
		"error": "error: d\n",
	} {
		var out bytes.Buffer
		l := New(&out, level, nil)
		for _, r := range []*effect.Log{{Level: "debug", Message: "a", Fields: []byte("{}")}, {Level: "info", Message: "b", Fields: []byte(`{"k":1}`)}, {Level: "warn", Message: "c\n"}, {Level: "error", Message: "d"}} {
			if res, err := l.Perform(context.Background(), r); res != nil || err != nil {
				t.Fatal(res, err)
			}
		}
		l.Host("W", "x\n")
		l.Remark("warn", "odd 7")
		if out.String() != want {
			t.Errorf("level %s: log = %q, want %q", level, out.String(), want)
		}
	}
}

func TestOtherRequestsAreRefused(t *testing.T) {
	if _, err := New(&bytes.Buffer{}, "", nil).Perform(context.Background(), &effect.Sleep{}); err == nil || err.Error() != "the log cannot perform sleep" {
		t.Error(err)
	}
}
