// Package pulsarclient is `twinlog pulsar-client`: a Pulsar client for the terminal, so that whoever has the classroom has all that the labs
// ask for. It takes the words of the tool of this name in Apache Pulsar, which does the same here, and talks to a broker as any client does:
// through the official Go library, and with nothing that only we know.
package pulsarclient
