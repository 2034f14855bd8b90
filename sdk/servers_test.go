package sdk_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// transport is a way from an application to the server.
type transport struct {
	name    string
	command string // the concerto to start
	begin   func(t *testing.T, x transport) *server
}

func (x transport) start(t *testing.T) *server {
	t.Helper()
	return x.begin(t, x)
}

// server is one that an application can go to.
type server struct {
	url, token string
	env        []string // of the application
	dead       string   // is said when it was killed
	kill       func(t *testing.T)
}

var transports = []transport{{name: "stdio", begin: onStdio}}

// onStdio has the application start the server. What it starts leaves its number.
func onStdio(t *testing.T, x transport) *server {
	dir := t.TempDir()
	script, number := filepath.Join(dir, "concerto"), filepath.Join(dir, "pid")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho $$ > "+number+"\nexec "+x.command+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return &server{url: "stdio", env: []string{"CONCERTO=" + script}, dead: "was ended by SIGKILL", kill: func(t *testing.T) {
		text, err := os.ReadFile(number)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
	}}
}
