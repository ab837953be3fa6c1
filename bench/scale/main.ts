import { settingsTable } from './settings.ts';

process.stdout.write(settingsTable());
