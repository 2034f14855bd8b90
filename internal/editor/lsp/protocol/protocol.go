// Package protocol holds the types of the language server protocol that the server
// uses. They are generated from its published meta model (internal/editor/lsp/gen).
package protocol

import "encoding/json"

//go:generate sh -c "cd ../gen && go run ."

// DocumentURI names a document.
type DocumentURI string

// List is a list that is encoded as [] if it is nil.
type List[T any] []T

// MarshalJSON writes the list.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

// DocumentChange is one thing that a client does to documents: edits of one, or the making of a
// file. The other is nil.
type DocumentChange struct {
	*TextDocumentEdit
	*CreateFile
}
