package situation

import (
	"context"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"time"

	"twinlog/engine/administration"
	"twinlog/engine/sentence"
	"twinlog/engine/workload"
	"twinlog/engine/world"
)

const pulsarNamespace = "public/default"

// newest is a topic's newest ledger and its id; nil when there is none.
func newest(state *world.State, topic string) (string, *world.Ledger) {
	found := state.Pulsar.Topics[topic]
	if found == nil || len(found.Ledgers) == 0 {
		return "", nil
	}
	id := strconv.FormatInt(found.Ledgers[len(found.Ledgers)-1], 10)
	return id, state.Pulsar.Ledgers[id]
}

func fullName(topic string) string { return "persistent://" + pulsarNamespace + "/" + topic }

// stream creates a Pulsar-mode topic under load, and waits until messages are stored.
func (s *stage) stream(ctx context.Context, topic string, perSecond, producers int) error {
	s.name("topic", topic)
	spec := workload.Spec{Engine: workload.EnginePulsar, Topic: topic, Partitions: workload.NoPartitions, MessagesPerSecond: perSecond, Producers: producers,
		Group: "situation"}
	if err := s.load(ctx, spec); err != nil {
		return err
	}
	s.player.remember(func(ctx context.Context) error { return s.player.config.Administration.DeletePulsarTopic(ctx, topic) })
	return s.until(ctx, "messages of "+topic+" are stored", func(state *world.State) bool {
		found := state.Pulsar.Topics[fullName(topic)]
		return found != nil && found.LastPublished.Ledger >= 0
	})
}

var fullLedger = script{
	Summary: Summary{
		ID: "full-ledger", Side: "pulsar",
		Title: Text{EN: "A ledger is full", ZH: "ledger 写满"},
		About: Text{
			EN: "A topic is a chain of ledgers. When the newest one has enough entries and is old enough, the broker closes it, for good, and goes on in a new one, perhaps on other bookies. Producers notice nothing. Enough is what the broker is configured with: at classroom pace 10,000 entries and 5 seconds; at production pace 50,000 entries and 10 minutes, and this takes a little longer than that.",
			ZH: "topic 是一串 ledger。最新的一个写够 entry、且存在得够久之后，broker 将其永久关闭，在新的 ledger 中继续写，所在的 bookie 可能不同。生产者毫无感觉。多少才算够由 broker 的配置决定：课堂节奏下是 10,000 个 entry、5 秒；生产节奏下是 50,000 个 entry、10 分钟，本演示会比这再久一点。",
		},
		Steps: []Text{
			{EN: "Publish to {topic}: {rate} messages a second.", ZH: "向 {topic} 发布消息：每秒 {rate} 条。"},
			{EN: "Ledger {ledger} fills up, to {entries} entries. It is closed when it is {age} old, at the earliest.", ZH: "ledger {ledger} 逐渐写满 {entries} 个 entry；存在满 {age} 之后才会关闭。"},
			{EN: "It is closed, and ledger {next} takes over.", ZH: "它被关闭，由 ledger {next} 接替。"},
		},
	},
	outcome:  Text{EN: "Ledger {ledger} ends at entry {last}; ledger {next} is written now.", ZH: "ledger {ledger} 止于 entry {last}；现在写的是 ledger {next}。"},
	patience: 20 * time.Minute,
	play: func(ctx context.Context, s *stage) error {
		limits, err := s.player.config.Administration.PulsarLedgerLimits(ctx)
		if err != nil {
			return err
		}
		if limits.Age > longestLedger {
			return sentence.Error(nil, "ledgersLiveTooLong", "a ledger of this classroom is not closed before it is {age} old "+
				"(managedLedgerMinLedgerRolloverTimeMinutes); this shows what happens within {most}", limits.Age, longestLedger)
		}
		rate := fillingRate(limits)
		s.name("rate", strconv.Itoa(rate))
		s.name("entries", strconv.FormatInt(limits.Entries, 10))
		s.name("age", limits.Age.Round(time.Second).String())
		s.step()
		topic := s.ownTopic("full-ledger")
		if err := s.stream(ctx, topic, rate, min(8, 1+rate/400)); err != nil {
			return err
		}
		// A subscription that nobody reads from: without it the ledger would be deleted as soon as it is closed and consumed.
		if err := s.player.config.Administration.CreatePulsarSubscription(ctx, topic, "keeper"); err != nil {
			return err
		}
		state, err := s.look(ctx)
		if err != nil {
			return err
		}
		first, _ := newest(state, fullName(topic))
		s.name("ledger", first)
		s.step()
		err = s.unless(ctx, "ledger "+first+" is closed", func(state *world.State) (bool, error) {
			ledger := state.Pulsar.Ledgers[first]
			if ledger == nil || ledger.State != "closed" {
				return false, nil
			}
			if ledger.LastEntry+1 < limits.Entries { // its broker or its bookies were gone for a while
				return false, moved{Text{EN: "ledger " + first + " was closed before it was full", ZH: "ledger " + first + " 还没写满就被关闭了"}}
			}
			s.name("last", strconv.FormatInt(ledger.LastEntry, 10))
			return true, nil
		})
		if err != nil {
			return err
		}
		s.step()
		return s.until(ctx, "the next ledger takes over", func(state *world.State) bool {
			next, _ := newest(state, fullName(topic))
			if next == "" || next == first {
				return false
			}
			s.name("next", next)
			return true
		})
	},
}

