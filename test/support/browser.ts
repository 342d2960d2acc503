/** A browser without a screen: keeps cookies by host, follows redirects, fills in the provider's form. */
export class Browser {
  private readonly jars = new Map<string, Map<string, string>>();

  /** One request; redirects are not followed. */
  async open(
    url: string,
    init: RequestInit = {},
  ): Promise<{ status: number; to: string | undefined; text: string; headers: Headers }> {
    const jar = this.jar(url);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(cookie === '' ? {} : { cookie }), ...(init.headers as Record<string, string> | undefined) };
    const response = await fetch(url, { ...init, redirect: 'manual', headers });
    for (const one of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(one) ?? [];
      if (value === '' || /max-age=0|expires=Thu, 01 Jan 1970/i.test(one)) jar.delete(name);
      else jar.set(name, value);
    }
    const location = response.headers.get('location');
    const to = location === null ? undefined : new URL(location, url).href;
    return { status: response.status, to, text: await response.text(), headers: response.headers };
  }

  /** Follows redirects up to, and not into, an address that `until` matches; answers it. */
  async follow(url: string, until: RegExp): Promise<string> {
    let at = url;
    for (let hops = 0; hops < 15; hops += 1) {
      if (until.test(at)) return at;
      const { status, to, text } = await this.open(at);
      if (to === undefined) throw new Error(`${at} answered ${status} and leads nowhere: ${text.slice(0, 300)}`);
      at = to;
    }
    throw new Error(`The redirects from ${url} have no end`);
  }

  /** Signs in at the provider as `name`, beginning at `url`; answers the callback that the browser would call next. */
  async signInAs(name: string, url: string): Promise<string> {
    const form = await this.follow(url, /\/interaction\//);
    await this.open(form);
    const body = new URLSearchParams({ prompt: 'login', login: name, password: 'x' });
    const { to } = await this.open(form, { method: 'POST', body });
    return this.follow(to ?? '', /\/auth\/oidc\/callback/);
  }

  /** Takes a cookie of another browser along. */
  cookie(url: string, name: string): string | undefined {
    return this.jar(url).get(name);
  }

  setCookie(url: string, name: string, value: string): void {
    this.jar(url).set(name, value);
  }

  /** By port too, unlike a real one: the hosts of a test are all the loopback address. */
  private jar(url: string): Map<string, string> {
    const { origin } = new URL(url);
    const jar = this.jars.get(origin) ?? new Map<string, string>();
    this.jars.set(origin, jar);
    return jar;
  }
}
