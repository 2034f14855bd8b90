package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority signs the certificates of a private network.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir(), cert: &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test CA"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}}
	a.cert, a.key = a.sign(a.cert)
	return a
}

func (a *authority) sign(c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	by := a.key
	if by == nil {
		by = key
	}
	text, err := x509.CreateCertificate(rand.Reader, c, a.cert, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	signed, err := x509.ParseCertificate(text)
	if err != nil {
		a.t.Fatal(err)
	}
	return signed, key
}

// write writes NAME.pem and NAME.key with a certificate that is valid for a time, and returns their
// paths.
func (a *authority) write(name string, serial int64, valid time.Duration, names ...string) (cert, key string) {
	a.t.Helper()
	c, private := a.sign(&x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: names, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(valid)})
	text, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, key = filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+".key")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: c.Raw}, key: {Type: "EC PRIVATE KEY", Bytes: text}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return cert, key
}

// get requests a URL from the port of an origin on this machine, and returns the response with the
// serial number of the server's certificate.
func (a *authority) get(origin, url string) (*http.Response, string, int64) {
	a.t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "desk.tail1.ts.net"},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, "127.0.0.1"+origin[strings.LastIndex(origin, ":"):])
		}}}
	r, err := client.Get(url)
	if err != nil {
		a.t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return r, string(body), r.TLS.PeerCertificates[0].SerialNumber.Int64()
}

