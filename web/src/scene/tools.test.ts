import { expect, it } from 'vitest';
import { linkCommand } from './commands';
import { needsOf } from './tools';

it.each([
  ['kafka-topics.sh --bootstrap-server 127.0.0.1:9092 --list', ['needs.kafka']],
  ['seq 1 3 | kcat -b 127.0.0.1:9092 -P -t orders', ['needs.kcat']],
  ['zkCli.sh -server 127.0.0.1:2181 get /controller', ['needs.zookeeper']],
  ['bin/pulsar-admin --admin-url http://127.0.0.1:8080 topics list public/default', ['needs.pulsar']],
  ['bin/twinlog pulsar-client --url pulsar://127.0.0.1:6650 produce orders -m order', ['needs.twinlog']],
  ['bin/pulsar-daemon stop bookie\nbin/bookkeeper shell decommissionbookie -bookieid bookie-4', ['needs.pulsar', 'needs.bookkeeper']],
  [linkCommand('kafka-2', { cut: true, delayMS: 0, jitterMS: 0, bytesPerSecond: 0 }), ['needs.linux']],
  ["curl -X POST http://127.0.0.1:7700/api/v1/heal -d '{\"topic\":\"tc x\"}'", []],
])('tells where the programs of %s come from', (command, needs) => expect(needsOf(command)).toEqual(needs));
