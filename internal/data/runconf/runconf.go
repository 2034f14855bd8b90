// Package runconf reads what a compiled program carries of the manifest's [run]: how runs are
// kept so that they can be gone on with, and what their records hold (spec/manifest-keys.md).
package runconf

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
)

// Config is [run], with the defaults of what is not given.
type Config struct {
	Journal       string            `json:"journal"` // directory of runs, relative to the program's root; "": none
	Park          bool              `json:"park"`
	Sync          string            `json:"sync"`           // "output", "every" or "never"
	History       string            `json:"history"`        // "all" or "snapshot"
	MaxJournalMB  int64             `json:"max_journal_mb"` // MiB
	SnapshotEvery int64             `json:"snapshot_every"` // records
	OrphanTimeout float64           `json:"orphan_timeout"` // seconds
	Secrets       []string          `json:"secrets"`        // environment variables
	Redact        []*regexp.Regexp  `json:"redact"`
	Unknown       map[string]string `json:"unknown"` // policies, by kind of effect or network host; see Policy
}

// Read reads a program's Run. A nil config is a program without the section.
func Read(config json.RawMessage) (Config, error) {
	c := Config{Sync: "output", History: "all", MaxJournalMB: 4096, SnapshotEvery: 256, OrphanTimeout: 3600}
	if config == nil {
		return c, nil
	}
	if err := json.Unmarshal(config, &c); err != nil {
		return Config{}, fmt.Errorf("the program's [run]: %w", err)
	}
	return c, nil
}

// Policy returns what becomes of an effect of which it is not known whether it was done: "retry",
// "fail" or "ask", and "" where [run.unknown] does not say. kind is "http", "command", "mcp",
// "file" or "tool"; address is an http request's URL, whose host, with or without its port, goes
// before the kind.
func (c *Config) Policy(kind, address string) string {
	if u, err := url.Parse(address); err == nil && address != "" {
		for _, host := range []string{u.Host, u.Hostname()} {
			for name, policy := range c.Unknown {
				if strings.EqualFold(name, host) {
					return policy
				}
			}
		}
	}
	return c.Unknown[kind]
}

// JournalRoot returns the directory below which runs are kept, of a manifest whose relative paths
// start at root; "" when they are not.
func (c *Config) JournalRoot(root string) string {
	if c.Journal == "" || filepath.IsAbs(c.Journal) {
		return c.Journal
	}
	return filepath.Join(root, c.Journal)
}
