import { describe, expect, it } from 'vitest';
import { en } from '../i18n/en';
import { format } from '../i18n/message';
import { typed } from '../trace/decode';
import { apply, emptyState } from '../trace/reducer';
import { craftedRecords, readLines } from '../trace/run.fixture';
import type { EventData, Kind, WireRecord } from '../trace/types';
import { Invariants, type InvariantName, type Light } from './invariants';

/** Plays records, each a kind, a node, its data and the seconds at which it is; what follows from them is told. */
class Run {
  readonly invariants = new Invariants();
  private readonly state = emptyState();
  private n = 0;

  constructor() {
    this.invariants.begin(this.state);
    for (const id of [1, 2, 3]) this.at(0, `kafka-${id}`, 'node.started', { role: 'kafka', id, addresses: {} });
    this.at(0, 'ensemble-1', 'ensemble.znodeCreated', { path: '/controller', mode: 'ephemeral', session: '0x1', data: '', bytes: 0, zxid: 1 });
  }

  at<K extends Kind>(seconds: number, node: string, kind: K, data: EventData[K]): this {
    const at = new Date(Date.UTC(2026, 2, 2) + seconds * 1000).toISOString();
    const record = typed({ n: ++this.n, run: 'r', node, seq: this.n, at, kind, data } as unknown as WireRecord);
    apply(this.state, record);
    this.invariants.take(record, this.state);
    return this;
  }

  light(name: InvariantName, n = this.n): Light {
    return this.invariants.at(n).find(({ invariant }) => invariant === name)!;
  }

  told(name: InvariantName): string {
    const { verdict, findings } = this.light(name);
    return [verdict, ...findings.map(({ text }) => format(en, 'en', text.key, text.params))].join('; ');
  }
}

const orders = { topic: 'orders', partition: 0 };

/** orders-0 on three brokers, led by kafka-1. */
function withOrders(): Run {
  const run = new Run();
  run.at(0, 'kafka-1', 'kafka.partitionStateChanged', { ...orders, leader: 1, leaderEpoch: 0, isr: [1, 2, 3], replicas: [1, 2, 3], partitionEpoch: 0, controllerEpoch: 1, reason: 'created' });
  for (const id of [1, 2, 3]) {
    run.at(0, `kafka-${id}`, 'kafka.replicaRoleChanged', { ...orders, role: id === 1 ? 'leader' : 'follower', leader: 1, leaderEpoch: 0, leo: 0, highWatermark: 0, logStart: 0 });
  }
  return run.at(1, 'kafka-1', 'kafka.appended', { ...orders, role: 'leader', baseOffset: 0, leo: 10, bytes: 100, records: 10 });
}

const fetched = (replica: number, leo: number) => ({ ...orders, replica, leo });
const appended = (leo: number) => ({ ...orders, role: 'follower', baseOffset: 0, leo, bytes: 100, records: leo });
const acknowledged = (acks: number) => ({ ...orders, acks, baseOffset: 0, lastOffset: 9, folded: 10 });
const leads = (leo: number, leaderEpoch: number, highWatermark = leo) => ({ ...orders, role: 'leader', leader: 2, leaderEpoch, leo, highWatermark, logStart: 0 });

