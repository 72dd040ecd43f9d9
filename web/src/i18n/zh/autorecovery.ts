import type { autorecovery as en } from '../en/autorecovery';
import type { Translation } from '../message';

/** 自动恢复（autorecovery）：auditor 的标记，以及重新补齐的副本。 */
export const autorecovery: Translation<typeof en> = {
  'story.auditorElected': '{node} 成为 auditor：有 bookie 失联后，由它标记缺少副本的 ledger。',
  'story.underReplicated': 'auditor（{node}）把 ledger {ledger} 标记为副本不足：它在 {bookies} 上的副本丢了。',
  'story.replicationStarted': '{node} 接手 ledger {ledger}：entry {first} 到 {last} 中原来在 {lost} 上的部分，正从其余 bookie 复制到 {bookies}。',
  'story.fragmentReplicated': 'ledger {ledger} 的 entry {first} 到 {last} 副本又齐了：补了 {count} 份，元数据里 {lost} 换成了 {bookies}。',
  'story.postponed.open': 'ledger {ledger} 还开着，先等写入者自己换掉失联的 bookie；如果一直不换，就会关闭这个 ledger 再补副本。',
  'story.postponed.noCopy': 'ledger {ledger} 补不了副本：有的 entry 在现有的 bookie 上一份也没有。标记会留着，直到有 bookie 回来。',
  'story.postponed.noBookie': 'ledger {ledger} 补不了副本：没有别的 bookie 可以存放。标记会留着，直到有 bookie 加入。',
  'story.postponed.failed': '{node} 没能给 ledger {ledger} 补上副本，稍后重试：{detail}',
  'story.replicated': 'ledger {ledger} 不再缺少副本，标记已删除。',
  'storage.auditor': 'auditor',
  'storage.auditorAbout': 'auditor：有 bookie 失联后，由它标记缺少副本的 ledger',
  'storage.restoring': '正在补 entry {first} 到 {last} 的副本：{moves}',
  'storage.restoringShort': '正在补副本',
  'storage.arriving': '正在收到 entry {first} 到 {last} 的副本',
  'storage.arrivingShort': '← {first}–{last}',
  'storage.waits.marked': '已被 auditor 标记，等待处理',
  'storage.waits.open': '等写入者自己换掉失联的 bookie',
  'storage.waits.noCopy': '有的 entry 在现有的 bookie 上一份也没有',
  'storage.waits.noBookie': '没有别的 bookie 可以存放副本',
  'storage.waits.failed': '没能补上，稍后重试',
  'fact.underReplication': '副本不足',
  'fact.auditor': 'Auditor',
};
