// Package testagent is an agent that a person starts, for tests of the guard. It follows the
// contract of Claude Code's hooks as that agent does: a hook that fails lets the call run.
package testagent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// settings is the part of a settings file that the agent reads.
type settings struct {
	DisableAllHooks *bool             `json:"disableAllHooks"`
	Env             map[string]string `json:"env"`
	Hooks           map[string][]struct {
		Hooks []struct {
			Command   string `json:"command"`
			OnFailure string `json:"onFailure"`
		} `json:"hooks"`
	} `json:"hooks"`
}

// agent is one session.
type agent struct {
	layers []settings // the last one has the highest precedence
	dir    string
}

// Main runs the agent: `--version`, or `[--settings JSON] -p PROMPT` with the model of
// ANTHROPIC_BASE_URL. It returns the exit code.
func Main(args []string) int {
	if slices.Contains(args, "--version") {
		fmt.Println("2.1.332 (test agent)")
		return 0
	}
	a := &agent{}
	a.dir, _ = os.Getwd()
	for _, name := range []string{filepath.Join(os.Getenv("HOME"), ".claude/settings.json"), ".claude/settings.json", ".claude/settings.local.json"} {
		text, err := os.ReadFile(name)
		var s settings
		if err == nil && json.Unmarshal(text, &s) == nil { // a file with an error is ignored
			a.layers = append(a.layers, s)
		}
	}
	if at := slices.Index(args, "--settings"); at >= 0 {
		var s settings
		if err := json.Unmarshal([]byte(args[at+1]), &s); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		a.layers = append(a.layers, s)
	}
	for _, s := range a.layers {
		for name, value := range s.Env {
			os.Setenv(name, value)
		}
	}
	if err := a.converse(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

type object = map[string]any

// block is a part of a reply of the model.
type block struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Text  string          `json:"text"`
	Input json.RawMessage `json:"input"`
}

// converse requests replies of the model until one contains no call.
func (a *agent) converse() error {
	messages := []object{{"role": "user", "content": os.Args[len(os.Args)-1]}}
	for {
		body, err := json.Marshal(object{"model": "m", "max_tokens": 9, "tools": []object{{"name": "Bash", "input_schema": object{"type": "object"}}}, "messages": messages})
		if err != nil {
			return err
		}
		resp, err := http.Post(os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		var reply struct{ Content []block }
		err = json.NewDecoder(resp.Body).Decode(&reply)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			return err
		}
		var results []object
		for _, b := range reply.Content {
			if b.Type == "tool_use" {
				results = append(results, object{"type": "tool_result", "tool_use_id": b.ID, "content": a.call(b)})
			}
		}
		if results == nil {
			return nil
		}
		messages = append(messages, object{"role": "assistant", "content": reply.Content}, object{"role": "user", "content": results})
	}
}

// call makes a call, unless a hook refuses it.
func (a *agent) call(b block) string {
	if reason := a.hooks("PreToolUse", b); reason != "" {
		return reason
	}
	var args struct {
		Command string
		Path    string `json:"file_path"`
		Content string
	}
	if err := json.Unmarshal(b.Input, &args); err != nil {
		return err.Error()
	}
	var out []byte
	var err error
	if b.Name == "Bash" {
		out, err = exec.Command("sh", "-c", args.Command).CombinedOutput()
	} else if err = os.MkdirAll(filepath.Dir(args.Path), 0o700); err == nil {
		err = os.WriteFile(args.Path, []byte(args.Content), 0o600)
	}
	a.hooks("PostToolUse", b)
	if err != nil {
		return string(out) + err.Error()
	}
	return string(out) + "done"
}

// hooks runs the hooks of an event. It returns why the call is refused, or "".
func (a *agent) hooks(event string, b block) string {
	for _, s := range slices.Backward(a.layers) {
		if s.DisableAllHooks != nil {
			if *s.DisableAllHooks {
				return ""
			}
			break
		}
	}
	input, err := json.Marshal(object{"session_id": fmt.Sprint("test-", os.Getpid()), "cwd": a.dir, "permission_mode": "default", "hook_event_name": event, "tool_name": b.Name, "tool_input": b.Input, "tool_use_id": b.ID})
	if err != nil {
		return err.Error()
	}
	refusal := ""
	for _, s := range a.layers {
		for _, group := range s.Hooks[event] {
			for _, h := range group.Hooks {
				refusal = refusal + a.hook(h.Command, h.OnFailure == "block", input)
			}
		}
	}
	return refusal
}

func (a *agent) hook(command string, blocks bool, input []byte) string {
	cmd := exec.Command("sh", "-c", command)
	cmd.Stdin = bytes.NewReader(input)
	cmd.Env = append(os.Environ(), "CLAUDE_PROJECT_DIR="+a.dir)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var answer struct {
		Specific struct {
			Decision string `json:"permissionDecision"`
			Reason   string `json:"permissionDecisionReason"`
		} `json:"hookSpecificOutput"`
	}
	valid := json.NewDecoder(strings.NewReader(stdout.String())).Decode(&answer)
	switch code := cmd.ProcessState.ExitCode(); {
	case answer.Specific.Decision == "deny" && valid == nil:
		return "refused: " + answer.Specific.Reason
	case code == 2:
		return "refused: " + stderr.String()
	case err != nil && blocks:
		return "the hook failed; blocking"
	case valid != nil && !errors.Is(valid, io.EOF):
		fmt.Fprintln(os.Stderr, "a hook has printed no JSON")
	}
	return ""
}
