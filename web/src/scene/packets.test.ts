import { describe, expect, it } from 'vitest';
import { typed } from '../trace/decode';
import { Flights, type Flight, type Route } from '../trace/flights';
import type { Message, WireRecord } from '../trace/types';
import { flowOf, PacketPool, packetsAt, progressAt } from './packets';

function message(change: Partial<Message> = {}): Message {
  const exchange = { connection: 'a>b', correlation: 1, response: false };
  return { exchange, from: 'kafka-1', to: 'kafka-2', protocol: 'kafka', name: 'Fetch', bytes: 1, subject: 'orders-0', offset: 0, count: 1, ...change };
}

function record(kind: 'message.sent' | 'message.received', atMS: number, data: Message, n = 1): ReturnType<typeof typed> {
  return typed({ n, run: 'r', node: 'x', seq: n, at: new Date(atMS).toISOString(), kind, data } as WireRecord);
}

function route(change: Partial<Route> = {}): Route {
  const { from, to, protocol, name, subject } = message();
  return { from, to, protocol, name, subject, response: false, ...change };
}

function flight(change: Partial<Flight>): Flight {
  return { n: 1, route: route(), weight: 1, time: 1000, sent: 1000, received: 1001, ...change };
}

describe('joining what was sent with what was received', () => {
  it('makes one flight of both records', () => {
    const flights = new Flights();
    flights.take(record('message.sent', 1000, message(), 1));
    flights.take(record('message.received', 1040, message(), 2));
    expect(flights.all).toMatchObject([{ n: 1, sent: 1000, received: 1040 }]);
  });

  it('does not take a response for its request, nor one connection for another', () => {
    const flights = new Flights();
    flights.take(record('message.sent', 1000, message(), 1));
    flights.take(record('message.received', 1010, message({ exchange: { connection: 'a>b', correlation: 1, response: true } }), 2));
    flights.take(record('message.received', 1010, message({ exchange: { connection: 'a>c', correlation: 1, response: false } }), 3));
    expect(flights.all.length).toBe(3);
  });

  const numbered = (correlation: number, folded?: number) => message({ exchange: { connection: 'a>b', correlation, response: false }, folded });

  it('knows by a later receipt on the same stream that what was sent before has arrived, when both ends fold differently', () => {
    const flights = new Flights();
    flights.take(record('message.sent', 1000, numbered(3), 1));
    flights.take(record('message.sent', 1010, numbered(8, 5), 2));
    flights.take(record('message.sent', 1030, numbered(9), 3));
    flights.take(record('message.received', 1020, numbered(6, 6), 4));
    expect(flights.all.map(({ received }) => received)).toEqual([1020, undefined, undefined]);
    flights.take(record('message.received', 1040, numbered(9, 3), 5));
    expect(flights.all.map(({ received }) => received)).toEqual([1020, 1040, 1040]);
  });

  it('does not draw what was folded at the receiver a second time', () => {
    const flights = new Flights();
    flights.take(record('message.received', 1000, numbered(6, 6), 1));
    expect(flights.all.length).toBe(0);
    flights.take(record('message.received', 1000, { ...numbered(6, 6), from: 'client' }, 2));
    expect(flights.all.length).toBe(1);
  });

  it('forgets what lies before a record', () => {
    const flights = new Flights();
    for (let n = 1; n <= 5; n++) flights.take(record('message.sent', 1000 + n, message({ exchange: { connection: 'a>b', correlation: n, response: false } }), n));
    flights.forget(4);
    expect(flights.all.map(({ n }) => n)).toEqual([4, 5]);
  });

  it('finds whatever is on its way, of however many there were', () => {
    const flights = new Flights();
    const late = new Map<number, { receive: number; sent: Message }>();
    let random = 7;
    const dice = (sides: number) => (random = (random * 48271) % 0x7fffffff) % sides;
    let n = 0;
    for (let time = 0; time < 20_000; time += 5) {
      const correlation = time;
      const exchange = { connection: `link ${dice(40)}`, correlation, response: false };
      const to = dice(4) === 0 ? 'client' : 'kafka-2';
      const sent = message({ exchange, to });
      flights.take(record('message.sent', time, sent, ++n));
      const takes = [1, 30, 700, 3900, Infinity][dice(5)]!;
      if (to !== 'client' && takes < Infinity) late.set(++n, { receive: time + takes, sent });
      for (const [at, { receive, sent: of }] of late) {
        if (receive > time) continue;
        late.delete(at);
        flights.take(record('message.received', time, of, ++n));
      }
      if (time === 12_000) flights.forget(flights.all.find((one) => one.time >= 4000)!.n);
    }
    const options = { minFlight: 500, limit: Infinity };
    for (let time = 9_000; time < 20_000; time += 333) {
      const expected = packetsAt(flights.all, time, options);
      expect(expected.packets.length).toBeGreaterThan(50);
      expect(packetsAt(flights.around(time, 500), time, options), `at ${time}`).toEqual(expected);
      expect(flights.around(time, 500).length, `at ${time}`).toBeLessThan(1000);
    }
  });
});

