package metadata

import (
	"fmt"
	"net"
	"net/url"
	"sort"
	"strconv"
	"strings"
)

// Plaintext is the one security protocol of Kafka-mode, and its number in UpdateMetadata.
const (
	Plaintext              = "PLAINTEXT"
	PlaintextNumber  int16 = 0
	DefaultListener        = "PLAINTEXT"
	registrationForm       = 5
)

// Endpoint is where a listener of a broker can be reached.
type Endpoint struct {
	Listener string
	Host     string
	Port     int32
}

// Address is host:port.
func (e Endpoint) Address() string { return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))) }

// Registration is the payload of /brokers/ids/N, without what is always the same.
type Registration struct {
	Endpoints []Endpoint // in configured order
	Rack      string     // "" when the broker has none
	// TimestampMS is when the broker registered, in milliseconds since 1970.
	TimestampMS int64
}

// registrationPayload is version 5 in the order in which Kafka writes it.
type registrationPayload struct {
	Features  map[string]any    `json:"features"`
	Protocols map[string]string `json:"listener_security_protocol_map"`
	Endpoints []string          `json:"endpoints"`
	JMXPort   int               `json:"jmx_port"`
	Port      int32             `json:"port"`
	Host      *string           `json:"host"`
	Version   int               `json:"version"`
	Timestamp string            `json:"timestamp"`
	Rack      *string           `json:"rack,omitempty"`
}

// Encode returns the payload's bytes. Host and port are the first listener that is called PLAINTEXT, else null and -1.
func (r Registration) Encode() []byte {
	payload := registrationPayload{
		Features: map[string]any{}, Protocols: map[string]string{}, Endpoints: []string{}, JMXPort: -1, Port: -1,
		Version: registrationForm, Timestamp: strconv.FormatInt(r.TimestampMS, 10),
	}
	for _, endpoint := range r.Endpoints {
		payload.Protocols[endpoint.Listener] = Plaintext
		payload.Endpoints = append(payload.Endpoints, endpoint.Listener+"://"+endpoint.Address())
		if payload.Host == nil && endpoint.Listener == Plaintext {
			payload.Host, payload.Port = &endpoint.Host, endpoint.Port
		}
	}
	if r.Rack != "" {
		payload.Rack = &r.Rack
	}
	return encode(payload)
}

// DecodeRegistration reads the payload of /brokers/ids/N.
func DecodeRegistration(id int32, data []byte) (Registration, error) {
	path := BrokerIDPath(id)
	var payload registrationPayload
	if err := decode(path, data, &payload); err != nil {
		return Registration{}, err
	}
	var r Registration
	for _, text := range payload.Endpoints {
		endpoint, err := parseEndpoint(text)
		if err != nil {
			return Registration{}, fmt.Errorf("the payload of %s: %w", path, err)
		}
		r.Endpoints = append(r.Endpoints, endpoint)
	}
	if payload.Rack != nil {
		r.Rack = *payload.Rack
	}
	r.TimestampMS, _ = strconv.ParseInt(payload.Timestamp, 10, 64) // only shown to people
	return r, nil
}

func parseEndpoint(text string) (Endpoint, error) {
	listener, rest, found := strings.Cut(text, "://")
	if !found {
		return Endpoint{}, fmt.Errorf("endpoint %q is not LISTENER://host:port", text)
	}
	address, err := url.Parse("kafka://" + rest)
	if err != nil {
		return Endpoint{}, fmt.Errorf("endpoint %q is not LISTENER://host:port: %w", text, err)
	}
	port, err := strconv.ParseUint(address.Port(), 10, 16)
	if err != nil {
		return Endpoint{}, fmt.Errorf("endpoint %q has no port: %w", text, err)
	}
	return Endpoint{Listener: listener, Host: address.Hostname(), Port: int32(port)}, nil
}

// Endpoint finds a listener by name.
func (r Registration) Endpoint(listener string) (Endpoint, bool) {
	return findEndpoint(r.Endpoints, listener)
}

func findEndpoint(endpoints []Endpoint, listener string) (Endpoint, bool) {
	for _, endpoint := range endpoints {
		if endpoint.Listener == listener {
			return endpoint, true
		}
	}
	return Endpoint{}, false
}

// SortBrokers orders brokers by id.
func SortBrokers(brokers []Broker) {
	sort.Slice(brokers, func(i, j int) bool { return brokers[i].ID < brokers[j].ID })
}
