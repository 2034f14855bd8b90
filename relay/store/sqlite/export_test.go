package sqlite

// Interrupted reports whether the context of a statement has ended it.
var Interrupted = interrupted