describe('where a message is', () => {
  it('arrives at the instant of its receipt and takes at least the shortest flight', () => {
    const quick = flight({ sent: 1000, received: 1000.2 });
    expect(progressAt(quick, 500, 500)).toBeUndefined();
    expect(progressAt(quick, 750.2, 500)).toBeCloseTo(0.5);
    expect(progressAt(quick, 1000.19, 500)).toBeGreaterThan(0.99);
    expect(progressAt(quick, 1000.2, 500)).toBeUndefined();
  });

  it('takes as long as it took when that is longer', () => {
    const slow = flight({ sent: 1000, received: 3000 });
    expect(progressAt(slow, 999, 500)).toBeUndefined();
    expect(progressAt(slow, 2000, 500)).toBeCloseTo(0.5);
  });

  it('hangs before half way while nobody has received it, and is given up in the end', () => {
    const stuck = flight({ received: undefined });
    expect(progressAt(stuck, 1500, 500)).toBeGreaterThan(0.25);
    expect(progressAt(stuck, 4900, 500)).toBeLessThan(0.5);
    expect(progressAt(stuck, 5001, 500)).toBeUndefined();
    const { packets } = packetsAt([stuck], 2000, { minFlight: 500, limit: 10 });
    expect(packets[0]!.stalled).toBe(true);
  });

  it('lets a client outside receive what it cannot record', () => {
    const toClient = flight({ route: route({ to: 'client' }), received: undefined });
    expect(progressAt(toClient, 1250, 500)).toBeCloseTo(0.5);
    expect(packetsAt([toClient], 1250, { minFlight: 500, limit: 10 }).packets[0]!.stalled).toBe(false);
  });
});

describe('packets', () => {
  it('go between the replicas that they are about, and between a client and its leader', () => {
    const scene = packetsAt(
      [flight({}), flight({ route: route({ from: 'client', name: 'Produce' }) }), flight({ route: route({ to: 'client', protocol: 'pulsar', name: 'MESSAGE' }) })],
      1000.5,
      { minFlight: 500, limit: 10 },
    );
    expect(scene.packets.map(({ from, to }) => [from, to])).toEqual([
      [['kafka-1/orders-0', 'kafka-1'], ['kafka-2/orders-0', 'kafka-2']],
      [['producers/kafka'], ['kafka-2/orders-0', 'kafka-2']],
      [['kafka-1/orders-0', 'kafka-1'], ['consumers/pulsar']],
    ]);
  });

  it('are bounded, and what is not drawn is counted', () => {
    const many = Array.from({ length: 3000 }, (_, index) => flight({ n: index, route: route(index % 2 ? {} : { from: 'client', name: 'Produce' }) }));
    const at = (time: number) => packetsAt(many, time, { minFlight: 500, limit: 1000 });
    const { packets, surplus, counts } = at(1000);
    expect(packets.length).toBeLessThanOrEqual(1000);
    expect(packets.length).toBeGreaterThan(900);
    expect(packets.length + surplus).toBe(3000);
    expect(counts).toMatchObject({ write: 1500, replicate: 1500 });
    const writes = packets.filter(({ flow }) => flow === 'write').length;
    expect(writes, 'every flow has its share').toBeGreaterThan(400);
    expect(writes).toBeLessThan(600);
    const pool = new PacketPool();
    const again = [1000, 1000.5, 1000].map((time) => packetsAt(many, time, { minFlight: 500, limit: 1000 }, pool).packets);
    expect(again.at(-1), 'a pool that was used before').toEqual(packets);
    expect(at(1000.5).packets.map(({ n }) => n), 'the same ones from frame to frame').toEqual(packets.map(({ n }) => n));
  });

  it('of a hidden flow are left out', () => {
    const scene = packetsAt([flight({})], 1000, { minFlight: 500, limit: 20, hidden: new Set(['replicate']) });
    expect(scene.packets).toEqual([]);
  });

  it('count for as many messages as were folded into them', () => {
    const scene = packetsAt([flight({ weight: 12 })], 1000, { minFlight: 500, limit: 20 });
    expect(scene.counts.replicate).toBe(12);
  });
});

it.each([
  [{ name: 'Produce', from: 'client' }, 'write'],
  [{ name: 'Fetch', from: 'client' }, 'read'],
  [{ name: 'Fetch' }, 'replicate'],
  [{ name: 'LeaderAndIsr' }, 'coordinate'],
  [{ protocol: 'pulsar', name: 'SEND', from: 'client' }, 'write'],
  [{ protocol: 'pulsar', name: 'MESSAGE', to: 'client' }, 'read'],
  [{ protocol: 'pulsar', name: 'LOOKUP', from: 'client' }, 'coordinate'],
  [{ protocol: 'bookkeeper', name: 'ADD_ENTRY' }, 'replicate'],
  [{ protocol: 'bookkeeper', name: 'READ_ENTRY' }, 'read'],
  [{ protocol: 'zookeeper', name: 'create' }, 'coordinate'],
  [{ protocol: 'raft', name: 'AppendEntries' }, 'consensus'],
] as const)('%o is %s', (change, flow) => expect(flowOf(message(change))).toBe(flow));
