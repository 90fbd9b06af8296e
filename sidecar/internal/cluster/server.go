package cluster

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Server is a volume server: "http://HOST:PORT" or "https://HOST:PORT".
type Server string

// ParseServer reads [http://|https://]HOST[:PORT], the port being 8080 where neither scheme nor port is given.
// Nothing may follow HOST:PORT but a slash.
func ParseServer(text string) (Server, error) {
	bad := func(why string) (Server, error) {
		return "", fmt.Errorf("volume server %q: %s; want http://HOST:PORT", clipped(text), why)
	}
	scheme, rest, ok := strings.Cut(text, "://")
	port := "8080"
	switch {
	case !ok:
		scheme, rest = "http", text
	case scheme == "http":
		port = "80"
	case scheme == "https":
		port = "443"
	default:
		return bad("the scheme is not http or https")
	}
	parsed, err := url.Parse(scheme + "://" + rest)
	if err != nil {
		return bad("it is not a URL")
	}
	if parsed.User != nil || parsed.RawQuery != "" || parsed.ForceQuery || parsed.Fragment != "" || (parsed.Path != "" && parsed.Path != "/") {
		return bad("there is more than HOST:PORT in it")
	}
	host := parsed.Hostname()
	if parsed.Port() != "" {
		port = parsed.Port()
	}
	if host == "" || strings.ContainsAny(host, " ,%\\\"'") {
		return bad("the host is missing or has bytes that no host name has")
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return bad("the port is not between 1 and 65535")
	}
	return Server(scheme + "://" + net.JoinHostPort(strings.ToLower(host), port)), nil
}

// HostPort is the server without its scheme.
func (s Server) HostPort() string {
	_, rest, _ := strings.Cut(string(s), "://")
	return rest
}

// Host is the server's host alone.
func (s Server) Host() string {
	host, _, err := net.SplitHostPort(s.HostPort())
	if err != nil {
		return s.HostPort()
	}
	return host
}

func clipped(text string) string {
	const limit = 100
	if len(text) > limit {
		return text[:limit] + "…"
	}
	return text
}
