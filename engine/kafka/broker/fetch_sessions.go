package broker

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/metadata"
)

// fetchSessions keeps for each client that wants it what it fetches, so that a request needs to name only what changed, and a response only
// what is new (KIP-227). Without it, a follower of 1,000 partitions would name all of them twice a second.
type fetchSessions struct {
	slots int

	mu       sync.Mutex
	sessions map[int32]*fetchSession
}

// fetchSession is one client's. Its request is served before the next one is read, so one request at a time uses it; mu guards against
// clients that use one session on two connections.
type fetchSession struct {
	id       int32
	follower bool

	mu       sync.Mutex
	epoch    int32 // of the next request
	lastUsed time.Time
	order    []*sessionPartition // in which they are read; those that had records go to the end
	byKey    map[sessionKey]*sessionPartition
}

type sessionKey struct {
	topic   string
	topicID metadata.TopicID
	number  int32
}

// sessionPartition is a target, and what the client was told last.
type sessionPartition struct {
	target        fetchTarget
	told          bool
	highWatermark int64
	logStart      int64
}

// fetchSessionTurn is one request's use of a session.
type fetchSessionTurn struct {
	id          int32 // 0: there is no session
	session     *fetchSession
	incremental bool
	targets     []*fetchTarget
}

// sessionIdle is how long a session is safe from others that need its place.
const sessionIdle = 2 * time.Minute

func newFetchSessions(slots int) *fetchSessions {
	return &fetchSessions{slots: slots, sessions: map[int32]*fetchSession{}}
}

// The epochs of a request that is no incremental one.
const (
	firstSessionEpoch = 0
	finalSessionEpoch = -1
)

// begin finds out what a request fetches.
func (s *fetchSessions) begin(request *kmsg.FetchRequest, follower bool) (fetchSessionTurn, *kerr.Error) {
	if request.Version < 7 {
		return fetchSessionTurn{targets: targetsOf(request)}, nil
	}
	if request.SessionEpoch == firstSessionEpoch || request.SessionEpoch == finalSessionEpoch {
		s.remove(request.SessionID)
		turn := fetchSessionTurn{targets: targetsOf(request)}
		if request.SessionEpoch == firstSessionEpoch && len(turn.targets) > 0 {
			turn.session = s.create(turn.targets, follower)
		}
		if turn.session != nil {
			turn.id = turn.session.id
		}
		return turn, nil
	}
	s.mu.Lock()
	session := s.sessions[request.SessionID]
	s.mu.Unlock()
	if session == nil {
		return fetchSessionTurn{}, kerr.FetchSessionIDNotFound
	}
	session.mu.Lock()
	defer session.mu.Unlock()
	if request.SessionEpoch != session.epoch {
		return fetchSessionTurn{}, kerr.InvalidFetchSessionEpoch
	}
	session.epoch = nextSessionEpoch(session.epoch)
	session.lastUsed = time.Now()
	session.update(request)
	return fetchSessionTurn{id: session.id, session: session, incremental: true, targets: session.targets()}, nil
}

func nextSessionEpoch(epoch int32) int32 {
	if epoch == 1<<31-1 {
		return 1
	}
	return epoch + 1
}

func targetsOf(request *kmsg.FetchRequest) []*fetchTarget {
	var targets []*fetchTarget
	for i := range request.Topics {
		topic := &request.Topics[i]
		for j := range topic.Partitions {
			target := targetOf(topic, &topic.Partitions[j])
			targets = append(targets, &target)
		}
	}
	return targets
}

func targetOf(topic *kmsg.FetchRequestTopic, p *kmsg.FetchRequestTopicPartition) fetchTarget {
	return fetchTarget{
		topic: topic.Topic, topicID: topic.TopicID, number: p.Partition, offset: p.FetchOffset, maxBytes: p.PartitionMaxBytes,
		leaderEpoch: p.CurrentLeaderEpoch, lastEpoch: p.LastFetchedEpoch,
	}
}

func (s *fetchSessions) remove(id int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, id)
}

