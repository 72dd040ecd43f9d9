package zookeeperclient

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/spf13/pflag"
)

// action is a command that is ready to be done.
type action func(*zk.Conn) (output []string, err error)

// word is a command.
type word struct {
	usage, about string // the usage begins with its name
	flags        func(*pflag.FlagSet, *options)
	least, most  int // arguments
	action       func(o options, arguments []string) (action, error)
}

// options are all that any command knows; each declares its own.
type options struct {
	ephemeral, sequential, container, stat, watch, recursive bool
	version                                                  int32
	ttl                                                      int64 // ms
}

func (w word) name() string {
	name, _, _ := strings.Cut(w.usage, " ")
	return name
}

func declareCreate(flags *pflag.FlagSet, o *options) {
	flags.BoolVarP(&o.ephemeral, "ephemeral", "e", false, "")
	flags.BoolVarP(&o.sequential, "sequential", "s", false, "")
	flags.BoolVarP(&o.container, "container", "c", false, "")
	flags.Int64VarP(&o.ttl, "ttl", "t", 0, "")
}

func declareStat(flags *pflag.FlagSet, o *options) {
	flags.BoolVarP(&o.stat, "stat", "s", false, "")
}

func declareWatch(flags *pflag.FlagSet, o *options) {
	flags.BoolVarP(&o.watch, "watch", "w", false, "")
}

func declareReading(flags *pflag.FlagSet, o *options) {
	declareStat(flags, o)
	declareWatch(flags, o)
}

func declareListing(flags *pflag.FlagSet, o *options) {
	declareReading(flags, o)
	flags.BoolVarP(&o.recursive, "recursive", "R", false, "")
}

func declareVersion(flags *pflag.FlagSet, o *options) {
	flags.Int32VarP(&o.version, "version", "v", -1, "")
}

func declareChange(flags *pflag.FlagSet, o *options) {
	declareStat(flags, o)
	declareVersion(flags, o)
}

// words in the order of help.
var words = []word{
	{"ls [-s] [-w] [-R] PATH", "the children; -w leaves a watch on them, -R all below", declareListing, 1, 1, list},
	{"get [-s] [-w] PATH", "the data; -s its stat too, -w leaves a watch", declareReading, 1, 1, get},
	{"stat [-w] PATH", "versions, times and owner; -w leaves a watch, also where no znode is yet", declareWatch, 1, 1, stat},
	{"create [-s] [-e] [-c] [-t MS] PATH [DATA] [ACL]", "-e ephemeral, -s with a number, -c a container, -t with a time to live", declareCreate, 1, 3, create},
	{"set [-s] [-v VERSION] PATH DATA", "the data, if it still has that version", declareChange, 2, 2, set},
	{"delete [-v VERSION] PATH", "a znode without children", declareVersion, 1, 1, remove},
	{"deleteall PATH", "a znode and all below", nil, 1, 1, removeAll},
	{"getAcl [-s] PATH", "who may do what", declareStat, 1, 1, getACL},
	{"setAcl [-s] [-v VERSION] PATH ACL", "such as world:anyone:r,digest:USER:HASH:cdrwa", declareChange, 2, 2, setACL},
	{"addauth SCHEME AUTH", "such as addauth digest user:password", nil, 2, 2, addAuth},
	{"sync PATH", "lets this server catch up with the leader", nil, 1, 1, sync},
	{"quit", "closes the session: its ephemeral znodes are deleted at once", nil, 0, 0, quit},
}

// help tells all commands.
func help() string {
	var text strings.Builder
	text.WriteString("Commands:\n")
	for _, word := range words {
		fmt.Fprintf(&text, "  %-48s %s\n", word.usage, word.about)
	}
	text.WriteString("A watch tells once, of the next change.")
	return text.String()
}

// parse makes an action of a command's words, or says what is wrong with them.
func parse(command []string) (action, error) {
	name := command[0]
	if name == "help" {
		return func(*zk.Conn) ([]string, error) { return strings.Split(help(), "\n"), nil }, nil
	}
	at := slices.IndexFunc(words, func(w word) bool { return w.name() == name })
	switch {
	case name == "addWatch":
		return nil, errors.New("addWatch: this client leaves watches that tell once, by get -w, ls -w or stat -w; zkCli.sh has addWatch")
	case at < 0:
		names := make([]string, len(words))
		for i, word := range words {
			names[i] = word.name()
		}
		return nil, fmt.Errorf("%q is no command: %s, help", name, strings.Join(names, ", "))
	}
	found := words[at]
	var o options
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	if found.flags != nil {
		found.flags(flags, &o)
	}
	if err := flags.Parse(command[1:]); err != nil {
		return nil, fmt.Errorf("%s: %w; it is %s", name, err, found.usage)
	}
	arguments := flags.Args()
	if len(arguments) < found.least || len(arguments) > found.most {
		return nil, fmt.Errorf("%s: it is %s; what has spaces stands in quotes", name, found.usage)
	}
	if name != "addauth" && found.most > 0 && !strings.HasPrefix(arguments[0], "/") {
		return nil, fmt.Errorf("%s %s: a path begins with /", name, arguments[0])
	}
	return found.action(o, arguments)
}

// split cuts a line at its spaces, but not within quotes.
func split(line string) (found []string, err error) {
	var current strings.Builder
	quote, inside := rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, inside = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\r'):
			if inside {
				found = append(found, current.String())
			}
			current.Reset()
			inside = false
		default:
			current.WriteRune(r)
			inside = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a %c is not closed in: %s", quote, line)
	}
	if inside {
		found = append(found, current.String())
	}
	return found, nil
}

type permission struct {
	letter rune
	bit    int32
}

// permissions of an ACL, as zkCli writes them: create, delete, read, write, admin.
var permissions = []permission{{'c', zk.PermCreate}, {'d', zk.PermDelete}, {'r', zk.PermRead}, {'w', zk.PermWrite}, {'a', zk.PermAdmin}}

// parseACL reads scheme:id:permissions, several of them with commas between; an id may have colons in it.
func parseACL(text string) (acl []zk.ACL, err error) {
	for entry := range strings.SplitSeq(text, ",") {
		parts := strings.Split(entry, ":")
		if len(parts) < 3 {
			return nil, fmt.Errorf("%q: an ACL is SCHEME:ID:PERMISSIONS, such as world:anyone:cdrwa", entry)
		}
		var bits int32
		for _, letter := range parts[len(parts)-1] {
			at := slices.IndexFunc(permissions, func(p permission) bool { return p.letter == letter })
			if at < 0 {
				return nil, fmt.Errorf("%q: permissions are of c, d, r, w, a", entry)
			}
			bits |= permissions[at].bit
		}
		acl = append(acl, zk.ACL{Perms: bits, Scheme: parts[0], ID: strings.Join(parts[1:len(parts)-1], ":")})
	}
	return acl, nil
}
