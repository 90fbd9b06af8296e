package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Master answers /dir/lookup for the volume servers that it was told of. It asks each of them, at every
// lookup, which volumes it has; a server that does not answer is left out.
type Master struct {
	servers []string // HOST:PORT
	client  http.Client
}

// NewMaster gives a master of the named servers.
func NewMaster(servers ...string) *Master {
	return &Master{servers: servers, client: http.Client{Timeout: time.Second}}
}

func (m *Master) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/dir/lookup" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	text, _, _ := strings.Cut(r.FormValue("volumeId"), ",")
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"volumeOrFileId": text, "error": "unknown volumeId format"})
		return
	}
	type location struct {
		URL       string `json:"url"`
		PublicURL string `json:"publicUrl"`
	}
	locations := []location{}
	for _, server := range m.servers {
		if m.has(r.Context(), server, uint32(id)) {
			locations = append(locations, location{server, server})
		}
	}
	if len(locations) == 0 {
		writeJSON(w, http.StatusNotFound, map[string]string{"volumeOrFileId": text, "error": "volume id " + text + " not found"})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"volumeOrFileId": text, "locations": locations})
}

func (m *Master) has(ctx context.Context, server string, id uint32) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+server+"/status", nil)
	if err != nil {
		return false
	}
	answer, err := m.client.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	var status struct{ Volumes []struct{ Id uint32 } }
	if json.NewDecoder(answer.Body).Decode(&status) != nil {
		return false
	}
	return slices.ContainsFunc(status.Volumes, func(v struct{ Id uint32 }) bool { return v.Id == id })
}
