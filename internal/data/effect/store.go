package effect

import "encoding/json"

// The kinds of requests to stores in files. No task yields for them, so that a store in a file
// behaves like one in memory.
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
	File string `json:"file"` // as the program wrote it
	Kind string `json:"kind"` // "hashmap", "ledger", "memory" or "cache"
	Name string `json:"name"`
	// Scope is the JSON text of the names that lead to a scope, "" outside of
	// every scope.
	Scope string `json:"scope,omitempty"`
}

// At returns the store that a request is about.
func (s *Store) At() *Store { return s }

// Keys and values of a hashmap are JSON; the performer interprets only numbers.
// The *Error of each request is a HashMapError, with field key when it concerns
// a key.

// StoreEntry is an entry of a hashmap.
type StoreEntry struct {
	Key   json.RawMessage `json:"key,omitempty"`
	Value json.RawMessage `json:"value,omitempty"` // nil: there is none
}

// StoreEntries are entries of a hashmap.
type StoreEntries struct {
	Entries []StoreEntry `json:"entries"`
}

// StoreRead reads the values of Keys and returns *StoreEntries without keys, one for each.
type StoreRead struct {
	Store
	Keys []json.RawMessage `json:"keys"`
}

// StoreWrite adds all Entries to the hashmap, or none if it fails. With Before it returns
// *StoreEntries without keys: the previous values, one for each entry. Otherwise its result is nil.
type StoreWrite struct {
	Store
	Entries []StoreEntry `json:"entries"`
	Before  bool         `json:"before,omitempty"`
}

// StoreAdd adds the number By to the value of Key; a missing value counts as 0. It returns
// *StoreEntries without keys: the previous value and the sum. The sum is a Float if By is one,
// otherwise an Int. A sum beyond the range of Int is a RuntimeError.
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

// StoreList returns all entries as *StoreEntries, in order; without Keys or Values those are
// omitted.
type StoreList struct {
	Store
	Keys   bool `json:"keys,omitempty"`
	Values bool `json:"values,omitempty"`
}

// StoreLen returns the number of entries of a store of any kind as a *StoreCount. Window is a
// memory's, 0 for unlimited.
type StoreLen struct {
	Store
	Window int `json:"window,omitempty"`
}

// StoreCount is a number of entries.
type StoreCount struct {
	Count int64 `json:"count"`
}

// StoreClear removes all entries of a store of any kind. With List, which only a hashmap may have,
// it returns them as *StoreEntries; otherwise its result is nil.
type StoreClear struct {
	Store
	List bool `json:"list,omitempty"`
}

// StoreExpire removes the entries of a cache that hold until before Date, in
// milliseconds since the epoch. The value of a cache's entry is JSON of the form
// [until, …], where until has 13 digits. Its result is nil.
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

// LedgerEntries are entries of a ledger, in order.
type LedgerEntries struct {
	Entries []LedgerEntry `json:"entries"`
}

// LedgerPut stores Entry, which must be within the limits, as a new entry or replaces the one with
// its identifier. With Update, "keys" or "value", it replaces only that part of an existing entry.
// It returns a *StoreFound.
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

// LedgerFind returns *LedgerEntries: the entries that match Texts in the way of By ("identifier",
// "any", "all" or "text"), or all entries if By is "".
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

// MemoryMessages are messages, the oldest first.
type MemoryMessages struct {
	Messages []MemoryMessage `json:"messages"`
}

// MemoryAppend appends all Messages, or none when it fails. Beyond a Window
// other than 0 the oldest messages are removed. Its result is nil.
type MemoryAppend struct {
	Store
	Messages []MemoryMessage `json:"messages"`
	Window   int             `json:"window,omitempty"`
}

// MemoryList returns the Last messages as *MemoryMessages; -1 means all. A Window other than 0
// limits their number too.
type MemoryList struct {
	Store
	Last   int `json:"last"`
	Window int `json:"window,omitempty"`
}

// Kind is KindStoreRead.
func (*StoreRead) Kind() Kind { return KindStoreRead }

// Kind is KindStoreWrite.
func (*StoreWrite) Kind() Kind { return KindStoreWrite }

// Kind is KindStoreAdd.
func (*StoreAdd) Kind() Kind { return KindStoreAdd }

// Kind is KindStoreDelete.
func (*StoreDelete) Kind() Kind { return KindStoreDelete }

// Kind is KindStoreList.
func (*StoreList) Kind() Kind { return KindStoreList }

// Kind is KindStoreLen.
func (*StoreLen) Kind() Kind { return KindStoreLen }

// Kind is KindStoreClear.
func (*StoreClear) Kind() Kind { return KindStoreClear }

// Kind is KindLedgerPut.
func (*LedgerPut) Kind() Kind { return KindLedgerPut }

// Kind is KindLedgerDelete.
func (*LedgerDelete) Kind() Kind { return KindLedgerDelete }

// Kind is KindStoreExpire.
func (*StoreExpire) Kind() Kind { return KindStoreExpire }

// Kind is KindLedgerFind.
func (*LedgerFind) Kind() Kind { return KindLedgerFind }

// Kind is KindMemoryAppend.
func (*MemoryAppend) Kind() Kind { return KindMemoryAppend }

// Kind is KindMemoryList.
func (*MemoryList) Kind() Kind { return KindMemoryList }
