// The views, in their order: from a calm classroom to a broken one. Each is opened on a page of its own, which speaks English then, and makes
// what it needs; `each` is done again before each picture, `close` puts right what it broke.

const PATIENCE = { timeout: 60_000 };

const ask = async (url, method, path, body) => {
  const answer = await fetch(new URL(`api/v1/${path}`, url), { method, ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }) });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return answer.status === 204 ? undefined : answer.json();
};
const state = async (url) => (await ask(url, 'GET', 'cluster')).state;
const press = (page, name) => page.getByRole('button', { name, exact: typeof name === 'string' }).first().click();
const drawer = (page) => page.getByRole('complementary');
const card = (page, node, is) => page.getByRole('group', { name: new RegExp(`^${node}, ${is}`) }).waitFor(PATIENCE);
const pause = (page) => press(page, 'Pause the picture');
/** Brings something to the top of what scrolls it. */
const scrollTo = (locator) =>
  locator.evaluate((element) => {
    let frame = element.parentElement;
    while (frame && !['auto', 'scroll'].includes(getComputedStyle(frame).overflowY)) frame = frame.parentElement;
    frame?.scrollBy(0, element.getBoundingClientRect().top - frame.getBoundingClientRect().top);
  });
const rest = (page, seconds) => page.waitForTimeout(seconds * 1000);

/** The workload of most views, and a picture that shows it. */
async function loaded(page, url) {
  const { workloads } = await ask(url, 'GET', 'workloads');
  if (workloads.length === 0) await ask(url, 'POST', 'workloads', { engine: 'both', messagesPerSecond: 20 });
  await page.getByRole('listitem', { name: /log end [1-9]/ }).first().waitFor(PATIENCE);
  await page.getByText(/^Ledger \d+ of demo.*: open/).first().waitFor({ state: 'attached', ...PATIENCE });
}

async function healed(page, url) {
  await ask(url, 'POST', 'heal');
  for (;;) {
    const { nodes } = await ask(url, 'GET', 'nodes');
    if (nodes.every((node) => node.state === 'running')) return;
    await rest(page, 0.2);
  }
}

const tool = (name) => async (page, url) => {
  await loaded(page, url);
  await press(page, name);
};

async function inspect(page, url, name) {
  await loaded(page, url);
  await page.getByRole('button', { name }).first().click();
  await drawer(page).locator('dl dt').first().waitFor();
}

const inspected = (name) => (page, url) => inspect(page, url, name);

/** The forms of the Act drawer, a group opened and scrolled to the top. */
const form = (group) => async (page, url) => {
  await loaded(page, url);
  await press(page, 'Act');
  const details = drawer(page).locator('details.group', { has: page.locator('summary', { hasText: group }) }).first();
  if ((await details.getAttribute('open')) === null) await details.locator('summary').first().click();
  const commands = details.getByText('The same by command').first();
  if (await commands.count()) await commands.click();
  await scrollTo(details);
};

/** The leader's replica of a partition: what clients send goes there. */
async function inspectLeader(page, url) {
  await loaded(page, url);
  const { leader } = (await state(url)).kafka.topics.demo.partitions[0];
  await inspect(page, url, new RegExp(`^Inspect replica demo-0 · kafka-${leader}$`));
}

async function aMessage(page, url) {
  await inspectLeader(page, url);
  await drawer(page).getByLabel('Routine records too').check();
  const produce = drawer(page).locator('.records li').filter({ hasText: / receives Produce .* from a client/ }).last();
  await produce.waitFor();
  await pause(page); // a list that grows is hard to press
  await produce.getByRole('button', { name: /^Inspect record/ }).click();
  await drawer(page).getByRole('treeitem').filter({ has: page.locator('.name').getByText('Acks', { exact: true }) }).first().focus();
}

async function aSegment(page, url) {
  await inspectLeader(page, url);
  await press(page, 'Open its files');
  await drawer(page).locator('.frames > li button').first().click();
  await drawer(page).locator('.frames table').waitFor();
  await scrollTo(drawer(page).locator('.frames').first());
}

async function killController(page, url) {
  await loaded(page, url);
  const { broker, epoch } = (await state(url)).kafka.controller;
  await ask(url, 'POST', `nodes/kafka-${broker}/kill`);
  while ((await state(url)).kafka.controller.epoch === epoch) await rest(page, 0.2);
  await card(page, `kafka-${broker}`, 'killed');
  await page.getByText(/won the race for \/controller/).last().waitFor(PATIENCE);
  await rest(page, 1);
}