describe('acknowledged with acks=all is on every member of the ISR', () => {
  it('holds when each follower’s log or fetch proves it, even after the acknowledgement', () => {
    const run = withOrders().at(1, 'kafka-1', 'kafka.followerFetched', fetched(2, 10)).at(1, 'kafka-1', 'kafka.acknowledged', acknowledged(-1));
    run.at(1.2, 'kafka-3', 'kafka.appended', appended(10)).at(9, 'kafka-1', 'node.ready', {});
    expect(run.told('isr')).toBe('holds');
  });

  it('is broken when no record of a member ever reaches it', () => {
    const run = withOrders().at(1, 'kafka-1', 'kafka.followerFetched', fetched(2, 10)).at(1, 'kafka-1', 'kafka.acknowledged', acknowledged(-1));
    expect(run.told('isr'), 'its records may still come').toBe('idle');
    run.at(2, 'kafka-3', 'kafka.appended', appended(9)).at(9, 'kafka-1', 'node.ready', {});
    expect(run.told('isr')).toBe('broken; kafka-3 is in the ISR of orders-0 without the record at offset 9, which was acknowledged with acks=all.');
  });

  it('cannot be told when the records that would prove it were dropped, or the member was down', () => {
    const run = withOrders().at(1, 'kafka-1', 'kafka.acknowledged', acknowledged(-1));
    run.at(2, 'kafka-2', 'trace.recordsDropped', { count: 5 }).at(2, 'kafka-3', 'node.stopped', { reason: 'killed' }).at(9, 'kafka-1', 'node.ready', {});
    expect(run.light('isr').verdict).toBe('unknown');
    expect(run.told('isr')).toContain('5 records of kafka-2 are missing.');
  });

  it('says nothing of acks=1, nor of brokers that are not in the ISR', () => {
    expect(withOrders().at(1, 'kafka-1', 'kafka.acknowledged', acknowledged(1)).at(9, 'kafka-1', 'node.ready', {}).told('isr')).toBe('idle');
    const run = withOrders().at(1, 'kafka-1', 'kafka.isrChanged', { ...orders, isr: [1], removed: [2, 3], partitionEpoch: 1 });
    expect(run.at(1, 'kafka-1', 'kafka.acknowledged', acknowledged(-1)).at(9, 'kafka-1', 'node.ready', {}).told('isr')).toBe('holds');
  });

  it('is broken by a leader that is without it, once', () => {
    const run = withOrders();
    for (const id of [2, 3]) run.at(1, 'kafka-1', 'kafka.followerFetched', fetched(id, 10));
    run.at(1, 'kafka-1', 'kafka.acknowledged', acknowledged(-1)).at(5, 'kafka-2', 'kafka.replicaRoleChanged', leads(4, 1));
    run.at(6, 'kafka-2', 'kafka.replicaRoleChanged', leads(4, 2));
    expect(run.told('isr')).toBe('broken; kafka-2 leads orders-0 with a log that ends at 4: records up to offset 9 were acknowledged with acks=all and are lost.');
  });

  it('is broken by a member of the ISR that cuts it off, not by a replica outside', () => {
    const cut = { ...orders, from: 10, to: 7, leaderEpoch: 1 };
    const acked = () => {
      const run = withOrders();
      for (const id of [2, 3]) run.at(1, 'kafka-1', 'kafka.followerFetched', fetched(id, 10));
      return run.at(1, 'kafka-1', 'kafka.acknowledged', acknowledged(-1));
    };
    expect(acked().at(2, 'kafka-3', 'kafka.truncated', cut).light('isr').verdict).toBe('broken');
    const outside = acked().at(2, 'kafka-1', 'kafka.isrChanged', { ...orders, isr: [1, 2], removed: [3], partitionEpoch: 1 });
    expect(outside.at(3, 'kafka-3', 'kafka.truncated', cut).light('isr').verdict).toBe('holds');
  });

  it('is told of the instant: before the breach the light is not red', () => {
    const run = withOrders().at(1, 'kafka-1', 'kafka.acknowledged', acknowledged(-1)).at(9, 'kafka-1', 'node.ready', {});
    const { n } = run.light('isr').findings[0]!;
    expect(run.light('isr', n - 1).verdict).toBe('idle');
  });
});

describe('a leader’s high watermark', () => {
  const reached = (highWatermark: number, role = 'leader') => ({ ...orders, role, highWatermark });

  it('may go back with another leadership, and a follower’s does not matter', () => {
    const run = withOrders().at(1, 'kafka-1', 'kafka.highWatermarkAdvanced', reached(9)).at(2, 'kafka-2', 'kafka.replicaRoleChanged', leads(9, 1, 5));
    run.at(2, 'kafka-2', 'kafka.highWatermarkAdvanced', reached(6)).at(3, 'kafka-1', 'kafka.highWatermarkAdvanced', reached(6, 'follower'));
    expect(run.told('highWatermark')).toBe('holds');
  });

  it('is broken when it goes back under one leadership', () => {
    const run = withOrders().at(1, 'kafka-1', 'kafka.highWatermarkAdvanced', reached(9)).at(2, 'kafka-1', 'kafka.highWatermarkAdvanced', reached(8));
    expect(run.told('highWatermark')).toBe('broken; kafka-1 leads orders-0 and its high watermark went back from 9 to 8.');
  });

  it('cannot be told when another leadership may be among dropped records', () => {
    const run = withOrders().at(1, 'kafka-1', 'kafka.highWatermarkAdvanced', reached(9)).at(2, 'kafka-1', 'trace.recordsDropped', { count: 1 });
    expect(run.at(3, 'kafka-1', 'kafka.highWatermarkAdvanced', reached(8)).told('highWatermark')).toBe('unknown; 1 record of kafka-1 is missing.');
  });
});

describe('one controller an epoch', () => {
  it('holds over elections, and is broken by two of one epoch', () => {
    const run = new Run().at(1, 'kafka-1', 'kafka.controllerElected', { broker: 1, epoch: 1 }).at(2, 'kafka-2', 'kafka.controllerElected', { broker: 2, epoch: 2 });
    expect(run.told('controller')).toBe('holds');
    expect(run.at(3, 'kafka-3', 'kafka.controllerElected', { broker: 3, epoch: 2 }).told('controller')).toBe('broken; kafka-2 and kafka-3 were both elected controller of epoch 2.');
  });
});

