import type { Key } from '../i18n/message';

/** By the words that a command begins with or pipes into, where its program comes from. */
const ORIGINS: readonly [RegExp, Key][] = [
  [/\bkafka-[a-z-]+\.sh\b/, 'needs.kafka'],
  [/\bzk(Cli|Server)\.sh\b/, 'needs.zookeeper'],
  [/(?<!twinlog )\bpulsar-(admin|perf|client|daemon)\b/, 'needs.pulsar'],
  [/\bbin\/twinlog\b/, 'needs.twinlog'],
  [/\bbookkeeper (shell|org)/, 'needs.bookkeeper'],
  [/\bkcat\b/, 'needs.kcat'],
  [/(^|[|;] ?|\n)(iptables|tc|dmsetup|fallocate) /, 'needs.linux'],
];

/** What has to be there for a command to run, besides a shell: where its programs come from. */
export function needsOf(command: string): Key[] {
  return ORIGINS.filter(([program]) => program.test(command)).map(([, key]) => key);
}
