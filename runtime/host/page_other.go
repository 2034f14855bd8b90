//go:build !js

package host

// inPage means that this is the playground.
const inPage = false
