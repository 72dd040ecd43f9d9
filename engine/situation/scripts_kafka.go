package situation

import (
	"context"
	"slices"
	"strconv"

	"twinlog/engine/administration"
	"twinlog/engine/sentence"
	"twinlog/engine/workload"
	"twinlog/engine/world"
)

var (
	leaderMoved     = moved{Text{EN: "{leader} no longer leads {topic}", ZH: "{leader} 不再是 {topic} 的 leader"}}
	controllerMoved = moved{Text{EN: "{old} is no longer the controller", ZH: "{old} 不再是 controller"}}
)

var followerFallsBehind = script{
	Summary: Summary{
		ID: "follower-out-of-isr", Side: "kafka",
		Title: Text{EN: "A follower falls out of the ISR", ZH: "follower 掉出 ISR"},
		About: Text{
			EN: "A follower cannot fetch from its leader any more. Producers with acks=all wait for it, until replica.lag.time.max.ms has passed and the leader takes it out of the ISR. When it can fetch again it catches up, and comes back in.",
			ZH: "一个 follower 无法再从 leader 拉取。acks=all 的生产者要等它，直到超过 replica.lag.time.max.ms，leader 把它移出 ISR。恢复拉取后它追上进度，重新进入 ISR。",
		},
		Steps: []Text{
			{EN: "Create {topic} with three replicas, and produce to it with acks=all.", ZH: "创建三副本的 {topic}，以 acks=all 向其生产。"},
			{EN: "Cut the link between the leader, {leader}, and the follower, {follower}.", ZH: "切断 leader {leader} 与 follower {follower} 之间的链路。"},
			{EN: "The leader waits for replica.lag.time.max.ms, then shrinks the ISR: the high watermark moves on.", ZH: "leader 等待 replica.lag.time.max.ms 后收缩 ISR：high watermark 继续前进。"},
			{EN: "Heal the link: {follower} catches up and the ISR expands.", ZH: "恢复链路：{follower} 追上进度，ISR 扩大。"},
		},
	},
	outcome: Text{EN: "{follower} is in the ISR again.", ZH: "{follower} 重新回到 ISR。"},
	play: func(ctx context.Context, s *stage) error {
		s.step()
		topic, p, err := s.topic(ctx, "falls-behind", 3, nil)
		if err != nil {
			return err
		}
		if err := s.load(ctx, workload.Spec{Engine: workload.EngineKafka, Topic: topic, Consumers: workload.NoConsumers}); err != nil {
			return err
		}
		p, controller, err := s.underWay(ctx, topic, len(p.Replicas))
		if err != nil {
			return err
		}
		leader, follower := p.Leader, p.Replicas[len(p.Replicas)-1]
		for _, id := range p.Replicas { // cut off from its broker, the controller would lose its say in it
			if id != leader && id != controller {
				follower = id
			}
		}
		if follower == leader {
			return errTooSmall
		}
		s.name("leader", kafkaNode(leader))
		s.name("follower", kafkaNode(follower))
		s.step()
		if err := s.cut(kafkaNode(leader), kafkaNode(follower)); err != nil {
			return err
		}
		s.step()
		reached := int64(-1) // by the high watermark when the follower was out; -1 while it is not
		err = s.unless(ctx, kafkaNode(follower)+" is out of the ISR, and the high watermark moves on without it", func(state *world.State) (bool, error) {
			p := partition(state, topic)
			switch {
			case p == nil:
				return false, nil
			case p.Leader != leader:
				return false, leaderMoved
			case slices.Contains(p.ISR, follower):
				return false, nil
			case reached < 0:
				// Producers may need a while to send again: the situation is not over before the high watermark has moved on.
				reached = highWatermark(p)
			}
			return highWatermark(p) > reached, nil
		})
		if err != nil {
			return err
		}
		if err := s.linger(ctx); err != nil {
			return err
		}
		state, err := s.look(ctx)
		if err != nil {
			return err
		}
		if p := partition(state, topic); p == nil || p.Leader != leader {
			return leaderMoved
		}
		s.step()
		if err := s.mend(kafkaNode(leader), kafkaNode(follower)); err != nil {
			return err
		}
		return s.until(ctx, kafkaNode(follower)+" is in the ISR again", func(state *world.State) bool {
			p := partition(state, topic)
			return p != nil && slices.Contains(p.ISR, follower)
		})
	},
}

