// A made-up classroom that emits trace records of the shapes of engine/trace: enough to draw every part of the page, kill nodes and see
// leaders, bundles and ledgers move. It follows no protocol.

const KAFKA = [1, 2, 3];
const BOOKIES = [1, 2, 3, 4].map((id) => ({ id, node: `bookie-${id}`, address: `127.0.0.1:${3180 + id}` }));
const BUNDLES = ['0x00000000_0x40000000', '0x40000000_0x80000000', '0x80000000_0xc0000000', '0xc0000000_0xffffffff'];
const PARTITIONS = 3;

export class Classroom {
  constructor(rate) {
    this.rate = rate;
    this.out = [];
    this.later = [];
    this.seq = {};
    this.zxid = 100;
    this.correlation = 0;
    this.state = {};
    this.running = false;
    this.started = false;
    this.carry = 0;
    this.partitions = [];
    this.ledgers = [];
    this.nextLedger = 0;
    this.controllerEpoch = 0;
    this.counts = { kafka: 0, pulsar: 0 };
  }

  static empty() {
    return {
      nodes: {}, links: {}, dropped: {},
      ensemble: { leader: '', term: 0, servers: {}, applied: { zxid: 0, parts: 0 }, znodes: {}, sessions: {} },
      kafka: { controller: { broker: -1, epoch: 0 }, brokers: {}, topics: {}, groups: {} },
      pulsar: { leader: '', brokers: {}, bundles: {}, topics: {}, ledgers: {}, bookies: {} },
    };
  }

  step(now) {
    this.now = now;
    if (!this.started) this.boot();
    const due = this.later.filter((one) => one.at <= now);
    this.later = this.later.filter((one) => one.at > now);
    for (const one of due) one.run();
    if (this.running) {
      this.carry += (this.rate * 33) / 1000;
      while (this.carry >= 1) {
        this.carry--;
        this.produce();
        this.publish();
      }
    }
    const records = this.out;
    this.out = [];
    return records;
  }

  emit(node, kind, data, shift = 0) {
    this.seq[node] = (this.seq[node] ?? 0) + 1;
    this.out.push({ run: 'made-up', node, seq: this.seq[node], at: new Date(this.now + shift).toISOString(), kind, data });
  }

  after(ms, run) {
    this.later.push({ at: this.now + ms, run });
  }

  up(node) {
    return this.state[node] === 'running';
  }

  message(from, to, protocol, name, subject, offset, response = false) {
    const exchange = { connection: `${from}>${to}`, correlation: this.correlation++, response };
    const data = { exchange, from, to, protocol, name, bytes: 120, subject, offset, count: 1 };
    if (from !== 'client') this.emit(from, 'message.sent', data);
    if (to !== 'client') this.emit(to, 'message.received', data);
  }

  boot() {
    this.started = true;
    for (const id of [1, 2, 3]) this.begin(`ensemble-${id}`, 'ensemble', id, { zookeeper: `127.0.0.1:${2180 + id}` });
    this.emit('ensemble-1', 'ensemble.voteCast', { term: 1, for: 'ensemble-2' });
    this.leadEnsemble(2, 1);
    for (const id of KAFKA) this.after(200 * id, () => this.begin(`kafka-${id}`, 'kafka', id, { kafka: `127.0.0.1:${9091 + id}` }));
    for (const id of [1, 2]) this.begin(`pulsar-${id}`, 'pulsar', id, { pulsar: `127.0.0.1:${6649 + id}`, http: `127.0.0.1:${8079 + id}` });
    for (const { id, node, address } of BOOKIES) this.begin(node, 'bookie', id, { bookie: address });
    this.after(700, () => this.electController(2));
    this.emit('pulsar-1', 'pulsar.leaderElected', { broker: '127.0.0.1:8080' });
    this.pulse();
  }

