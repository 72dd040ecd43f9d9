package reactor

import (
	"fmt"
	"sort"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// API is one kind of request that a broker serves, and the versions in which it does.
type API struct {
	Key    kmsg.Key
	Min    int16
	Max    int16
	Handle Handler
}

// Table holds all that a broker serves, by key. It is built before the server starts and then only read.
type Table struct {
	apis map[int16]API
}

// Add puts an API in. A key that is there already, or versions that kmsg does not know, are a programming error.
func (t *Table) Add(apis ...API) {
	if t.apis == nil {
		t.apis = map[int16]API{}
	}
	for _, api := range apis {
		key := api.Key.Int16()
		known := kmsg.RequestForKey(key)
		if known == nil || api.Min > api.Max || api.Max > known.MaxVersion() || api.Handle == nil {
			panic(fmt.Sprintf("reactor: API %d (%s) versions %d-%d cannot be served", key, api.Key.Name(), api.Min, api.Max))
		}
		if _, taken := t.apis[key]; taken {
			panic(fmt.Sprintf("reactor: API %d (%s) was added twice", key, api.Key.Name()))
		}
		t.apis[key] = api
	}
}

// Find returns the API of a key.
func (t *Table) Find(key int16) (API, bool) {
	api, found := t.apis[key]
	return api, found
}

// List returns all APIs by key.
func (t *Table) List() []API {
	list := make([]API, 0, len(t.apis))
	for _, api := range t.apis {
		list = append(list, api)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Key < list[j].Key })
	return list
}

// unsupportedApiVersions answers an ApiVersions request of a version that is not known here: in the form of version 0, with only the
// entry that says which versions of ApiVersions are, so that the client can ask again (KIP-511).
func (t *Table) unsupportedApiVersions() *kmsg.ApiVersionsResponse {
	response := kmsg.NewPtrApiVersionsResponse()
	response.ErrorCode = kerr.UnsupportedVersion.Code
	entry := kmsg.NewApiVersionsResponseApiKey()
	entry.ApiKey = int16(kmsg.ApiVersions)
	if api, found := t.Find(entry.ApiKey); found {
		entry.MinVersion, entry.MaxVersion = api.Min, api.Max
	}
	response.ApiKeys = append(response.ApiKeys, entry)
	return response
}
