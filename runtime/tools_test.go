package runtime

import (
	"context"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// TestHostsReceiveTools checks that a vendor's agent receives the application's tools after the
// program's own tools, and that the program's request does not change.
func TestHostsReceiveTools(t *testing.T) {
	var all tool.Registry
	named := func(name, category string) tool.Definition {
		d := tool.New(name, "Does "+name, func(context.Context, struct{}) (int, error) { return 1, nil })
		d.Category = category
		return d
	}
	if err := all.Register(named("a", ""), named("b", "shop"), named("Calc_add", "")); err != nil {
		t.Fatal(err)
	}
	s, err := all.Open(t.Context(), tool.Context{SessionID: "r_1"})
	if err != nil {
		t.Fatal(err)
	}
	var tools tool.Performer
	tools.Open(s)
	defer tools.Close()
	own := []effect.ToolSpec{{Name: "Calc_add"}}
	for _, c := range []struct {
		list *effect.AppList
		want string
	}{
		{nil, "Calc_add "},
		{&effect.AppList{Reserved: []string{"Calc_add"}}, "Calc_add a b "},
		{&effect.AppList{Only: &[]string{"category:shop"}, Reserved: []string{"Calc_add"}}, "Calc_add b "},
		{&effect.AppList{Only: &[]string{}}, "Calc_add "},
	} {
		open := &effect.ExchangeOpen{Host: "H", Tools: own, Application: c.list}
		opened, err := (&toolLister{nil, &tools}).withTools(t.Context(), open)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, x := range opened.(*effect.ExchangeOpen).Tools {
			got += x.Name + " "
		}
		if got != c.want || len(open.Tools) != 1 {
			t.Errorf("application tools %+v: listed tools %s, want %s", c.list, got, c.want)
		}
	}
}
