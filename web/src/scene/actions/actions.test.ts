import { describe, expect, it } from 'vitest';
import { typed } from '../../trace/decode';
import { apply, emptyState } from '../../trace/reducer';
import { readLines } from '../../trace/run.fixture';
import type { WireRecord } from '../../trace/types';
import { sceneOf } from '../scene';
import { brokerList, configs, initialValues, type Action } from './action';
import { actionGroups, addressesOf, curl } from './groups';

const at = addressesOf([
  { role: 'kafka', addresses: { kafka: '127.0.0.1:9092' } },
  { role: 'pulsar', addresses: { http: '127.0.0.1:8080', pulsar: '127.0.0.1:6650' } },
]);

const state = emptyState();
for (const record of (readLines('classroom.jsonl.gz') as WireRecord[]).slice(0, 4700)) apply(state, typed(record));
const groups = actionGroups(sceneOf(state));
const actions = groups.flatMap(({ actions: all }) => all);
const action = (id: string): Action => actions.find((one) => one.id === id)!;
const send = (id: string, values: Record<string, string | number | boolean> = {}) => {
  const { fields, requests, command } = action(id);
  const all = { ...initialValues(fields), ...values };
  return { requests: requests(all), command: command(all, at) };
};

it('proposes the topic of the lab that is open', () => {
  const proposed = (id: string, topic: string) => initialValues(actionGroups(sceneOf(state), topic).flatMap(({ actions: all }) => all).find((one) => one.id === id)!.fields).topic;
  const other = sceneOf(state).kafka.topics.filter(({ internal }) => !internal).at(-1)!.topic;
  expect(proposed('kafka-change', other)).toBe(other);
  expect(proposed('kafka-create', 'readings')).toBe('readings');
  expect(proposed('kafka-change', 'not-there-yet')).toBe(initialValues(action('kafka-change').fields).topic);
});

describe('every action', () => {
  it.each(actions.map(({ id }) => id))('%s proposes values that can be sent, and a command for them', (id) => {
    const { requests, command } = send(id);
    if (id !== 'kafka-change') expect(requests.length, 'nothing would be sent').toBeGreaterThan(0);
    expect(JSON.stringify(requests)).not.toMatch(/undefined|NaN/);
    if (id !== 'kafka-change') expect(command).not.toBe('');
    expect(command).not.toMatch(/undefined|NaN|\[object/);
  });

  it('has a name of its own', () => expect(new Set(actions.map(({ id }) => id)).size).toBe(actions.length));
});

describe('an action', () => {
  it('moves a partition in the order that is typed', () => {
    const { requests, command } = send('kafka-reassign', { topic: 'demo', partition: 1, brokers: '3, 1' });
    expect(requests).toEqual([{ method: 'POST', path: 'kafka/reassignments', body: { topic: 'demo', partition: 1, replicas: [3, 1] } }]);
    expect(command).toContain('"replicas":[3,1]');
    expect(command).toContain('kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9092');
  });

  it('elects all partitions of a topic, by command as by button', () => {
    const { requests, command } = send('kafka-elect', { topic: 'demo' });
    expect(requests[0]!.body).toEqual({ topic: 'demo', type: 'preferred' });
    const named = JSON.parse(/'(.*)'/.exec(command)![1]!) as { partitions: { partition: number }[] };
    const { partitions } = sceneOf(state).kafka.topics.find(({ topic }) => topic === 'demo')!;
    expect(partitions).toBeGreaterThan(1);
    expect(named.partitions.map(({ partition }) => partition)).toEqual(Array.from({ length: partitions }, (_, partition) => partition));
  });

  it('carries out what it lets Kafka propose', () => {
    expect(send('kafka-balance', { topic: 'demo', brokers: '1, 2' }).command.split('\n').slice(1)).toEqual([
      expect.stringMatching(/--broker-list 1,2 --generate .*> move\.json$/),
      expect.stringMatching(/--reassignment-json-file move\.json --execute$/),
    ]);
  });

  it('sends nothing that makes no sense', () => {
    expect(send('kafka-reassign', { brokers: 'kafka-1' }).requests).toEqual([]);
    expect(send('kafka-create', { configs: 'min.insync.replicas' }).requests).toEqual([]);
    expect(send('kafka-change').requests).toEqual([]);
  });

  it("sets a group's offsets, of one partition only where an offset is told", () => {
    const all = send('kafka-offsets', { group: 'billing', topic: 'demo', to: 'latest', partition: 2, offset: 7 });
    expect(all.requests).toEqual([{ method: 'PUT', path: 'kafka/groups/billing/offsets', body: { topic: 'demo', to: 'latest' } }]);
    expect(all.command).toMatch(/--group billing --topic demo --reset-offsets --to-latest --execute$/);
    const one = send('kafka-offsets', { group: 'billing', topic: 'demo', to: 'offset', partition: 2, offset: 7 });
    expect(one.requests[0]!.body).toEqual({ topic: 'demo', to: 'offset', partition: 2, offset: 7 });
    expect(one.command).toMatch(/--topic demo:2 --reset-offsets --to-offset 7 --execute$/);
  });

  it("moves a subscription's cursor on all partitions of its topic", () => {
    const { fields } = action('pulsar-cursor');
    expect(JSON.stringify(fields[0])).not.toContain('-partition-');
    const { requests, command } = send('pulsar-cursor', { to: 'latest' });
    expect(requests[0]).toMatchObject({ method: 'PUT', path: 'pulsar/cursors', body: { to: 'latest' } });
    expect(command).toMatch(/topics clear-backlog persistent:\/\/\S+ -s \S+$/);
  });

  it('does the same to whoever serves the topic on either side', () => {
    const paths = send('both-fault', { action: 'pause' }).requests.map(({ path }) => path);
    expect(paths.length).toBe(2);
    expect(paths[0]).toMatch(/^nodes\/kafka-\d\/pause$/);
    expect(paths[1]).toMatch(/^nodes\/pulsar-\d\/pause$/);
  });

  it('asks for no consumer and no partitions with -1, as the API wants it', () => expect(send('traffic', { consumers: 0, partitions: 0 }).requests[0]!.body).toMatchObject({ consumers: -1, partitions: -1 }));

  it('can be sent from a shell', () =>
    expect(curl('http://h', [{ method: 'POST', path: 'nodes', body: { role: 'kafka' } }])).toBe(`curl -X POST 'http://h/api/v1/nodes' -H 'content-type: application/json' -d '{"role":"kafka"}'`));
});

describe('what is typed', () => {
  it.each([
    ['1, 2', [1, 2]],
    ['3 1', [3, 1]],
    ['1，2', [1, 2]],
    ['', undefined],
    ['1, x', undefined],
    ['0', undefined],
  ])('brokers %s', (typed, ids) => expect(brokerList(typed)).toEqual(ids));

  it.each([
    ['a=1, b=2', { a: '1', b: '2' }],
    ['', {}],
    ['a', undefined],
    ['=1', undefined],
    ['a=1=2', undefined],
  ])('configs %s', (typed, map) => expect(configs(typed)).toEqual(map));
});
