/** persistent://public/default/orders-partition-0 as orders-partition-0. */
export function topicLabel(topic: string): string {
  return topic.slice(topic.lastIndexOf('/') + 1);
}

/** The topic that a partition belongs to; a topic without partitions is its own. */
export function wholeTopic(topic: string): string {
  return topic.replace(/-partition-\d+$/, '');
}

/** A partition's name where there is little room: orders-partition-0 as orders-0. */
export function shortLabel(label: string): string {
  return label.replace(/-partition-(\d+)$/, '-$1');
}
