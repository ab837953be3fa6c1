import { pricesTable } from './price-table.ts';
import { settingsTable } from './settings.ts';

process.stdout.write(`${settingsTable()}\n${pricesTable('en')}\n${pricesTable('ja')}`);
