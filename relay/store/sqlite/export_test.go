package sqlite

// OpenOn opens a file of a registered SQLite file system.
var OpenOn = openOn
