// Creates a topic, produces records with acks=all, reads them with a group of several consumers; prints "member value" lines.
import { Kafka, logLevel, Partitioners } from 'kafkajs'

const [bootstrap, topic, ...numbers] = process.argv.slice(2)
const [records, partitions, members] = numbers.map(Number)
const kafka = new Kafka({ clientId: 'kafkajs', brokers: bootstrap.split(','), logLevel: logLevel.ERROR })

const admin = kafka.admin()
await admin.connect()
await admin.createTopics({ topics: [{ topic, numPartitions: partitions, replicationFactor: 3 }] })
await admin.disconnect()

const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })
await producer.connect()
for (let sent = 0; sent < records; sent += 5000) {
  const messages = Array.from({ length: Math.min(5000, records - sent) }, (_, i) => ({ key: `key-${sent + i}`, value: `value-${sent + i}` }))
  await producer.send({ topic, acks: -1, messages })
}
await producer.disconnect()

await Promise.all(Array.from({ length: members }, async (_, n) => {
  const consumer = kafka.consumer({ groupId: `${topic}-group` })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    eachBatch: async ({ batch }) => {
      process.stdout.write(batch.messages.map((message) => `kafkajs-${n} ${message.value}\n`).join(''))
    },
  })
}))
