// Package visualizer is the page's server: it serves the page, the HTTP API under /api/v1 and the stream of the trace to any number of
// browsers.
//
// The API can kill nodes and read data. Therefore every request, the WebSocket's too, must come through a name that is this machine's
// own (a foreign Host is how DNS rebinding shows) and from this page (a foreign Origin is how another site's script shows), and as soon
// as the server listens on more than the loopback interface, every request needs the teacher's token.
package visualizer