// underWay waits until a topic made for the situation has all its replicas in sync and records committed, and tells where it is and which
// broker the controller is then.
func (s *stage) underWay(ctx context.Context, topic string, replicas int) (p *world.KafkaPartition, controller int32, err error) {
	err = s.until(ctx, "records of "+topic+" are committed", func(state *world.State) bool {
		p, controller = partition(state, topic), state.Kafka.Controller.Broker
		return p != nil && p.Leader >= 0 && len(p.ISR) == replicas && controller >= 0 && highWatermark(p) > 0
	})
	return p, controller, err
}

// highWatermark is that of a partition's leader; 0 when nothing is known of it.
func highWatermark(p *world.KafkaPartition) int64 {
	if p == nil || p.Logs[strconv.Itoa(int(p.Leader))] == nil {
		return 0
	}
	return p.Logs[strconv.Itoa(int(p.Leader))].HighWatermark
}

var zombieController = script{
	Summary: Summary{
		ID: "zombie-controller", Side: "kafka",
		Title: Text{EN: "A zombie controller", ZH: "僵尸 controller"},
		About: Text{
			EN: "The controller has a request on its way when its process stops for longer than its session lasts, as in a long garbage collection. Another broker becomes the controller with a higher epoch. The old one's request arrives all the same, with the old epoch, and is refused: an order from a former controller does no harm.",
			ZH: "controller 有一个请求还在路上，进程却停顿得超过了会话超时，就像一次漫长的垃圾回收。另一个 broker 以更高的 epoch 成为 controller。旧 controller 的请求后来还是到了，但带着旧 epoch，于是被拒绝：已卸任的 controller 的命令不会造成破坏。",
		},
		Steps: []Text{
			{EN: "Cut the link from the controller, {old} (epoch {epoch}), to {peer}, and create {topic}: what {old} sends {peer} about it is held up.", ZH: "切断从 controller {old}（epoch {epoch}）到 {peer} 的链路，再创建 {topic}：{old} 为此发给 {peer} 的请求滞留在途中。"},
			{EN: "Pause {old}. Its session expires, and another broker becomes the controller.", ZH: "暂停 {old}。它的会话过期，另一个 broker 成为 controller。"},
			{EN: "Heal the link: the request arrives with epoch {epoch}, and {peer} refuses it, for it has heard from epoch {newEpoch}.", ZH: "恢复链路：请求带着 epoch {epoch} 到达，而 {peer} 已收到过 epoch {newEpoch} 的请求，于是拒绝它。"},
			{EN: "Resume {old}: it finds that its session is gone, resigns, and registers anew.", ZH: "恢复 {old} 的运行：它发现会话已失效，于是卸任并重新注册。"},
		},
	},
	outcome: Text{EN: "{new} is the controller with epoch {newEpoch}; {old} is a broker like any other.", ZH: "{new} 以 epoch {newEpoch} 担任 controller；{old} 只是普通 broker。"},
	play:    playZombieController,
}

