package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	long    = 2_000
	modules = 1_000
	idle    = 5 * time.Second
)

func (l language) measure(dir string, rounds int) ([]row, error) {
	rows, err := l.inLongFile(filepath.Join(dir, l.name+"-long"), rounds)
	if err != nil {
		return nil, err
	}
	more, err := l.inManyModules(filepath.Join(dir, l.name+"-many"), rounds)
	return append(rows, more...), err
}

// inLongFile measures a server in a project with one long file.
func (l language) inLongFile(dir string, rounds int) ([]row, error) {
	name := "main" + l.file
	text := l.long(long)
	files := map[string]string{name: text}
	if l.file == ".go" {
		files["go.mod"] = "module long\n\ngo 1.24\n"
	}
	if err := write(dir, files); err != nil {
		return nil, err
	}
	c, err := start(dir, l.command...)
	if err != nil {
		return nil, err
	}
	defer c.end()
	c.open(filepath.Join(dir, name), l.id, text)
	c.await(1)
	pressed := c.keystrokes(text, strings.LastIndex(text, l.body), rounds)
	var completed []time.Duration
	at := strings.LastIndex(text, l.body)
	for range rounds {
		c.change(text, at, 0, l.hole)
		began := time.Now()
		items, err := c.complete(text[:at]+l.hole, at+len(l.hole))
		completed = append(completed, time.Since(began))
		if err != nil || items < 2 {
			return nil, fmt.Errorf("completing %q returned %d items, error = %v", l.hole, items, err)
		}
		c.change(text[:at]+l.hole+text[at:], at, len(l.hole), "")
		c.await(c.version)
	}
	return []row{
		{"2,000 lines: diagnostics after a keystroke, median", percentile(pressed, 0.5), "ms", ""},
		{"2,000 lines: diagnostics after a keystroke, p95", percentile(pressed, 0.95), "ms", "30 ms"},
		{"2,000 lines: completion, median", percentile(completed, 0.5), "ms", ""},
		{"2,000 lines: completion, p95", percentile(completed, 0.95), "ms", "20 ms"},
	}, c.failed()
}

// inManyModules measures a server in a project with many modules.
func (l language) inManyModules(dir string, rounds int) ([]row, error) {
	files := l.many(modules)
	if err := write(dir, files); err != nil {
		return nil, err
	}
	began := time.Now()
	c, err := start(dir, l.command...)
	if err != nil {
		return nil, err
	}
	defer c.end()
	text := files[l.module]
	wrong := strings.LastIndex(text, l.body)
	c.open(filepath.Join(dir, l.module), l.id, text[:wrong]+"x"+text[wrong:])
	c.await(1)
	first := time.Since(began)
	c.change(text[:wrong]+"x"+text[wrong:], wrong, 1, "")
	c.await(c.version)
	pressed := c.keystrokes(text, wrong, rounds)

	c.open(filepath.Join(dir, l.common), l.id, files[l.common])
	c.await(1)
	var renames []time.Duration
	for range 5 {
		began = time.Now()
		edits, err := c.rename(files[l.common], strings.Index(files[l.common], "sed("), l.renamed)
		renames = append(renames, time.Since(began))
		if err != nil || edits <= modules {
			return nil, fmt.Errorf("the rename changed %d places, error = %v", edits, err)
		}
	}
	memory, busy := c.memory(), c.cpu()
	time.Sleep(idle)
	return []row{
		{"1,000 modules: first diagnostics", ms(first), "ms", "1,000 ms"},
		{"1,000 modules: diagnostics after a keystroke, median", percentile(pressed, 0.5), "ms", ""},
		{"1,000 modules: diagnostics after a keystroke, p95", percentile(pressed, 0.95), "ms", "120 ms"},
		{"1,000 modules: rename of 1,000 uses, median", percentile(renames, 0.5), "ms", "200 ms"},
		{"1,000 modules: rename of 1,000 uses, slowest", percentile(renames, 1), "ms", ""},
		{"1,000 modules: resident", memory, "MB", "350 MB"},
		{"1,000 modules: CPU in five seconds without a key", ms(c.cpu() - busy), "ms", "0 ms"},
	}, c.failed()
}

// keystrokes repeatedly types a character that causes an error and deletes it. It returns the time
// until each diagnostic.
func (c *client) keystrokes(text string, at, rounds int) []time.Duration {
	var all []time.Duration
	for range rounds {
		began := time.Now()
		c.change(text, at, 0, "x")
		if n := c.await(c.version); n == 0 && c.err == nil {
			c.err = fmt.Errorf("the server published no diagnostic for the error")
		}
		all = append(all, time.Since(began))
		began = time.Now()
		c.change(text[:at]+"x"+text[at:], at, 1, "")
		c.await(c.version)
		all = append(all, time.Since(began))
	}
	return all
}

func write(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
