/** persistent://public/default/orders-partition-0 as orders-partition-0. */
export function topicLabel(topic: string): string {
  return topic.slice(topic.lastIndexOf('/') + 1);
}

/** A partition's name where there is little room: orders-partition-0 as orders-0. */
export function shortLabel(label: string): string {
  return label.replace(/-partition-(\d+)$/, '-$1');
}
