package tree

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Permissions of an [ACL].
const (
	Read   int32 = 1
	Write  int32 = 2
	Create int32 = 4
	Delete int32 = 8
	Admin  int32 = 16
	All    int32 = 31
)

// ID is who somebody is: {"world", "anyone"}, {"ip", "10.0.0.0/8"}, {"digest", "user:base64(sha1(user:password))"}, {"super", ""}.
type ID struct{ Scheme, ID string }

// ACL gives permissions to everybody whom its ID matches.
type ACL struct {
	Permissions int32
	ID          ID
}

// OpenACL lets everybody do everything.
var OpenACL = []ACL{{All, ID{"world", "anyone"}}}

// readOnlyACL is that of the configuration znode: the super user alone may write it.
var readOnlyACL = []ACL{{Read, ID{"world", "anyone"}}}

// Permitted holds when one of the caller's identities has one of the wanted permissions.
func Permitted(acl []ACL, caller []ID, wanted int32) bool {
	if len(acl) == 0 || slices.ContainsFunc(caller, func(id ID) bool { return id.Scheme == "super" }) {
		return true
	}
	for _, entry := range acl {
		if entry.Permissions&wanted == 0 {
			continue
		}
		if entry.ID == (ID{"world", "anyone"}) {
			return true
		}
		for _, id := range caller {
			if id.Scheme == entry.ID.Scheme && matches(id, entry.ID.ID) {
				return true
			}
		}
	}
	return false
}

func matches(caller ID, expression string) bool {
	if caller.Scheme != "ip" {
		return caller.ID == expression
	}
	prefix, ok := parseIPExpression(expression)
	if !ok {
		return false
	}
	address, err := netip.ParseAddr(caller.ID)
	return err == nil && prefix.Contains(address.Unmap())
}

// parseIPExpression takes "10.1.2.3" and "10.0.0.0/8".
func parseIPExpression(expression string) (netip.Prefix, bool) {
	address, bits, hasBits := strings.Cut(expression, "/")
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{}, false
	}
	parsed = parsed.Unmap()
	length := parsed.BitLen()
	if hasBits {
		if length, err = strconv.Atoi(bits); err != nil || length < 0 || length > parsed.BitLen() {
			return netip.Prefix{}, false
		}
	}
	prefix, err := parsed.Prefix(length)
	return prefix, err == nil
}

// resolveACL checks a list as a client sent it and turns it into the one that is kept: duplicates are dropped and the scheme auth is
// replaced by the caller's own identities.
func resolveACL(acl []ACL, caller []ID) ([]ACL, Error) {
	if len(acl) == 0 {
		return nil, ErrInvalidACL
	}
	var resolved []ACL
	keep := func(entry ACL) {
		if !slices.Contains(resolved, entry) {
			resolved = append(resolved, entry)
		}
	}
	for _, entry := range acl {
		switch {
		case entry.ID == ID{"world", "anyone"}:
			keep(entry)
		case entry.ID.Scheme == "auth":
			authenticated := false
			for _, id := range caller {
				if id.Scheme != "ip" {
					authenticated = true
					keep(ACL{entry.Permissions, id})
				}
			}
			if !authenticated {
				return nil, ErrInvalidACL
			}
		case validID(entry.ID):
			keep(entry)
		default:
			return nil, ErrInvalidACL
		}
	}
	return resolved, OK
}

func validID(id ID) bool {
	switch id.Scheme {
	case "digest":
		user, digest, both := strings.Cut(id.ID, ":")
		return both && user != "" && digest != "" && !strings.Contains(digest, ":")
	case "ip":
		_, ok := parseIPExpression(id.ID)
		return ok
	}
	return false
}

// hideDigests is what a caller without Admin sees of an ACL.
func hideDigests(acl []ACL) []ACL {
	shown := slices.Clone(acl)
	for i, entry := range shown {
		if entry.ID.Scheme == "digest" {
			user, _, _ := strings.Cut(entry.ID.ID, ":")
			shown[i].ID.ID = user + ":x"
		}
	}
	return shown
}
