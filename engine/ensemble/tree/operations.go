package tree

import (
	"fmt"
	"strings"
)

// create follows ZooKeeper's order of checks: the mode, the parent's path, the ACL, the parent, the permission, and only then the
// final path, so that "/a//b" without "/a" is ErrNoNode.
func (t *Tree) create(command *Command, operation *CreateNode) (Result, []Change) {
	if operation.Invalid != OK {
		return Result{Code: operation.Invalid}, nil
	}
	path := operation.Path
	if !strings.Contains(path, "/") || strings.ContainsRune(path, 0) {
		return Result{Code: ErrBadArguments}, nil
	}
	acl, code := resolveACL(operation.ACL, command.Caller)
	if code != OK {
		return Result{Code: code}, nil
	}
	parentPath, _ := split(path)
	parent, found := t.nodes[parentPath]
	if !found {
		return Result{Code: ErrNoNode}, nil
	}
	if !Permitted(parent.acl, command.Caller, Create) {
		return Result{Code: ErrNoAuth}, nil
	}
	if operation.Sequential {
		path += fmt.Sprintf("%010d", parent.childrenCreated)
	}
	if !validPath(path) {
		return Result{Code: ErrBadArguments}, nil
	}
	if _, exists := t.nodes[path]; exists {
		return Result{Code: ErrNodeExists}, nil
	}
	if parent.mode == Ephemeral {
		return Result{Code: ErrNoChildrenForEph}, nil
	}
	node := &znode{
		data: operation.Data, acl: acl, mode: operation.Mode,
		czxid: t.zxid, mzxid: t.zxid, pzxid: t.zxid, ctime: command.TimeMS, mtime: command.TimeMS,
	}
	switch operation.Mode {
	case Ephemeral:
		node.owner = command.Session
	case TTL:
		node.ttl = operation.TTL
	}
	t.change(parent)
	parent.childrenCreated++
	parent.pzxid = t.zxid
	t.insert(path, node)
	return Result{Path: path, Stat: node.stat()},
		[]Change{{Type: NodeCreated, Path: path, Data: node.data, Mode: node.mode, Session: node.owner, ACL: acl, ParentACL: parent.acl}}
}

func (t *Tree) delete(command *Command, operation *DeleteNode) (Result, []Change) {
	path := operation.Path
	if !strings.Contains(path, "/") || strings.ContainsRune(path, 0) || isSpecial(path) {
		return Result{Code: ErrBadArguments}, nil
	}
	parentPath, _ := split(path)
	parent, found := t.nodes[parentPath]
	if !found {
		return Result{Code: ErrNoNode}, nil
	}
	if !Permitted(parent.acl, command.Caller, Delete) {
		return Result{Code: ErrNoAuth}, nil
	}
	node, found := t.nodes[path]
	if !found {
		return Result{Code: ErrNoNode}, nil
	}
	if operation.Version != -1 && operation.Version != node.version {
		return Result{Code: ErrBadVersion}, nil
	}
	if len(node.children) > 0 {
		return Result{Code: ErrNotEmpty}, nil
	}
	return Result{}, []Change{t.deleteNode(path, node)}
}

// deleteNode removes a znode that may be removed.
func (t *Tree) deleteNode(path string, node *znode) Change {
	parentPath, _ := split(path)
	parent := t.nodes[parentPath]
	t.change(parent)
	parent.pzxid = t.zxid
	t.remove(path)
	return Change{Type: NodeDeleted, Path: path, Mode: node.mode, Session: node.owner, ACL: node.acl, ParentACL: parent.acl}
}

func (t *Tree) setData(command *Command, operation *SetData) (Result, []Change) {
	node, code := t.versioned(command, operation.Path, Write)
	if code != OK {
		return Result{Code: code}, nil
	}
	if operation.Version != -1 && operation.Version != node.version {
		return Result{Code: ErrBadVersion}, nil
	}
	t.change(node)
	t.bytes += int64(len(operation.Data) - len(node.data))
	node.data = operation.Data
	node.version++
	node.mzxid = t.zxid
	node.mtime = command.TimeMS
	return Result{Path: operation.Path, Stat: node.stat()},
		[]Change{{Type: NodeDataChanged, Path: operation.Path, Data: node.data, Mode: node.mode, Session: node.owner, Version: node.version, ACL: node.acl}}
}

func (t *Tree) setACL(command *Command, operation *SetACL) (Result, []Change) {
	if !validPath(operation.Path) {
		return Result{Code: ErrBadArguments}, nil
	}
	acl, code := resolveACL(operation.ACL, command.Caller)
	if code != OK {
		return Result{Code: code}, nil
	}
	node, code := t.versioned(command, operation.Path, Admin)
	if code != OK {
		return Result{Code: code}, nil
	}
	if operation.Version != -1 && operation.Version != node.aversion {
		return Result{Code: ErrBadVersion}, nil
	}
	t.change(node)
	node.acl = acl
	node.aversion++
	return Result{Path: operation.Path, Stat: node.stat()}, nil
}

func (t *Tree) check(command *Command, operation *Check) (Result, []Change) {
	node, code := t.versioned(command, operation.Path, Read)
	if code == OK && operation.Version != -1 && operation.Version != node.version {
		code = ErrBadVersion
	}
	return Result{Code: code, Path: operation.Path}, nil
}

// versioned finds a znode for an operation that will compare a version.
func (t *Tree) versioned(command *Command, path string, wanted int32) (*znode, Error) {
	if !validPath(path) {
		return nil, ErrBadArguments
	}
	return t.readable(path, command.Caller, wanted)
}
