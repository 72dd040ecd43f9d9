import type { State, TypedRecord } from '../../trace/types';
import type { Check, Findings } from '../invariants';

/** Epochs that are remembered; a controller of an older one no longer matters. */
const EPOCHS = 1000;

/** One controller an epoch: /controller_epoch is raised with the election in one transaction, so no two brokers can have the same. */
export class ControllerCheck implements Check {
  readonly roles = ['kafka'];
  private readonly elected = new Map<number, number>();

  constructor(private readonly findings: Findings) {}

  begin(state: State): void {
    const { broker, epoch } = state.kafka.controller;
    if (broker >= 0) this.elected.set(epoch, broker);
  }

  take(record: TypedRecord): void {
    if (record.kind !== 'kafka.controllerElected') return;
    const { broker, epoch } = record.data;
    const other = this.elected.get(epoch);
    if (other !== undefined && other !== broker) {
      this.findings.broken(record, { key: 'breach.controller', params: { brokers: [`kafka-${other}`, `kafka-${broker}`], epoch: String(epoch) } });
      return;
    }
    this.elected.set(epoch, broker);
    if (this.elected.size > EPOCHS) this.elected.delete(this.elected.keys().next().value!);
    this.findings.held(record);
  }
}
