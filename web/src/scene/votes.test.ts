import { describe, expect, it } from 'vitest';
import { format } from '../i18n/message';
import { en } from '../i18n/en';
import { emptyState } from '../trace/reducer';
import type { TypedRecord } from '../trace/types';
import { Story } from './story';

/** Tells the story of records that are given by node, kind and data; each node numbers its own. */
function told(lines: [node: string, kind: string, data: object][]): string[] {
  const story = new Story();
  const seqs = new Map<string, number>();
  lines.forEach(([node, kind, data], index) => {
    const seq = (seqs.get(node) ?? 0) + 1;
    seqs.set(node, seq);
    story.take({ n: index + 1, node, seq, time: index, kind, data } as unknown as TypedRecord, emptyState());
  });
  return story.all.map(({ text, moment, side }) => {
    expect([moment, side]).toEqual(['election', 'ensemble']);
    return format(en, 'en', text.key, text.params);
  });
}

const role = (node: string, term: number, is: string, leader = ''): [string, string, object] => [node, 'ensemble.roleChanged', { term, role: is, leader }];
const vote = (node: string, term: number, candidate: string): [string, string, object] => [node, 'ensemble.voteCast', { term, for: candidate }];
const sent = (from: string, to: string, name: string, subject: string): [string, string, object] => [from, 'message.sent', { from, to, protocol: 'raft', name, subject, exchange: {} }];

describe('an election of the ensemble in the story', () => {
  it('tells a split vote: who asks, who would vote, who votes for whom in which term', () => {
    const lines = [
      role('ensemble-2', 2, 'follower'),
      role('ensemble-2', 2, 'candidate'),
      sent('ensemble-2', 'ensemble-3', 'PreVote', 'term 3'),
      role('ensemble-3', 2, 'candidate'),
      sent('ensemble-3', 'ensemble-2', 'PreVote', 'term 3'),
      sent('ensemble-2', 'ensemble-3', 'PreVote', 'term 3'), // they try again, and again
      sent('ensemble-3', 'ensemble-2', 'PreVote', 'term 3'),
      sent('ensemble-2', 'ensemble-3', 'PreVoteResponse', 'term 3: granted'),
      vote('ensemble-3', 3, 'ensemble-3'),
      role('ensemble-3', 3, 'candidate'),
      sent('ensemble-3', 'ensemble-2', 'RequestVote', 'term 3'),
      vote('ensemble-2', 3, 'ensemble-3'),
      sent('ensemble-2', 'ensemble-3', 'RequestVoteResponse', 'term 3: granted'),
      role('ensemble-3', 3, 'leader', 'ensemble-3'),
      role('ensemble-1', 2, 'candidate'),
      sent('ensemble-1', 'ensemble-2', 'PreVote', 'term 3'),
      sent('ensemble-2', 'ensemble-1', 'PreVoteResponse', 'term 3: refused'),
      sent('ensemble-3', 'ensemble-2', 'AppendEntries', 'term 3'),
    ];
    expect(told(lines)).toEqual([
      'ensemble-2 hears from no leader and would like to be elected.',
      'ensemble-2 asks ensemble-3 whether it would vote for it in term 3.',
      'ensemble-3 hears from no leader and would like to be elected.',
      'ensemble-3 asks ensemble-2 whether it would vote for it in term 3.',
      'ensemble-2 would vote for ensemble-3 in term 3.',
      'ensemble-3 begins term 3 and votes for itself.',
      'ensemble-3 asks ensemble-2 for its vote of term 3.',
      'ensemble-2 votes for ensemble-3 in term 3.',
      'ensemble-3 leads the ensemble in term 3.',
      'ensemble-1 hears from no leader and would like to be elected.',
      'ensemble-1 asks ensemble-2 whether it would vote for it in term 3.',
      'ensemble-2 would not vote for ensemble-1 in term 3.',
    ]);
  });

  it('tells that a vote is refused', () => {
    expect(told([sent('ensemble-1', 'ensemble-2', 'RequestVoteResponse', 'term 4: refused')])).toEqual(['ensemble-1 refuses ensemble-2 its vote of term 4.']);
  });

  it('tells again that a former leader wants to be elected, in the term that it won before', () => {
    const lines = [vote('ensemble-1', 2, 'ensemble-1'), role('ensemble-1', 2, 'candidate'), role('ensemble-1', 2, 'leader', 'ensemble-1'), role('ensemble-1', 2, 'candidate')];
    expect(told(lines).at(-1)).toBe('ensemble-1 hears from no leader and would like to be elected.');
  });
});