// TestPageCert serves the page by hostd at a name of a private network. A phone that is enrolled
// there has the class pinned, and a renewed certificate is used without a restart.
func TestPageCert(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	cert, key := ca.write("desk", 2, 30*24*time.Hour, "desk.tail1.ts.net")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = free.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	listen := free.Addr().String()
	origin := "https://desk.tail1.ts.net" + listen[strings.LastIndex(listen, ":"):]
	r := newRemote(t, "--sealed", "off", "--page-cert", cert, "--page-key", key, "--page-listen", listen)
	r.config(r.server.url)

	page, body, serial := ca.get(origin, origin+"/")
	if page.StatusCode != 200 || serial != 2 || !strings.Contains(body, `<meta name="concerto-relay" content="`+r.server.url+`">`) {
		t.Errorf("page = %d, certificate %d, %.300s", page.StatusCode, serial, body)
	}
	if hsts := page.Header.Get("Strict-Transport-Security"); hsts != "" || page.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers = %v; Strict-Transport-Security would apply to all ports of the name", page.Header)
	}
	if other, _, _ := ca.get(origin, strings.Replace(origin, "desk.tail1.ts.net", "desk", 1)+"/sw.js"); other.StatusCode != http.StatusFound || other.Header.Get("Location") != origin+"/sw.js" {
		t.Errorf("page of another name = %d %s, want a redirect", other.StatusCode, other.Header.Get("Location"))
	}

	r.do(0, "seal", "init", "--user", "ann", "--code-file", "code")
	r.do(0, "seal", "policy", "--decide", "high=pinned")
	add, link, _ := r.adds("--yes", "--page", origin+"/")
	if !strings.HasPrefix(link, origin+"/#/join/") {
		t.Errorf("link = %s", link)
	}
	p, l := r.server.open(t, link, r.server.login("ann", "correct horse"))
	if err := add.Wait(); err != nil {
		t.Fatal(err)
	}
	if out := r.do(0, "devices", "list"); !strings.Contains(out, origin) {
		t.Errorf("devices = %s, want one with the page %s", out, origin)
	}
	p.load(l.Account)
	run := r.waitForRun(r.detached(asksTwice))
	r.approve(p, run, r.atServer(run, "Go on?"))

	old, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	ca.write("desk", 3, 30*24*time.Hour, "desk.tail1.ts.net")
	renewed, err := os.ReadFile(key)
	if err == nil {
		err = os.WriteFile(key, old, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, _, serial := ca.get(origin, origin+"/"); serial != 2 {
		t.Errorf("certificate without its key = %d, want the last one", serial)
	}
	if err := os.WriteFile(key, renewed, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, serial := ca.get(origin, origin+"/"); serial != 3 {
		t.Errorf("certificate after it was renewed = %d", serial)
	}
}

// TestPageCertSettings starts hostd with settings of the page that cannot work. Each error names
// the next step. The certificate's end is reported by doctor.
func TestPageCertSettings(t *testing.T) {
	t.Parallel()
	h := newMachine(t)
	ca := newAuthority(t)
	cert, key := ca.write("desk", 2, 30*24*time.Hour, "desk.tail1.ts.net")
	two, twoKey := ca.write("two", 2, time.Hour, "a.example", "b.example", "*.c.example")
	past, pastKey := ca.write("past", 2, -time.Hour, "desk.tail1.ts.net")
	with := func(flags ...string) []string {
		return append([]string{"hostd", "--state", "state", "--root", h.dir, "--server", "http://127.0.0.1:1"}, flags...)
	}
	for want, args := range map[string][]string{
		"add --page-key FILE":               {"--page-cert", cert},
		"add --page-cert FILE":              {"--page-key", key},
		"--page-listen: there is no":        {"--page-listen", ":8788"},
		"none.pem: no such file":            {"--page-cert", "none.pem", "--page-key", key},
		"private key does not match":        {"--page-cert", cert, "--page-key", twoKey},
		"is for desk.tail1.ts.net, not for": {"--page-cert", cert, "--page-key", key, "--page-listen", "build.tail1.ts.net:8788"},
		"is for a.example, b.example, *.c":  {"--page-cert", two, "--page-key", twoKey, "--page-listen", "127.0.0.1:0"},
		"write an address":                  {"--page-cert", cert, "--page-key", key, "--page-listen", "8788"},
		"a server with https":               {"--page-cert", cert, "--page-key", key, "--server", "http://relay.example"},
	} {
		if out := h.do(2, with(args...)...); !strings.Contains(out, want) || !strings.Contains(out, "hint: ") {
			t.Errorf("hostd %q = %s, want %s", args, out, want)
		}
	}
	used, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	// The exit code 2 would prevent that the service starts again, when the address is free.
	if out := h.do(1, with("--page-cert", cert, "--page-key", key, "--page-listen", used.Addr().String())...); !strings.Contains(out, "address already in use") || !strings.Contains(out, "name another one: --page-listen") {
		t.Errorf("hostd with a port in use = %s", out)
	}
	h.flags = []string{"--page-cert", past, "--page-key", pastKey, "--page-listen", "127.0.0.1:0", "--server", "http://127.0.0.1:1"}
	h.start() // the runs of the machine do not depend on the page
	h.kill()

	doctor := func(cert, key string) string {
		out, _ := h.command("doctor", "--state", "state", "--page-cert", cert, "--page-key", key).CombinedOutput() // there is no hostd, so it fails
		return string(out)
	}
	for want, files := range map[string][2]string{
		"ok    page-cert   https://desk.tail1.ts.net:8788/, until 20":             {cert, key},
		"fail  page-cert   the certificate of the page has expired at 20":         {past, pastKey},
		"fail  page-cert   --page-cert: open " + h.dir + "/none.pem: no such":     {"none.pem", key},
		"fail  page-cert   --page-cert: the certificate in " + two + " is for a.": {two, twoKey},
	} {
		if out := doctor(files[0], files[1]); !strings.Contains(out, want) {
			t.Errorf("doctor = %s, want %s", out, want)
		}
	}
	soon, soonKey := ca.write("soon", 2, 24*time.Hour, "desk.tail1.ts.net")
	if out := doctor(soon, soonKey); !strings.Contains(out, "warn  page-cert   the certificate of the page expires at 20") || !strings.Contains(out, "renew it") {
		t.Errorf("doctor = %s", out)
	}
	if err := os.Mkdir(filepath.Join(h.dir, "concerto"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "concerto", "relay.toml"), []byte("[hostd]\npage-cert = \"c\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := h.do(2, "serve", "--listen", "127.0.0.1:0", "--db", "sqlite:relay.db", "--with-hostd"); !strings.Contains(out, "in a process of its own") {
		t.Errorf("serve --with-hostd = %s", out)
	}
}
