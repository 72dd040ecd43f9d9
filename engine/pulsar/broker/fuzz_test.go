package broker

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzNames: what is taken for a name is written as one that is the same.
func FuzzNames(f *testing.F) {
	for _, text := range []string{"orders", "acme/sales/orders", "persistent://a/b/orders-partition-3", "public/default/0x00000000_0x40000000", "a/b/0x0_0xffffffff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if name, err := ParseTopicName(text); err == nil {
			if again, err := ParseTopicName(name.String()); err != nil || again != name {
				t.Errorf("%q is %+v, which is %+v, %v", text, name, again, err)
			}
			name.Partition()
		}
		if bundle, err := ParseBundle(text); err == nil {
			if again, err := ParseBundle(bundle.String()); err != nil || again != bundle {
				t.Errorf("%q is %+v, which is %+v, %v", text, bundle, again, err)
			}
		}
		if element, err := decodeZnode(text); err == nil {
			_ = element
		}
	})
}

// FuzzPolicies: policies of a namespace that this broker does not know are kept as they are.
func FuzzPolicies(f *testing.F) {
	f.Add([]byte(`{"bundles":{"boundaries":["0x00000000","0xffffffff"],"numBundles":1},"deleted":false,"unknown_policy":{"a":[1,2]}}`))
	f.Add([]byte(`{"message_ttl_in_seconds":5,"properties":{"a":"b"}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var policies Policies
		if err := json.Unmarshal(data, &policies); err != nil {
			return
		}
		written, err := json.Marshal(&policies)
		if err != nil {
			t.Fatalf("%q cannot be written again: %v", data, err)
		}
		var again Policies
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%q is written as %q: %v", data, written, err)
		}
		if second, err := json.Marshal(&again); err != nil || !bytes.Equal(second, written) {
			t.Errorf("%q is written as %q and then as %q, %v", data, written, second, err)
		}
	})
}
