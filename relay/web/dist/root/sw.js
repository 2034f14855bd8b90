// The page's service worker. It caches the files of the page, so that the page opens without a
// connection, and shows push messages. It never caches responses of the API.
//
// The worker caches either all files of a build or none. The server writes the list of the files
// into this script, so each build has a worker of its own. A new worker replaces the old one when
// no tab shows the old build, or when the user accepts the new version.
const root = new URL(".", self.location).pathname;
const at = (path) => root + path.slice(1);
const build = at("/assets/BUILD/");
const name = "concerto-page " + build;
const files = /*assets*/[].map(at);
const fixed = ["/", "/manifest.webmanifest", "/icon.svg", "/icon-192.png"].map(at);
// late reports whether a file is cached when the page first loads it, and not at installation.
const late = (path) => path === build + "joined/xterm.js" || path.endsWith("/LICENSE");

self.addEventListener("install", (e) => {
  e.waitUntil(cacheBuild());
  // If the browser supports routes, requests to the API bypass the worker. Without a route, they
  // would keep an old worker running that a new one should replace.
  e.addRoutes?.({ condition: { requestMode: "same-origin" }, source: "network" });
});

async function cacheBuild() {
  const cache = await caches.open(name);
  const all = [...fixed, ...files.filter((path) => !late(path))];
  await cache.addAll(all.map((path) => new Request(path, { cache: path.startsWith(build) ? "default" : "reload" })));
}

self.addEventListener("activate", (e) => e.waitUntil(begin()));

async function begin() {
  for (const key of await caches.keys()) if (key.startsWith("concerto-page ") && key !== name) await caches.delete(key);
  await self.clients.claim();
}

self.addEventListener("message", (e) => {
  if (e.data === "take over") self.skipWaiting();
});

self.addEventListener("fetch", (e) => {
  const url = new URL(e.request.url);
  if (e.request.method !== "GET" || url.origin !== self.location.origin) return;
  if (url.pathname.startsWith(build)) e.respondWith(asset(e.request));
  else if (fixed.includes(url.pathname)) e.respondWith(cachedFile(e.request, url.pathname));
});

// cachedFile returns the version of a file that belongs to this worker's build, or requests the file
// if the cache does not contain it.
async function cachedFile(request, path) {
  return (await (await caches.open(name)).match(path, { ignoreVary: true })) || fetch(request);
}

async function asset(request) {
  const cache = await caches.open(name);
  const cached = await cache.match(request, { ignoreVary: true });
  if (cached) return cached;
  const answer = await fetch(request);
  if (answer.ok) await cache.put(request, answer.clone());
  return answer;
}

