package groupcoordinator

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/kafka/group"
	"twinlog/engine/trace"
)

func TestJavaHash(t *testing.T) {
	// From Java: "test-group".hashCode(), "".hashCode(), "ü€".hashCode(), and one that Math.abs could not make positive.
	for text, want := range map[string]int32{"": 0, "a": 97, "test-group": 627841412, "ü€": 16176, "polygenelubricants": -2147483648, "😀 group": -1570619006} {
		if got := javaHash(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestFindCoordinator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		find := func(version int16, kind int8) *kmsg.FindCoordinatorResponse {
			request := kmsg.NewPtrFindCoordinatorRequest()
			request.Version, request.CoordinatorType, request.CoordinatorKey, request.CoordinatorKeys = version, kind, "g", []string{"g", "h"}
			return w.ask(2, request).(*kmsg.FindCoordinatorResponse)
		}
		if got := find(3, 0); got.ErrorCode != 0 || got.NodeID != 1 || got.Port != 9092 {
			t.Errorf("v3: %+v", got)
		}
		if got := find(6, 0); len(got.Coordinators) != 2 || got.Coordinators[1].Key != "h" || got.Coordinators[1].NodeID != 1 {
			t.Errorf("v6: %+v", got)
		}
		if got := find(3, 1); got.ErrorCode != kerr.TransactionalIDAuthorizationFailed.Code || got.ErrorMessage == nil {
			t.Errorf("a transaction's: %+v", got)
		}
		w.setMetadata(1, false)
		if got := find(3, 0); got.ErrorCode != kerr.CoordinatorNotAvailable.Code || got.NodeID != -1 {
			t.Errorf("without the topic: %+v", got)
		}
		<-w.asked // the topic is being created
	})
}

func TestGroupLivesThroughFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		m := w.join(membership{})
		if code := w.commit(m, "orders", 1, 42); code != 0 {
			t.Fatalf("commit: error %d", code)
		}
		w.failOver()
		synctest.Wait()
		if code := w.heartbeat(m); code != 0 {
			t.Errorf("heartbeat at the new coordinator: error %d", code)
		}
		described := w.describe()
		if described.State != "Stable" || described.Protocol != "range" || len(described.Members) != 1 || described.Members[0].ClientID != "app" ||
			len(described.Members[0].MemberAssignment) == 0 || described.Members[0].ClientHost != "/127.0.0.1" {
			t.Errorf("described %+v", described)
		}
		partition := w.fetch("g", 7, 0, 1).Topics[0].Partitions
		if partition[0].Offset != -1 || partition[0].ErrorCode != 0 || partition[1].Offset != 42 || partition[1].LeaderEpoch != 7 || *partition[1].Metadata != "note" {
			t.Errorf("offsets %+v", partition)
		}
		old := kmsg.NewPtrHeartbeatRequest()
		old.Version, old.Group, old.MemberID, old.Generation = 4, "g", m.id, m.generation
		if got := w.ask(1, old).(*kmsg.HeartbeatResponse); got.ErrorCode != kerr.NotCoordinator.Code {
			t.Errorf("the old coordinator: error %d", got.ErrorCode)
		}
		time.Sleep(11 * time.Second) // the session ends at the new coordinator
		if described := w.describe(); described.State != "Empty" || len(described.Members) != 0 {
			t.Errorf("after silence: %+v", described)
		}
	})
}

func TestWaitingMembersAreSentAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.join(membership{instance: "a"})
		waiting := w.send(1, w.joinRequest(membership{instance: "b"}))
		synctest.Wait()
		w.failOver()
		if got := (<-waiting).(*kmsg.JoinGroupResponse); got.ErrorCode != kerr.NotCoordinator.Code {
			t.Errorf("join: error %d", got.ErrorCode)
		}
	})
}

func TestNoAnswerBeforeTheRecordIsCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		m := w.join(membership{})
		w.log.set(func(l *offsetsLog) { l.holding = true })
		waiting := w.send(1, w.commitRequest(m, "orders", 0, 5))
		synctest.Wait()
		select {
		case <-waiting:
			t.Fatal("the commit was answered before its record was replicated")
		default:
		}
		if got := w.fetch("g", 5, 0).Topics[0].Partitions[0].Offset; got != -1 {
			t.Errorf("offset %d is told before its record is replicated", got)
		}
		w.log.set(func(l *offsetsLog) {
			for _, release := range l.held {
				release()
			}
		})
		if got := (<-waiting).(*kmsg.OffsetCommitResponse); got.Topics[0].Partitions[0].ErrorCode != 0 {
			t.Errorf("commit: %+v", got)
		}
		if got := w.fetch("g", 5, 0).Topics[0].Partitions[0].Offset; got != 5 {
			t.Errorf("offset %d", got)
		}
	})
}

func TestLogErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		m := w.join(membership{})
		for _, test := range []struct{ failure, want *kerr.Error }{
			{kerr.NotEnoughReplicas, kerr.CoordinatorNotAvailable}, {kerr.NotLeaderForPartition, kerr.NotCoordinator},
			{kerr.MessageTooLarge, kerr.InvalidCommitOffsetSize}, {kerr.RequestTimedOut, kerr.RequestTimedOut},
		} {
			w.log.set(func(l *offsetsLog) { l.failure = test.failure })
			if code := w.commit(m, "orders", 0, 1); code != test.want.Code {
				t.Errorf("%s becomes %v, want %s", test.failure.Message, kerr.ErrorForCode(code), test.want.Message)
			}
		}
		if got := w.fetch("g", 5, 0).Topics[0].Partitions[0].Offset; got != -1 {
			t.Errorf("offset %d counts though it was not written", got)
		}
	})
}

func TestUnknownGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		stranger := membership{id: "x", generation: 1}
		if code := w.heartbeat(stranger); code != kerr.UnknownMemberID.Code {
			t.Errorf("heartbeat: %d", code)
		}
		if got := w.ask(1, w.syncRequest(stranger, nil)).(*kmsg.SyncGroupResponse); got.ErrorCode != kerr.UnknownMemberID.Code {
			t.Errorf("sync: %d", got.ErrorCode)
		}
		if got := w.ask(1, w.joinRequest(stranger)).(*kmsg.JoinGroupResponse); got.ErrorCode != kerr.UnknownMemberID.Code {
			t.Errorf("join: %d", got.ErrorCode)
		}
		if code := w.commit(stranger, "orders", 0, 1); code != kerr.IllegalGeneration.Code {
			t.Errorf("commit: %d", code)
		}
		leave := kmsg.NewPtrLeaveGroupRequest()
		leave.Version, leave.Group, leave.MemberID = 2, "g", "x"
		if got := w.ask(1, leave).(*kmsg.LeaveGroupResponse); got.ErrorCode != kerr.UnknownMemberID.Code {
			t.Errorf("leave: %d", got.ErrorCode)
		}
		leave.Version, leave.Members = 5, []kmsg.LeaveGroupRequestMember{{MemberID: "x"}}
		if got := w.ask(1, leave).(*kmsg.LeaveGroupResponse); got.ErrorCode != 0 || got.Members[0].ErrorCode != kerr.UnknownMemberID.Code {
			t.Errorf("leave v5: %+v", got)
		}
		for version := range int16(8) {
			got := w.fetch("g", version, 0, 2)
			if got.ErrorCode != 0 || len(got.Topics) != 1 || len(got.Topics[0].Partitions) != 2 || got.Topics[0].Partitions[1].Offset != -1 || got.Topics[0].Partitions[1].ErrorCode != 0 {
				t.Errorf("offset fetch v%d: %+v", version, got)
			}
		}
		if got := w.fetch("g", 9, 0).Groups[0]; got.ErrorCode != 0 || got.Topics[0].Partitions[0].Offset != -1 {
			t.Errorf("offset fetch v9: %+v", got)
		}
		if got := w.describe(); got.State != "Dead" || got.ErrorCode != 0 || got.ProtocolType != "" {
			t.Errorf("describe: %+v", got)
		}
		empty := w.joinRequest(membership{})
		empty.Group = ""
		if got := w.ask(1, empty).(*kmsg.JoinGroupResponse); got.ErrorCode != kerr.InvalidGroupID.Code {
			t.Errorf("join of no group: %d", got.ErrorCode)
		}
		listed := w.ask(1, kmsg.NewPtrListGroupsRequest()).(*kmsg.ListGroupsResponse)
		if len(listed.Groups) != 0 {
			t.Errorf("asking made groups: %+v", listed.Groups)
		}
		w.leader = 2 // which coordinates nothing
		if got := w.fetch("g", 1, 0, 1).Topics[0].Partitions; len(got) != 2 || got[1].ErrorCode != kerr.NotCoordinator.Code {
			t.Errorf("offset fetch v1 has no place for an error but the partitions: %+v", got)
		}
		if got := w.fetch("g", 8, 0).Groups[0]; got.ErrorCode != kerr.NotCoordinator.Code {
			t.Errorf("offset fetch v8: %+v", got)
		}
	})
}

func TestCommitsWithoutMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		nobody := membership{generation: -1}
		if code := w.commit(nobody, "orders", 0, 3); code != 0 {
			t.Errorf("commit: %d", code)
		}
		if code := w.commit(nobody, "nope", 0, 3); code != kerr.UnknownTopicOrPartition.Code {
			t.Errorf("unknown topic: %d", code)
		}
		if code := w.commit(nobody, "orders", 9, 3); code != kerr.UnknownTopicOrPartition.Code {
			t.Errorf("unknown partition: %d", code)
		}
		large := w.commitRequest(nobody, "orders", 0, 4)
		text := string(make([]byte, 4097))
		large.Topics[0].Partitions[0].Metadata = &text
		if got := w.ask(1, large).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode; got != kerr.OffsetMetadataTooLarge.Code {
			t.Errorf("large metadata: %d", got)
		}
		list := kmsg.NewPtrListGroupsRequest()
		list.Version, list.StatesFilter = 5, []string{"empty"}
		if got := w.ask(1, list).(*kmsg.ListGroupsResponse); len(got.Groups) != 1 || got.Groups[0].GroupState != "Empty" || got.Groups[0].GroupType != "classic" {
			t.Errorf("listed %+v", got)
		}
		list.StatesFilter = []string{"Stable"}
		if got := w.ask(1, list).(*kmsg.ListGroupsResponse); len(got.Groups) != 0 {
			t.Errorf("listed %+v", got)
		}
		if got := w.fetch("g", 9).Groups[0]; len(got.Topics) != 1 || got.Topics[0].Partitions[0].Offset != 3 {
			t.Errorf("all offsets: %+v", got)
		}
		m := w.join(membership{})
		if code := w.commit(nobody, "orders", 0, 9); code != kerr.UnknownMemberID.Code {
			t.Errorf("commit from outside to a group with members: %d", code)
		}
		if code := w.commit(m, "orders", 0, 9); code != 0 {
			t.Errorf("commit: %d", code)
		}
	})
}

func TestDeleteGroupsAndOffsets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		m := w.join(membership{})
		w.commit(m, "orders", 0, 1)
		deleteGroups := func() []kmsg.DeleteGroupsResponseGroup {
			request := kmsg.NewPtrDeleteGroupsRequest()
			request.Version, request.Groups = 2, []string{"g", "nope"}
			return w.ask(w.leader, request).(*kmsg.DeleteGroupsResponse).Groups
		}
		deleteOffset := func() (int16, int16) {
			request := kmsg.NewPtrOffsetDeleteRequest()
			request.Group = "g"
			request.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: "orders", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}}}
			response := w.ask(w.leader, request).(*kmsg.OffsetDeleteResponse)
			if response.ErrorCode != 0 {
				return response.ErrorCode, 0
			}
			return 0, response.Topics[0].Partitions[0].ErrorCode
		}
		if got := deleteGroups(); got[0].ErrorCode != kerr.NonEmptyGroup.Code || got[1].ErrorCode != kerr.GroupIDNotFound.Code {
			t.Errorf("delete: %+v", got)
		}
		if whole, one := deleteOffset(); whole != 0 || one != kerr.GroupSubscribedToTopic.Code {
			t.Errorf("offset of a subscribed topic: %d %d", whole, one)
		}
		leave := kmsg.NewPtrLeaveGroupRequest()
		leave.Version, leave.Group, leave.Members = 5, "g", []kmsg.LeaveGroupRequestMember{{MemberID: m.id}}
		w.ask(1, leave)
		w.commit(membership{generation: -1}, "orders", 1, 2)
		if whole, one := deleteOffset(); whole != 0 || one != 0 {
			t.Errorf("offset: %d %d", whole, one)
		}
		if got := w.fetch("g", 5).Topics; len(got) != 1 || got[0].Partitions[0].Partition != 1 {
			t.Errorf("offsets left: %+v", got)
		}
		if got := deleteGroups(); got[0].ErrorCode != 0 {
			t.Errorf("delete: %+v", got)
		}
		if whole, _ := deleteOffset(); whole != kerr.GroupIDNotFound.Code {
			t.Errorf("offset of no group: %d", whole)
		}
		w.failOver()
		synctest.Wait()
		if got := w.describe(); got.State != "Dead" {
			t.Errorf("the tombstones do not count: %+v", got)
		}
		if got := w.fetch("g", 5).Topics; len(got) != 0 {
			t.Errorf("the tombstones do not count: %+v", got)
		}
	})
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *Config) { c.OffsetsRetention = time.Hour })
		w.commit(membership{generation: -1}, "orders", 0, 3)
		time.Sleep(55 * time.Minute)
		if got := w.describe(); got.State != "Empty" {
			t.Errorf("after 55 minutes: %+v", got)
		}
		time.Sleep(20 * time.Minute)
		if got := w.describe(); got.State != "Dead" {
			t.Errorf("after 75 minutes: %+v", got)
		}
	})
}

func TestDeletedTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		m := w.join(membership{})
		w.commit(m, "orders", 0, 3)
		w.coordinators[1].TopicsDeleted("other", "orders")
		synctest.Wait()
		if got := w.fetch("g", 5).Topics; len(got) != 0 {
			t.Errorf("offsets %+v", got)
		}
	})
}

func TestLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		c := w.coordinators[2]
		index := c.partitionOf("g")
		c.inbox.push(func(time.Time) { c.partitions[index] = &partition{index: index, loading: true} })
		w.leader = 2
		if code := w.heartbeat(membership{id: "x"}); code != 0 {
			t.Errorf("a heartbeat while the groups are loaded: %d, want to be taken", code)
		}
		if got := w.ask(2, w.syncRequest(membership{id: "x"}, nil)).(*kmsg.SyncGroupResponse); got.ErrorCode != kerr.RebalanceInProgress.Code {
			t.Errorf("sync: %d", got.ErrorCode)
		}
		if got := w.ask(2, w.joinRequest(membership{})).(*kmsg.JoinGroupResponse); got.ErrorCode != kerr.CoordinatorLoadInProgress.Code {
			t.Errorf("join: %d", got.ErrorCode)
		}
		if got := w.ask(2, kmsg.NewPtrListGroupsRequest()).(*kmsg.ListGroupsResponse); got.ErrorCode != kerr.CoordinatorLoadInProgress.Code {
			t.Errorf("list: %d", got.ErrorCode)
		}
	})
}

func TestJoinVersions(t *testing.T) {
	for version := range int16(10) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, nil)
			request := w.joinRequest(membership{})
			request.Version = version
			response := w.ask(1, request).(*kmsg.JoinGroupResponse)
			if required := response.ErrorCode == kerr.MemberIDRequired.Code; required != (version >= 4) {
				t.Errorf("v%d: error %d", version, response.ErrorCode)
			}
			if version < 4 && (response.ErrorCode != 0 || response.Protocol == nil || *response.Protocol != "range" || len(response.Members) != 1) {
				t.Errorf("v%d: %+v", version, response)
			}
		})
	}
}

func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		m := w.join(membership{})
		w.commit(m, "orders", 1, 42)
		var states []string
		var assigned []trace.KafkaPartition
		committed := 0
		for _, record := range w.tracers[1].Drain(nil) {
			switch event := record.Data.(type) {
			case trace.KafkaGroupChanged:
				states = append(states, event.State)
				if event.State == "Stable" {
					assigned = event.Members[0].Assigned
				}
			case trace.KafkaOffsetCommitted:
				committed++
				if event.Group != "g" || event.Offset != 42 || event.String() != "orders-1" {
					t.Errorf("%+v", event)
				}
				if record.Cause == (trace.Ref{}) {
					t.Error("the commit has no cause")
				}
			}
		}
		if len(states) != 3 || states[2] != "Stable" || len(assigned) != 3 || committed != 1 {
			t.Errorf("states %v, assigned %v, %d commits", states, assigned, committed)
		}
	})
}

func FuzzApply(f *testing.F) {
	f.Add(groupKey("g"), []byte{0, 3, 0, 0})
	f.Add([]byte{0, 1, 0, 1, 'g', 0, 1, 't', 0, 0, 0, 0}, []byte{0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		found := contents{groups: map[string]group.Metadata{}, offsets: map[string]map[trace.KafkaPartition]group.Offset{}}
		found.apply(records.Record{Key: key, Value: value})
		found.apply(records.Record{Key: key})
	})
}
