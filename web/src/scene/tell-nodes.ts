import { saidText } from '../i18n/said';
import type { State, TypedRecord } from '../trace/types';
import type { Sentence, Told } from './story';

/** The sentence of what was done to a node, to a link or to a disk, and of what became of it. */
export function tellNode(record: TypedRecord, state: State): Told {
  const { node } = record;
  const side = sideOf(state.nodes[node]?.role);
  switch (record.kind) {
    case 'node.ready':
      return { side, moment: 'node', text: { key: 'story.nodeReady', params: { node } } };
    case 'node.stopped':
      switch (record.data.reason) {
        case 'stopped':
          return { side, moment: 'fault', text: { key: 'story.nodeStopped', params: { node } } };
        case 'failed':
          return { side, moment: 'fault', text: { key: 'story.nodeFailed', params: { node, detail: saidText(record.data.why, record.data.detail ?? '') } } };
        case 'lost':
          return { side, moment: 'fault', text: { key: 'story.nodeLost', params: { node } } };
        default:
          return { side, moment: 'fault', text: { key: 'story.nodeKilled', params: { node } } };
      }
    case 'node.paused':
      return { side, moment: 'fault', text: { key: 'story.nodePaused', params: { node } } };
    case 'node.resumed':
      return { side, moment: 'node', text: { key: 'story.nodeResumed', params: { node } } };
    case 'node.linkChanged': {
      const { from, to, cut, delayMS, jitterMS, bytesPerSecond } = record.data;
      const healthy = !cut && !delayMS && !jitterMS && !bytesPerSecond;
      const key = cut ? 'story.linkCut' : healthy ? 'story.linkHealed' : 'story.linkSlowed';
      return { side, moment: healthy ? 'node' : 'fault', text: { key, params: { from, to } } };
    }
    case 'trace.recordsDropped':
    case 'node.unsyncedLost':
    case 'node.diskChanged':
    case 'node.diskCorrupted':
    case 'node.damageFound':
    case 'node.removed':
      return tellDisk(record, side);
    default:
      return undefined;
  }
}

type DiskRecord = Extract<TypedRecord, { kind: 'trace.recordsDropped' | 'node.unsyncedLost' | 'node.diskChanged' | 'node.diskCorrupted' | 'node.damageFound' | 'node.removed' }>;

function tellDisk(record: DiskRecord, side: Sentence['side']): Told {
  const { node } = record;
  switch (record.kind) {
    case 'node.unsyncedLost':
      return { side, moment: 'fault', text: { key: 'story.unsyncedLost', params: { node, bytes: record.data.bytes } } };
    case 'node.diskChanged': {
      const { delayMS, full, failSync } = record.data;
      const healthy = !delayMS && !full && !failSync;
      const key = full ? 'story.diskFull' : failSync ? 'story.diskFailsSync' : healthy ? 'story.diskHealed' : 'story.diskSlow';
      return { side, moment: healthy ? 'node' : 'fault', text: { key, params: { node, delay: delayMS } } };
    }
    case 'node.diskCorrupted':
      return { side, moment: 'fault', text: { key: 'story.diskCorrupted', params: { node, file: record.data.file } } };
    case 'node.damageFound': {
      const { file, position } = record.data;
      return { side, moment: 'fault', text: { key: 'story.damageFound', params: { node, file, position } } };
    }
    case 'node.removed':
      return { side, moment: 'node', text: { key: 'story.nodeRemoved', params: { node } } };
    case 'trace.recordsDropped':
      return { side, moment: 'fault', text: { key: 'story.recordsDropped', params: { node, count: record.data.count } } };
  }
}

function sideOf(role: string | undefined): Sentence['side'] {
  if (role === 'kafka') return 'kafka';
  return role === 'pulsar' || role === 'bookie' ? 'pulsar' : 'ensemble';
}
