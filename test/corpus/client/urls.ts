/** A URL of the API, and why no request can be made with it; absent: requests can. */
interface UrlCase {
  readonly url: string;
  readonly fault?: string;
}

const CREDENTIALS = 'must have no user and no password';
const BLANKS = 'must have no blanks';
const QUERY = 'must have no query and no fragment';
const NO_URL = 'must be an http or https URL';

export const URLS: readonly UrlCase[] = [
  { url: 'http://api.example' },
  { url: 'HTTPS://API.example:443/' },
  { url: 'http://api.example/base//' },
  { url: 'http:api.example' },
  { url: 'http:\\\\api.example\\base' },
  { url: 'http://bücher.example' },
  { url: 'http://@api.example' },
  { url: 'http://[::1]:8080/a%20b/~x@y' },
  // `fetch` refuses credentials in a URL (Fetch §4.4), as do browsers.
  { url: 'http://user:pw@api.example', fault: CREDENTIALS },
  { url: 'http://user@api.example', fault: CREDENTIALS },
  { url: 'https://:pw@api.example/base', fault: CREDENTIALS },
  { url: 'http://us%20er:p%3Aw@api.example', fault: CREDENTIALS },
  // The parser leaves them out (URL §4.4), unless a path follows.
  { url: 'http://api.example ', fault: BLANKS },
  { url: ' http://api.example', fault: BLANKS },
  { url: 'http://api.example\n', fault: BLANKS },
  { url: 'http://api.example\r\n', fault: BLANKS },
  { url: 'http://api.ex\tample/', fault: BLANKS },
  { url: 'http://api.example/a b', fault: BLANKS },
  { url: 'http://api.example\u00a0', fault: BLANKS },
  { url: 'http://api.example\u0000', fault: BLANKS },
  // The path would become a part of them.
  { url: 'http://api.example?x=1', fault: QUERY },
  { url: 'http://api.example/?', fault: QUERY },
  { url: 'http://api.example#top', fault: QUERY },
  { url: 'http://api.example/#', fault: QUERY },
  { url: '', fault: NO_URL },
  { url: 'api.example', fault: NO_URL },
  { url: 'localhost:3000', fault: NO_URL },
  { url: '//api.example', fault: NO_URL },
  { url: 'ftp://api.example', fault: NO_URL },
  { url: 'file:///etc/passwd', fault: NO_URL },
  { url: 'http://', fault: NO_URL },
  { url: 'http://api.example:99999', fault: NO_URL },
  { url: 'http://[::1', fault: NO_URL },
  { url: 'http://exa<mple', fault: NO_URL },
];