  begin(node, role, id, addresses) {
    this.state[node] = 'running';
    this.emit(node, 'node.started', { role, id, addresses });
    this.emit(node, 'node.ready', {});
    const session = `0x1000${role.length}000${id}`;
    if (role !== 'ensemble') {
      this.emit('ensemble-1', 'ensemble.sessionCreated', { session, timeoutMS: 6000, zxid: ++this.zxid });
      this.emit('ensemble-1', 'ensemble.sessionConnected', { session, client: node, address: '127.0.0.1:50000' });
    }
    if (role === 'kafka') {
      this.znode(`/brokers/ids/${id}`, session, `{"host":"127.0.0.1","port":${9091 + id}}`);
      this.emit('ensemble-1', 'ensemble.watchSet', { session, path: '/controller', type: 'exists' });
      this.emit(node, 'kafka.brokerRegistered', { broker: id, epoch: this.zxid, host: '127.0.0.1', port: 9091 + id });
    }
    if (role === 'pulsar') this.emit(node, 'pulsar.brokerRegistered', { broker: addresses.http, url: `pulsar://${addresses.pulsar}` });
    if (role === 'bookie') this.emit(node, 'bookkeeper.bookieRegistered', { bookie: addresses.bookie });
  }

  znode(path, session, data) {
    this.emit('ensemble-1', 'ensemble.znodeCreated', { path, mode: session ? 'ephemeral' : 'persistent', session, data, bytes: data.length, zxid: ++this.zxid });
  }

  pulse() {
    for (const id of [1, 2, 3]) {
      if (!this.up(`ensemble-${id}`)) continue;
      this.emit(`ensemble-${id}`, 'ensemble.commitAdvanced', { term: this.term, index: this.zxid - (id === 3 ? 1 : 0), zxid: this.zxid });
      if (id !== this.ensembleLeader && this.up(`ensemble-${this.ensembleLeader}`)) {
        this.message(`ensemble-${this.ensembleLeader}`, `ensemble-${id}`, 'raft', 'AppendEntries', '', this.zxid);
      }
    }
    this.after(900, () => this.pulse());
  }

  leadEnsemble(id, term) {
    this.ensembleLeader = id;
    this.term = term;
    for (const other of [1, 2, 3]) {
      if (!this.up(`ensemble-${other}`)) continue;
      this.emit(`ensemble-${other}`, 'ensemble.roleChanged', { term, role: other === id ? 'leader' : 'follower', leader: `ensemble-${id}` });
    }
  }

  electController(id) {
    this.controller = id;
    this.znode('/controller', `0x100050000${id}`, `{"version":1,"brokerid":${id},"timestamp":"1"}`);
    this.message(`kafka-${id}`, 'ensemble-1', 'zookeeper', 'create', '/controller', -1);
    this.emit(`kafka-${id}`, 'kafka.controllerElected', { broker: id, epoch: ++this.controllerEpoch });
  }

  startWorkload() {
    this.running = true;
    if (this.partitions.length === 0) this.createTopics();
    return this.workloads()[0];
  }

  stopWorkload() {
    const [last] = this.workloads();
    this.running = false;
    return last;
  }

  workloads() {
    if (!this.running) return [];
    const side = (engine) => ({
      engine, state: 'running', produced: this.counts[engine], acknowledged: this.counts[engine], failed: 0,
      consumed: this.counts[engine], duplicates: 0, lag: 0, lastError: '',
    });
    return [{ id: '1', spec: {}, sides: [side('kafka'), side('pulsar')] }];
  }

  createTopics() {
    this.createTopic('demo', PARTITIONS);
    this.createTopic('__consumer_offsets', 50);
    const members = [0, 1].map((index) => ({
      id: `demo-${index}`, clientID: `consumer-${index}`,
      assigned: this.partitions.filter((one) => one.topic === 'demo' && one.number % 2 === index).map((one) => ({ topic: 'demo', partition: one.number })),
    }));
    this.emit('kafka-1', 'kafka.groupChanged', { group: 'demo', state: 'PreparingRebalance', generation: 0, strategy: 'range', leader: '', members: [], reason: 'join' });
    this.emit('kafka-1', 'kafka.groupChanged', { group: 'demo', state: 'Stable', generation: 1, strategy: 'range', leader: 'demo-0', members, reason: 'assigned' });
    BUNDLES.forEach((bundle, index) => {
      const owner = `pulsar-${1 + (index % 2)}`;
      this.emit(owner, 'pulsar.bundleOwned', { namespace: 'public/default', bundle });
    });
    this.topics = [0, 1, 2].map((index) => ({ name: `persistent://public/default/demo-partition-${index}`, bundle: BUNDLES[index], owner: `pulsar-${1 + (index % 2)}` }));
    this.topics.forEach((topic, index) => this.loadTopic(topic, index));
  }

