import type { story as en } from '../en/story';
import type { Translation } from '../message';

export const story: Translation<typeof en> = {
  'sequence.view': '经过',
  'sequence.title': '以消息和变化的先后顺序讲述经过',
  'sequence.list': '按顺序发生的事',
  'sequence.filters': '只讲',
  'sequence.nodes': '节点',
  'sequence.topics': 'Topic',
  'sequence.moments': '类别',
  'sequence.all': '全部',
  'sequence.clients': '客户端',
  'sequence.earlier': { other: '更早的 {count} 件事' },
  'sequence.later': { other: '更晚的 {count} 件事' },
  'sequence.follow': '回到所示时刻',
  'sequence.idle': '没有可讲的：{nodes}',
  'sequence.empty': '没有符合筛选条件的重要事件。',
  'sequence.begin': '重要事件会在这里画成图：杀死一个节点，或启动演示负载试试。',
  'sequence.gap': '{seconds} 秒之后',
  'sequence.cause': '引发了选中的事件',
  'sequence.effect': '由选中的事件引发',
  'sequence.toCome': '尚未发生',
  'sequence.picked': '选中：{sentence}',
  'sequence.inPicture': '在图中查看',
  'sequence.look': '查看内部',
  'sequence.release': '取消选中',
};
