import { domainToASCII } from 'node:url';

/** Providers with whom anybody gets an address: whoever trusted such a domain would let everybody in. Their subdomains are theirs too. */
const CONSUMER_DOMAINS = new Set(
  `gmail.com googlemail.com outlook.com outlook.de outlook.fr outlook.jp hotmail.com hotmail.co.uk hotmail.de hotmail.es hotmail.fr
   hotmail.it live.com live.co.uk live.de live.fr live.nl msn.com passport.com windowslive.com yahoo.com yahoo.ca yahoo.co.in yahoo.co.jp
   yahoo.co.uk yahoo.com.ar yahoo.com.au yahoo.com.br yahoo.de yahoo.es yahoo.fr yahoo.in yahoo.it ymail.com rocketmail.com aol.com aol.co.uk
   aol.de aim.com verizon.net icloud.com me.com mac.com privaterelay.appleid.com proton.me protonmail.com protonmail.ch pm.me
   tutanota.com tutanota.de tuta.io tuta.com tutamail.com keemail.me gmx.com gmx.at gmx.ch gmx.de gmx.net gmx.co.uk web.de mail.com
   email.com freenet.de t-online.de arcor.de online.de mailbox.org posteo.de posteo.net yandex.com yandex.ru yandex.by yandex.kz ya.ru mail.ru
   bk.ru inbox.ru list.ru internet.ru rambler.ru qq.com foxmail.com 163.com 126.com yeah.net sina.com sina.cn sohu.com aliyun.com 139.com
   naver.com daum.net hanmail.net kakao.com nate.com docomo.ne.jp ezweb.ne.jp softbank.ne.jp rediffmail.com orange.fr wanadoo.fr free.fr
   laposte.net sfr.fr neuf.fr bbox.fr libero.it virgilio.it alice.it tin.it tiscali.it tiscali.co.uk btinternet.com sky.com talktalk.net
   virginmedia.com ntlworld.com blueyonder.co.uk comcast.net xfinity.com cox.net charter.net spectrum.net att.net sbcglobal.net
   bellsouth.net earthlink.net juno.com netzero.net optonline.net shaw.ca rogers.com sympatico.ca telus.net bigpond.com optusnet.com.au
   uol.com.br bol.com.br terra.com.br ig.com.br globo.com seznam.cz centrum.cz email.cz wp.pl o2.pl onet.pl interia.pl op.pl ukr.net
   i.ua abv.bg bluewin.ch hispavista.com telefonica.net ziggo.nl kpnmail.nl planet.nl xs4all.nl telenet.be skynet.be zoho.com
   zohomail.com fastmail.com fastmail.fm hushmail.com hey.com duck.com mozmail.com startmail.com mailfence.com runbox.com inbox.com
   inbox.lv lycos.com excite.com mailinator.com guerrillamail.com 10minutemail.com temp-mail.org yopmail.com trashmail.com
   sharklasers.com getnada.com dispostable.com maildrop.cc`.split(/\s+/),
);

/** The domain of a mail address as the name system has it: small letters, without the marks of other scripts. Undefined: there is none. */
export function domainOf(email: string): string | undefined {
  const at = email.lastIndexOf('@');
  const domain = at < 1 ? '' : domainToASCII(email.slice(at + 1).replace(/\.$/, '')).toLowerCase();
  return /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(domain) && !/^[\d.]+$/.test(domain) ? domain : undefined;
}

/** Whether anybody may get an address there. */
export function isConsumerDomain(domain: string): boolean {
  const labels = domain.split('.');
  return labels.some((_, index) => CONSUMER_DOMAINS.has(labels.slice(index).join('.')));
}

/** Which domain somebody with this address may have trusted, or why none. */
export function eligibilityOf(email: string | undefined): {
  readonly domain: string | null;
  readonly reason: string | null;
} {
  const domain = email === undefined ? undefined : domainOf(email);
  if (domain === undefined) return { domain: null, reason: 'You do not sign in with a mail address of a domain' };
  if (isConsumerDomain(domain)) return { domain: null, reason: `Anybody may get an address at ${domain}` };
  return { domain, reason: null };
}
