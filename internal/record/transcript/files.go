package transcript

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// Vendors lists the agents whose transcripts can be read.
var Vendors = []string{"claude-code", "codex"}

// File is a transcript of a session, or of one of its subagents.
type File struct {
	Vendor  string
	Session string
	Agent   string // thread of a subagent of Codex
	Main    bool   // of the session itself, not of a subagent
	Path    string
}

// Dir returns the directory in which an agent stores its transcripts. env returns the value of a
// variable, or "".
func Dir(vendor string, env func(name string) string) string {
	home := env("HOME")
	if vendor == "codex" {
		if dir := env("CODEX_HOME"); dir != "" {
			return filepath.Join(dir, "sessions")
		}
		return filepath.Join(home, ".codex", "sessions")
	}
	if dir := env("CLAUDE_CONFIG_DIR"); dir != "" {
		return filepath.Join(dir, "projects")
	}
	return filepath.Join(home, ".claude", "projects")
}

// Find returns the transcripts of sessions below dir. A file that may be a transcript of a
// session, and cannot be read, is a problem.
func Find(vendor, dir string, sessions map[string]bool, problem func(Problem)) (files []File, err error) {
	if to, err := filepath.EvalSymlinks(dir); err == nil { // otherwise dir has no transcripts
		dir = to
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == dir {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		if filepath.Ext(path) != ".jsonl" {
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				problem(Problem{path, 0, "the directory is a link, which is not followed"})
			} else if vendor == "codex" && strings.HasPrefix(filepath.Base(path), "rollout-") {
				problem(Problem{path, 0, "the transcript is not text"})
			}
			return nil
		}
		f := File{Vendor: vendor, Path: path}
		if vendor == "codex" {
			var err error
			if f.Session, f.Agent, err = codexSession(path, sessions); err != nil {
				problem(Problem{path, 1, err.Error()})
			}
		} else {
			f.Session = claudeSession(path, sessions)
		}
		f.Main = f.Agent == "" && (vendor == "codex" || filepath.Base(path) == f.Session+".jsonl")
		if f.Session != "" {
			files = append(files, f)
		}
		return nil
	})
	return files, err
}

// claudeSession returns the session of a file SESSION.jsonl or SESSION/subagents/….jsonl, or "".
func claudeSession(path string, sessions map[string]bool) string {
	if name := strings.TrimSuffix(filepath.Base(path), ".jsonl"); sessions[name] {
		return name
	}
	parts := strings.Split(filepath.ToSlash(path), "/")
	if at := slices.Index(parts, "subagents"); at > 0 && sessions[parts[at-1]] {
		return parts[at-1]
	}
	return ""
}

// codexSession returns the session of a file rollout-TIME-THREAD.jsonl, or "". The first line of
// the file of another thread names its session.
func codexSession(path string, sessions map[string]bool) (session, agent string, err error) {
	name, isRollout := strings.CutPrefix(strings.TrimSuffix(filepath.Base(path), ".jsonl"), "rollout-")
	if !isRollout {
		return "", "", nil
	}
	for id := range sessions {
		if strings.HasSuffix(name, "-"+id) {
			return id, "", nil
		}
	}
	f, err := userfile.Open(path, userfile.Unlimited)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	text, err := bufio.NewReader(io.LimitReader(f, maxLine)).ReadBytes('\n')
	if len(text) == 0 {
		return "", "", nil
	}
	var first struct {
		Type    string `json:"type"`
		Payload struct {
			ID      string `json:"id"`
			Session string `json:"session_id"`
		} `json:"payload"`
	}
	if err != nil || json.Unmarshal(text, &first) != nil || first.Type != "session_meta" {
		return "", "", errors.New("the line does not name the session of the transcript")
	}
	if sessions[first.Payload.Session] {
		return first.Payload.Session, first.Payload.ID, nil
	}
	return "", "", nil
}

// eachCall calls each for every call in a transcript.
func eachCall(f File, kinds Kinds, each func(Call), problem func(Problem)) error {
	file, err := userfile.Open(f.Path, userfile.Unlimited)
	if err != nil {
		return err
	}
	defer file.Close()
	read := readClaude
	if f.Vendor == "codex" {
		read = readCodex
	}
	return read(file, f, kinds, each, func(n int, err error) { problem(Problem{f.Path, n, err.Error()}) })
}
