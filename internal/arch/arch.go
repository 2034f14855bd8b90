// Package arch holds the project's structure as data: which package may import
// which, and what keeps away from the world. Its test is the policy; nothing
// imports the package.
package arch
