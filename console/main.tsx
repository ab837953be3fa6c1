import { render } from 'preact';
import { App } from './frame/app.tsx';
import { language } from './language/language.ts';
import { applyTheme, savedTheme } from './navigation/theme.ts';

document.documentElement.lang = language;
applyTheme(savedTheme());
const root = document.getElementById('app');
if (root !== null) render(<App />, root);
