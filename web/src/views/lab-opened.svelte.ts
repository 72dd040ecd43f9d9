import { language } from '../i18n/language.svelte';
import type { Text } from '../i18n/message';
import { actOnLab, problemOf, showLab, type LabAction, type LabDetail } from './api';
import type { Student } from './student.svelte';

/** 01-first-messages is lab 01: lectures and notes call it so. */
export const numberOf = (id: string) => /^\d+/.exec(id)?.[0] ?? '';

/** The lab that is open in the drawer: what the server tells of it, and what is done to it. */
export class OpenedLab {
  /** Its id; empty while the list of all labs is shown. */
  id = $state('');
  busy = $state<LabAction | undefined>(undefined);
  /** What went wrong. */
  problem = $state.raw<Text | undefined>(undefined);
  private loaded = $state.raw<LabDetail | undefined>(undefined);

  constructor(
    private readonly student: Student,
    id = '',
  ) {
    this.id = id;
  }

  /** Undefined until the server has told. */
  get detail(): LabDetail | undefined {
    return this.loaded?.id === this.id ? this.loaded : undefined;
  }

  open(id: string): void {
    this.id = id;
    this.problem = undefined;
  }

  /** Asks for a lab in a language; what comes is taken while that is still wanted. */
  async load(id: string, inLanguage: string): Promise<void> {
    const wanted = () => id === this.id && inLanguage === language();
    try {
      const shown = await showLab(id, inLanguage, this.student.name);
      if (!wanted()) return;
      this.loaded = shown;
      this.problem = undefined;
    } catch (error) {
      if (wanted()) this.problem = { key: 'lab.unavailable', params: { detail: problemOf(error) } };
    }
  }

  /** Does something to a lab; what came of it is told only while that lab is still shown. */
  async act(action: LabAction, more: Record<string, string> = {}, id = this.id): Promise<boolean> {
    this.busy = action;
    this.problem = undefined;
    let failure: Text | undefined;
    try {
      await actOnLab(id, action, language(), this.student.name, more);
      if (action === 'step') await actOnLab(id, 'check', language(), this.student.name);
    } catch (error) {
      failure = { key: 'action.failed', params: { action: { key: `lab.${action}` }, detail: problemOf(error) } };
    }
    if (id === this.id) {
      await this.load(id, language());
      if (failure && id === this.id) this.problem = failure;
    }
    this.busy = undefined;
    return failure === undefined;
  }
}
