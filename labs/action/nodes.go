package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"twinlog/engine/cluster"
	"twinlog/engine/fabric"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
	"twinlog/engine/world"
	"twinlog/labs/lab"
)

func (r *Runner) runOnNodes(ctx context.Context, start Start, step lab.Doing) error {
	var victim *lab.Victim
	var act func(context.Context, string) error
	switch step := step.(type) {
	case *lab.NodeKill:
		victim, act = &step.Victim, r.nodes.Kill
	case *lab.NodeStop:
		victim, act = &step.Victim, r.nodes.Stop
	case *lab.NodeStart:
		victim, act = &step.Victim, r.nodes.Start
	case *lab.NodePause:
		victim, act = &step.Victim, r.nodes.Pause
	case *lab.NodeResume:
		victim, act = &step.Victim, r.nodes.Resume
	case *lab.LinkSet:
		return r.setLink(ctx, start, step)
	case *lab.LinkHeal:
		return r.healLinks()
	default:
		return fmt.Errorf("nobody knows how to do %T", step)
	}
	node, err := r.choose(ctx, start, victim)
	if err != nil {
		return err
	}
	return act(ctx, node)
}

// choosePatience is how long an expression may take to name a node: who leads or owns something may just be being decided.
const choosePatience = 30 * time.Second

// choose returns the node's name.
func (r *Runner) choose(ctx context.Context, start Start, victim *lab.Victim) (string, error) {
	if victim.Node != "" {
		return victim.Node, nil
	}
	ctx, cancel := context.WithTimeout(ctx, choosePatience)
	defer cancel()
	for {
		name, err := victim.Expression().Run(r.Look(ctx, start, victim.Expression()))
		if text, ok := name.(string); err == nil && ok && text != "" {
			return text, nil
		}
		if waited := wait(ctx); waited != nil {
			return "", fmt.Errorf("which node is %s: it is %v, %v", victim.Which, name, err)
		}
	}
}

func (r *Runner) setLink(ctx context.Context, start Start, action *lab.LinkSet) error {
	var ends [2]string
	for i := range ends {
		var err error
		if ends[i], err = r.choose(ctx, start, &action.Between[i]); err != nil {
			return err
		}
	}
	rule := fabric.Link{Cut: action.Cut, Delay: time.Duration(action.DelayMS) * time.Millisecond}
	if err := r.nodes.SetLink(ends[0], ends[1], rule); err != nil {
		return err
	}
	return r.nodes.SetLink(ends[1], ends[0], rule)
}

func (r *Runner) healLinks() error {
	for _, rule := range r.nodes.Links() {
		if err := r.nodes.SetLink(rule.From, rule.To, fabric.Link{}); err != nil {
			return sentence.Error(nil, "healLink", "heal the link from {from} to {to}: {why}", rule.From, rule.To, err)
		}
	}
	return nil
}

// Restore brings every node and link back and ends what actions have left running: a lab begins in a whole classroom. Consumers end last, when
// nothing moves any more: a coordinator that dies or hands its groups on forgets that a member has just left (only the next generation is
// written to the log), and its successor would wait for that member's session to expire.
func (r *Runner) Restore(ctx context.Context) error {
	defer r.Close()
	if err := r.healLinks(); err != nil {
		return err
	}
	for _, node := range r.nodes.Nodes() {
		var err error
		switch node.State {
		case cluster.StatePaused:
			err = r.nodes.Resume(ctx, node.Name)
		case cluster.StateKilled, cluster.StateStopped, cluster.StateFailed:
			err = r.nodes.Start(ctx, node.Name)
		}
		if err != nil {
			return sentence.Error(nil, "bringBack", "bring {node} ({state}) back: {why}", node.Name, node.State, err)
		}
	}
	return r.whole(ctx)
}

// electPause is between two requests to give leadership back.
const electPause = 2 * time.Second

// whole returns when the clusters have taken everybody back: brokers are registered, every partition has all its replicas in sync, and its
// preferred leader leads it. Leadership that is elsewhere would go back by itself some seconds later (auto.leader.rebalance.enable), in the middle
// of the lab, and the coordinators of groups with it.
func (r *Runner) whole(ctx context.Context) error {
	var asked time.Time
	var refused error
	for {
		state, _ := r.trace.World()
		problem := missing(state)
		if problem == "" {
			elsewhere := ledElsewhere(state)
			if len(elsewhere) == 0 {
				return nil
			}
			problem = fmt.Sprintf("the preferred leader does not lead %v", elsewhere)
			if time.Since(asked) > electPause {
				asked, refused = time.Now(), r.electPreferred(ctx, elsewhere)
			}
		}
		if err := wait(ctx); err != nil {
			return sentence.Error(nil, "notWholeAgain", "the classroom is not whole again: {problem}: {why}", problem, errors.Join(err, refused))
		}
	}
}

// missing tells what a classroom is not whole for; empty: nothing.
func missing(state *world.State) string {
	for name, node := range state.Nodes {
		if node.State != cluster.StateRunning {
			return name + " is " + node.State
		}
	}
	if state.Ensemble.Leader == "" || state.Kafka.Controller.Broker < 0 {
		return "there is no leader of the ensemble, or no controller"
	}
	for _, broker := range state.Kafka.Brokers {
		if !broker.Registered {
			return broker.Node + " is not registered"
		}
	}
	for name, broker := range state.Pulsar.Brokers {
		if !broker.Registered {
			return name + " is not registered"
		}
	}
	for _, bookie := range state.Pulsar.Bookies {
		if !bookie.Registered {
			return bookie.Node + " is not registered"
		}
	}
	for topic, detail := range state.Kafka.Topics {
		for number, partition := range detail.Partitions {
			if len(partition.ISR) < len(partition.Replicas) {
				return fmt.Sprintf("%s-%s has %d of %d replicas in sync", topic, number, len(partition.ISR), len(partition.Replicas))
			}
		}
	}
	return ""
}

// ledElsewhere lists the Kafka partitions whose leader is not their first replica, the preferred one, in order.
func ledElsewhere(state *world.State) (list []trace.KafkaPartition) {
	for topic, detail := range state.Kafka.Topics {
		for number, partition := range detail.Partitions {
			index, err := strconv.ParseInt(number, 10, 32)
			if err == nil && len(partition.Replicas) > 0 && partition.Leader != partition.Replicas[0] {
				list = append(list, trace.KafkaPartition{Topic: topic, Partition: int32(index)})
			}
		}
	}
	slices.SortFunc(list, func(a, b trace.KafkaPartition) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return list
}

// electPreferred asks the controller to give partitions back to their preferred leaders.
func (r *Runner) electPreferred(ctx context.Context, partitions []trace.KafkaPartition) error {
	return r.kafkaAdmin(func(admin *kadm.Client) error {
		var wanted kadm.TopicsSet
		for _, partition := range partitions {
			wanted.Add(partition.Topic, partition.Partition)
		}
		if _, err := admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, wanted); err != nil {
			return sentence.Error(nil, "electPreferred", "elect the preferred leaders: {why}", err)
		}
		return nil
	})
}
