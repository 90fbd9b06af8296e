package web

import (
	"html/template"
	"net/http"
	"time"
)

var pageTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>rdma-sidecar</title>
<style>body{font:15px/1.5 sans-serif;max-width:44em;margin:2em auto;padding:0 1em}td{padding:.1em 1em .1em 0}</style>
<h1>rdma-sidecar {{.Version}}</h1>
<table>
<tr><td>engine<td>{{if not .Enabled}}not enabled{{else if .Connected}}attached at {{.Socket}}{{else}}away: {{.Error}}{{end}}
<tr><td>volume servers<td>{{if .Fixed}}{{.Fixed}}{{else}}as the master or the request names them{{end}}{{if .Demoted}}; {{.Demoted}} failing{{end}}
<tr><td>reads<td>{{.Stats.TotalReads}}: {{.Stats.EngineReads}} by the engine, {{.Stats.HTTPReads}} over HTTP
<tr><td>bytes<td>{{.Stats.TotalBytes}}
<tr><td>up since<td>{{.Since}}
</table>
<p><a href="/health">health</a> · <a href="/stats">stats</a> · <a href="/metrics">metrics</a> · <a href="/rdma/capabilities">capabilities</a> · <a href="/rdma/ping">ping</a>
</html>
`))

// page answers GET / with what a person wants to know first.
func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	reason := ""
	if s.options.Manager != nil {
		if err := s.options.Manager.LastError(); err != nil {
			reason = err.Error()
		}
	}
	err := pageTemplate.Execute(w, map[string]any{
		"Version": s.options.Version, "Enabled": s.options.Manager != nil, "Connected": s.session() != nil, "Socket": s.options.Socket,
		"Error": reason, "Fixed": s.options.Servers.Fixed, "Demoted": s.options.Servers.Health.Demoted(),
		"Stats": s.options.Metrics.Stats(), "Since": s.started.UTC().Format(time.RFC3339),
	})
	if err != nil {
		s.options.Logger.Debug("the page was not taken", "error", err)
	}
}
