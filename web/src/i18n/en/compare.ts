import type { Forms } from '../message';

export const compare = {
  'chart.latency': 'Publish latency at the broker, ms',
  'chart.percentile': '{side} {share}',
  'chart.partitions': 'Partitions',
  'chart.ledgers': 'Ledgers',
  'chart.shares': 'Partitions led and bundles owned by each broker',

  'diff.title': 'What a fault led to, side by side',
  'diff.empty': 'Kill, stop or pause a node on either side: what followed stands here, second by second.',
  'diff.fault': 'Fault of {side}',
  'diff.after': '+{seconds} s',
  'diff.ledAgain': 'Every partition led again',
  'diff.servedAgain': 'Every topic served again',
  'diff.noChange': 'nothing had to change hands',
  'diff.noneYet': 'none of {count} yet',
  'diff.some': '{done} of {count} so far, the last {after}',
  'diff.bytes': 'Bytes between its nodes meanwhile',
  'diff.nothing': 'Nothing notable followed.',
  'diff.none': 'No node of this side has failed.',
} as const satisfies Record<string, string | Forms>;
