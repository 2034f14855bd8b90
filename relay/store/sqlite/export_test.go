package sqlite

// OpenOn opens a file in a registered SQLite VFS.
var OpenOn = openOn

// Interrupted reports whether the context of a statement has ended it.
var Interrupted = interrupted
