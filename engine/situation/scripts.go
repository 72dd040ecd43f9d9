package situation

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"twinlog/engine/administration"
	"twinlog/engine/sentence"
	"twinlog/engine/workload"
	"twinlog/engine/world"
)

// script is a situation and how it is played.
type script struct {
	Summary
	play     func(ctx context.Context, s *stage) error
	outcome  Text
	patience time.Duration // how long it may take in all; patience unless told
}

// scripts in the order in which they are offered.
var scripts = []script{splitVote, followerFallsBehind, zombieController, lostRecord, fullLedger, hotBundle, deadBookie}

// errTooSmall: the classroom has too few nodes for a situation.
var errTooSmall = sentence.Error(nil, "tooFewNodes", "the classroom has too few running nodes for it; start the ones that are down, or heal")

// running are the nodes of a role that run, by name.
func running(state *world.State, role string) (names []string) {
	for name, node := range state.Nodes {
		if node.Role == role && node.State == "running" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// look is the world now.
func (s *stage) look(ctx context.Context) (*world.State, error) { return s.player.config.World(ctx) }

// ownTopic is a name for a topic that no earlier run has used.
func (s *stage) ownTopic(about string) string {
	name := about + "-" + s.run.Started.Format("150405")
	if s.begun > 0 {
		name += "-" + strconv.Itoa(s.begun+1)
	}
	return name
}

// topic creates a Kafka-mode topic with one partition, which is deleted when the next situation begins, and waits until all its replicas
// are in sync. It returns where the partition is.
func (s *stage) topic(ctx context.Context, about string, replicas int, configs map[string]string) (name string, p *world.KafkaPartition, err error) {
	name = s.ownTopic(about)
	admin := s.player.config.Administration
	if _, err := admin.CreateKafkaTopic(ctx, administration.KafkaTopic{Name: name, Partitions: 1, ReplicationFactor: replicas, Configs: configs}); err != nil {
		return "", nil, err
	}
	s.player.remember(func(ctx context.Context) error { return admin.DeleteKafkaTopic(ctx, name) })
	s.name("topic", name)
	err = s.until(ctx, "the topic "+name+" has all its replicas in sync", func(state *world.State) bool {
		p = partition(state, name)
		return p != nil && p.Leader >= 0 && len(p.ISR) == replicas
	})
	return name, p, err
}

func partition(state *world.State, topic string) *world.KafkaPartition {
	if found := state.Kafka.Topics[topic]; found != nil {
		return found.Partitions["0"]
	}
	return nil
}

// load runs a workload until the end.
func (s *stage) load(ctx context.Context, spec workload.Spec) error {
	status, err := s.player.config.Workloads.Start(ctx, spec)
	if err != nil {
		return err
	}
	s.later(func(ctx context.Context) error { _, err := s.player.config.Workloads.Stop(ctx, status.ID); return err })
	return nil
}

func kafkaNode(id int32) string { return "kafka-" + strconv.Itoa(int(id)) }

const usualLinger = 1500 * time.Millisecond

// linger lets what is to be seen be seen.
func (s *stage) linger(ctx context.Context) error {
	select {
	case <-time.After(cmp.Or(s.player.config.Linger, usualLinger)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var splitVote = script{
	Summary: Summary{
		ID: "split-vote", Side: "ensemble",
		Title: Text{EN: "Split vote in the ensemble", ZH: "ensemble 的选票瓜分"},
		About: Text{
			EN: "The leader dies, and the two servers that are left cannot hear each other. Each asks for votes and has only its own: one of three is no majority, so there is no leader and no write, until they can talk again.",
			ZH: "leader 宕机，剩下的两台服务器互相听不到。各自发起选举，却只有自己的一票：三票中的一票不是多数，因此没有 leader，也无法写入，直到它们恢复通信。",
		},
		Steps: []Text{
			{EN: "Cut the link between {a} and {b}.", ZH: "切断 {a} 与 {b} 之间的链路。"},
			{EN: "Kill the leader, {leader}, and watch {a} and {b} ask for votes in vain.", ZH: "杀死 leader {leader}，观察 {a} 和 {b} 拉票都得不到多数。"},
			{EN: "Heal the link: one of the two wins.", ZH: "恢复链路：两者之一胜出。"},
			{EN: "Start {leader} again: it follows.", ZH: "重新启动 {leader}：它成为 follower。"},
		},
	},
	outcome: Text{EN: "{winner} leads now.", ZH: "现在由 {winner} 担任 leader。"},
	play: func(ctx context.Context, s *stage) error {
		state, err := s.look(ctx)
		if err != nil {
			return err
		}
		servers, leader := running(state, "ensemble"), state.Ensemble.Leader
		if len(servers) != 3 || leader == "" {
			return sentence.Error(nil, "needsEnsembleOfThree", "{why}; a split vote is shown with an ensemble of three", errTooSmall)
		}
		others := slices.DeleteFunc(servers, func(name string) bool { return name == leader })
		a, b := others[0], others[1]
		s.name("leader", leader)
		s.name("a", a)
		s.name("b", b)
		s.step()
		if err := s.cut(a, b); err != nil {
			return err
		}
		if err := s.linger(ctx); err != nil {
			return err
		}
		if state, err = s.look(ctx); err != nil {
			return err
		}
		if state.Ensemble.Leader != leader {
			return moved{Text{EN: "{leader} no longer leads the ensemble", ZH: "{leader} 不再是 ensemble 的 leader"}}
		}
		s.step()
		if err := s.down(ctx, leader, s.player.config.Control.Kill); err != nil {
			return err
		}
		candidate := func(state *world.State, name string) bool {
			server := state.Ensemble.Servers[name]
			return server != nil && server.Role == "candidate"
		}
		err = s.until(ctx, a+" and "+b+" are candidates", func(state *world.State) bool {
			return state.Ensemble.Leader == "" && candidate(state, a) && candidate(state, b)
		})
		if err != nil {
			return err
		}
		if err := s.linger(ctx); err != nil {
			return err
		}
		s.step()
		if err := s.mend(a, b); err != nil {
			return err
		}
		err = s.until(ctx, "one of the two leads", func(state *world.State) bool {
			if state.Ensemble.Leader == a || state.Ensemble.Leader == b {
				s.name("winner", state.Ensemble.Leader)
				return true
			}
			return false
		})
		if err != nil {
			return err
		}
		if err := s.linger(ctx); err != nil {
			return err
		}
		s.step()
		if err := s.up(ctx, leader); err != nil {
			return err
		}
		return s.unless(ctx, leader+" follows", func(state *world.State) (bool, error) {
			if state.Ensemble.Leader == leader { // the winner has lost its office, and the one that was killed has it again
				return false, moved{Text{EN: "{winner} no longer leads the ensemble", ZH: "{winner} 不再是 ensemble 的 leader"}}
			}
			server := state.Ensemble.Servers[leader]
			return server != nil && server.Role == "follower" && server.Leader != "", nil
		})
	},
}
