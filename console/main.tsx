import './frame/usable-language.ts';
import { render } from 'preact';
import { App } from './frame/app.tsx';
import { applyTheme, savedTheme } from './navigation/theme.ts';

applyTheme(savedTheme());
const root = document.getElementById('app');
if (root !== null) render(<App />, root);
