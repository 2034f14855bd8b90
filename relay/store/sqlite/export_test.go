package sqlite

// OpenOn opens a file of a file system that SQLite knows by its name.
var OpenOn = openOn
