import type { KafkaGroup, State } from '../trace/types';
import { own } from '../trace/reduce/maps';
import { byName, sortedEntries } from './order';

export interface GroupPartition {
  partition: string;
  /** undefined: nothing, so that nobody knows where the group will go on. */
  committed: number | undefined;
  end: number;
  /** What is not committed: all of it when nothing is. */
  lag: number;
}

export interface MemberCard {
  id: string;
  clientID: string;
  /** group.instance.id of a static member, else empty. */
  instanceID: string;
  /** "A", "B": what the member is called where there is no room for more; unique among all groups' members. */
  letter: string;
  /** Of all groups' members; picks the colour. */
  index: number;
  leader: boolean;
  /** While the group rebalances: its JoinGroup request is there. */
  joined: boolean;
  assigned: string[];
}

export interface GroupCard {
  group: string;
  coordinator: string;
  state: string;
  rebalancing: boolean;
  generation: number;
  strategy: string;
  members: MemberCard[];
  /** Clients that have a member id and have not joined with it. */
  pending: number;
  partitions: GroupPartition[];
  /** undefined: the group has committed nothing, which is not the same as having nothing left to read. */
  lag: number | undefined;
}

/** Who reads a partition in a group. */
export interface Reader {
  group: string;
  member: MemberCard;
}

export function groupCards(state: State): GroupCard[] {
  let index = 0;
  return sortedEntries(state.kafka.groups).map(([name, group]) => {
    const card = groupCard(state, name, group, index);
    index += card.members.length;
    return card;
  });
}

/** By "topic-partition". */
export function readersOf(groups: readonly GroupCard[]): Map<string, Reader[]> {
  const readers = new Map<string, Reader[]>();
  for (const { group, members } of groups) {
    for (const member of members) {
      for (const partition of member.assigned) {
        const known = readers.get(partition);
        if (known) known.push({ group, member });
        else readers.set(partition, [{ group, member }]);
      }
    }
  }
  return readers;
}

/** A to Z, then A2 to Z2. */
export function memberLetter(index: number): string {
  const letter = String.fromCharCode(65 + (index % 26));
  const round = Math.floor(index / 26);
  return round === 0 ? letter : `${letter}${round + 1}`;
}

function groupCard(state: State, name: string, group: KafkaGroup, firstIndex: number): GroupCard {
  const assigned = Object.values(group.members).flatMap((member) => member.assigned);
  const names = [...new Set([...Object.keys(group.offsets), ...assigned])].sort(byName);
  const partitions = names.map((partition) => {
    const end = partitionEnd(state, partition);
    const committed = own(group.offsets, partition);
    return { partition, committed, end, lag: Math.max(0, end - (committed ?? 0)) };
  });
  return {
    group: name,
    coordinator: group.coordinator > 0 ? `kafka-${group.coordinator}` : '',
    state: group.state,
    rebalancing: group.state.endsWith('Rebalance'),
    generation: group.generation,
    strategy: group.strategy,
    members: sortedEntries(group.members).map(([id, member], at) => ({
      id,
      clientID: member.clientID,
      instanceID: member.instanceID,
      letter: memberLetter(firstIndex + at),
      index: firstIndex + at,
      leader: id === group.leader,
      joined: member.joined,
      assigned: [...member.assigned].sort(byName),
    })),
    pending: group.pending,
    partitions,
    lag: partitions.every(({ committed }) => committed === undefined) ? undefined : partitions.reduce((sum, partition) => sum + partition.lag, 0),
  };
}

/** What consumers can read up to: the leader's high watermark. */
function partitionEnd(state: State, name: string): number {
  const dash = name.lastIndexOf('-');
  const topic = own(state.kafka.topics, name.slice(0, dash));
  const partition = topic && own(topic.partitions, name.slice(dash + 1));
  if (!partition) return 0;
  const leader = partition.logs[partition.leader];
  return leader ? leader.highWatermark : Math.max(0, ...Object.values(partition.logs).map((log) => log.highWatermark));
}
