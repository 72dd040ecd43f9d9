package cluster

import (
	"context"
	"errors"
	"slices"

	"twinlog/engine/node"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

// Members lets a cluster grow and shrink while it runs.
type Members struct {
	// Layout says which nodes there are, and where one more listens.
	Layout Layout
	// Remember keeps a layout for the next start.
	Remember func(Layout) error
	// Discard deletes the files of a node that was removed.
	Discard func(node string) error
}

// Layout is the one with all nodes that were added and without those that were removed.
func (c *Cluster) Layout() Layout {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.layout
}

// takeTurn lets one change of the members happen at a time. The returned function ends the turn.
func (c *Cluster) takeTurn(ctx context.Context, doing sentence.Sentence) (func(), error) {
	if c.members == nil {
		return nil, sentence.Error(ErrRefused, "nodesAreFixed", "cannot {doing}: this classroom's nodes are fixed", doing)
	}
	select {
	case <-c.changing:
		return func() { c.changing <- struct{}{} }, nil
	case <-ctx.Done():
		return nil, sentence.Error(nil, "changingAnotherNode", "{doing}: another node is being added or removed: {why}", doing, context.Cause(ctx))
	}
}

// Add implements [Control].
func (c *Cluster) Add(ctx context.Context, role string) (NodeStatus, error) {
	doing := sentence.Of("addNode", "add a node of role {role}", role)
	if _, known := node.Purposes(role); !known {
		return NodeStatus{}, sentence.Error(ErrInvalid, "noSuchRole", `there is no role "{role}"; a node is {roles}`, role, roleOrder)
	}
	done, err := c.takeTurn(ctx, doing)
	if err != nil {
		return NodeStatus{}, err
	}
	defer done()
	before := c.Layout()
	after, config, err := before.with(role)
	if err != nil {
		return NodeStatus{}, sentence.Error(nil, "couldNot", "{doing}: {why}", doing, err)
	}
	s, err := c.newSlot(config)
	if err != nil {
		return NodeStatus{}, sentence.Error(nil, "couldNot", "{doing}: {why}", doing, err)
	}
	if err := c.members.Remember(after); err != nil {
		return NodeStatus{}, sentence.Error(nil, "rememberingNode", "{doing}: remembering it for the next start: {why}", doing, err)
	}
	c.change(after, append(c.present(), s))
	if role == node.RoleEnsemble {
		err = c.join(ctx, s)
	} else {
		err = s.Start(ctx)
	}
	if err != nil && ctx.Err() == nil {
		err = sentence.Error(nil, "didNotComeUp", "{doing}: {node} did not come up: {why}", doing, s.Name(), err)
		if !errors.Is(err, errStillMember) {
			err = errors.Join(err, c.takeOut(ctx, s, before))
		}
		return NodeStatus{}, err
	}
	return s.Status(), err
}

// Remove implements [Control].
func (c *Cluster) Remove(ctx context.Context, name string) error {
	doing := doing("remove", name)
	done, err := c.takeTurn(ctx, doing)
	if err != nil {
		return err
	}
	defer done()
	var s *Slot
	if err := c.do(name, func(found *Slot) error { s = found; return nil }); err != nil {
		return err
	}
	after, err := c.Layout().without(s.role, s.id)
	if err != nil {
		return sentence.Error(nil, "couldNot", "{doing}: {why}", doing, err)
	}
	if s.Status().State == StatePaused {
		return wrongState("remove", name, StatePaused)
	}
	if s.role == node.RoleEnsemble {
		if err := c.leave(ctx, s); err != nil {
			return sentence.Error(nil, "couldNot", "{doing}: {why}", doing, err)
		}
	}
	if err := s.Stop(ctx); err != nil && !errors.Is(err, ErrWrongState) {
		return sentence.Error(nil, "couldNot", "{doing}: {why}", doing, err)
	}
	if s.role == node.RoleBookie { // one that comes back under this name has nothing, and must not be taken for this one
		if err := c.forgetCookie(ctx, s); err != nil {
			return sentence.Error(nil, "filesStillThere", "{doing}: it is stopped, and its files are still there: {why}", doing, err)
		}
	}
	return c.takeOut(ctx, s, after)
}

// takeOut ends a node for good. One whose goroutines do not end keeps its place and its files: it may still write to them.
func (c *Cluster) takeOut(ctx context.Context, s *Slot, layout Layout) error {
	err := s.Close(ctx)
	if !s.ended() {
		return errors.Join(err, sentence.Error(nil, "doesNotEnd", "remove {node}: it does not end, so its files stay; try again", s.Name()))
	}
	c.heal(s.Name())
	c.change(layout, slices.DeleteFunc(c.present(), func(other *Slot) bool { return other == s }))
	s.Tracer().Emit(trace.NodeRemoved{})
	return errors.Join(err, c.members.Remember(layout), c.members.Discard(s.Name()))
}

// heal forgets the rules of links from and to a node that is gone.
func (c *Cluster) heal(name string) {
	for _, rule := range c.fabric.Links() {
		if rule.From == name || rule.To == name {
			_ = c.SetLink(rule.From, rule.To, LinkRule{}.Link) // the zero rule is valid
		}
	}
}

// present are the slots now; the caller may change the list.
func (c *Cluster) present() []*Slot {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clone(c.slots)
}

// change makes slots and layout the present ones. Nodes hear of a new layout when they start the next time.
func (c *Cluster) change(layout Layout, slots []*Slot) {
	slices.SortFunc(slots, func(a, b *Slot) int {
		return CompareNodes(NodeStatus{Role: a.role, ID: a.id}, NodeStatus{Role: b.role, ID: b.id})
	})
	configs, err := layout.Nodes()
	if err == nil {
		for _, s := range slots {
			for _, config := range configs {
				if config.Name() == s.Name() {
					s.nextConfig(config)
				}
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.layout, c.slots = layout, slots
}
