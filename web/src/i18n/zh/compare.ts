import type { compare as en } from '../en/compare';
import type { Translation } from '../message';

export const compare: Translation<typeof en> = {
  'chart.latency': '写入延迟（broker 端），毫秒',
  'chart.percentile': '{side} {share}',
  'chart.partitions': '分区',
  'chart.ledgers': 'ledger',
  'chart.shares': '各 broker 领导的分区与拥有的 bundle',

  'diff.title': '同样的故障，两边各发生了什么',
  'diff.empty': '在任意一边杀死、停止或暂停一个节点：之后发生的事会逐秒列在这里。',
  'diff.fault': '{side}的故障',
  'diff.after': '+{seconds} 秒',
  'diff.ledAgain': '所有分区重新有 leader',
  'diff.servedAgain': '所有 topic 重新有人服务',
  'diff.noChange': '不需要换手',
  'diff.noneYet': '{count} 个都还没有',
  'diff.some': '目前 {done}/{count} 个，最后一个 {after}',
  'diff.bytes': '其间节点之间的字节数',
  'diff.nothing': '之后没有值得一提的事。',
  'diff.none': '这一边还没有节点出过故障。',
};
