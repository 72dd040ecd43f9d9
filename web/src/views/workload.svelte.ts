import { saidText } from '../i18n/said';
import { ApiError, listWorkloads, problemOf, startWorkload, stopWorkload, type Workload, type WorkloadSide } from './api';
import { report } from './notices.svelte';

const REFRESH_MS = 1500;

/** The demo workload: what the server says that it does. Its counts are the clients' own; the trace does not have them. */
export class DemoWorkload {
  running = $state.raw<readonly Workload[]>([]);
  known = $state(false);
  busy = $state(false);
  /** False where the server has no workloads to offer. */
  offered = $state(true);

  private timer: ReturnType<typeof setTimeout> | undefined;
  private told = new Set<string>();

  /** Keeps looking until the returned function is called. */
  watch(): () => void {
    let ended = false;
    const look = async () => {
      await this.refresh();
      if (!ended) this.timer = setTimeout(look, REFRESH_MS);
    };
    void look();
    return () => {
      ended = true;
      clearTimeout(this.timer);
    };
  }

  acknowledged(engine: string): number {
    return this.running.reduce((sum, { sides }) => sum + (sides.find((side) => side.engine === engine)?.acknowledged ?? 0), 0);
  }

  start(): Promise<void> {
    return this.act('workload.start', async () => void (await startWorkload()));
  }

  stop(): Promise<void> {
    return this.act('workload.stop', async () => {
      await Promise.all(this.running.map(({ id }) => stopWorkload(id)));
    });
  }

  stopOne(id: string): Promise<void> {
    return this.act('workload.stop', async () => void (await stopWorkload(id)));
  }

  private async act(key: 'workload.start' | 'workload.stop', does: () => Promise<void>): Promise<void> {
    this.busy = true;
    try {
      await does();
    } catch (error) {
      report({ key: 'action.failed', params: { action: { key }, detail: problemOf(error) } });
    }
    await this.refresh();
    this.busy = false;
  }

  private async refresh(): Promise<void> {
    try {
      this.running = (await listWorkloads()).filter(({ sides }) => sides.some(isAlive));
      this.known = true;
      for (const { id, sides } of this.running) for (const side of sides) this.tellFailure(id, side);
    } catch (error) {
      this.known = false; // the connection's own notice tells it
      this.offered = !(error instanceof ApiError && error.code === 'notAvailable');
    }
  }

  private tellFailure(id: string, side: WorkloadSide): void {
    const key = `${id}/${side.engine}`;
    if (side.state !== 'failed' || this.told.has(key)) return;
    this.told.add(key);
    report({ key: 'workload.failed', params: { engine: side.engine, detail: saidText(side.lastProblem, side.lastError) } });
  }
}

function isAlive({ state }: WorkloadSide): boolean {
  return state === 'starting' || state === 'running' || state === 'finished';
}
