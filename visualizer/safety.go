package visualizer

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"twinlog/engine/sentence"
	"twinlog/labs"
)

// contentPolicy lets the page load from this server alone. Styles may be inline: Svelte sets them so.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; " +
	"connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

func (s *Server) headers(c *gin.Context) {
	header := c.Writer.Header()
	header.Set("Content-Security-Policy", contentPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer") // the address can hold the token
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store") // the page's files say otherwise
	c.Next()
}

// guardHost refuses a request that came through a name that is not this machine's. A page on the internet can make its own name
// point at 127.0.0.1 and then ask in the name of its own origin; the Host header gives that away.
func (s *Server) guardHost(c *gin.Context) {
	if !s.hostIsOurs(c.Request.Host) {
		refuse(c, http.StatusForbidden, "foreignHost", sentence.Of("foreignHost", `this server does not answer to the name "{host}"`, c.Request.Host))
		return
	}
	c.Next()
}

func (s *Server) hostIsOurs(hostPort string) bool {
	host := hostPort
	if name, _, err := net.SplitHostPort(hostPort); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	ip := net.ParseIP(host)
	if host == "localhost" || ip != nil && ip.IsLoopback() {
		return true
	}
	if s.loopback {
		return false
	}
	// An address is no name that somebody else could have made to point here.
	if ip != nil {
		return true
	}
	own, err := os.Hostname()
	return err == nil && strings.EqualFold(host, own) || slices.ContainsFunc(s.config.Hosts, func(name string) bool { return strings.EqualFold(name, host) })
}

// guardOrigin refuses what another site's script asks. Browsers send Origin with every request that changes something and with every
// WebSocket; programs send none.
func (s *Server) guardOrigin(c *gin.Context) {
	origin := c.GetHeader("Origin")
	if origin == "" {
		c.Next()
		return
	}
	from, err := url.Parse(origin)
	if err != nil || from.Scheme != "http" && from.Scheme != "https" || !strings.EqualFold(from.Host, c.Request.Host) {
		refuse(c, http.StatusForbidden, "foreignOrigin", sentence.Of("foreignOrigin", `this server answers its own page only, not "{origin}"`, origin))
		return
	}
	c.Next()
}

// tokenCookie holds the token in the browser: no script can read it and no other site can send it.
const tokenCookie = "twinlog_token"

// guardToken asks for the token where one is set: as a bearer token from programs, as a cookie from the page. A page asked for with
// ?token= sets the cookie and goes on without the token in its address.
func (s *Server) guardToken(c *gin.Context) {
	if s.config.Token == "" {
		c.Next()
		return
	}
	if bearer, found := strings.CutPrefix(c.GetHeader("Authorization"), "Bearer "); found && s.tokenIs(bearer) {
		c.Next()
		return
	}
	if cookie, err := c.Request.Cookie(tokenCookie); err == nil && s.tokenIs(cookie.Value) {
		c.Next()
		return
	}
	if c.Request.Method == http.MethodGet && c.Request.URL.Path == "/" {
		if s.tokenIs(c.Query("token")) {
			http.SetCookie(c.Writer, &http.Cookie{Name: tokenCookie, Value: s.config.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			c.Redirect(http.StatusSeeOther, "/")
			c.Abort()
			return
		}
		c.Data(http.StatusUnauthorized, "text/html; charset=utf-8", []byte(tokenPage))
		c.Abort()
		return
	}
	c.Header("WWW-Authenticate", `Bearer realm="twinlog"`)
	refuse(c, http.StatusUnauthorized, "tokenRequired", sentence.Of("tokenRequired", "this server can be reached from other machines, so it asks for "+
		"the teacher's token, which it printed when it started: open /?token=… or send Authorization: Bearer …"))
}

func (s *Server) tokenIs(given string) bool {
	return subtle.ConstantTimeCompare([]byte(given), []byte(s.config.Token)) == 1
}

const tokenPage = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>twinlog</title></head>
<body>
<main>
<h1>twinlog</h1>
<form method="get" action="/">
<p><label for="token">The teacher's token, which twinlog printed when it started / <span lang="zh">教师令牌，twinlog 启动时会打印</span></label></p>
<p><input id="token" name="token" type="password" autocomplete="current-password" required> <button type="submit">OK</button></p>
</form>
</main>
</body>
</html>
`

func boundBody(c *gin.Context) {
	most := int64(maxBodyBytes)
	switch c.FullPath() {
	case apiPrefix + runFilePath:
		most = maxRunFileBytes
	case apiPrefix + progressPath:
		most = labs.LargestProgress
	}
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, most)
	c.Next()
}
