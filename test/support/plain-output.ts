/**
 * What programs print is compared as text, so nothing may ask them for colours: a terminal, CI or a caller does. The
 * reporter has chosen its own by now.
 */
export default function setup(): void {
  process.env['NO_COLOR'] = '1';
  delete process.env['FORCE_COLOR'];
}