func playZombieController(ctx context.Context, s *stage) error {
	state, err := s.look(ctx)
	if err != nil {
		return err
	}
	old := state.Kafka.Controller
	if old.Broker < 0 || len(running(state, "kafka")) < 2 {
		return errTooSmall
	}
	registered := kafkaBroker(state, old.Broker)
	if registered == nil {
		return sentence.Error(nil, "controllerNotRegistered", "the controller {node} is not registered", kafkaNode(old.Broker))
	}
	session := registered.Epoch
	s.name("old", kafkaNode(old.Broker))
	s.name("epoch", strconv.Itoa(int(old.Epoch)))
	s.step()
	peer, topic, err := s.holdUpRequest(ctx, state)
	if err != nil {
		return err
	}
	if state, err = s.look(ctx); err != nil {
		return err
	}
	if state.Kafka.Controller != old {
		return controllerMoved
	}
	s.step()
	if err := s.down(ctx, kafkaNode(old.Broker), s.player.config.Control.Pause); err != nil {
		return err
	}
	refused := int64(0)
	// Only the new controller can have told the peer of the topic: from then on the peer knows the new epoch.
	err = s.until(ctx, "another broker is the controller, and "+kafkaNode(peer)+" has heard from it", func(state *world.State) bool {
		now, p, there := state.Kafka.Controller, partition(state, topic), kafkaBroker(state, peer)
		if now.Broker < 0 || now.Broker == old.Broker || now.Epoch <= old.Epoch || p == nil || p.Logs[strconv.Itoa(int(peer))] == nil || there == nil {
			return false
		}
		refused = there.RefusedControllers
		s.name("new", kafkaNode(now.Broker))
		s.name("newEpoch", strconv.Itoa(int(now.Epoch)))
		return true
	})
	if err != nil {
		return err
	}
	if err := s.linger(ctx); err != nil {
		return err
	}
	s.step()
	if err := s.mend(kafkaNode(old.Broker), kafkaNode(peer)); err != nil {
		return err
	}
	err = s.until(ctx, kafkaNode(peer)+" has refused the old controller's request", func(state *world.State) bool {
		there := kafkaBroker(state, peer)
		return there != nil && there.RefusedControllers > refused
	})
	if err != nil {
		return err
	}
	if err := s.linger(ctx); err != nil {
		return err
	}
	s.step()
	if err := s.up(ctx, kafkaNode(old.Broker)); err != nil {
		return err
	}
	return s.until(ctx, kafkaNode(old.Broker)+" has registered anew", func(state *world.State) bool {
		broker := kafkaBroker(state, old.Broker)
		return broker != nil && broker.Registered && broker.Epoch > session && state.Kafka.Controller.Broker != old.Broker
	})
}

// holdUpRequest makes the controller send another broker a request that stays in a cut link: it tells of a new topic. Answers still come
// back, or the request would wait at the controller behind an earlier one.
func (s *stage) holdUpRequest(ctx context.Context, state *world.State) (peer int32, topic string, err error) {
	controller := state.Kafka.Controller.Broker
	brokers := running(state, "kafka")
	for _, name := range brokers {
		if id := int32(state.Nodes[name].ID); id != controller {
			peer = id
		}
	}
	s.name("peer", kafkaNode(peer))
	topic = s.ownTopic("zombie")
	s.name("topic", topic)
	if err := s.cutFrom(kafkaNode(controller), kafkaNode(peer)); err != nil {
		return 0, "", err
	}
	admin := s.player.config.Administration
	if _, err := admin.CreateKafkaTopic(ctx, administration.KafkaTopic{Name: topic, Partitions: 1, ReplicationFactor: len(brokers)}); err != nil {
		return 0, "", err
	}
	s.player.remember(func(ctx context.Context) error { return admin.DeleteKafkaTopic(ctx, topic) })
	err = s.unless(ctx, kafkaNode(controller)+" has taken the topic on, and told who could be told", func(state *world.State) (bool, error) {
		if state.Kafka.Controller.Broker != controller { // another one can tell everybody
			return false, controllerMoved
		}
		p := partition(state, topic)
		return p != nil && p.Leader >= 0 && len(p.Logs) == len(brokers)-1, nil
	})
	if err != nil {
		return 0, "", err
	}
	return peer, topic, s.linger(ctx)
}

func kafkaBroker(state *world.State, id int32) *world.KafkaBroker {
	return state.Kafka.Brokers[strconv.Itoa(int(id))]
}

