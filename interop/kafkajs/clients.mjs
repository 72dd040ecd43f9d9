// Creates a topic, joins a group of several consumers, produces records with acks=all; prints what is read as "member value" lines.
import { Kafka, logLevel, Partitioners } from 'kafkajs'

const [bootstrap, topic, ...numbers] = process.argv.slice(2)
const [records, partitions, members] = numbers.map(Number)
const kafka = new Kafka({ clientId: 'kafkajs', brokers: bootstrap.split(','), logLevel: logLevel.ERROR })

const admin = kafka.admin()
await admin.connect()
await admin.createTopics({ topics: [{ topic, numPartitions: partitions, replicationFactor: 3 }] })
await admin.disconnect()

// Each consumer tells its share of the partitions whenever the group has agreed on one.
const shares = new Map()
let settled
const groupSettled = new Promise((resolve) => { settled = resolve })

await Promise.all(Array.from({ length: members }, async (_, n) => {
  const consumer = kafka.consumer({ groupId: `${topic}-group` })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    shares.set(n, payload.memberAssignment[topic]?.length ?? 0)
    if (shares.size === members && [...shares.values()].every((share) => share === partitions / members)) settled()
  })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    eachBatch: async ({ batch }) => {
      process.stdout.write(batch.messages.map((message) => `kafkajs-${n} ${message.value}\n`).join(''))
    },
  })
}))

await groupSettled
const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })
await producer.connect()
for (let sent = 0; sent < records; sent += 5000) {
  const messages = Array.from({ length: Math.min(5000, records - sent) }, (_, i) => ({ key: `key-${sent + i}`, value: `value-${sent + i}` }))
  await producer.send({ topic, acks: -1, messages })
}
await producer.disconnect()
