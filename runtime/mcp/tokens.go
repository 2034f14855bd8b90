package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/concerto-lang/concerto/internal/process/lockfile"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

// refreshBefore is the time before the expiry of a token at which it is refreshed.
const refreshBefore = 60 * time.Second

// maxLogin is the maximum size of the file of a login in bytes.
const maxLogin = 1 << 20

// login is a login to a server, as its file contains it. The secret of a registered client is not
// in the file, because the manifest names its variable.
type login struct {
	URL          string           `json:"url"`
	TokenURL     string           `json:"token_url"`
	AuthStyle    oauth2.AuthStyle `json:"auth_style"`
	ClientID     string           `json:"client_id"`
	ClientSecret string           `json:"client_secret,omitempty"`
	AccessToken  string           `json:"access_token"`
	RefreshToken string           `json:"refresh_token,omitempty"`
	Expires      time.Time        `json:"expires,omitzero"`
	Scopes       []string         `json:"scopes"`
}

// modeError is the error for a file of a login that others may read.
type modeError struct{ file string }

func (e *modeError) Error() string {
	return "other users may read the file of the login: run chmod 600 " + e.file + ", and log in again if they have read it"
}

// loginFile returns the path of the file of the login to a URL.
func loginFile(environ []string, url string) (string, error) {
	dir := userfile.Dir(func(name string) string { return procgroup.Getenv(environ, name) }, "XDG_STATE_HOME", ".local", "state")
	if dir == "" {
		return "", errors.New("logins are stored in XDG_STATE_HOME or below HOME, but neither variable is set")
	}
	sum := sha256.Sum256([]byte(url))
	return filepath.Join(dir, "mcp", hex.EncodeToString(sum[:])+".json"), nil
}

// readLogin reads the file of a login, and returns nil if it does not exist.
func readLogin(file string) (*login, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, &modeError{file}
	}
	text, err := userfile.Read(file, maxLogin)
	if err != nil {
		return nil, err
	}
	l := &login{}
	if err := json.Unmarshal(text, l); err != nil || l.AccessToken == "" {
		return nil, fmt.Errorf("the file %s of the login is damaged: log in again", file)
	}
	return l, nil
}

// write replaces the file of the login.
func (l *login) write(file string) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return userfile.Replace(file, append(text, '\n'), 0o600)
}

// set stores a token with the scopes that the server granted. Some servers send no new refresh
// token, and then the old one remains valid.
func (l *login) set(t *oauth2.Token) {
	l.AccessToken, l.Expires = t.AccessToken, t.Expiry.UTC()
	if t.Expiry.IsZero() {
		l.Expires = time.Time{}
	}
	if t.RefreshToken != "" {
		l.RefreshToken = t.RefreshToken
	}
	if scopes, ok := t.Extra("scope").(string); ok && scopes != "" {
		l.Scopes = strings.Fields(scopes)
	}
	slices.Sort(l.Scopes)
}

// isDue reports whether the access token expires soon.
func (l *login) isDue() bool {
	return !l.Expires.IsZero() && time.Until(l.Expires) < refreshBefore
}

// isExpired reports whether a new login is necessary.
func (l *login) isExpired() bool {
	return l.RefreshToken == "" && !l.Expires.IsZero() && time.Until(l.Expires) <= 0
}

// secret returns the secret of the login's client.
func (l *login) secret(c *mcpport.Config, environ []string) string {
	if c.OAuth != nil && c.OAuth.ClientSecretEnv != "" && c.OAuth.ClientID == l.ClientID {
		return procgroup.Getenv(environ, c.OAuth.ClientSecretEnv)
	}
	return l.ClientSecret
}

// lockPause is the pause between two attempts to lock the file of a login.
const lockPause = 20 * time.Millisecond

// whileLocked calls do while no other process changes the file of the login.
func whileLocked(ctx context.Context, file string, do func() error) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	for {
		unlock, err := lockfile.Lock(file + ".lock")
		if err == nil {
			return errors.Join(do(), unlock())
		}
		if !errors.Is(err, lockfile.ErrHeld) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lockPause):
		}
	}
}
