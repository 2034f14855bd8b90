package env

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

func read(t *testing.T, e *Environment, name string) effect.EnvValue {
	t.Helper()
	r, err := e.Perform(context.Background(), &effect.Env{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return *r.(*effect.EnvValue)
}

func TestEnvironment(t *testing.T) {
	e := New([]string{"A=1", "B=", "A=x=y", "broken"}, nil)
	for name, want := range map[string]effect.EnvValue{"A": {Value: "x=y", Set: true}, "B": {Set: true}, "C": {}, "broken": {}} {
		if got := read(t, e, name); got != want {
			t.Errorf("variable %s = %+v, want %+v", name, got, want)
		}
	}
	if v, ok := e.Lookup("A"); v != "x=y" || !ok {
		t.Error(v, ok)
	}
	_, err := New([]string{"X=\xff"}, nil).Perform(context.Background(), &effect.Env{Name: "X"})
	if err == nil || err.Error() != "environment variable X is not valid UTF-8" {
		t.Error(err)
	}
}

func TestArgs(t *testing.T) {
	r, err := New(nil, []string{"a", "--b\xff"}).Perform(context.Background(), &effect.Args{})
	if got := r.(*effect.ArgsValue).Args; err != nil || len(got) != 2 || got[0] != "a" || got[1] != "--b\ufffd" {
		t.Error(got, err)
	}
}

func TestOtherRequestsAreRefused(t *testing.T) {
	if _, err := New(nil, nil).Perform(context.Background(), &effect.Sleep{}); err == nil || err.Error() != "the environment cannot perform sleep" {
		t.Error(err)
	}
}

func TestAllVariables(t *testing.T) {
	all := func(e *Environment) effect.EnvVariables {
		r, err := e.Perform(context.Background(), &effect.EnvAll{})
		if err != nil {
			t.Fatal(err)
		}
		return *r.(*effect.EnvVariables)
	}
	environ := []string{"B=2", "A=", "B=3", "broken", "X=\xff"}
	if diff := cmp.Diff(effect.EnvVariables{Names: []string{"A", "B"}, Values: []string{"", "3"}}, all(New(environ, nil))); diff != "" {
		t.Error(diff)
	}
}
