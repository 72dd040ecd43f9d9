package visualizer

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

func TestForeignHostsAreRefused(t *testing.T) {
	server, url := serving(t, Config{})
	port := server.listener.Addr().String()[strings.LastIndexByte(server.listener.Addr().String(), ':'):]
	for host, want := range map[string]int{
		"127.0.0.1" + port: 200, "localhost" + port: 200, "LOCALHOST" + port: 200, "localhost": 200, "[::1]" + port: 200, "127.8.8.8" + port: 200,
		"localhost." + port:   200,
		"evil.example" + port: 403, "evil.example": 403, "192.168.1.5" + port: 403, "localhost.evil.example": 403, "127.0.0.1.nip.io" + port: 403,
		"evil.example:80:80": 403,
	} {
		status, _, body := ask(t, "GET", url+"/api/v1/nodes", "", "Host", host)
		if status != want {
			t.Errorf("Host %s: %d, want %d", host, status, want)
		}
		if want == 403 {
			mustRefuse(t, status, body, 403, "foreignHost")
		}
	}
	if status, _, _ := ask(t, "GET", url+"/", "", "Host", "evil.example"); status != 403 {
		t.Errorf("the page itself answers to a foreign name: %d", status)
	}
}

func TestForeignOriginsAreRefused(t *testing.T) {
	server, url := serving(t, Config{})
	address := server.listener.Addr().String()
	for origin, want := range map[string]int{
		"http://" + address: 200, "https://" + address: 200,
		"http://evil.example": 403, "null": 403, "http://127.0.0.1:1": 403, "file://": 403, "http://" + address + ".evil.example": 403,
		"chrome-extension://" + address: 403, "%": 403,
	} {
		if status, _, _ := ask(t, "GET", url+"/api/v1/nodes", "", "Origin", origin); status != want {
			t.Errorf("Origin %s: %d, want %d", origin, status, want)
		}
		header := http.Header{"Origin": {origin}}
		connection, response, err := websocket.DefaultDialer.Dial("ws://"+address+"/api/v1/stream", header)
		if (err == nil) != (want == 200) {
			t.Errorf("Origin %s on the WebSocket: %v", origin, err)
		}
		if err != nil && (response == nil || response.StatusCode != 403) {
			t.Errorf("Origin %s on the WebSocket: %v %v", origin, response, err)
		}
		if err == nil {
			connection.Close()
		}
	}
}

func TestReachableServerAsksForTheToken(t *testing.T) {
	server, url := serving(t, Config{Listen: "0.0.0.0:0"})
	url = strings.Replace(url, "[::]", "127.0.0.1", 1)
	url = strings.Replace(url, "0.0.0.0", "127.0.0.1", 1)
	token := server.Token()
	if len(token) < 20 {
		t.Fatalf("token %q", token)
	}
	if !strings.HasPrefix(server.URL(), "http://127.0.0.1:") || !strings.HasSuffix(server.URL(), "/?token="+token) {
		t.Errorf("URL %s", server.URL())
	}
	status, _, body := ask(t, "GET", url+"/api/v1/nodes", "")
	mustRefuse(t, status, body, 401, "tokenRequired")
	status, _, body = ask(t, "POST", url+"/api/v1/nodes/kafka-2/kill", "", "Authorization", "Bearer "+token[1:])
	mustRefuse(t, status, body, 401, "tokenRequired")
	if status, _, _ = ask(t, "GET", url+"/api/v1/nodes?token="+token, ""); status != 401 {
		t.Errorf("a token in an API address is taken: %d", status)
	}
	if status, _, _ = ask(t, "GET", url+"/assets/app-1234.js", ""); status != 401 {
		t.Errorf("a file of the page without token: %d", status)
	}
	if status, _, _ = ask(t, "GET", url+"/api/v1/nodes", "", "Authorization", "Bearer "+token); status != 200 {
		t.Errorf("with the token: %d", status)
	}
	// A browser: a form, then the address with the token, then a cookie.
	if status, _, body = ask(t, "GET", url+"/", ""); status != 401 || !strings.Contains(body, "<form") {
		t.Errorf("the page: %d %s", status, body)
	}
	if status, _, _ = ask(t, "GET", url+"/?token=wrong", ""); status != 401 {
		t.Errorf("a wrong token: %d", status)
	}
	status, header, _ := ask(t, "GET", url+"/?token="+token, "")
	cookie := header.Get("Set-Cookie")
	if status != 303 || header.Get("Location") != "/" || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") {
		t.Errorf("%d %v", status, header)
	}
	cookie, _, _ = strings.Cut(cookie, ";")
	if status, _, body = ask(t, "GET", url+"/", "", "Cookie", cookie); status != 200 {
		t.Errorf("with the cookie: %d %s", status, body)
	}
	ws := strings.Replace(url, "http", "ws", 1) + "/api/v1/stream"
	if _, response, err := websocket.DefaultDialer.Dial(ws, nil); err == nil || response.StatusCode != 401 {
		t.Errorf("the WebSocket without token: %v", err)
	}
	connection, _, err := websocket.DefaultDialer.Dial(ws, http.Header{"Cookie": {cookie}})
	if err != nil {
		t.Fatalf("the WebSocket with the cookie: %v", err)
	}
	connection.Close()
}

func TestReachableServerAnswersToItsNamesOnly(t *testing.T) {
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{config: Config{Hosts: []string{"class.example"}}}
	for host, want := range map[string]bool{
		"192.168.1.5:7700": true, "[fe80::1]:7700": true, "localhost:7700": true, own + ":7700": true, "CLASS.example": true,
		"evil.example:7700": false, "class.example.evil": false, "": false,
	} {
		if got := s.hostIsOurs(host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
}

func TestOnlyLoopbackNeedsNoToken(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:7700": true, "localhost:7700": true, "[::1]:7700": true, "127.3.2.1:1": true,
		"0.0.0.0:7700": false, ":7700": false, "[::]:7700": false, "192.168.1.5:7700": false, "example.org:80": false, "localhost": false,
	} {
		if got := isLoopback(address); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
}

func TestTakenPortIsAClearError(t *testing.T) {
	server, _ := serving(t, Config{})
	address := server.listener.Addr().String()
	_, err := New(Config{Control: newClassroom(), Web: testPage, Listen: address})
	if err == nil || !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), "--port-offset") {
		t.Errorf("err = %v", err)
	}
}
