package pkg

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// PendingFile is the name of the file that exists while a command replaces the manifest and the
// lock file. Two files cannot be replaced at once: if the command is killed in between, the file
// shows which lock file belongs to the manifest.
const PendingFile = ".concerto-update"

// pending is the content of PendingFile.
type pending struct {
	Manifest string `json:"manifest"` // SHA-256 of the new manifest
	Before   []byte `json:"before"`   // lock file that belongs to any other manifest; null if there was none
	After    []byte `json:"after"`    // lock file that belongs to the new manifest
}

// EncodePending returns the content of PendingFile. before is nil if there was no lock file.
func EncodePending(manifest, before, after []byte) []byte {
	text, err := json.Marshal(pending{sum(manifest), before, after})
	if err != nil {
		panic(err) // the fields are texts
	}
	return text
}

// LockFor returns the lock file that belongs to a manifest: the one on disk, or if a command was
// killed while it replaced the files, the one of the PendingFile. lock is nil if there is none on
// disk.
func LockFor(manifest, lock, pendingText []byte) []byte {
	var p pending
	if pendingText == nil || json.Unmarshal(pendingText, &p) != nil || !bytes.Equal(lock, p.After) && !bytes.Equal(lock, p.Before) {
		return lock
	}
	if sum(manifest) == p.Manifest {
		return p.After
	}
	return p.Before
}

func sum(text []byte) string {
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:])
}
