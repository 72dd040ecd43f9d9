import type { Text } from '../i18n/message';
import type { TypedRecord } from '../trace/types';

type Vote = Extract<TypedRecord, { kind: 'ensemble.voteCast' }>;
type Message = Extract<TypedRecord, { kind: 'message.sent' }>;

/** "term 3: refused", as the ensemble's servers say of their votes; a request has no answer. */
const SUBJECT = /^term (\d+)(?:: (\w+))?$/;

/**
 * An election of the ensemble in sentences: who asks whom for a vote, who gives it or not. Before a term begins, a server asks whether it would
 * be elected in it (pre-vote), so that one that is cut off does not begin term after term.
 */
export function tellVote(record: TypedRecord): Text | undefined {
  switch (record.kind) {
    case 'ensemble.voteCast':
      return cast(record);
    case 'message.sent':
      return record.data.protocol === 'raft' ? said(record) : undefined;
    case 'ensemble.roleChanged':
      return record.data.role === 'candidate' ? { key: 'story.leaderMissed', params: { node: record.node } } : undefined;
    default:
      return undefined;
  }
}

function cast({ node, data }: Vote): Text {
  const params = { node, term: String(data.term) };
  return data.for === node ? { key: 'story.votedForItself', params } : { key: 'story.voted', params: { ...params, candidate: data.for } };
}

function said({ data: { from, to, name, subject } }: Message): Text | undefined {
  const [, term = '', answer] = SUBJECT.exec(subject ?? '') ?? [];
  switch (name) {
    case 'PreVote':
      return { key: 'story.preVoteAsked', params: { node: from, voter: to, term } };
    case 'PreVoteResponse':
      return { key: answer === 'granted' ? 'story.preVoteGranted' : 'story.preVoteRefused', params: { node: from, candidate: to, term } };
    case 'RequestVote':
      return { key: 'story.voteAsked', params: { node: from, voter: to, term } };
    case 'RequestVoteResponse':
      return answer === 'granted' ? undefined : { key: 'story.voteRefused', params: { node: from, candidate: to, term } }; // a vote given is told as cast
    default:
      return undefined;
  }
}

/** What was told of an election last: a server that hears no answer asks the same again and again. */
export class VotesTold {
  /** By who speaks to whom of what, the term. */
  private readonly told = new Map<string, string>();
  /** By server, its own number of the record of its last vote. */
  private readonly voted = new Map<string, number>();

  /** Notes a record of an election; true when it says what was told before. */
  repeats(record: TypedRecord): boolean {
    switch (record.kind) {
      case 'ensemble.voteCast':
        this.voted.set(record.node, record.seq);
        return false;
      case 'ensemble.roleChanged':
        if (record.data.role === 'leader') this.told.clear(); // the election is over
        // It is a candidate because it has just voted for itself, which was told, or it misses its leader still.
        return record.data.role === 'candidate' && (this.voted.get(record.node) === record.seq - 1 || this.same(`${record.node} misses`, String(record.data.term)));
      case 'message.sent': {
        const { protocol, from, to, name, subject = '' } = record.data;
        return protocol === 'raft' && name.includes('Vote') && this.same(`${from} ${to} ${name}`, subject);
      }
      default:
        return false;
    }
  }

  clear(): void {
    this.told.clear();
    this.voted.clear();
  }

  private same(key: string, said: string): boolean {
    if (this.told.get(key) === said) return true;
    this.told.set(key, said);
    return false;
  }
}
