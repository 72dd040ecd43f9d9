import type { Text } from '../i18n/message';
import type { TraceRecord } from '../trace/events.gen';
import type { State } from '../trace/types';
import { problemOf } from './api';
import type { Classroom } from './classroom.svelte';
import { deleteRun, listRuns, renameRun, runRecords, runState, saveRun, sendRunFile, type RecordedRun } from './runs-api';
import { Telling } from './telling';

/** Records of a recorded run that are at hand at a time; a longer run is opened in parts. */
const PART = 100_000;
/** Before the record that was asked for. */
const LEAD = 60_000;
const PAGE = 5_000;

/** A link to an instant: #run=…&at=… */
export function instantIn(hash: string): { run: string; at: number } | undefined {
  const fields = new URLSearchParams(hash.replace(/^#/, ''));
  const run = fields.get('run');
  const at = Number(fields.get('at'));
  return run && Number.isSafeInteger(at) && at > 0 ? { run, at } : undefined;
}

/** How far a run is that is being opened: its file goes to the server, the state that it begins with is looked for, its records come. */
export interface Opening {
  name: string | undefined;
  step: 'file' | 'state' | 'records';
  done: number;
  of: number;
}

/** The recorded runs: the list, and what is done with them. */
export class RecordedRuns {
  list = $state.raw<readonly RecordedRun[]>([]);
  /** The run that is being recorded; empty while it is not known, or where nothing is recorded. */
  present = $state('');
  busy = $state(false);
  /** The run that is being opened. */
  opening = $state.raw<Opening | undefined>(undefined);

  constructor(
    private readonly classroom: Classroom,
    /** Tells the reader what went wrong. */
    private readonly report: (text: Text) => void,
  ) {}

  async refresh(): Promise<void> {
    await this.doing('run.doing.list', async () => this.knows(await listRuns()));
  }

  /** Learns quietly which run is being recorded: where none is, nothing is offered. */
  async know(): Promise<void> {
    try {
      this.knows(await listRuns());
    } catch (error) {
      console.info('no runs are recorded here:', error);
    }
  }

  save(title: string): Promise<RecordedRun | undefined> {
    return this.doing('run.doing.save', async () => {
      const run = await saveRun(title);
      this.knows(await listRuns());
      return run;
    });
  }

  async rename(name: string, title: string): Promise<void> {
    await this.doing('run.doing.rename', async () => {
      await renameRun(name, title);
      this.knows(await listRuns());
    });
  }

  async remove(name: string): Promise<void> {
    await this.doing('run.doing.delete', async () => {
      this.knows(await deleteRun(name));
      if (this.classroom.recorded?.name === name) this.classroom.goLive();
    });
  }

  /** Keeps the run of a file and shows it. */
  async openFile(file: File): Promise<void> {
    this.opening = { name: file.name, step: 'file', done: 0, of: 0 };
    const run = await this.doing('run.doing.file', async () => {
      const kept = await sendRunFile(file);
      this.knows(await listRuns());
      return kept;
    });
    this.opening = undefined;
    if (run) await this.open(run.name);
  }

  /** Shows a run, its clock at a record, or at the run's start. */
  async open(name: string, wanted?: number): Promise<void> {
    await this.doing('run.doing.open', async () => {
      this.opening = { name: undefined, step: 'state', done: 0, of: 0 };
      const known = await listRuns();
      this.knows(known);
      const run = (known.runs ?? []).find((one) => one.name === name);
      if (!run) return this.report({ key: 'run.gone', params: { name } });
      if (run.lastN === 0 && name !== known.present) return this.report({ key: 'run.empty' });
      const first = Math.max(run.firstN, 1);
      const at = wanted ?? first;
      const called = run.title || run.name;
      this.opening = { name: called, step: 'state', done: 0, of: 0 };
      const from = at - first > LEAD ? at - LEAD - 1 : first - 1;
      const telling = new Telling({ records: PART + 1, checkpointEvery: 4_000 });
      const page = await runRecords(name, from, PAGE);
      // Where the run has a hole right there, the part begins behind it, and the state is the last one before it.
      const begin = page[0] ? page[0].n - 1 : from;
      const { state } = await runState(name, begin);
      telling.begin({ type: 'snapshot', n: begin, at: '', state: state as State, window: { firstN: begin + 1, lastN: begin }, resynchronised: 0 });
      await this.fetchPart(run, telling, page, Math.max(run.lastN, begin + 1));
      const { lastN } = telling.store;
      if (lastN === begin) return this.report({ key: 'run.empty' });
      this.classroom.showRun({ name, present: name === this.present, title: run.title, startedAt: run.startedAt, firstN: first, lastN: Math.max(run.lastN, lastN), from: begin, to: lastN }, telling, at);
    });
    this.opening = undefined;
  }

  /** From a first page on up to the part's size, the run's end, or a hole in it. A page of large records is short, which is not the end; a run that goes on has none. */
  private async fetchPart({ name, title }: RecordedRun, telling: Telling, page: TraceRecord[], lastN: number): Promise<void> {
    const { store } = telling;
    const first = store.firstN;
    const of = Math.min(PART, lastN - first);
    for (;;) {
      const hole = page.findIndex(({ n }, index) => n !== store.lastN + 1 + index);
      const whole = hole < 0 ? page : page.slice(0, hole);
      if (whole.length === 0) return;
      telling.append(whole);
      const done = store.lastN - first;
      this.opening = { name: title || name, step: 'records', done, of: Math.max(done, of) };
      if (hole >= 0 || (whole.length < PAGE && store.lastN >= lastN)) return;
      const wanted = Math.min(PAGE, PART - (store.lastN - first));
      if (wanted <= 0) return;
      page = await runRecords(name, store.lastN, wanted);
    }
  }

  /** Goes where a link leads; the present run's records may be at hand. */
  async follow({ run, at }: { run: string; at: number }): Promise<void> {
    if (this.present === '') await this.refresh();
    if (run === this.present && !this.classroom.recorded && (await this.classroom.reach(at))) return;
    if (this.classroom.recorded?.name === run && this.classroom.moveToRecord(at)) return;
    await this.open(run, at);
  }

  /** Shows a record of the present run, which a lab's check names: even when a recorded run is shown, or the page has not got that part of the run. */
  async showPresent(n: number): Promise<void> {
    if (this.classroom.recorded) this.classroom.goLive();
    if (this.classroom.moveToRecord(n)) return;
    if (this.present === '') await this.know();
    if (this.present === '') this.report({ key: 'time.gone' });
    else await this.follow({ run: this.present, at: n });
  }

  /** Moves the clock to a record of the run that is shown; where its part of the run is not at hand, that part is opened. */
  async goTo(n: number): Promise<void> {
    if (this.classroom.moveToRecord(n)) return;
    if (this.present === '') await this.know();
    if (this.shown === '') this.report({ key: 'time.gone' });
    else await this.open(this.shown, n);
  }

  /** Opens the part of the run that is before the one at hand; undefined where nothing is recorded. */
  get earlier(): (() => void) | undefined {
    const name = this.shown;
    return name === '' ? undefined : () => void this.open(name, Math.max(1, this.classroom.clock.firstN));
  }

  /** The link to the instant shown; undefined where nothing is recorded. */
  link(): string | undefined {
    const run = this.shown;
    if (run === '') return undefined;
    const url = new URL(location.href);
    url.hash = new URLSearchParams({ run, at: String(this.classroom.clock.n) }).toString();
    return url.href;
  }

  /** The run that is shown; empty where nothing is recorded. */
  private get shown(): string {
    return this.classroom.recorded?.name ?? this.present;
  }

  private knows({ runs, present }: { runs: RecordedRun[] | null; present: string }): void {
    this.list = runs ?? [];
    this.present = present;
  }

  private async doing<T>(key: 'run.doing.list' | 'run.doing.save' | 'run.doing.rename' | 'run.doing.delete' | 'run.doing.file' | 'run.doing.open', act: () => Promise<T>): Promise<T | undefined> {
    this.busy = true;
    try {
      return await act();
    } catch (error) {
      this.report({ key: 'run.failed', params: { action: { key }, detail: problemOf(error) } });
      return undefined;
    } finally {
      this.busy = false;
    }
  }
}