/** The story with the election of a controller picked. */
async function pickElection(page, url) {
  await killController(page, url);
  await press(page, 'Story');
  await page.getByRole('region', { name: 'What happened, in its order' }).getByRole('button', { name: /won the race for \/controller and is controller of epoch \d+/ }).last().click();
  await page.locator('.row[data-lit="cause"]').first().waitFor();
}

async function saveRun(page) {
  await press(page, 'Runs');
  await page.getByRole('textbox', { name: 'What the run is called' }).fill('Controller election, group 3');
  await page.keyboard.press('Enter');
  await page.getByText(/^Saved as/).waitFor(PATIENCE);
}

async function openLab(page, name) {
  await press(page, 'Labs');
  await page.getByRole('button', { name }).click();
  await drawer(page).getByRole('button', { name: /^(Start|Reset)$/ }).first().waitFor();
}

async function startLab(page, name) {
  await openLab(page, name);
  const lab = drawer(page);
  const start = lab.getByRole('button', { name: 'Start', exact: true });
  await ((await start.isVisible()) ? start : lab.getByRole('button', { name: 'Reset', exact: true })).click();
  await page.waitForFunction(() => [...document.querySelectorAll('aside button')].some((one) => one.textContent.trim() === 'Check' && !one.disabled), undefined, PATIENCE);
}

const readNote = (id) => async (page) => {
  await press(page, 'Notes');
  await drawer(page).getByRole('button', { name: id }).click();
  await drawer(page).locator('.text').waitFor();
};

