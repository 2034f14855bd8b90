// Package runconf decodes the settings of the manifest's [run] section in a compiled program: how
// runs are stored so that they can be resumed, and what their records contain
// (spec/manifest-keys.md).
package runconf

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
)

// Config contains the settings of [run] with defaults applied.
type Config struct {
	Journal       string            `json:"journal"` // directory of runs, relative to the program's root; "" means none
	Park          bool              `json:"park"`
	Sync          string            `json:"sync"`           // "output", "every" or "never"
	MaxJournalMB  int64             `json:"max_journal_mb"` // in MiB
	OrphanTimeout float64           `json:"orphan_timeout"` // in seconds
	Files         string            `json:"files"`          // "local" or "shared"; see spec chapter 37
	Secrets       []string          `json:"secrets"`        // names of environment variables
	Redact        []*regexp.Regexp  `json:"redact"`
	Unknown       map[string]string `json:"unknown"` // policies by kind of effect or network host; see Policy
}

// Read decodes the settings of a program. A nil config means that the program has no [run] section.
func Read(config json.RawMessage) (Config, error) {
	c := Config{Sync: "output", Files: "local", MaxJournalMB: 4096, OrphanTimeout: 3600}
	if config == nil {
		return c, nil
	}
	if err := json.Unmarshal(config, &c); err != nil {
		return Config{}, fmt.Errorf("the program's [run]: %w", err)
	}
	return c, nil
}

// Policy returns what to do about an effect whose outcome is unknown: "retry", "fail" or "ask", or
// "" if [run.unknown] does not specify it. kind is "http", "command", "mcp", "file" or "tool".
// address is the URL of an http request. A setting for the URL's host, with or without port, takes
// precedence over one for the kind.
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

// JournalRoot returns the directory in which runs are stored, or "" if they are not stored. A
// relative path in the manifest is relative to root.
func (c *Config) JournalRoot(root string) string {
	if c.Journal == "" || filepath.IsAbs(c.Journal) {
		return c.Journal
	}
	return filepath.Join(root, c.Journal)
}