  createTopic(topic, count) {
    const replicas = Array.from({ length: count }, (_, number) => [0, 1, 2].map((shift) => 1 + ((number + shift) % 3)));
    this.emit(`kafka-${this.controller}`, 'kafka.topicCreated', { topic, topicID: topic, replicas });
    replicas.forEach((ids, number) => {
      const partition = { topic, number, replicas: ids, isr: [...ids], leader: ids[0], epoch: 0, partitionEpoch: 0, leo: 0, committed: 0, lags: {} };
      this.partitions.push(partition);
      this.partitionState(partition, 'created');
      for (const id of ids) this.role(partition, id);
    });
  }

  partitionState(partition, reason) {
    this.emit(`kafka-${this.controller}`, 'kafka.partitionStateChanged', {
      topic: partition.topic, partition: partition.number, leader: partition.leader, leaderEpoch: partition.epoch, isr: partition.isr,
      replicas: partition.replicas, partitionEpoch: partition.partitionEpoch++, controllerEpoch: this.controllerEpoch, reason,
    });
  }

  role(partition, id) {
    const role = id === partition.leader ? 'leader' : 'follower';
    const data = { topic: partition.topic, partition: partition.number, role, leader: partition.leader, leaderEpoch: partition.epoch, leo: partition.leo, highWatermark: partition.leo, logStart: 0 };
    this.emit(`kafka-${id}`, 'kafka.replicaRoleChanged', data);
  }

  produce() {
    const demo = this.partitions.filter((one) => one.topic === 'demo' && one.leader > 0 && this.up(`kafka-${one.leader}`));
    if (demo.length === 0) return;
    const partition = demo[Math.floor(Math.random() * demo.length)];
    const { topic, number, leader } = partition;
    const name = `${topic}-${number}`;
    const at = { topic, partition: number };
    const node = `kafka-${leader}`;
    this.message('client', node, 'kafka', 'Produce', name, partition.leo);
    const base = partition.leo++;
    this.counts.kafka++;
    this.emit(node, 'kafka.appended', { ...at, role: 'leader', baseOffset: base, leo: partition.leo, bytes: 120, records: 1 });
    this.after(40 + Math.random() * 200, () => this.replicate(partition, node, at, name));
  }

  replicate(partition, node, at, name) {
    if (!this.up(node)) return;
    for (const id of partition.isr) {
      if (id === partition.leader || !this.up(`kafka-${id}`)) continue;
      this.message(node, `kafka-${id}`, 'kafka', 'Fetch', name, partition.leo, true);
      this.emit(`kafka-${id}`, 'kafka.appended', { ...at, role: 'follower', baseOffset: partition.leo - 1, leo: partition.leo, bytes: 120, records: 1 });
      this.emit(node, 'kafka.followerFetched', { ...at, replica: id, leo: partition.leo });
    }
    for (const id of partition.isr) this.emit(`kafka-${id}`, 'kafka.highWatermarkAdvanced', { ...at, role: 'leader', highWatermark: partition.leo });
    this.message(node, 'client', 'kafka', 'Produce', name, partition.leo, true);
    this.emit(node, 'kafka.acknowledged', { ...at, acks: -1, baseOffset: partition.leo - 1, lastOffset: partition.leo - 1 });
    this.message(node, 'client', 'kafka', 'Fetch', name, partition.leo, true);
    this.emit('kafka-1', 'kafka.offsetCommitted', { ...at, group: 'demo', offset: partition.leo - Math.floor(Math.random() * 3) });
  }

