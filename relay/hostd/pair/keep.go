// Package pair pairs a machine with a server by a key (spec/relay.md). The machine creates its key
// once. An owner confirms the key at the server, and the pairing is then stored in the state of
// hostd.
package pair

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// Files in the state directory.
const (
	keyFile     = "host-key" // private key as PKCS #8 in PEM
	pairingFile = "pairing.json"
)

// Pairing is a pairing that an owner has confirmed.
type Pairing struct {
	Server    string `json:"server"` // URL of the server
	MachineID string `json:"host_id"`
	ServerKey string `json:"server_key,omitempty"` // key of the server; "" until the server has proven one
	dir       string
	key       ed25519.PrivateKey
}

// Load reads the pairing in a state directory. It returns nil if there is none.
func Load(dir string) (*Pairing, error) {
	file := filepath.Join(dir, pairingFile)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the pairing: %w", err)
	}
	k := &Pairing{dir: dir}
	if err := json.Unmarshal(text, k); err != nil || !protocol.IsID(k.MachineID) || k.Server == "" {
		return nil, fmt.Errorf("%s is not a pairing file: remove it and pair again", file)
	}
	if _, err := k.Pinned(); err != nil {
		return nil, fmt.Errorf("%s: server_key: %w", file, err)
	}
	k.key, err = readKey(filepath.Join(dir, keyFile))
	return k, err
}

// IsWith reports whether the pairing was made with the server at a URL.
func (k *Pairing) IsWith(server string) bool {
	a, err1 := url.Parse(k.Server)
	b, err2 := url.Parse(server)
	return err1 == nil && err2 == nil && protocol.OriginOf(a) == protocol.OriginOf(b)
}

// Public returns the machine's public key.
func (k *Pairing) Public() ed25519.PublicKey { return k.key.Public().(ed25519.PublicKey) }

// Private returns the machine's private key.
func (k *Pairing) Private() ed25519.PrivateKey { return k.key }

// Pinned returns the pinned key of the server, or nil if the server has not proven a key.
func (k *Pairing) Pinned() (ed25519.PublicKey, error) {
	if k.ServerKey == "" {
		return nil, nil
	}
	return protocol.ParseKey(k.ServerKey)
}

// Pin stores the key of the server in the pairing.
func (k *Pairing) Pin(key ed25519.PublicKey) error {
	pinned := *k
	pinned.ServerKey = protocol.KeyText(key)
	return pinned.save()
}

func (k *Pairing) save() error {
	text, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	return userfile.Replace(filepath.Join(k.dir, pairingFile), append(text, '\n'), 0o600)
}

// LoadOrCreateKey returns the private key in a state directory. It creates the key if there is
// none.
func LoadOrCreateKey(dir string) (ed25519.PrivateKey, error) {
	file := filepath.Join(dir, keyFile)
	key, err := readKey(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the state directory: %w", err)
	}
	if _, key, err = ed25519.GenerateKey(rand.Reader); err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	if err := userfile.Replace(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		return nil, fmt.Errorf("store the machine's key: %w", err)
	}
	return key, nil
}

func readKey(file string) (ed25519.PrivateKey, error) {
	text, err := userfile.ReadPrivate(file, userfile.MaxSecret)
	if err != nil {
		return nil, fmt.Errorf("read the machine's key: %w", err)
	}
	if block, _ := pem.Decode(text); block != nil {
		if any, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if key, ok := any.(ed25519.PrivateKey); ok {
				return key, nil
			}
		}
	}
	return nil, fmt.Errorf("%s is not a machine key: remove it and pair again", file)
}
