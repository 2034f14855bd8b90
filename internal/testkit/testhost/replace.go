package testhost

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// expand replaces each ${…} in a text.
func (p *player) expand(text string, more map[string]string) (string, error) {
	var b strings.Builder
	for {
		head, rest, ok := strings.Cut(text, "${")
		b.WriteString(head)
		if !ok {
			return b.String(), nil
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			return "", fmt.Errorf("%q lacks a }", rest)
		}
		text = after
		if v, ok := more[name]; ok {
			b.WriteString(v)
			continue
		}
		v, err := p.lookup(name)
		if err != nil {
			return "", err
		}
		js, err := json.Marshal(v)
		if err != nil {
			return "", err
		}
		b.Write(js)
	}
}

func (p *player) lookup(name string) (any, error) {
	switch {
	case name == "line":
		return p.line, nil
	case name == "pid":
		return os.Getpid(), nil
	case name == "args":
		return p.args, nil
	case name == "cwd":
		return os.Getwd()
	case strings.HasPrefix(name, "env."):
		if v, ok := os.LookupEnv(name[len("env."):]); ok {
			return v, nil
		}
		return nil, nil
	case strings.HasPrefix(name, "."):
		v := p.last
		if name == "." {
			return v, nil
		}
		for _, k := range strings.Split(name[1:], ".") {
			m, _ := v.(map[string]any)
			v = m[k]
		}
		return v, nil
	}
	return nil, fmt.Errorf("unknown ${%s}", name)
}