// create returns nil when there is no place: the client then sends full requests.
func (s *fetchSessions) create(targets []*fetchTarget, follower bool) *fetchSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sessions) >= s.slots && !s.evict(follower) {
		return nil
	}
	session := &fetchSession{follower: follower, epoch: 1, lastUsed: time.Now(), byKey: map[sessionKey]*sessionPartition{}}
	for session.id == 0 || s.sessions[session.id] != nil {
		session.id = rand.Int32()
	}
	for _, target := range targets {
		session.put(*target)
	}
	s.sessions[session.id] = session
	return session
}

// evict makes room: for anybody by dropping a session that is not in use, for a follower by dropping a consumer's. It is called with mu held.
func (s *fetchSessions) evict(forFollower bool) bool {
	var victim *fetchSession
	var victimUsed time.Time
	for _, session := range s.sessions {
		session.mu.Lock()
		used := session.lastUsed
		session.mu.Unlock()
		droppable := time.Since(used) > sessionIdle || forFollower && !session.follower
		if droppable && (victim == nil || used.Before(victimUsed)) {
			victim, victimUsed = session, used
		}
	}
	if victim == nil {
		return false
	}
	delete(s.sessions, victim.id)
	return true
}

func keyOf(t *fetchTarget) sessionKey {
	if t.topicID != (metadata.TopicID{}) {
		return sessionKey{topicID: t.topicID, number: t.number}
	}
	return sessionKey{topic: t.topic, number: t.number}
}

func (s *fetchSession) put(target fetchTarget) {
	key := keyOf(&target)
	if known := s.byKey[key]; known != nil {
		known.target = target
		return
	}
	added := &sessionPartition{target: target}
	s.byKey[key] = added
	s.order = append(s.order, added)
}

func (s *fetchSession) update(request *kmsg.FetchRequest) {
	for i := range request.Topics {
		for j := range request.Topics[i].Partitions {
			s.put(targetOf(&request.Topics[i], &request.Topics[i].Partitions[j]))
		}
	}
	forgotten := map[*sessionPartition]bool{}
	for _, topic := range request.ForgottenTopics {
		for _, number := range topic.Partitions {
			key := keyOf(&fetchTarget{topic: topic.Topic, topicID: topic.TopicID, number: number})
			if p := s.byKey[key]; p != nil {
				forgotten[p] = true
				delete(s.byKey, key)
			}
		}
	}
	if len(forgotten) > 0 {
		kept := make([]*sessionPartition, 0, len(s.order))
		for _, p := range s.order {
			if !forgotten[p] {
				kept = append(kept, p)
			}
		}
		s.order = kept
	}
}

// targets are copies: a later request may change the session's while this one waits.
func (s *fetchSession) targets() []*fetchTarget {
	list := make([]*fetchTarget, len(s.order))
	for i, p := range s.order {
		target := p.target
		list[i] = &target
	}
	return list
}

// end takes the results and returns those that the client has to be told. Sections of the others are closed; there are none, since
// records are always told.
func (t *fetchSessionTurn) end(results []*fetchResult) []*fetchResult {
	if t.session == nil {
		return results
	}
	s := t.session
	s.mu.Lock()
	defer s.mu.Unlock()
	told := make([]*fetchResult, 0, len(results))
	served := map[*sessionPartition]bool{}
	for _, result := range results {
		p := s.byKey[keyOf(result.target)]
		if p == nil { // forgotten meanwhile by another connection
			told = append(told, result)
			continue
		}
		news := result.section != nil || result.err != nil || result.divergence != nil || !p.told ||
			p.highWatermark != result.highWatermark || p.logStart != result.logStart
		if news || !t.incremental {
			told = append(told, result)
			p.told, p.highWatermark, p.logStart = result.err == nil, result.highWatermark, result.logStart
		}
		if result.section != nil {
			served[p] = true
		}
	}
	s.rotate(served)
	return told
}

// rotate puts the partitions that had records last, so that a busy one does not starve the others when a response is full.
func (s *fetchSession) rotate(served map[*sessionPartition]bool) {
	if len(served) == 0 || len(served) == len(s.order) {
		return
	}
	order := make([]*sessionPartition, 0, len(s.order))
	for _, p := range s.order {
		if !served[p] {
			order = append(order, p)
		}
	}
	for _, p := range s.order {
		if served[p] {
			order = append(order, p)
		}
	}
	s.order = order
}