describe('one owner a bundle', () => {
  const bundle = { namespace: 'public/default', bundle: '0x00000000_0x40000000' };
  const gone = { path: '/namespace/public/default/0x00000000_0x40000000', session: '0x5', zxid: 9 };
  const two = () => new Run().at(1, 'pulsar-1', 'pulsar.bundleOwned', bundle).at(5, 'pulsar-2', 'pulsar.bundleOwned', bundle);

  it('holds when the old owner’s loss is recorded, before or a little after the new owner', () => {
    const before = new Run().at(1, 'pulsar-1', 'pulsar.bundleOwned', bundle).at(4, 'ensemble-1', 'ensemble.znodeDeleted', gone).at(5, 'pulsar-2', 'pulsar.bundleOwned', bundle);
    expect(before.at(20, 'kafka-1', 'node.ready', {}).told('owner')).toBe('holds');
    expect(two().at(5.2, 'ensemble-2', 'ensemble.znodeDeleted', gone).at(20, 'kafka-1', 'node.ready', {}).told('owner')).toBe('holds');
    expect(two().at(5.2, 'pulsar-1', 'pulsar.bundleReleased', { ...bundle, reason: 'unload' }).at(20, 'kafka-1', 'node.ready', {}).told('owner')).toBe('holds');
  });

  it('is broken when nothing says that the old owner lost it', () => {
    expect(two().at(20, 'kafka-1', 'node.ready', {}).told('owner')).toBe('broken; pulsar-1 and pulsar-2 own bundle public/default/0x00000000_0x40000000 at the same time.');
  });

  it('is not explained by the repetition of an older loss', () => {
    const run = new Run().at(1, 'ensemble-1', 'ensemble.znodeDeleted', gone).at(1, 'pulsar-1', 'pulsar.bundleOwned', bundle).at(2, 'ensemble-2', 'ensemble.znodeDeleted', gone);
    expect(run.at(5, 'pulsar-2', 'pulsar.bundleOwned', bundle).at(20, 'kafka-1', 'node.ready', {}).light('owner').verdict).toBe('broken');
  });

  it('cannot be told when records were dropped', () => {
    expect(two().at(6, 'ensemble-1', 'trace.recordsDropped', { count: 3 }).at(20, 'kafka-1', 'node.ready', {}).light('owner').verdict).toBe('unknown');
  });
});

describe('a fenced ledger', () => {
  const stored = (recovery?: boolean) => ({ ledger: 7, entry: 4, bytes: 10, ...(recovery ? { recovery } : {}) });

  it('takes the adds of its recovery and no other, at the bookies that have fenced it', () => {
    const run = new Run().at(1, 'bookie-1', 'bookkeeper.entryStored', stored()).at(2, 'bookie-1', 'bookkeeper.ledgerFenced', { ledger: 7 });
    run.at(3, 'bookie-1', 'bookkeeper.entryStored', stored(true)).at(3, 'bookie-2', 'bookkeeper.entryStored', stored());
    expect(run.told('fence')).toBe('holds');
    expect(run.at(4, 'bookie-1', 'bookkeeper.entryStored', stored()).told('fence')).toBe('broken; bookie-1 stored entry 4 of ledger 7 after it had fenced the ledger.');
  });

  it('has all that its writer was told is confirmed, whichever record comes first', () => {
    const confirmed = { ledger: 7, lastAddConfirmed: 12, folded: 5 };
    const closed = { ledger: 7, lastEntry: 10, length: 100, recovered: true };
    const broken = 'broken; Ledger 7 was closed at entry 10, but entry 12 was confirmed to its writer.';
    expect(new Run().at(1, 'pulsar-1', 'bookkeeper.lastAddConfirmedAdvanced', confirmed).at(2, 'pulsar-2', 'bookkeeper.ledgerClosed', closed).told('fence')).toBe(broken);
    expect(new Run().at(1, 'pulsar-2', 'bookkeeper.ledgerClosed', closed).at(2, 'pulsar-1', 'bookkeeper.lastAddConfirmedAdvanced', confirmed).told('fence')).toBe(broken);
  });
});

describe('the recorded runs', () => {
  const recorded = (readLines('classroom.jsonl.gz') as Omit<WireRecord, 'n'>[]).map((record, index) => ({ ...record, n: index + 1 }) as WireRecord);

  it.each([['crafted', craftedRecords()], ['classroom', recorded]] as const)('%s breaks nothing', (_, records) => {
    const invariants = new Invariants();
    const state = emptyState();
    invariants.begin(state);
    for (const record of records.map(typed)) {
      apply(state, record);
      // The run was recorded before an add told whether it is a recovery's; while a ledger is recovered, all of them are.
      if (record.kind === 'bookkeeper.entryStored' && state.pulsar.ledgers[record.data.ledger]?.state === 'recovering') record.data.recovery = true;
      invariants.take(record, state);
    }
    const broken = invariants.at(records.length).filter(({ verdict }) => verdict === 'broken');
    expect(broken.flatMap(({ findings }) => findings.map(({ n, text }) => `${n} ${format(en, 'en', text.key, text.params)}`))).toEqual([]);
  });
});