  loadTopic(topic, index) {
    const session = 'demo';
    const previous = this.ledgers.filter((one) => one.topic === topic.name).map((one) => one.id);
    topic.ledger = this.openLedger(topic);
    this.emit(topic.owner, 'pulsar.topicLoaded', {
      topic: topic.name, namespace: 'public/default', bundle: topic.bundle, hash: Number(topic.bundle.split('_')[0]) + 0x10000000 + index * 0x5000000, ledgers: [...previous, topic.ledger.id],
    });
    this.emit(topic.owner, 'pulsar.producerAttached', { topic: topic.name, producer: 'producer-1', client: '127.0.0.1:50001' });
    this.emit(topic.owner, 'pulsar.consumerAttached', { topic: topic.name, subscription: session, type: 'Shared', consumer: `c${index}`, name: 'demo-1', client: '127.0.0.1:50002' });
  }

  openLedger(topic) {
    const alive = BOOKIES.filter(({ node }) => this.up(node));
    const first = this.nextLedger % alive.length;
    const ensemble = [0, 1, 2].map((shift) => alive[(first + shift) % alive.length].address);
    const ledger = { id: this.nextLedger++, topic: topic.name, ensembles: [{ firstEntry: 0, bookies: ensemble }], entry: -1, open: true };
    this.ledgers.push(ledger);
    this.emit(topic.owner, 'bookkeeper.ledgerOpened', { ledger: ledger.id, ensemble, writeQuorum: 2, ackQuorum: 2, managedLedger: topic.name.replace('persistent://public/default/', 'public/default/persistent/') });
    return ledger;
  }

  publish() {
    const live = (this.topics ?? []).filter((topic) => topic.owner && this.up(topic.owner));
    if (live.length === 0) return;
    const topic = live[Math.floor(Math.random() * live.length)];
    const { ledger, owner } = topic;
    this.message('client', owner, 'pulsar', 'SEND', topic.name, ledger.entry + 1);
    const entry = ++ledger.entry;
    this.counts.pulsar++;
    const bookies = ledger.ensembles.at(-1).bookies;
    for (const replica of [0, 1]) {
      const bookie = BOOKIES.find(({ address }) => address === bookies[(entry + replica) % bookies.length]);
      if (!this.up(bookie.node)) continue;
      this.message(owner, bookie.node, 'bookkeeper', 'ADD_ENTRY', `ledger ${ledger.id}`, entry);
      this.emit(bookie.node, 'bookkeeper.entryStored', { ledger: ledger.id, entry, bytes: 130 });
      this.message(bookie.node, owner, 'bookkeeper', 'ADD_ENTRY', `ledger ${ledger.id}`, entry, true);
    }
    this.emit(owner, 'bookkeeper.lastAddConfirmedAdvanced', { ledger: ledger.id, lastAddConfirmed: entry });
    this.emit(owner, 'pulsar.published', { topic: topic.name, ledger: ledger.id, entry, messages: 1, bytes: 120 });
    this.message(owner, 'client', 'pulsar', 'SEND_RECEIPT', topic.name, entry, true);
    this.after(100 + Math.random() * 150, () => {
      if (!this.up(owner)) return;
      this.message(owner, 'client', 'pulsar', 'MESSAGE', topic.name, entry, true);
      this.emit(owner, 'pulsar.cursorMoved', { topic: topic.name, subscription: 'demo', ledger: ledger.id, entry, backlog: Math.floor(Math.random() * 4) });
    });
  }

  act(node, action) {
    const state = this.state[node];
    if (state === undefined) return `there is no node ${node}`;
    if (action === 'start') {
      if (state === 'running') return `${node} runs already`;
      this.restart(node);
      return undefined;
    }
    if (state !== 'running' && action !== 'resume') return `${node} does not run`;
    if (action === 'pause') this.emit(node, 'node.paused', {});
    else if (action === 'resume') this.emit(node, 'node.resumed', {});
    else {
      this.state[node] = 'down';
      this.emit(node, 'node.stopped', { reason: action === 'kill' ? 'killed' : 'stopped' });
      this.after(1500, () => this.recover(node));
    }
    return undefined;
  }

