import type { notes as en } from '../en/notes';
import type { Translation } from '../message';

export const notes: Translation<typeof en> = {
  'note.button': '笔记',
  'note.title': '笔记：背后的道理',
  'note.about': '每个实验一页：它是什么，为什么可行，在哪里看得到，由哪段代码完成。',
  'note.back': '返回',
  'note.close': '关闭笔记',
  'note.lab': '做这个实验',
  'note.line': '第\u00a0{line}\u00a0行',
  'note.wholeFile': '显示整个文件',
  'note.unavailable': '无法读取：{detail}',
};
