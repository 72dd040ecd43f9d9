import { mount } from 'svelte';
import { chooseLanguage } from './i18n/language.svelte';
import './styles/tokens.css';
import './styles/base.css';
import App from './views/App.svelte';
import { chooseTheme } from './views/theme.svelte';

chooseLanguage();
chooseTheme();
mount(App, { target: document.getElementById('app')! });
