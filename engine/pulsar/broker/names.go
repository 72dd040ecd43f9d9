package broker

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// ErrBadName: a tenant, namespace or topic name is not one.
var ErrBadName = errors.New("invalid name")

// Domains of topics.
const (
	Persistent    = "persistent"
	NonPersistent = "non-persistent"
)

const partitionSuffix = "-partition-"

var namedEntity = regexp.MustCompile(`^[-=:.\w]+$`)

// TopicName is a topic's full name: domain://tenant/namespace/local, where local may end in -partition-N.
type TopicName struct {
	Domain    string
	Tenant    string
	Namespace string // without the tenant
	Local     string
}

// ParseTopicName reads a full name or one of the short forms: "orders" is persistent://public/default/orders, "tenant/ns/orders" is
// persistent.
func ParseTopicName(text string) (TopicName, error) {
	domain, rest, found := strings.Cut(text, "://")
	if !found {
		domain, rest = Persistent, text
		if !strings.Contains(rest, "/") {
			rest = "public/default/" + rest
		}
	}
	parts := strings.SplitN(rest, "/", 3)
	if len(parts) != 3 {
		return TopicName{}, fmt.Errorf("%w: %q is not of the form persistent://tenant/namespace/topic", ErrBadName, text)
	}
	name := TopicName{Domain: domain, Tenant: parts[0], Namespace: parts[1], Local: parts[2]}
	return name, name.check()
}

func (n TopicName) check() error {
	if n.Domain != Persistent && n.Domain != NonPersistent {
		return fmt.Errorf("%w: the domain of topic %q is neither persistent nor non-persistent", ErrBadName, n)
	}
	if err := CheckNamespaceName(n.Tenant, n.Namespace); err != nil {
		return err
	}
	if strings.TrimSpace(n.Local) == "" || len(n.Local) > 1000 || strings.ContainsRune(n.Local, 0) {
		return fmt.Errorf("%w: %q has an empty or too long topic part", ErrBadName, n)
	}
	return nil
}

// CheckNamespaceName tells whether tenant and namespace may be names.
func CheckNamespaceName(tenant, namespace string) error {
	if !namedEntity.MatchString(tenant) || !namedEntity.MatchString(namespace) || len(tenant)+len(namespace) > 400 {
		return fmt.Errorf("%w: namespace %q must be tenant/namespace of letters, digits and -=:._", ErrBadName, tenant+"/"+namespace)
	}
	return nil
}

// String is the full name, which is also what is hashed.
func (n TopicName) String() string {
	return n.Domain + "://" + n.Tenant + "/" + n.Namespace + "/" + n.Local
}

// NamespaceName is tenant/namespace.
func (n TopicName) NamespaceName() string { return n.Tenant + "/" + n.Namespace }

// IsPersistent tells whether the topic is stored.
func (n TopicName) IsPersistent() bool { return n.Domain == Persistent }

// Partition is the index in the name, -1 for a topic that is no partition.
func (n TopicName) Partition() int {
	at := strings.LastIndex(n.Local, partitionSuffix)
	if at < 0 {
		return -1
	}
	digits := n.Local[at+len(partitionSuffix):]
	index, err := strconv.Atoi(digits)
	if err != nil || index < 0 || strconv.Itoa(index) != digits {
		return -1
	}
	return index
}

// Parent is the partitioned topic that a partition belongs to; the topic itself when it is no partition.
func (n TopicName) Parent() TopicName {
	if n.Partition() >= 0 {
		n.Local = n.Local[:strings.LastIndex(n.Local, partitionSuffix)]
	}
	return n
}

// PartitionName is the name of one partition.
func (n TopicName) PartitionName(index int) TopicName {
	n.Local += partitionSuffix + strconv.Itoa(index)
	return n
}

// encodedLocal is the local part as znodes hold it, in the encoding of Java's URLEncoder.
func (n TopicName) encodedLocal() string { return encodeZnode(n.Local) }

// storageName is the name of the managed ledger: tenant/namespace/persistent/encoded-topic.
func (n TopicName) storageName() string {
	return n.NamespaceName() + "/" + n.Domain + "/" + n.encodedLocal()
}

// encodeZnode makes one path element of any text.
func encodeZnode(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "~", "%7E")
}

func decodeZnode(element string) (string, error) { return url.QueryUnescape(element) }
