package sqlite

// OpenOn opens a file in a registered SQLite VFS.
var OpenOn = openOn
