package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// Coverage counts the messages of an installed agent by what Concerto does with them. Missing lists
// those that runtime/host/adapter/coverage.go does not have.
type Coverage struct {
	Handled int      `json:"handled"`
	Quiet   int      `json:"quiet"`
	Refused int      `json:"refused"`
	Missing []string `json:"missing"`
}

// named is a message of an installed agent. A message of Claude Code may be known by its type
// alone.
type named struct{ kind, name string }

// measureCoverage compares the messages that the installed agent describes with those that the
// adapter knows.
func measureCoverage(ctx context.Context, p *play) (string, error) {
	var all []named
	var err error
	switch p.agent.Transport {
	case "claude-code":
		all, err = p.declaredMessages()
	case "codex":
		all, err = p.schemaMessages(ctx)
	default:
		all, err = p.protocolMessages()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "not offered: " + err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	c := compareCoverage(all, adapter.Coverage(p.agent.Transport))
	p.options.coverage = &c
	if len(c.Missing) == 0 {
		return Yes, nil
	}
	var text []string
	for _, m := range c.Missing {
		text = append(text, strings.TrimSpace(p.agent.Name+" "+p.options.Version)+": "+m+" is not in coverage.go")
	}
	return "no: " + strings.Join(text, ", "), nil
}

func compareCoverage(all []named, known []adapter.Message) (c Coverage) {
	c.Missing = []string{}
	for _, m := range all {
		typ, _, _ := strings.Cut(m.name, "/")
		at := slices.IndexFunc(known, func(k adapter.Message) bool {
			return k.Kind == m.kind && (k.Name == m.name || k.Name == typ && m.kind == "message")
		})
		switch {
		case at < 0:
			c.Missing = append(c.Missing, m.kind+" "+m.name)
		case known[at].Use == adapter.Handled:
			c.Handled++
		case known[at].Use == adapter.Quiet:
			c.Quiet++
		default:
			c.Refused++
		}
	}
	return c
}

// findModule returns the text of a file of an npm package that is installed with the agent.
func (p *play) findModule(file string) ([]byte, error) {
	path, err := filepath.EvalSymlinks(p.options.Path)
	if err != nil {
		return nil, err
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if text, err := os.ReadFile(filepath.Join(dir, "node_modules", file)); err == nil {
			return text, nil
		}
		if dir == filepath.Dir(dir) {
			return nil, fmt.Errorf("%w: %s is not installed with the agent", fs.ErrNotExist, file)
		}
	}
}

// declaredMessages reads the messages and requests of Claude Code from the declarations of its SDK.
func (p *play) declaredMessages() ([]named, error) {
	text, err := p.findModule("@anthropic-ai/claude-agent-sdk/sdk.d.ts")
	if err != nil {
		return nil, err
	}
	return readDeclarations(strings.ReplaceAll(string(text), "\r\n", "\n"))
}

func readDeclarations(text string) ([]named, error) {
	unions := regexp.MustCompile(`(?m)^(?:export )?declare type (\w+) = ([\w.| ]+);$`)
	objects := regexp.MustCompile(`(?ms)^(?:export )?declare type (\w+) = \{$(.*?)^\}`)
	members := regexp.MustCompile(`(?m)^    (type|subtype): ([^;]*);`)
	quoted := regexp.MustCompile(`'([^']*)'`)
	parts, types := map[string]string{}, map[string]map[string]string{}
	for _, m := range unions.FindAllStringSubmatch(text, -1) {
		parts[m[1]] = m[2]
	}
	for _, m := range objects.FindAllStringSubmatch(text, -1) {
		types[m[1]] = map[string]string{}
		for _, member := range members.FindAllStringSubmatch(m[2], -1) {
			types[m[1]][member[1]] = member[2]
		}
	}
	var all []named
	var expand func(kind, name string) error
	expand = func(kind, name string) error {
		if union, ok := parts[name]; ok {
			for part := range strings.SplitSeq(union, "|") {
				if err := expand(kind, strings.TrimPrefix(strings.TrimSpace(part), "coreTypes.")); err != nil {
					return err
				}
			}
			return nil
		}
		typ, subtypes := quoted.FindStringSubmatch(types[name]["type"]), quoted.FindAllStringSubmatch(types[name]["subtype"], -1)
		switch {
		case kind == "message" && typ != nil && subtypes == nil:
			all = append(all, named{kind, typ[1]})
		case typ == nil && (kind == "message" || subtypes == nil):
			return fmt.Errorf("sdk.d.ts: the type %s cannot be read", name)
		}
		for _, s := range subtypes {
			if kind == "message" {
				s[1] = typ[1] + "/" + s[1]
			}
			all = append(all, named{kind, s[1]})
		}
		return nil
	}
	err := errors.Join(expand("message", "StdoutMessage"), expand("request", "SDKControlRequestInner"))
	slices.SortFunc(all, func(a, b named) int { return strings.Compare(a.kind+a.name, b.kind+b.name) })
	return slices.Compact(all), err
}

// variants reads the values of a member with one possible value, as enum or const, in the variants
// of a JSON schema.
func variants(schema json.RawMessage, member string) (all []string) {
	var s struct {
		OneOf []struct {
			Properties map[string]struct {
				Enum  []string
				Const string
			}
		}
	}
	_ = json.Unmarshal(schema, &s) // the caller requires values
	for _, v := range s.OneOf {
		if p := v.Properties[member]; p.Const != "" {
			all = append(all, p.Const)
		} else {
			all = append(all, p.Enum...)
		}
	}
	return all
}

// schemaMessages reads the messages of Codex from the schemas that it generates.
func (p *play) schemaMessages(ctx context.Context) ([]named, error) {
	out := filepath.Join(p.at.home, "schemas")
	cmd := exec.CommandContext(ctx, p.options.Path, "app-server", "generate-json-schema", "--out", out)
	cmd.Env = p.environ()
	for name, value := range p.agent.env(p.at) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: codex app-server generate-json-schema: %w: %s", fs.ErrNotExist, err, text)
	}
	var all []named
	var items struct {
		Definitions struct{ ThreadItem json.RawMessage }
	}
	for kind, file := range map[string]string{"request": "ServerRequest.json", "notification": "ServerNotification.json"} {
		text, err := os.ReadFile(filepath.Join(out, file))
		if err != nil {
			return nil, err
		}
		names := variants(text, "method")
		if err := json.Unmarshal(text, &items); err != nil || len(names) == 0 {
			return nil, fmt.Errorf("%s: its methods cannot be read: %v", file, err)
		}
		for _, name := range names {
			all = append(all, named{kind, name})
		}
	}
	for _, name := range variants(items.Definitions.ThreadItem, "type") {
		all = append(all, named{"item", name})
	}
	return all, nil
}

// protocolMessages reads the messages of ACP from the schema of its SDK.
func (p *play) protocolMessages() ([]named, error) {
	text, err := p.findModule("@agentclientprotocol/sdk/schema/v1/schema.json")
	if err != nil {
		return nil, err
	}
	var schema struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, fmt.Errorf("schema.json of ACP: %w", err)
	}
	var all []named
	for name, text := range schema.Defs {
		var d struct {
			Side   string `json:"x-side"`
			Method string `json:"x-method"`
		}
		if json.Unmarshal(text, &d) != nil || d.Method == "" || d.Side == "agent" || strings.HasSuffix(name, "Response") {
			continue
		}
		kind := "notification"
		if strings.HasSuffix(name, "Request") {
			kind = "request"
		}
		all = append(all, named{kind, d.Method})
	}
	for _, name := range variants(schema.Defs["SessionUpdate"], "sessionUpdate") {
		all = append(all, named{"update", name})
	}
	slices.SortFunc(all, func(a, b named) int { return strings.Compare(a.kind+a.name, b.kind+b.name) })
	return all, nil
}
