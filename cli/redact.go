package cli

import (
	"net/url"
	"strings"
)

// redactURL hides the password of a web address, also behind "--flag=".
func redactURL(arg string) string {
	head, rest := "", arg
	if strings.HasPrefix(arg, "-") {
		if i := strings.IndexByte(arg, '='); i > 0 {
			head, rest = arg[:i+1], arg[i+1:]
		}
	}
	if !strings.Contains(rest, "://") || !strings.Contains(rest, "@") {
		return arg
	}
	u, err := url.Parse(rest)
	if err != nil || u.User == nil {
		return arg
	}
	return head + u.Redacted()
}
