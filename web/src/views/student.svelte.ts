const NAME = 'twinlog.student';

/** The name under which labs are done; empty: nobody's in particular. */
export class Student {
  name = $state(stored());

  rename(to: string): void {
    this.name = to.trim();
    try {
      localStorage.setItem(NAME, this.name);
    } catch {
      // A browser that stores nothing asks again next time.
    }
  }
}

function stored(): string {
  try {
    return localStorage.getItem(NAME) ?? '';
  } catch {
    return '';
  }
}