// mostNames bounds the search for names of topics whose hashes lie in one bundle.
const mostNames = 1 << 20

const (
	longestLedger = 15 * time.Minute // that one would watch
	fastestFill   = 3000             // messages a second; a small machine can do it
)

// fillingRate is the messages a second that fill a ledger in the time that it has to grow old anyway, with a little to spare: several
// may go into one entry. What would be published faster only takes room on the disks.
func fillingRate(limits administration.LedgerLimits) int {
	seconds := max(limits.Age.Seconds(), 1)
	return int(min(fastestFill, 1+1.5*float64(limits.Entries)/seconds))
}

var hotBundle = script{
	Summary: Summary{
		ID: "hot-bundle", Side: "pulsar",
		Title: Text{EN: "A hot bundle", ZH: "热点 bundle"},
		About: Text{
			EN: "All busy topics happen to hash into one bundle, so that one broker does all the work while another idles. The bundle is split in the middle of its topics, and one half is unloaded to the idle broker: ownership moves, no data does.",
			ZH: "所有繁忙的 topic 恰好落入同一个 bundle，一个 broker 承担全部工作，另一个空闲。把 bundle 在其 topic 中间切开，把一半卸载给空闲的 broker：移动的是所有权，而不是数据。",
		},
		Steps: []Text{
			{EN: "Publish to four topics whose hashes are all in bundle {bundle}.", ZH: "向四个哈希值都落在 bundle {bundle} 的 topic 发布消息。"},
			{EN: "{owner} serves them all.", ZH: "{owner} 服务所有这些 topic。"},
			{EN: "Split the bundle between its topics.", ZH: "在 topic 之间切开这个 bundle。"},
			{EN: "Unload the half {half} to {other}.", ZH: "把其中一半 {half} 卸载给 {other}。"},
		},
	},
	outcome: Text{EN: "{owner} and {other} share the load.", ZH: "{owner} 和 {other} 分担负载。"},
	play: func(ctx context.Context, s *stage) error {
		state, err := s.look(ctx)
		if err != nil {
			return err
		}
		brokers := running(state, "pulsar")
		if len(brokers) < 2 {
			return errTooSmall
		}
		s.step()
		topics, err := s.crowd(ctx)
		if err != nil {
			return err
		}
		s.step()
		var bundle, owner string
		err = s.until(ctx, "one broker serves all topics", func(state *world.State) bool {
			first := state.Pulsar.Topics[fullName(topics[0])]
			if first == nil || first.Owner == "" {
				return false
			}
			bundle, owner = first.Bundle, first.Owner
			return !slices.ContainsFunc(topics, func(topic string) bool {
				other := state.Pulsar.Topics[fullName(topic)]
				return other == nil || other.Owner != owner || other.Bundle != bundle || other.LastPublished.Ledger < 0
			})
		})
		if err != nil {
			return err
		}
		s.name("bundle", bundle)
		s.name("owner", owner)
		if err := s.linger(ctx); err != nil {
			return err
		}
		s.step()
		admin := s.player.config.Administration
		err = admin.SplitBundle(ctx, administration.PulsarBundle{Namespace: pulsarNamespace, Bundle: bundle, Algorithm: "topic_count_equally_divide"})
		if err != nil {
			return err
		}
		return s.shareHalf(ctx, topics, bundle, owner, brokers)
	},
}