export const views = [
  { name: 'welcome', open: async () => {} },
  { name: 'calm-table', open: (page) => press(page, 'Table') },
  { name: 'calm-charts', open: (page) => press(page, 'Charts') },
  { name: 'calm-story', open: (page) => press(page, 'Story') },
  { name: 'calm-znodes', open: (page) => press(page, 'Znodes') },
  { name: 'calm-act', open: (page) => press(page, 'Act') },
  { name: 'calm-inspector', open: (page) => press(page, 'Inspect') },
  { name: 'calm-invariants', open: (page) => press(page, /^Invariants/) },
  { name: 'labs', open: (page) => press(page, 'Labs') },
  { name: 'lab', open: (page) => openLab(page, /^Open lab 01/) },
  { name: 'notes', open: (page) => press(page, 'Notes') },
  { name: 'note', open: readNote(/^06/) },
  {
    name: 'note-end',
    open: readNote(/^10/),
    each: (page) => drawer(page).locator('.body').evaluate((body) => body.scrollTo(0, body.scrollHeight)), // another language begins at the top
  },
  {
    name: 'source',
    open: async (page) => {
      await readNote(/^05/)(page);
      await drawer(page).locator('a[href*="source="]').first().click();
      await drawer(page).locator('pre.code').waitFor();
    },
  },

  { name: 'workload', open: async (page, url) => { await loaded(page, url); await rest(page, 6); } },
  { name: 'legend', open: async (page, url) => { await loaded(page, url); await press(page, 'All signs'); } },
  {
    name: 'menu',
    open: loaded,
    // Another size shuts it.
    each: async (page) => {
      const button = page.locator('[data-node=kafka-2] button[aria-haspopup=menu]');
      if ((await button.getAttribute('aria-expanded')) === 'false') await button.click();
    },
  },
  { name: 'reactor', open: async (page, url) => { await loaded(page, url); await page.locator('[data-node=kafka-1] [data-reactor]').click(); } },
  { name: 'table', open: tool('Table') },
  {
    name: 'sentences',
    open: async (page, url) => {
      await tool('Table')(page, url);
      await scrollTo(page.getByRole('region', { name: /sentences/i }).first());
    },
  },
  { name: 'story', open: tool('Story') },
  { name: 'znodes', open: async (page, url) => { await tool('Znodes')(page, url); await press(page, '/brokers/ids'); } },
  { name: 'inspect-node', open: inspected(/^Inspect node kafka-1$/) },
  { name: 'inspect-bookie', open: inspected(/^Inspect node bookie-1$/) },
  { name: 'inspect-replica', open: inspected(/^Inspect replica demo-0 · kafka-\d$/) },
  { name: 'inspect-message', open: aMessage },
  {
    name: 'inspect-message-wide',
    open: async (page, url) => {
      await aMessage(page, url);
      await press(page, 'Wide inspector');
      await drawer(page).locator('.rows').first().scrollIntoViewIfNeeded();
    },
  },
  { name: 'inspect-segment', open: aSegment },
  { name: 'inspect-group', open: inspected(/^Inspect consumer group Group demo$/) },
  { name: 'inspect-topic', open: inspected(/^Inspect topic demo-(partition-)?0$/) },
  { name: 'inspect-bundle', open: inspected(/^Inspect bundle public\/default 0x/) },
  { name: 'inspect-cursor', open: inspected(/^Inspect subscription demo/) },
  { name: 'inspect-ledger', open: inspected(/^Inspect ledger \d+ demo/) },
  {
    name: 'inspect-znode',
    open: async (page, url) => {
      await inspect(page, url, /^Inspect znode \/controller$/);
      await drawer(page).getByRole('button', { name: /^Ask ensemble-\d now$/ }).click();
      await drawer(page).getByRole('treeitem').first().waitFor();
    },
  },
  {
    name: 'paused',
    open: async (page, url) => {
      await loaded(page, url);
      await rest(page, 2);
      await pause(page);
      await press(page, 'One notable event back');
      await press(page, 'One record forward');
    },
  },
  {
    name: 'rewound',
    open: async (page, url) => {
      await loaded(page, url);
      await ask(url, 'POST', 'nodes/bookie-4/kill');
      await card(page, 'bookie-4', 'killed');
      await healed(page, url);
      await card(page, 'bookie-4', 'running');
      await page.getByRole('slider', { name: 'Instant shown' }).focus();
      await page.keyboard.press('Home');
      await page.getByRole('toolbar', { name: /^Faults, actions and changes/ }).locator('button[tabindex="0"]').focus();
    },
  },
  {
    name: 'in-flight',
    open: async (page, url) => {
      await loaded(page, url);
      await press(page, 'Inspect');
      await pause(page);
    },
  },
  { name: 'act-traffic', open: form('Producers and consumers') },
  { name: 'act-both', open: form('The same fault on both sides') },
  { name: 'act-kafka', open: form('Kafka-mode: topics and replicas') },
  { name: 'act-pulsar', open: form('Pulsar-mode: topics and bundles') },
  { name: 'act-nodes', open: form('Nodes: add, remove, crash') },
  { name: 'act-disks', open: form('Disks: slow') },
  { name: 'act-situations', open: form('Famous situations') },
  { name: 'links', open: async (page, url) => { await form('Links: cut')(page, url); await press(page, 'Disturb links…'); } },

  { name: 'controller-killed', open: killController, close: healed },
  { name: 'story-picked', open: pickElection, close: healed },
  {
    name: 'story-lit',
    open: async (page, url) => {
      await pickElection(page, url);
      await press(page, 'See it in the picture');
    },
    close: healed,
  },
  {
    name: 'replica-out-of-sync',
    open: async (page, url) => {
      await loaded(page, url);
      await ask(url, 'POST', 'nodes/kafka-2/pause');
      await page.getByRole('listitem', { name: /out of sync|offline/ }).first().waitFor(PATIENCE);
    },
    close: healed,
  },
  {
    name: 'pulsar-broker-killed',
    open: async (page, url) => {
      await loaded(page, url);
      const { owner } = Object.values((await state(url)).pulsar.topics).find((topic) => topic.owner);
      await ask(url, 'POST', `nodes/${owner}/kill`);
      await card(page, owner, 'killed');
      await page.getByText(/serves demo-partition-\d/).last().waitFor(PATIENCE);
      await rest(page, 1);
    },
    close: healed,
  },
  {
    name: 'bookie-killed',
    open: async (page, url) => {
      await loaded(page, url);
      await ask(url, 'POST', 'nodes/bookie-1/kill');
      await card(page, 'bookie-1', 'killed');
      await page.locator('.corner .lacks').waitFor(PATIENCE);
      await rest(page, 3);
      await page.getByRole('button', { name: /^Inspect ledger \d+ demo/ }).first().click();
      await drawer(page).locator('dl dt').first().waitFor();
    },
  },
  { name: 'invariants', open: tool(/^Invariants/), close: healed },
  {
    name: 'ensemble-behind',
    open: async (page, url) => {
      await loaded(page, url);
      const { leader } = (await state(url)).ensemble;
      const follower = ['ensemble-3', 'ensemble-2'].find((name) => name !== leader);
      await ask(url, 'POST', `nodes/${follower}/kill`);
      await card(page, follower, 'killed');
      await rest(page, 2);
    },
    close: healed,
  },
  {
    name: 'links-cut',
    open: async (page, url) => {
      await form('Links: cut')(page, url);
      await press(page, 'Disturb links…');
      await press(page, 'Cut the link');
      await drawer(page).getByRole('button', { name: /^Heal the link/ }).first().waitFor();
    },
    close: healed,
  },
  {
    name: 'situation',
    open: async (page, url) => {
      await form('Famous situations')(page, url);
      await drawer(page).getByRole('button', { name: /^Play: .*bookie/i }).click();
      await drawer(page).locator('li[aria-current=step], li .message').first().waitFor();
      await rest(page, 4);
    },
    close: async (page, url) => {
      while ((await ask(url, 'GET', 'situations')).run?.state === 'running') await rest(page, 0.3);
      await healed(page, url);
    },
  },
  {
    name: 'difference',
    open: async (page, url) => {
      await loaded(page, url);
      await press(page, 'Act');
      await drawer(page).getByRole('button', { name: 'Do it to both' }).click();
      await press(page, 'Close the actions');
      await press(page, 'Charts');
      const side = (name) => page.getByRole('region', { name: 'What a fault led to, side by side' }).getByRole('article', { name });
      await side('Kafka-mode').getByText(/now leads demo-/).first().waitFor(PATIENCE);
      await side('Pulsar-mode').getByText(/serves demo-/).first().waitFor(PATIENCE);
      await rest(page, 4);
    },
    close: healed,
  },
  { name: 'charts', open: async (page, url) => { await tool('Charts')(page, url); await rest(page, 2); } },
  {
    name: 'lab-check',
    open: async (page) => {
      await startLab(page, /^Open lab 01/);
      await press(page, 'Check');
      await drawer(page).getByText('not yet').first().waitFor(PATIENCE);
    },
  },
  {
    name: 'lab-question',
    open: async (page) => {
      await startLab(page, /^Open lab 01/);
      const question = drawer(page).getByRole('radio').first();
      await question.waitFor();
      await question.click();
      await question.scrollIntoViewIfNeeded();
    },
  },
  {
    name: 'lab-solution',
    open: async (page) => {
      await startLab(page, /^Open lab 01/);
      await press(page, 'Show the solution');
      await press(page, 'One step');
      await drawer(page).getByText(/^1 of \d+ steps/).waitFor(PATIENCE);
    },
  },
  {
    name: 'lab-and-inspector',
    open: async (page) => {
      await openLab(page, /^Open lab 01/);
      await page.getByRole('button', { name: /^Inspect node kafka-1$/ }).click();
      await page.locator('#inspector-title').waitFor();
    },
  },
  { name: 'runs', open: async (page, url) => { await loaded(page, url); await saveRun(page); } },
  {
    name: 'run-opened',
    open: async (page, url) => {
      await loaded(page, url);
      await saveRun(page);
      await press(page, 'Open Controller election, group 3');
      await page.getByRole('status').filter({ hasText: 'Recorded run' }).waitFor(PATIENCE);
      await press(page, 'One notable event back');
    },
  },
  {
    name: 'notice',
    open: async (page, url) => {
      await loaded(page, url);
      await press(page, 'Act');
      const create = drawer(page).locator('details.group', { hasText: 'Kafka-mode: topics and replicas' }).first();
      await create.locator('summary').first().click();
      const make = drawer(page).getByRole('form', { name: 'Create a topic' }).first();
      await make.getByLabel('Topic').fill('demo');
      await make.locator('button[type=submit]').click();
      await page.getByRole('alert').first().waitFor();
    },
  },
  {
    name: 'connection-lost',
    open: async (page, url) => {
      await loaded(page, url);
      const streams = [];
      let broken = false;
      await page.routeWebSocket('**/api/v1/stream', (socket) => {
        if (broken) return void socket.close();
        socket.connectToServer();
        streams.push(socket);
      });
      await page.reload();
      await page.locator('[data-node=kafka-1]').waitFor();
      broken = true;
      await Promise.all(streams.map((socket) => socket.close()));
      await page.getByRole('alert').filter({ hasText: 'no longer hears' }).waitFor();
    },
  },
];