var notice=(()=>{var q=Object.defineProperty;var ye=Object.getOwnPropertyDescriptor;var me=Object.getOwnPropertyNames;var he=Object.prototype.hasOwnProperty;var ge=(e,n)=>{for(var t in n)q(e,t,{get:n[t],enumerable:!0})},we=(e,n,t,s)=>{if(n&&typeof n=="object"||typeof n=="function")for(let r of me(n))!he.call(e,r)&&r!==t&&q(e,r,{get:()=>n[r],enumerable:!(s=ye(n,r))||s.enumerable});return e};var be=e=>we(q({},"__esModule",{value:!0}),e);var Xe={};ge(Xe,{textOf:()=>We});var xe="concerto-relay";var O=null,_e=null;function ve(){return O??=new Promise(e=>{let n;try{n=indexedDB.open(xe,2)}catch{e(null);return}n.onupgradeneeded=t=>Ae(n.result,t.oldVersion),n.onerror=()=>e(null),n.onsuccess=()=>{let t=n.result;t.onversionchange=()=>{t.close(),O=null},t.onclose=()=>{O=null},e(t)}}),O}function Ae(e,n){n<1&&(e.createObjectStore("events",{keyPath:["run_id","seq"]}),e.createObjectStore("runs",{keyPath:"id"}),e.createObjectStore("outbox",{keyPath:"n",autoIncrement:!0}),e.createObjectStore("meta")),e.createObjectStore("devices",{keyPath:"account"}),e.createObjectStore("counters")}async function F(e,n,t,s){let r=_e?.includes(e[0])===!1?null:await ve();return r?new Promise((a,d)=>{let i;try{i=r.transaction(e,n,{durability:e[0]==="outbox"?"strict":"default"})}catch(f){O=null,d(f);return}let p;i.oncomplete=()=>a(p),i.onerror=i.onabort=()=>d(i.error||new Error("the browser's storage refused")),t(f=>{p=f},...e.map(f=>i.objectStore(f)))}):s}var v=class extends Error{constructor(n,t=n){super(t),this.name="Refusal",this.code=n}};function o(e,n){throw new v(e,n)}var Y=e=>e.replace(/\p{Surrogate}/gu,"�");function h(e){return typeof e=="string"?JSON.stringify(Y(e)):(typeof e=="number"&&!(Number.isInteger(e)?Number.isSafeInteger(e):Number.isFinite(e))&&o("bad_message",`this page cannot show the number ${e} exactly: decide on the machine`),e===null||typeof e!="object"?JSON.stringify(e):Array.isArray(e)?`[${e.map(h).join()}]`:`{${Object.entries(e).filter(([,t])=>t!==void 0).map(([t,s])=>[Y(t),s]).sort(([t],[s])=>t<s?-1:1).map(([t,s])=>`${JSON.stringify(t)}:${h(s)}`).join()}}`)}var ke=new TextEncoder,m=e=>ke.encode(e),A=e=>btoa(e.reduce((n,t)=>n+String.fromCharCode(t),"")).replaceAll("+","-").replaceAll("/","_").replaceAll("=","");function y(e,n){if(typeof e!="string"||!/^[\w-]*$/.test(e)||e.length!==Math.ceil(n*4/3))return null;let t=Uint8Array.from(atob(e.replaceAll("-","+").replaceAll("_","/")),s=>s.charCodeAt(0));return A(t)===e?t:null}var C=async e=>new Uint8Array(await crypto.subtle.digest("SHA-256",e)),H=async e=>Array.from(await C(typeof e=="string"?m(e):e),n=>n.toString(16).padStart(2,"0")).join(""),N=e=>/^[\w-]{1,64}$/.test(e),ee=e=>/^[0-9a-f]{64}$/.test(e),k=e=>/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(e)&&!Number.isNaN(Date.parse(e))&&new Date(e).toISOString()===e,I=e=>e!==""&&m(e).length<=200&&!/[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/.test(e),Se=4096;function x(e,n,t=Se){let s;try{s=JSON.parse(e)}catch{}return(m(e).length>t||!B(s,n)||h(s)!==e)&&o("bad_message","a text has another form"),s}var T=e=>e!==null&&typeof e=="object"&&!Array.isArray(e);function B(e,n){if(typeof n=="string")return n==="any"||(n==="integer"?Number.isSafeInteger(e):typeof e===n);if(!T(e))return!1;let t=new Set(Object.keys(e));for(let[s,r]of Object.entries(n)){let a=s.replace("?","");if(t.delete(a)?!B(e[a],r)||s!==a&&!e[a]:s===a)return!1}return t.size===0}function _(e,n){return B(e,n)||o("bad_message","a value has another form"),e}var Ke="concerto-sealed-v1 ",Ee={namedCurve:"P-256"},Oe={name:"ECDSA",hash:"SHA-256"};var Ce=(e,n)=>m(`${Ke}${e}
${n}`);async function S(e,n="ECDSA"){let t=y(e,65);return t&&crypto.subtle.importKey("raw",t,{name:n,...Ee},!0,n==="ECDSA"?["verify"]:[]).catch(()=>null)}var te=async e=>"d_"+A((await C(y(e,65))).subarray(0,16));async function K(e,n,t,s){let r=await S(e),a=y(s,64);return!!r&&!!a&&crypto.subtle.verify(Oe,r,a,Ce(n,h(t)))}var ne=(e,{kind:n,id:t,sign_key:s,seal_key:r})=>({account:e,kind:n,id:t,sign_key:s,seal_key:r});var{subtle:w}=globalThis.crypto,l="string",R="integer",se={enc:l,ct:l},$e={v:R,account:l,host:l,epoch:R,roster:{n:R,hash:l},prev:l,at:l,wraps:"any",names:l,"sig?":l},it={v:R,account:l,host:l,by:l,to:l,epochs:"any",...se,"sig?":l},oe=1<<20,z=16,De=268+z,Me=(4<<20)-4096,ct=(47<<16)-1,je=({sig:e,...n})=>n,E=(...e)=>new Uint8Array(e.flatMap(n=>[...typeof n=="string"?m(n):n])),J=e=>w.importKey("raw",e,"HKDF",!1,["deriveKey","deriveBits"]),He=async e=>({seal:await w.importKey("raw",e,"AES-GCM",!1,["encrypt","decrypt"]),derive:await J(e)}),ae=(e,n)=>({name:"HKDF",hash:"SHA-256",salt:e,info:n}),re=async(e,n,t,s)=>new Uint8Array(await w.deriveBits(ae(n,t),await J(e),s*8));async function Ne(e,n,{enc:t,ct:s},r,a,d="concerto-sealed-v1 keys"){let i="HPKE-v1KEM\0",p="HPKE-v1HPKE\0\0\0",f=new Uint8Array(32),c=await S(t,"ECDH");c||o("bad_signature");let b=new Uint8Array(await w.deriveBits({name:"ECDH",public:c},e,256)),$=await re(E(i,"eae_prk",b),f,E([0,32],i,"shared_secret",y(t,65),y(n,65)),32),P=await w.importKey("raw",f,{name:"HMAC",hash:"SHA-256"},!1,["sign"]),D=async(...g)=>new Uint8Array(await w.sign("HMAC",P,E(p,...g))),U=E([0],await D("psk_id_hash"),await D("info_hash",d)),M=(g,X)=>re(E(p,"secret"),$,E([0,X],p,g,U),X),j=await w.importKey("raw",await M("key",32),"AES-GCM",!1,["decrypt"]);return ie(j,await M("base_nonce",12),m(h(r)),y(s,a+z))}async function ie(e,n,t,s){try{return new Uint8Array(await w.decrypt({name:"AES-GCM",iv:n,additionalData:t},e,s))}catch{return o("bad_signature")}}var G=(e,n,...t)=>w.deriveKey(ae(new Uint8Array,m(h([`concerto-sealed-v1 ${n}`,...t]))),e,{name:"AES-GCM",length:256},!1,["decrypt"]);function ce(e){let n=Math.floor(e.length*3/4);return e.length<=Me&&n>=De&&y(e,n)||o("bad_message")}var L=(...e)=>m(h(["concerto-sealed-v1",...e]));var Ie=new TextDecoder("utf-8",{fatal:!0,ignoreBOM:!0});async function V(e,n,t,s=Re){let r=ce(t),a=await ie(e,r.subarray(0,12),n,r.subarray(12)),d=a.findLastIndex(i=>i);(a[d]!==128||s(d)!==a.length)&&o("bad_message");try{return Ie.decode(a.subarray(0,d))}catch{return o("bad_message")}}function Re(e){let n=31-Math.clz32(++e),t=(1<<n-32+Math.clz32(n))-1;return Math.max(256,e+t&~t)}var Pe=({enc:e,ct:n},t)=>y(e,65)&&y(n,t+z);async function ue(e,n,t,s){let r=x(n,$e,oe),a=r.roster.n;Array.isArray(r.wraps)||o("bad_message");for(let c of r.wraps)_(c,{to:l,...se});r.v!==1&&o("unsupported"),(!k(r.at)||r.epoch<1||r.epoch===1&&r.prev||r.prev&&!ee(r.prev))&&o("bad_message"),(r.account!==e.account||r.host!==t)&&o("wrong_request"),e.has(r.roster)||o("roster_fork");let d=e.membersAt(a),i=d.find(c=>c.id===t);(i?.kind!=="host"||e.wasRemoved(i,r.at))&&o("unknown_device"),await K(i.sign_key,"epoch",je(r),r.sig)||o("bad_signature");let p=[...d.filter(c=>c.kind==="device").map(c=>c.id),"recovery"];r.wraps.map(c=>c.to).join()!==p.join()&&o("unknown_device"),r.wraps.every(c=>Pe(c,c.to==="recovery"?32:64))||o("bad_message"),ce(r.names);let f={n:r.epoch,hash:await H(n),roster:a};return s?.n&&h(s)!==h(f)&&(r.epoch<s.n&&o("old_epoch"),(r.epoch===s.n||r.prev!==s.hash||a<s.roster)&&o("roster_fork")),{...r,position:f}}async function de(e,n,{seal:t,seal_key:s}){let r=e.wraps.find(c=>c.to===n)??o("unknown_device"),a=await Ne(t,s,r,[e.account,e.host,e.epoch,e.roster.n,n],n==="recovery"?32:64),d=await J(a.subarray(0,32)),i=a.length>32&&await He(a.subarray(32)),p=await V(await G(d,"names"),L("names",e.account,e.host,e.epoch),e.names),f=x(p,"any",oe);return(!T(f)||Object.entries(f).some(([c,b])=>!N(c)||typeof b!="string"||!I(b)))&&o("bad_message"),{secret:d,command:i,names:f}}var u="string",Ue={v:"integer",account:u,n:"integer",prev:u,at:u,kind:u,body:"any",by:u,"sig?":u},qe={suite:"integer",recovery:{private:u,sign_key:u,seal_key:u}},Fe={kind:u,id:u,sign_key:u,seal_key:u,own_sig:u,user:u,"role?":u,"page?":u},Te={decide:{"low?":u,"medium?":u,"high?":u}},Be=/^https?:\/\/([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$/,W=class{account="";#t=[];#n=[];#r=null;#e=[];get n(){return this.#t.length}get head(){return{n:this.n,hash:this.#t.at(-1)}}has({n,hash:t}){return n>0&&this.#t[n-1]===t}get members(){return this.#e.filter(n=>!n.until)}member(n){return this.members.find(t=>t.id===n)}membersAt(n){return this.#e.filter(t=>t.from<=n&&!(t.until<=n))}hostKey(n){return this.#e.findLast(t=>t.id===n&&t.kind==="host")?.sign_key}wasRemoved({sign_key:n},t){return this.#e.some(s=>s.sign_key===n&&this.#n[s.until-1]<t)}async append(n){let t=x(n,Ue);(t.v!==1||t.n<1||!k(t.at))&&o("bad_message","v, n or at of a roster line has the wrong form");let s=await H(n);if(!this.n)return this.#o(n,t,s);t.n>1&&t.account!==this.account&&o("wrong_request","the line is for another account"),!this.has({n:t.n,hash:s})&&((t.n<=this.n||t.n===this.n+1&&t.prev!==this.head.hash)&&o("roster_fork",`line ${t.n} belongs to another roster of the account`),(t.n>this.n+1||t.at<this.#n.at(-1))&&o("bad_message","a line is missing, or its time is before that of the previous line"),await K(this.#a(t),"roster",pe(t),t.sig)||o("bad_signature",`the signature of line ${t.n} is not by ${t.by}`),this.#e=await this.#i(t),this.#s(t,s))}#s(n,t){this.#t.push(t),this.#n.push(n.at)}async#o(n,t,s){(t.kind!=="genesis"||t.n!==1||t.account+t.prev!==""||t.by!=="recovery")&&o("bad_message","the first line is no genesis");let{suite:r,recovery:a}=_(t.body,qe);r!==1&&o("unsupported",`the roster uses suite ${r}`),await fe(a),y(a.private,92)||o("bad_message","private of the recovery keys has the wrong form"),await K(a.sign_key,"roster",pe(t),t.sig)||o("bad_signature","the genesis is not signed by its recovery key"),this.account="a_"+A(await C(m(n))),this.#r=a,this.#s(t,s)}#a({by:n}){if(n==="recovery")return this.#r.sign_key;let t=this.member(n);return t||o("unknown_device","a line is by no member"),(t.kind!=="device"||t.role!=="owner")&&o("forbidden","a line is by no device of an owner"),t.sign_key}async#i({kind:n,body:t,n:s}){switch(n){case"add":return[...this.#e,{...await this.#c(t),from:s}];case"remove":{let r=this.member(_(t,{id:u}).id);return r||o("unknown_device","a removed member is no member"),this.#e.map(a=>a===r?{...r,until:s}:a)}case"policy":return Object.values(_(t,Te).decide).some(r=>r!=="any"&&r!=="pinned")&&o("bad_message","a policy has an unknown level"),this.#e;case"genesis":o("bad_message","a later line is a genesis")}return o("unsupported","the roster requires a newer version of this page")}async#c(n){let t=_(n,Fe);await fe(t);let s=t.kind==="device";(!s&&t.kind!=="host"||!N(t.id)||s&&t.id!==await te(t.sign_key))&&o("bad_message","a member has the wrong kind or id"),await K(t.sign_key,"member",ne(this.account,t),t.own_sig)||o("bad_signature","own_sig is not by the member"),(!I(t.user)||(s?!/^(viewer|operator|owner)$/.test(t.role)||!(/^(cli|server)$/.test(t.page)||Be.test(t.page)):t.role||t.page))&&o("bad_message","user, role or page of a member has the wrong form");let r=[this.#r,...this.#e].flatMap(a=>[a.sign_key,a.seal_key]);return(this.member(t.id)||r.includes(t.sign_key)||r.includes(t.seal_key))&&o("bad_message","a member or a key is added twice"),t}},pe=({sig:e,...n})=>n;async function fe({sign_key:e,seal_key:n}){(!await S(n,"ECDH")||!await S(e)||e===n)&&o("bad_message","a key is no point of P-256")}var Z=e=>(e??"").replace(/\n$/,"").split(`
`);async function le(e,n,t){let s=new W;for(let r of Z(e))await s.append(r);if(n&&n!==s.account)throw new v("wrong_request","the roster is that of another account");if(t&&!s.has(t))throw new v("roster_fork",`the roster has another or no line ${t.n} than the one known`);return s}var Q="string",ze={summary:Q,title:Q,ts:Q},Je=48*36e5,Ge=1e4,Le=["run.permission_requested","run.permission_resolved","run.exited"],Ve=()=>F(["devices","counters"],"readonly",(e,n,t)=>{n.getAll().onsuccess=s=>{t.getAll().onsuccess=r=>e([s.target.result.filter(a=>a.n),r.target.result])}});async function We(e){try{let[n,t]=await Ve(),{run_id:s,host_id:r,sealed:a}=e;return a||n.some(i=>!r||i.hosts.includes(r))||t.some(i=>i.run===s||i.secrets&&i.host===r)?await Ze(e,n,t):{...e,mine:!0}}catch{return{title:"Concerto",summary:"A run needs you"}}}async function Ze({run_id:e,request_id:n,host_id:t,withdrawn:s,sealed:{type:r,epoch:a,device:d,ct:i}},p,f){r!==Le[n?+!!s:2]&&o("wrong_request");let c=p.find(g=>g.id===d)??o("unknown_device"),{account:b}=c,$=f.find(g=>g.secrets&&g.host===t&&g.account===b),P=$?.commands?.get(a)??(await Qe(c,t,$?.position)).get(a)??o("old_epoch"),D=L("push",b,t,e,a,r,n,d),{title:U,summary:M,ts:j}=x(await V(await G(P.derive,"push"),D,i,()=>512),ze);return(!k(j)||!(Math.abs(Date.now()-Date.parse(j))<Je))&&o("stale"),{title:U,summary:M,mine:!0}}async function Qe(e,n,t){let{account:s}=e,r=new Map,a=async i=>{let p=await fetch(`/seal/${s}/${i}`,{cache:"no-store",redirect:"error",signal:AbortSignal.timeout(Ge)});return p.ok?p.text():o("old_epoch")},d=await le(await a("roster?after=0"),s,e);for(let i of Z(await a(`keys?host=${encodeURIComponent(n)}&after=${t?.n??0}`)).filter(Boolean)){let p=await ue(d,i,n,t);t=p.position,p.wraps.some(f=>f.to===e.id)&&r.set(p.epoch,(await de(p,e.id,e)).command)}return r}return be(Xe);})();
const { textOf } = notice;

// A push message is {title, run_id, request_id, summary, host_id}. In a message about the end of a
// run, request_id is "". A message with withdrawn: true closes the notification with the same run_id
// and request_id. Package relay/server/push sends the messages. In a message about a run of an
// account, sealed: {type, epoch, device, ct} has the texts, which only a device of the account can
// read (package relay/seal).
self.addEventListener("push", (e) => {
  let note;
  try { note = e.data.json(); } catch { return; } // the server sends only JSON
  e.waitUntil(note.withdrawn ? close(note) : show(note));
});

const tagOf = (note) => `${note.run_id}/${note.request_id || ""}`;
const shownFor = (note) => self.registration.getNotifications({ tag: tagOf(note) });

// isKept reports whether a message may not replace or close a notification, because the machine has
// sealed that and not the message.
const isKept = ({ data }, note, text) => !!data?.host_id && (!text.mine || data.host_id !== note.host_id);

async function show(note) {
  const text = await textOf(note), { run_id, request_id, host_id } = note;
  if ((await shownFor(note)).some((n) => isKept(n, note, text))) return;
  await self.registration.showNotification(text.title || "Concerto", {
    body: text.summary || "", tag: tagOf(note), icon: at("/icon-192.png"), badge: at("/icon-192.png"), data: { run_id, request_id, host_id: text.mine && host_id },
  });
}

async function close(note) {
  const text = await textOf(note);
  for (const n of await shownFor(note)) if (!isKept(n, note, text)) n.close();
}

self.addEventListener("notificationclick", (e) => {
  e.notification.close();
  e.waitUntil(openRun(e.notification.data || {}));
});

// openRun shows the run and its request, in an open tab or a new one.
async function openRun(note) {
  const tabs = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const tab = tabs.find((t) => t.visibilityState === "visible") || tabs[0];
  if (!tab) return self.clients.openWindow(root + "#/runs/" + encodeURIComponent(note.run_id) + (note.request_id ? "?request=" + encodeURIComponent(note.request_id) : ""));
  await tab.focus().catch(() => {}); // some browsers do not permit focus
  tab.postMessage({ kind: "open", run_id: note.run_id, request_id: note.request_id });
}
