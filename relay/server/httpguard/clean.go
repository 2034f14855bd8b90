package httpguard

import (
	"regexp"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// inURL matches URL parameters that contain secrets.
var inURL = regexp.MustCompile(`(?i)\b(token|host_token|ticket|auth|code|password)=[^&\s"'#\\]+`)

// Clean removes the secrets in URLs from a text that is displayed or logged.
func Clean(text string) string { return inURL.ReplaceAllString(text, "$1="+protocol.Redacted) }
