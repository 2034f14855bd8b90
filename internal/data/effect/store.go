package effect

import "encoding/json"

// The kinds of requests to stores in files. A task does not yield during such a request, so that a
// store in a file behaves like a store in memory.
const (
	KindStoreRead    Kind = "store.read"
	KindStoreWrite   Kind = "store.write"
	KindStoreAdd     Kind = "store.add"
	KindStoreDelete  Kind = "store.delete"
	KindStoreList    Kind = "store.list"
	KindStoreLen     Kind = "store.len"
	KindStoreClear   Kind = "store.clear"
	KindStoreExpire  Kind = "store.expire"
	KindLedgerPut    Kind = "ledger.put"
	KindLedgerDelete Kind = "ledger.delete"
	KindLedgerFind   Kind = "ledger.find"
	KindMemoryAppend Kind = "memory.append"
	KindMemoryList   Kind = "memory.list"
)

// Store identifies a store in a file. It is comparable.
type Store struct {
	File string `json:"file"` // path as the program wrote it
	Kind string `json:"kind"` // "hashmap", "ledger", "memory", "queue" or "cache"
	Name string `json:"name"`
	// Scope is the JSON array of the names that lead to a scope; "" outside of all scopes.
	Scope string `json:"scope,omitempty"`
}

// At returns the store of the request.
func (s *Store) At() *Store { return s }

// StoreError returns the error of the type that programs expect of a store whose file cannot be
// used.
func StoreError(at *Store, format string, args ...any) *Error {
	switch at.Kind {
	case "hashmap":
		return Errorf("HashMapError", format, args...)
	case "queue":
		return Errorf("QueueError", format, args...).With("code", "file")
	}
	return Errorf("FsError", format, args...).With("path", at.File)
}

// Keys and values of a hashmap are JSON. The performer interprets only numbers. The *Error of each
// request is a HashMapError, with the field key if the error is about a key.

// StoreEntry is an entry of a hashmap.
type StoreEntry struct {
	Key   json.RawMessage `json:"key,omitempty"`
	Value json.RawMessage `json:"value,omitempty"` // nil if there is no value
}

// StoreEntries contains entries of a hashmap.
type StoreEntries struct {
	Entries []StoreEntry `json:"entries"`
}

// StoreRead reads the values of Keys. It returns *StoreEntries with one entry per key, without the
// keys.
type StoreRead struct {
	Store
	Keys []json.RawMessage `json:"keys"`
}

// StoreWrite sets all Entries in the hashmap, or none if it fails. If Before is set, it returns
// *StoreEntries with the previous value of each entry, without keys. Otherwise its result is nil.
type StoreWrite struct {
	Store
	Entries []StoreEntry `json:"entries"`
	Before  bool         `json:"before,omitempty"`
}

// StoreAdd adds the number By to the value of Key; a missing value counts as 0. It returns
// *StoreEntries with the previous value and the sum, without keys. The sum is a Float if one of the
// numbers is a Float, otherwise an Int. A sum beyond the range of Int is a RuntimeError.
type StoreAdd struct {
	Store
	Key json.RawMessage `json:"key"`
	By  json.RawMessage `json:"by"`
}

// StoreDelete removes the entry of Key and returns a *StoreFound.
type StoreDelete struct {
	Store
	Key json.RawMessage `json:"key"`
}

// StoreFound reports whether an entry existed.
type StoreFound struct {
	Found bool `json:"found"`
}

// StoreList returns all entries as *StoreEntries in order. Keys and Values select the parts of the
// entries to return.
type StoreList struct {
	Store
	Keys   bool `json:"keys,omitempty"`
	Values bool `json:"values,omitempty"`
}

// StoreLen returns the number of entries of a store of any kind as a *StoreCount. Window is the
// window of a memory; 0 means unlimited.
type StoreLen struct {
	Store
	Window int `json:"window,omitempty"`
}

// StoreCount contains a number of entries.
type StoreCount struct {
	Count int64 `json:"count"`
}

