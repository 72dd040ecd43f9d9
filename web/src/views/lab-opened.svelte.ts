import { language, t } from '../i18n/language.svelte';
import { actOnLab, showLab, type LabAction, type LabDetail } from './api';
import type { Student } from './student.svelte';

/** The lab that is open in the drawer: what the server tells of it, and what is done to it. */
export class OpenedLab {
  /** Its id; empty while the list of all labs is shown. */
  id = $state('');
  busy = $state<LabAction | undefined>(undefined);
  /** What went wrong, in words; empty: nothing. */
  problem = $state('');
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
    this.problem = '';
  }

  /** Asks for a lab in a language; what comes is taken while that is still wanted. */
  async load(id: string, inLanguage: string): Promise<void> {
    const wanted = () => id === this.id && inLanguage === language();
    try {
      const shown = await showLab(id, inLanguage, this.student.name);
      if (!wanted()) return;
      this.loaded = shown;
      this.problem = '';
    } catch (error) {
      if (wanted()) this.problem = t('lab.unavailable', { detail: (error as Error).message });
    }
  }

  /** Does something to a lab; what came of it is told only while that lab is still shown. */
  async act(action: LabAction, more: Record<string, string> = {}, id = this.id): Promise<boolean> {
    this.busy = action;
    this.problem = '';
    let failure = '';
    try {
      await actOnLab(id, action, language(), this.student.name, more);
      if (action === 'step') await actOnLab(id, 'check', language(), this.student.name);
    } catch (error) {
      failure = t('action.failed', { action: t(`lab.${action}`), detail: (error as Error).message });
    }
    if (id === this.id) {
      await this.load(id, language());
      if (failure && id === this.id) this.problem = failure;
    }
    this.busy = undefined;
    return failure === '';
  }
}
