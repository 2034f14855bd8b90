// Package protocol contains the types of the language server protocol that the server uses. Most of
// them are generated from the published meta model by internal/editor/lsp/gen.
package protocol

import "encoding/json"

//go:generate sh -c "cd ../gen && go run ."

// DocumentURI is the URI of a document.
type DocumentURI string

// List is a list that is encoded as [] if it is nil.
type List[T any] []T

// MarshalJSON encodes the list.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

// DocumentChange is one change of a workspace edit. It contains either the edits of a document or
// the creation of a file, and the other field is nil.
type DocumentChange struct {
	*TextDocumentEdit
	*CreateFile
}
