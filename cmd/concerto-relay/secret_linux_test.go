package main

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// TestSecretsLeaveNoTrace types passwords at prompts without echo, as an input and as an answer,
// also while the machine is offline. Neither a password nor a hash of it may be in a file, event,
// message, audit record or log of the server and hostd. After a restart of the server a waiting
// password is lost, and its prompt is still open.
func TestSecretsLeaveNoTrace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte("correct horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	admin := []string{"--admin", "ann", "--admin-password-file", "password", "--tofu", "on"}
	d := start(t, dir, nil, admin...)
	token := d.login("ann", "correct horse")
	h := newMachine(t, "--server", d.url)
	log, err := os.Create(filepath.Join(h.dir, "hostd.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	h.log = log
	h.start()
	run := h.detached(`stty -echo; for q in First Second Third; do printf "$q: "; read -r p; echo; echo "$q: ${#p} characters"; done; read x`)
	h.startDetached(d, token, run) // the server knows the run as soon as its machine has reported it
	after := 0
	await := func(typ, text string) (id string) {
		t.Helper()
		for {
			var page struct {
				Events []struct {
					Type string
					Seq  int
					Data json.RawMessage
				}
			}
			if code := d.ask("GET", fmt.Sprintf("/events?cursor=%s:%d&wait=20", run, after), token, "", &page); code != 200 || len(page.Events) == 0 {
				t.Fatalf("status = %d, and no event %s with %q", code, typ, text)
			}
			for _, e := range page.Events {
				after = e.Seq
				if e.Type == typ && strings.Contains(string(e.Data), text) {
					var request struct {
						ID string `json:"request_id"`
					}
					if err := json.Unmarshal(e.Data, &request); err != nil {
						t.Fatal(err)
					}
					return request.ID
				}
			}
		}
	}
	post := func(path, body string, want ...int) {
		t.Helper()
		code := d.ask("POST", "/runs/"+run+path, token, body, nil)
		for _, w := range want {
			if code == w {
				return
			}
		}
		t.Fatalf("POST %s: status = %d, want %v", path, code, want)
	}
	first, second, third, fourth := "Zq9/+ first&42", "Zq9/+ second&42", "Zq9/+ third&42", "Zq9/+ fourth&42"
	await(protocol.RunPermissionRequested, "First")
	for range 2 { // the second is a repetition
		post("/input", fmt.Sprintf(`{"input_id":"i1","text":%q}`, first+"\n"), 204, 202)
	}
	await(protocol.RunOutput, "First: 14 characters")
	request := await(protocol.RunPermissionRequested, "Second")
	post("/input", fmt.Sprintf(`{"input_id":"i1","text":%q}`, first+"\n"), 204) // known, though it was applied
	for range 2 {
		post("/permissions/"+request, fmt.Sprintf(`{"decision":"answer","answers":{"answer":%q}}`, second), 200)
	}
	await(protocol.RunOutput, "Second: 15 characters")
	request = await(protocol.RunPermissionRequested, "Third")
	h.kill()
	post("/input", fmt.Sprintf(`{"input_id":"i3","text":%q}`, third+"\n"), 202, 204)
	post("/permissions/"+request, fmt.Sprintf(`{"decision":"answer","answers":{"answer":%q}}`, third), 200)
	search := func(when string) {
		t.Helper()
		var texts [][]byte
		var names []string
		for _, path := range []string{"/runs/" + run + "/events?limit=1000", "/runs/" + run + "/messages", "/audit", "/inbox", "/runs"} {
			r, err := http.NewRequest("GET", d.url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token)
			got, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(got.Body)
			got.Body.Close()
			if err != nil || got.StatusCode != 200 {
				t.Fatal(path, got.Status, err)
			}
			names, texts = append(names, path), append(texts, text)
		}
		for _, root := range []string{dir, h.dir} {
			err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
				if err != nil || !e.Type().IsRegular() {
					return err
				}
				text, err := os.ReadFile(path)
				names, texts = append(names, path), append(texts, text)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		names, texts = append(names, "the server's output"), append(texts, []byte(d.output()))
		for _, secret := range []string{first, second, third, fourth} {
			for form, text := range tracesOf(secret) {
				for i := range texts {
					if bytes.Contains(texts[i], text) {
						t.Errorf("%s: %s has the secret %q: %s", when, names[i], secret, form)
					}
				}
			}
		}
	}
	search("while commands wait for the machine")
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = d.cmd.Wait()
	d = start(t, dir, nil, append(admin, "--listen", strings.TrimPrefix(d.url, "http://"))...)
	h.start()
	// The server delivers commands in order: the lost ones end before this one is sent.
	post("/input", fmt.Sprintf(`{"input_id":"i4","text":%q}`, fourth+"\n"), 204, 202)
	await(protocol.RunOutput, "Third: 15 characters")
	search("at the end")
}

// tracesOf returns what would reveal a secret: its encodings, and the hashes of the forms in which
// it is sent.
func tracesOf(secret string) map[string][]byte {
	plain, err := json.Marshal(secret)
	if err != nil {
		panic(err)
	}
	all := map[string][]byte{"raw": []byte(secret), "JSON": plain[1 : len(plain)-1], "base64": []byte(base64.StdEncoding.EncodeToString([]byte(secret))[:16]),
		"URL query": []byte(url.QueryEscape(secret)), "URL path": []byte(url.PathEscape(secret))}
	for _, form := range []string{secret, secret + "\n", `"` + secret + `"`, `"` + secret + `\n"`, `{"answer":"` + secret + `"}`, string(plain), `["` + secret + `\n"]`} {
		one, two, five := sha1.Sum([]byte(form)), sha256.Sum256([]byte(form)), sha512.Sum512([]byte(form))
		for name, sum := range map[string][]byte{"SHA-1": one[:], "SHA-256": two[:], "SHA-512": five[:]} {
			all[name+" of "+form] = sum
			all[name+" in hexadecimal of "+form] = []byte(hex.EncodeToString(sum))
			all[name+" in base64 of "+form] = []byte(base64.RawStdEncoding.EncodeToString(sum))
		}
	}
	return all
}
