export type Theme = 'light' | 'dark';

let current = $state<Theme>('light');

export function theme(): Theme {
  return current;
}

export function setTheme(to: Theme): void {
  current = to;
  document.documentElement.dataset.theme = to;
  try {
    localStorage.setItem('twinlog.theme', to);
  } catch {
    // A browser that stores nothing follows the system next time.
  }
}

/** The theme of the last visit, else of the address (?theme=dark), else the system's. */
export function chooseTheme(): void {
  let stored: string | null = null;
  try {
    stored = localStorage.getItem('twinlog.theme');
  } catch {
    // As above.
  }
  const wish = new URLSearchParams(location.search).get('theme') ?? stored;
  const system = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  setTheme(wish === 'dark' || wish === 'light' ? wish : system);
}
