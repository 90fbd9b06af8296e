// Package readauth keeps the engine from being a way around the read tokens of the volume servers.
//
//	if err := checker.Check(readauth.TokenOf(request), id); err != nil { … 401 … }
//	if !checker.EngineAllowed(ctx, id.Volume, preferred) { … HTTP only … }
package readauth

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/object"
)

// TokenOf gives the read token of a request, looked for where volume servers look: ?jwt=, Authorization, cookie AT.
func TokenOf(r *http.Request) string {
	if token := r.URL.Query().Get("jwt"); token != "" {
		return token
	}
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	if cookie, err := r.Cookie("AT"); err == nil {
		return cookie.Value
	}
	return ""
}

type claims struct {
	Fid string `json:"fid"`
	jwt.RegisteredClaims
}

// Check verifies a token: signed with the key by HS256, in its time, and for this object. Without a key it lets all pass.
func (c *Checker) Check(token string, id rde.FileID) error {
	if len(c.key) == 0 {
		return nil
	}
	refuse := func(why string, cause error) error {
		return &object.Failure{Code: http.StatusUnauthorized, Certain: true, Cause: cause,
			Text: fmt.Sprintf("file_id %s: read token refused: %s; send jwt=, Authorization: Bearer, or the cookie AT", id, why)}
	}
	if token == "" {
		return refuse("there is none", nil)
	}
	var got claims
	_, err := jwt.ParseWithClaims(token, &got, func(*jwt.Token) (any, error) { return c.key, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}))
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return refuse("it is expired", err)
	case err != nil:
		return refuse("it is not valid", err)
	}
	// The token names the object without the suffix that counts up from it, so the text is compared as an id.
	claimed, err := rde.ParseFileID(got.Fid)
	if err != nil || claimed != id {
		return refuse("its claim fid is for another object", nil)
	}
	return nil
}

// HasKey tells whether tokens are checked here.
func (c *Checker) HasKey() bool { return len(c.key) > 0 }
