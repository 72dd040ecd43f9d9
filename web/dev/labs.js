// One made-up lab for the stand-in feed, in the shapes of the labs API.
const title = { en: 'First messages, in both', zh: '第一批消息：两边各来一次' };
const html = {
  en: '<p>Create a topic, write ten records, read them as a group. Then do the same on the Pulsar side.</p><h2>What you will see</h2><p>Each line that your producer sends becomes <strong>one record</strong> at the end of one partition.</p><pre><code>kcat -b 127.0.0.1:9092 -t orders -P</code></pre>',
  zh: '<p>创建一个主题，写入十条消息，用消费者组读出来；再在 Pulsar 一侧做同样的事。</p><h2>你会看到什么</h2><p>生产者发送的每一行都会成为某个分区末尾的<strong>一条消息</strong>。</p><pre><code>kcat -b 127.0.0.1:9092 -t orders -P</code></pre>',
};
const tasks = {
  en: [['kafka-topic', 'Create the Kafka topic `orders` with 3 partitions', 'topic orders with 3 partitions', 'no topic orders'], ['kafka-produced', 'Write at least 10 records to `orders`', 'at least 10 records', '0 records']],
  zh: [['kafka-topic', '创建 Kafka 主题 `orders`：3 个分区', '主题 orders 有 3 个分区', '没有主题 orders'], ['kafka-produced', '向 `orders` 写入至少 10 条消息', '至少 10 条消息', '0 条消息']],
};
let attempt = null;

export function labs(method, path, query) {
  const language = query.get('lang') === 'zh' ? 'zh' : 'en';
  const summary = { id: '01-first-messages', title: title[language], minutes: 15, tasks: 2, started: attempt !== null, passed: false };
  if (path === '/api/v1/labs') return [200, { labs: [summary] }];
  const action = path.split('/')[5];
  if (method === 'GET') {
    const taskList = tasks[language].map(([id, name, expected]) => ({ id, title: name, expected, needs: [] }));
    return [200, { ...summary, html: html[language], taskList, attempt }];
  }
  if (action === 'start') attempt = { id: 1, lab: summary.id, student: 'me', startedAt: '', firstN: 0, passedAt: null, failures: {}, verdicts: [] };
  if (action === 'reset') attempt = null;
  if (action === 'check' && attempt) {
    attempt.verdicts = tasks[language].map(([task, , expected, observed], index) => ({ task, verdict: index ? 'waiting' : 'notYet', expected, observed, event: 5, hint: index ? '' : 'A topic’s number of partitions is chosen when it is created.' }));
  }
  return attempt || action === 'reset' || action === 'solve' ? [200, attempt ?? {}] : [409, { error: { code: 'notStarted', message: 'the lab has not been started; start it first' } }];
}