  restart(node) {
    const id = Number(node.slice(-1));
    const role = node.slice(0, -2);
    const addresses = role === 'bookie' ? { bookie: BOOKIES[id - 1].address } : { kafka: 'x', http: `127.0.0.1:${8079 + id}`, pulsar: 'x', zookeeper: 'x' };
    this.begin(node, role, id, addresses);
    if (role !== 'kafka') return;
    for (const partition of this.partitions.filter((one) => one.replicas.includes(id))) {
      this.role(partition, id);
      partition.isr.push(id);
      this.emit(`kafka-${partition.leader}`, 'kafka.isrChanged', { topic: partition.topic, partition: partition.number, isr: partition.isr, added: [id], partitionEpoch: partition.partitionEpoch++ });
    }
  }

  recover(node) {
    const id = Number(node.slice(-1));
    if (node.startsWith('ensemble')) {
      if (id === this.ensembleLeader) this.leadEnsemble([1, 2, 3].find((other) => this.up(`ensemble-${other}`)), this.term + 1);
      return;
    }
    if (node.startsWith('kafka')) return this.recoverKafka(id);
    if (node.startsWith('pulsar')) return this.recoverPulsar(node);
    this.recoverBookie(BOOKIES[id - 1]);
  }

  recoverKafka(id) {
    this.emit('ensemble-1', 'ensemble.sessionEnded', { session: `0x100050000${id}`, expired: true, zxid: ++this.zxid });
    this.emit('ensemble-1', 'ensemble.znodeDeleted', { path: `/brokers/ids/${id}`, session: `0x100050000${id}`, zxid: this.zxid });
    const next = KAFKA.find((other) => this.up(`kafka-${other}`));
    if (id === this.controller && next) {
      this.emit('ensemble-1', 'ensemble.znodeDeleted', { path: '/controller', session: `0x100050000${id}`, zxid: this.zxid });
      this.emit('ensemble-1', 'ensemble.watchFired', { session: `0x100050000${next}`, path: '/controller', event: 'deleted', zxid: this.zxid });
      this.electController(next);
    }
    for (const partition of this.partitions) {
      partition.isr = partition.isr.filter((one) => one !== id);
      if (partition.leader === id) {
        partition.leader = partition.isr[0] ?? -1;
        partition.epoch++;
        this.partitionState(partition, 'election-clean');
        for (const one of partition.isr) this.role(partition, one);
      } else {
        this.emit(`kafka-${partition.leader}`, 'kafka.isrChanged', { topic: partition.topic, partition: partition.number, isr: partition.isr, removed: [id], partitionEpoch: partition.partitionEpoch++ });
      }
    }
  }

  recoverPulsar(node) {
    const other = ['pulsar-1', 'pulsar-2'].find((one) => this.up(one));
    if (!other) return;
    BUNDLES.forEach((bundle, index) => {
      if (`pulsar-${1 + (index % 2)}` === node) this.emit(other, 'pulsar.bundleOwned', { namespace: 'public/default', bundle });
    });
    (this.topics ?? []).forEach((topic, index) => {
      if (topic.owner !== node) return;
      topic.owner = other;
      const { ledger } = topic;
      this.emit(other, 'bookkeeper.recoveryStarted', { ledger: ledger.id });
      for (const address of ledger.ensembles.at(-1).bookies) this.emit(BOOKIES.find((one) => one.address === address).node, 'bookkeeper.ledgerFenced', { ledger: ledger.id });
      this.emit(other, 'bookkeeper.ledgerClosed', { ledger: ledger.id, lastEntry: ledger.entry, length: ledger.entry * 120, recovered: true });
      this.loadTopic(topic, index);
    });
  }

  recoverBookie({ address }) {
    for (const topic of this.topics ?? []) {
      const { ledger } = topic;
      const bookies = ledger.ensembles.at(-1).bookies;
      if (!bookies.includes(address)) continue;
      const spare = BOOKIES.find((one) => this.up(one.node) && !bookies.includes(one.address));
      if (!spare) continue;
      const changed = bookies.map((one) => (one === address ? spare.address : one));
      ledger.ensembles.push({ firstEntry: ledger.entry + 1, bookies: changed });
      this.emit(topic.owner, 'bookkeeper.ensembleChanged', { ledger: ledger.id, firstEntry: ledger.entry + 1, ensemble: changed, replaced: [address] });
    }
  }
}
