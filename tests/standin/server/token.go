package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// tokenAllows checks the HS256 token of a request by hand: its claim "fid" must name the object.
func (s *Server) tokenAllows(r *http.Request, fid string) bool {
	token := r.URL.Query().Get("jwt")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); token == "" && ok {
		token = bearer
	}
	if cookie, err := r.Cookie("AT"); token == "" && err == nil {
		token = cookie.Value
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	mac := hmac.New(sha256.New, s.options.ReadKey)
	mac.Write([]byte(parts[0] + "." + parts[1]))
	if err != nil || !hmac.Equal(signature, mac.Sum(nil)) {
		return false
	}
	var claims struct {
		Fid string `json:"fid"`
		Exp int64  `json:"exp"`
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(payload, &claims) != nil {
		return false
	}
	fid, _, _ = strings.Cut(fid, "_")
	return claims.Fid == fid && (claims.Exp == 0 || time.Now().Unix() < claims.Exp)
}
