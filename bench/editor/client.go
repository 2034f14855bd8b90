package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/editor/lsp/lsptest"
)

// client simulates an editor that is connected to one server, which publishes diagnostics. After
// the first error, all waits end.
type client struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	editor  *lsptest.Client
	uri     string
	version int
	err     error
}

// silence is the maximum time for which a server may send nothing while the client waits.
const silence = 2 * time.Minute

func start(dir string, command ...string) (*client, error) {
	c := &client{cmd: exec.Command(command[0], command[1:]...)}
	c.cmd.Dir, c.cmd.Stderr = dir, os.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.in, c.editor = in, lsptest.New(in, out)
	c.editor.Patience = silence
	c.editor.Answer = func(m *lsptest.Message) any {
		if m.Method == "workspace/configuration" {
			return []any{map[string]any{"diagnosticsDelay": "20ms"}}
		}
		return nil
	}
	_, err = c.ask("initialize", map[string]any{
		"processId": os.Getpid(), "rootUri": "file://" + dir,
		"workspaceFolders": []any{map[string]any{"uri": "file://" + dir, "name": "project"}},
		"capabilities": map[string]any{
			"textDocument": map[string]any{"publishDiagnostics": map[string]any{"versionSupport": true}, "completion": map[string]any{"completionItem": map[string]any{"snippetSupport": true}}},
			"workspace":    map[string]any{"didChangeWatchedFiles": map[string]any{"dynamicRegistration": true}, "workspaceEdit": map[string]any{"documentChanges": true}},
		},
		"initializationOptions": map[string]any{"diagnosticsDelay": "20ms"}, // gopls waits for a second by itself
	})
	if err != nil {
		c.end()
		return nil, err
	}
	c.notify("initialized", map[string]any{})
	return c, nil
}

// end stops the server in the way of an editor.
func (c *client) end() {
	if c.err == nil {
		if _, err := c.ask("shutdown", nil); err == nil {
			c.notify("exit", nil)
		}
	}
	c.in.Close()
	_ = c.cmd.Wait()
}

func (c *client) failed() error { return c.err }

func (c *client) notify(method string, params any) {
	if err := c.editor.Notify(method, params); err != nil && c.err == nil {
		c.err = err
	}
}

// next reads messages of the server until isMatch accepts one.
func (c *client) next(isMatch func(*lsptest.Message) bool) {
	if c.err == nil {
		_, c.err = c.editor.Until(isMatch)
	}
}

func (c *client) ask(method string, params any) (json.RawMessage, error) {
	if c.err != nil {
		return nil, c.err
	}
	result, err := c.editor.Call(method, params)
	var refused *lsptest.Error
	if err != nil && !errors.As(err, &refused) {
		c.err = err
	}
	return result, err
}

func (c *client) open(path, language, text string) {
	c.uri, c.version = "file://"+path, 1
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": c.uri, "languageId": language, "version": 1, "text": text}})
}

// change replaces n bytes of the text at an offset.
func (c *client) change(text string, at, n int, with string) {
	c.version++
	c.notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": c.uri, "version": c.version},
		"contentChanges": []any{map[string]any{"range": map[string]any{"start": position(text, at), "end": position(text, at+n)}, "text": with}},
	})
}

// position returns the position of an offset in an ASCII text.
func position(text string, at int) map[string]any {
	before := text[:at]
	return map[string]any{"line": strings.Count(before, "\n"), "character": at - strings.LastIndex(before, "\n") - 1}
}

// await waits for the diagnostics of a version of the open file and returns their number.
func (c *client) await(version int) (errors int) {
	c.next(func(m *lsptest.Message) bool {
		var p struct {
			URI         string            `json:"uri"`
			Version     int               `json:"version"`
			Diagnostics []json.RawMessage `json:"diagnostics"`
		}
		if m.Method != "textDocument/publishDiagnostics" || json.Unmarshal(m.Params, &p) != nil || p.URI != c.uri || p.Version < version {
			return false
		}
		errors = len(p.Diagnostics)
		return true
	})
	return errors
}

func (c *client) complete(text string, at int) (items int, err error) {
	result, err := c.ask("textDocument/completion", map[string]any{"textDocument": map[string]any{"uri": c.uri}, "position": position(text, at)})
	if err != nil {
		return 0, err
	}
	var list struct{ Items []json.RawMessage }
	if json.Unmarshal(result, &list) != nil {
		return 0, json.Unmarshal(result, &list.Items)
	}
	return len(list.Items), nil
}

func (c *client) rename(text string, at int, to string) (edits int, err error) {
	result, err := c.ask("textDocument/rename", map[string]any{"textDocument": map[string]any{"uri": c.uri}, "position": position(text, at), "newName": to})
	var edit struct {
		DocumentChanges []struct{ Edits []json.RawMessage }
	}
	if err == nil {
		err = json.Unmarshal(result, &edit)
	}
	for _, f := range edit.DocumentChanges {
		edits += len(f.Edits)
	}
	return edits, err
}

// memory returns the resident memory of the server in MB.
func (c *client) memory() float64 {
	fields := strings.Fields(c.proc("statm"))
	pages, err := strconv.ParseFloat(fields[1], 64)
	if err != nil && c.err == nil {
		c.err = err
	}
	return pages * float64(os.Getpagesize()) / 1e6
}

// cpu returns the CPU time of the server.
func (c *client) cpu() time.Duration {
	stat := c.proc("stat")
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	user, err := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if c.err == nil && (err != nil || err2 != nil) {
		c.err = fmt.Errorf("/proc is not as expected: %s", stat)
	}
	return time.Duration(user+system) * time.Second / 100
}

func (c *client) proc(name string) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", c.cmd.Process.Pid, name))
	if err != nil {
		if c.err == nil {
			c.err = err
		}
		return strings.Repeat("0 ", 20) + ")" + strings.Repeat(" 0", 20)
	}
	return string(text)
}