// StoreClear removes all entries of a store of any kind. If List is set, which is only valid for a
// hashmap, it returns the entries as *StoreEntries. Otherwise its result is nil.
type StoreClear struct {
	Store
	List bool `json:"list,omitempty"`
}

// StoreExpire removes the entries of a cache that expire before Date, in milliseconds since the
// epoch. The value of such an entry is the JSON [until, …], where until is the expiry with 13
// digits. Its result is nil.
type StoreExpire struct {
	Store
	Date int64 `json:"date"`
}

// LedgerEntry is an entry of a ledger.
type LedgerEntry struct {
	Identifier string   `json:"identifier"`
	Keys       []string `json:"keys,omitempty"`
	Value      string   `json:"value,omitempty"`
}

// LedgerEntries contains entries of a ledger in order.
type LedgerEntries struct {
	Entries []LedgerEntry `json:"entries"`
}

// LedgerPut stores Entry, which must be within the limits. It adds an entry, or replaces the entry
// with the same identifier. If Update is "keys" or "value", it replaces only that part of an
// existing entry. It returns a *StoreFound.
type LedgerPut struct {
	Store
	Entry  LedgerEntry `json:"entry"`
	Update string      `json:"update,omitempty"`
}

// LedgerDelete removes the entry of an identifier and returns a *StoreFound.
type LedgerDelete struct {
	Store
	Identifier string `json:"identifier"`
}

// LedgerFind returns *LedgerEntries with the entries that match Texts, or with all entries if By is
// "". By selects what is searched: "identifier", "any", "all" or "text".
type LedgerFind struct {
	Store
	By    string   `json:"by,omitempty"`
	Texts []string `json:"texts,omitempty"`
}

// MemoryMessage is a message of a conversation.
type MemoryMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// MemoryMessages contains messages, oldest first.
type MemoryMessages struct {
	Messages []MemoryMessage `json:"messages"`
}

// MemoryAppend appends all Messages, or none if it fails. If there are then more messages than
// Window, the oldest are removed, Trim at a time; 0 means no limit, or one at a time. Its result is
// nil.
type MemoryAppend struct {
	Store
	Messages []MemoryMessage `json:"messages"`
	Window   int             `json:"window,omitempty"`
	Trim     int             `json:"trim,omitempty"`
}

// MemoryList returns the last Last messages as *MemoryMessages; -1 means all. A Window other than 0
// limits their number too.
type MemoryList struct {
	Store
	Last   int `json:"last"`
	Window int `json:"window,omitempty"`
}

// Kind returns KindStoreRead.
func (*StoreRead) Kind() Kind { return KindStoreRead }

// Kind returns KindStoreWrite.
func (*StoreWrite) Kind() Kind { return KindStoreWrite }

// Kind returns KindStoreAdd.
func (*StoreAdd) Kind() Kind { return KindStoreAdd }

// Kind returns KindStoreDelete.
func (*StoreDelete) Kind() Kind { return KindStoreDelete }

// Kind returns KindStoreList.
func (*StoreList) Kind() Kind { return KindStoreList }

// Kind returns KindStoreLen.
func (*StoreLen) Kind() Kind { return KindStoreLen }

// Kind returns KindStoreClear.
func (*StoreClear) Kind() Kind { return KindStoreClear }

// Kind returns KindLedgerPut.
func (*LedgerPut) Kind() Kind { return KindLedgerPut }

// Kind returns KindLedgerDelete.
func (*LedgerDelete) Kind() Kind { return KindLedgerDelete }

// Kind returns KindStoreExpire.
func (*StoreExpire) Kind() Kind { return KindStoreExpire }

// Kind returns KindLedgerFind.
func (*LedgerFind) Kind() Kind { return KindLedgerFind }

// Kind returns KindMemoryAppend.
func (*MemoryAppend) Kind() Kind { return KindMemoryAppend }

// Kind returns KindMemoryList.
func (*MemoryList) Kind() Kind { return KindMemoryList }
