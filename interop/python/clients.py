"""Creates a topic, joins a group of several consumers, produces records with acks=all; prints what is read as "member value" lines."""
import sys
import threading
import time

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

bootstrap, topic, records, partitions, members = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])

admin = AdminClient({"bootstrap.servers": bootstrap})
for name, future in admin.create_topics([NewTopic(topic, partitions, 3)]).items():
    future.result(30)

lock = threading.Lock()
shares = {}  # member -> partitions assigned


def consume(member):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic + "-group", "auto.offset.reset": "earliest", "client.id": member})
    consumer.subscribe([topic], on_assign=lambda _, assigned: shares.__setitem__(member, len(assigned)))
    while True:
        messages = consumer.consume(1000, 1.0)
        lines = []
        for message in messages:
            if message.error():
                print(message.error(), file=sys.stderr)
            else:
                lines.append(f"{member} {message.value().decode()}\n")
        with lock:
            sys.stdout.write("".join(lines))
            sys.stdout.flush()


threads = [threading.Thread(target=consume, args=(f"python-{n}",), daemon=True) for n in range(members)]
for thread in threads:
    thread.start()
deadline = time.monotonic() + 60
while sorted(shares.values()) != [partitions // members] * members:
    if time.monotonic() > deadline:
        sys.exit(f"the group does not settle: {shares}")
    time.sleep(0.05)

failures = []
producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "queue.buffering.max.messages": records + 1})
for n in range(records):
    producer.produce(topic, key=f"key-{n}", value=f"value-{n}", on_delivery=lambda error, _: error and failures.append(error))
    producer.poll(0)
if producer.flush(60) or failures:
    sys.exit(f"not delivered: {failures[:3]}")

try:
    for thread in threads:
        thread.join()
except KeyboardInterrupt:
    pass
