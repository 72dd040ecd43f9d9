package tree

import "strings"

// Paths that the ensemble itself keeps.
const (
	rootPath = "/"
	// SystemPath is the root of what belongs to the ensemble.
	SystemPath = "/zookeeper"
	// QuotaPath is where ZooKeeper keeps quotas. They are not enforced.
	QuotaPath = "/zookeeper/quota"
	// ConfigPath holds the ensemble's members, as reconfiguration writes them.
	ConfigPath = "/zookeeper/config"
)

// isSpecial tells the paths that nobody may delete.
func isSpecial(path string) bool {
	return path == rootPath || path == SystemPath || path == QuotaPath || path == ConfigPath
}

// split cuts a path at its last slash. The parent of "/a" is "/".
func split(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '/')
	if i == 0 {
		return rootPath, path[1:]
	}
	return path[:i], path[i+1:]
}

// validPath holds for absolute paths without empty, "." or ".." steps, without a slash at the end and without characters that cannot
// be shown.
func validPath(path string) bool {
	if path == rootPath {
		return true
	}
	if path == "" || path[0] != '/' || path[len(path)-1] == '/' {
		return false
	}
	for step := range strings.SplitSeq(path[1:], "/") {
		if step == "" || step == "." || step == ".." {
			return false
		}
	}
	for _, r := range path {
		if r <= 0x1f || (r >= 0x7f && r <= 0x9f) || (r >= 0xd800 && r <= 0xf8ff) || (r >= 0xfff0 && r <= 0xffff) {
			return false
		}
	}
	return true
}