var lostRecord = script{
	Summary: Summary{
		ID: "lost-record", Side: "kafka",
		Title: Text{EN: "An acknowledged record is lost with acks=1", ZH: "acks=1 时已确认的记录丢失"},
		About: Text{
			EN: "With acks=1 the leader alone says that it has a record. It does, and its machine crashes before the follower has fetched it. The follower, which was in sync until then, becomes the leader; the old leader comes back and has to truncate. The record had been acknowledged, and is gone.",
			ZH: "acks=1 时只有 leader 确认收到记录。它确认之后，follower 还没拉取，机器就崩溃了。在此之前同步的 follower 成为新 leader；旧 leader 回来后只能截断日志。这条记录被确认过，却不见了。",
		},
		Steps: []Text{
			{EN: "Create {topic} with two replicas: leader {leader}, follower {follower}. Produce a first record with acks=all.", ZH: "创建两副本的 {topic}：leader {leader}，follower {follower}。先以 acks=all 生产一条记录。"},
			{EN: "Cut the link between the two, so that the follower falls behind.", ZH: "切断两者之间的链路，让 follower 落后。"},
			{EN: "Produce a second record with acks=1: it is acknowledged at offset {offset}.", ZH: "以 acks=1 生产第二条记录：在 offset {offset} 得到确认。"},
			{EN: "Crash {leader}. The follower is still in the ISR, so it is elected.", ZH: "让 {leader} 崩溃。follower 仍在 ISR 中，因此当选。"},
			{EN: "Heal the link and start {leader} again: it truncates its log to that of the new leader. Offset {offset} is gone.", ZH: "恢复链路，重新启动 {leader}：它把日志截断到与新 leader 一致。offset {offset} 不复存在。"},
		},
	},
	outcome: Text{EN: "The log of {topic} ends at offset {end}: the record at offset {offset} was acknowledged and is lost.", ZH: "{topic} 的日志在 offset {end} 结束：offset {offset} 处的记录确认过，却丢失了。"},
	play: func(ctx context.Context, s *stage) error {
		s.step()
		topic, p, err := s.topic(ctx, "lost-record", 2, map[string]string{"min.insync.replicas": "1"})
		if err != nil {
			return err
		}
		control, admin := s.player.config.Control, s.player.config.Administration
		leader, follower := p.Leader, p.Replicas[0]
		if follower == leader {
			follower = p.Replicas[1]
		}
		s.name("leader", kafkaNode(leader))
		s.name("follower", kafkaNode(follower))
		if _, err := admin.ProduceKafka(ctx, topic, 0, -1, "this one is on both"); err != nil {
			return err
		}
		s.step()
		if err := s.cut(kafkaNode(leader), kafkaNode(follower)); err != nil {
			return err
		}
		s.step()
		offset, err := admin.ProduceKafka(ctx, topic, 0, 1, "this one is on the leader alone")
		if err != nil {
			return err
		}
		s.name("offset", strconv.FormatInt(offset, 10))
		if err := s.linger(ctx); err != nil { // well within replica.lag.time.max.ms: the follower must still be in the ISR
			return err
		}
		// Unless the machine stood still for so long.
		outOfSync := moved{Text{EN: "{follower} is no longer in sync with {leader}", ZH: "{follower} 与 {leader} 不再同步"}}
		state, err := s.look(ctx)
		if err != nil {
			return err
		}
		if p := partition(state, topic); p == nil || p.Leader != leader || !slices.Contains(p.ISR, follower) {
			return outOfSync
		}
		s.step()
		if err := s.down(ctx, kafkaNode(leader), control.Crash); err != nil {
			return err
		}
		err = s.unless(ctx, kafkaNode(follower)+" leads the partition", func(state *world.State) (bool, error) {
			p := partition(state, topic)
			if p != nil && !slices.Contains(p.ISR, follower) { // nobody else can be elected
				return false, outOfSync
			}
			return p != nil && p.Leader == follower, nil
		})
		if err != nil {
			return err
		}
		if err := s.linger(ctx); err != nil {
			return err
		}
		s.step()
		// Not earlier: the cut link holds the leader's last answer, which a follower would still take.
		if err := s.mend(kafkaNode(leader), kafkaNode(follower)); err != nil {
			return err
		}
		if err := s.up(ctx, kafkaNode(leader)); err != nil {
			return err
		}
		err = s.until(ctx, kafkaNode(leader)+" is in the ISR again", func(state *world.State) bool {
			p := partition(state, topic) // led by either: soon the preferred leader leads again
			return p != nil && slices.Contains(p.ISR, follower) && slices.Contains(p.ISR, leader)
		})
		if err != nil {
			return err
		}
		end, err := admin.EndOffset(ctx, topic, 0)
		if err != nil {
			return err
		}
		s.name("end", strconv.FormatInt(end, 10))
		if end > offset {
			return sentence.Error(nil, "recordStillThere", "the record at offset {offset} of {topic} is still there: the log ends at {end}", offset, topic, end)
		}
		return nil
	},
}