// crowd puts load on four topics of one bundle: that of the first one, which may be small after earlier splits.
func (s *stage) crowd(ctx context.Context) ([]string, error) {
	name := func(i int) string { return fmt.Sprintf("%s-%d", s.ownTopic("hot"), i) }
	topics := []string{name(0)}
	if err := s.stream(ctx, topics[0], 100, 1); err != nil {
		return nil, err
	}
	var low, high uint32
	err := s.until(ctx, "the bundle of "+topics[0]+" is known", func(state *world.State) bool {
		found := state.Pulsar.Topics[fullName(topics[0])]
		if found == nil {
			return false
		}
		_, err := fmt.Sscanf(found.Bundle, "0x%08x_0x%08x", &low, &high)
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	for i := 1; len(topics) < 4; i++ {
		if i == mostNames {
			return nil, sentence.Error(nil, "bundleTooSmall", "the bundle of {topic} is too small by now: no names of three more topics in it were found; play it again", topics[0])
		}
		if hash := crc32.ChecksumIEEE([]byte(fullName(name(i)))); low <= hash && hash < high {
			topics = append(topics, name(i))
		}
	}
	for _, topic := range topics[1:] {
		if err := s.stream(ctx, topic, 100, 1); err != nil {
			return nil, err
		}
	}
	return topics, nil
}

// shareHalf unloads the upper half of a bundle that was split to a broker that does not own it.
func (s *stage) shareHalf(ctx context.Context, topics []string, parent, owner string, brokers []string) error {
	upper := topics[0]
	for _, topic := range topics {
		if crc32.ChecksumIEEE([]byte(fullName(topic))) > crc32.ChecksumIEEE([]byte(fullName(upper))) {
			upper = topic
		}
	}
	half := ""
	err := s.unless(ctx, "the halves serve their topics", func(state *world.State) (bool, error) {
		found := state.Pulsar.Topics[fullName(upper)]
		if found == nil || found.Owner == "" || found.Bundle == parent {
			return false, nil
		}
		if found.Owner != owner {
			return false, moved{Text{EN: owner + " no longer serves " + upper, ZH: owner + " 不再服务 " + upper}}
		}
		half = found.Bundle
		return true, nil
	})
	if err != nil {
		return err
	}
	other := brokers[slices.IndexFunc(brokers, func(name string) bool { return name != owner })]
	state, err := s.look(ctx)
	if err != nil {
		return err
	}
	registered := state.Pulsar.Brokers[other]
	if registered == nil {
		return sentence.Error(nil, "brokerNotThere", "{why}; {node} is not registered", errTooSmall, other)
	}
	s.name("half", half)
	s.name("other", other)
	if err := s.linger(ctx); err != nil {
		return err
	}
	s.step()
	id := strings.TrimPrefix(registered.Broker, "http://")
	if err := s.player.config.Administration.UnloadBundle(ctx, administration.PulsarBundle{Namespace: pulsarNamespace, Bundle: half}, id); err != nil {
		return err
	}
	return s.until(ctx, other+" serves the half, and both have work", func(state *world.State) bool {
		found, theirs, rest := state.Pulsar.Topics[fullName(upper)], state.Pulsar.Brokers[other], state.Pulsar.Brokers[owner]
		return found != nil && found.Owner == other && theirs != nil && rest != nil && theirs.Load.RateIn > 0 && rest.Load.RateIn > 0
	})
}

var deadBookie = script{
	Summary: Summary{
		ID: "dead-bookie", Side: "pulsar",
		Title: Text{EN: "A dead bookie", ZH: "bookie 宕机"},
		About: Text{
			EN: "A bookie dies that takes entries of a ledger. The broker does not wait for it: it puts another bookie into the ledger's ensemble, from the next entry on, and writes again there what was on its way. What the dead one had is read from its fellows.",
			ZH: "正在接收某个 ledger 的 entry 的 bookie 宕机。broker 不会等它：从下一个 entry 起，把另一台 bookie 换入该 ledger 的 ensemble，并把途中的 entry 重新写到那里。它原有的数据由其余副本提供读取。",
		},
		Steps: []Text{
			{EN: "Publish to {topic}; ledger {ledger} is written.", ZH: "向 {topic} 发布消息；写入的是 ledger {ledger}。"},
			{EN: "Kill {bookie}, one of its ensemble.", ZH: "杀死其 ensemble 中的 {bookie}。"},
			{EN: "The ensemble changes: another bookie takes its place from entry {entry} on.", ZH: "ensemble 变更：从 entry {entry} 起由另一台 bookie 顶替。"},
			{EN: "Start {bookie} again: it serves what it has.", ZH: "重新启动 {bookie}：它继续提供已有的数据。"},
		},
	},
	outcome: Text{EN: "Ledger {ledger} has one more fragment, from entry {entry} on, and nothing was lost.", ZH: "ledger {ledger} 多了一个从 entry {entry} 开始的 fragment，没有丢失任何数据。"},
	play: func(ctx context.Context, s *stage) error {
		state, err := s.look(ctx)
		if err != nil {
			return err
		}
		if len(running(state, "bookie")) < 4 {
			return sentence.Error(nil, "needsSpareBookie", "{why}; a spare bookie is needed: four in all", errTooSmall)
		}
		s.step()
		topic := s.ownTopic("dead-bookie")
		if err := s.stream(ctx, topic, 50, 1); err != nil {
			return err
		}
		id, ledger := "", (*world.Ledger)(nil)
		err = s.until(ctx, "the ledger of "+topic+" is known", func(now *world.State) bool {
			state = now
			id, ledger = newest(now, fullName(topic))
			return ledger != nil && len(ledger.Ensembles) > 0
		})
		if err != nil {
			return err
		}
		victim := ledger.Ensembles[len(ledger.Ensembles)-1].Bookies[0]
		bookie := state.Pulsar.Bookies[victim]
		if bookie == nil {
			return sentence.Error(nil, "bookieNotKnown", "the bookie at {address} is not known", victim)
		}
		s.name("ledger", id)
		s.name("bookie", bookie.Node)
		node := bookie.Node
		s.step()
		if err := s.down(ctx, node, s.player.config.Control.Kill); err != nil {
			return err
		}
		s.step()
		err = s.unless(ctx, "the ensemble has changed", func(state *world.State) (bool, error) {
			ledger := state.Pulsar.Ledgers[id]
			if ledger == nil || len(ledger.Ensembles) == 0 {
				return false, nil
			}
			last := ledger.Ensembles[len(ledger.Ensembles)-1]
			if slices.Contains(last.Bookies, victim) {
				if ledger.State == "closed" { // its broker has lost it
					return false, moved{Text{EN: "ledger " + id + " is no longer written", ZH: "ledger " + id + " 不再写入"}}
				}
				return false, nil
			}
			s.name("entry", strconv.FormatInt(last.FirstEntry, 10))
			return true, nil
		})
		if err != nil {
			return err
		}
		if err := s.linger(ctx); err != nil {
			return err
		}
		s.step()
		if err := s.up(ctx, node); err != nil {
			return err
		}
		return s.until(ctx, node+" is registered again", func(state *world.State) bool {
			bookie := state.Pulsar.Bookies[victim]
			return bookie != nil && bookie.Registered
		})
	},
}
