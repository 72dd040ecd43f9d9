import type { Key, Text } from '../i18n/message';

/** What engine/dissect says of values in words of its own, rather than in a protocol's. */
const WORDS: Readonly<Record<string, Key>> = {
  'all in-sync replicas': 'meaning.allInSync',
  'no answer': 'meaning.noAnswer',
  'the leader alone': 'meaning.leaderAlone',
  'a consumer': 'meaning.consumer',
  'no fetch session': 'meaning.noFetchSession',
  'begin a fetch session': 'meaning.beginFetchSession',
  'an error that is not known': 'meaning.unknownError',
  'no compression': 'meaning.noCompression',
  'create time': 'meaning.createTime',
  'log append time': 'meaning.logAppendTime',
  transactional: 'meaning.transactional',
  control: 'meaning.control',
  'not idempotent': 'meaning.notIdempotent',
  'cut off': 'meaning.cutOff',
  'the batch is cut off, or shorter than its header': 'meaning.batchCutOff',
  'CRC-32C of the bytes from Attributes on: good': 'meaning.crcFromAttributes',
  'CRC-32C of all that follows': 'meaning.crcOfRest',
  'CRC-32C of all that follows: good': 'meaning.crcOfRestGood',
  'CRC-32C of all that follows, of which only the beginning is here': 'meaning.crcOfRestCut',
  'a checksum follows': 'meaning.checksumFollows',
  'of the fields before and the payload': 'meaning.digestOf',
  'compressed or encrypted': 'meaning.compressedOrEncrypted',
  'nothing confirmed yet': 'meaning.nothingConfirmed',
  "the ledger's master key": 'meaning.masterKey',
  'the ledger is fenced': 'meaning.ledgerFenced',
  'the last add confirmed, as the writer stored it': 'meaning.lastAddConfirmed',
  'a Raft message': 'meaning.raftMessage',
  'a Raft message that begins a snapshot': 'meaning.raftSnapshot',
  'a command': 'meaning.command',
  'a change of the members': 'meaning.memberChange',
  'no ephemeral': 'meaning.noEphemeral',
  persistent: 'meaning.persistent',
  ephemeral: 'meaning.ephemeral',
  'persistent sequential': 'meaning.persistentSequential',
  'ephemeral sequential': 'meaning.ephemeralSequential',
  'whatever it is': 'meaning.anyVersion',
  'a watch fired': 'meaning.watchFired',
  'set watches again': 'meaning.setWatchesAgain',
};

const PATTERNS: readonly [RegExp, Key][] = [
  [/^does not match the bytes from Attributes on: CRC-32C (?<crc>\S+)$/, 'meaning.crcFromAttributesBad'],
  [/^does not match the bytes after it: CRC-32C (?<crc>\S+)$/, 'meaning.crcOfRestBad'],
  [/^the first (?<count>\d+) records$/, 'meaning.firstRecords'],
];

/** A field's meaning, to be told in the reader's language; the protocols' own words stay as they are. */
export function meaningText(meaning: string): (string | Text)[] {
  for (const [pattern, key] of PATTERNS) {
    const found = pattern.exec(meaning)?.groups;
    if (found) return [{ key, params: 'count' in found ? { count: Number(found.count) } : { ...found } }];
  }
  const whole = WORDS[meaning];
  if (whole) return [{ key: whole }];
  // A batch's attributes are several: "snappy, create time".
  return meaning.split(', ').map((part) => (Object.hasOwn(WORDS, part) ? { key: WORDS[part]! } : part));
}
