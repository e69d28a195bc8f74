// The page around the program: what it needs, loading, files, links and the clipboard. app/web/browser.cpp calls `page`.
'use strict';

const at = id => document.getElementById(id);
const home = '/home/web_user', downloads = '/downloads';

const page = {
  pasted: '',
  taken: 0,  // the program's function that takes what is dropped

  /// Shows a sentence in place of the program.
  say(words) {
    at('cover').hidden = false;
    at('bar').hidden = true;
    at('words').textContent = words;
  },

  show() {
    at('cover').hidden = true;
    at('canvas').focus();
  },

  copy(text) {
    navigator.clipboard.writeText(text).catch(refused => console.warn(`The clipboard could not be used: ${refused.message}`));
  },

  /// Calls the program's function with a text.
  call(then, text) {
    const copy = stringToNewUTF8(text);
    _attn_call(then, copy);
    _free(copy);
  },

  /// The same, for the last time.
  answer(then, text) {
    page.call(then, text);
    _attn_forget(then);
  },

  async copyLink(text, then) {
    try {
      const link = location.origin + location.pathname + '#' + await packed(text);
      await navigator.clipboard.writeText(link);
      page.answer(then, `Copied a link of ${link.length} letters to what is shown.`);
    } catch (error) {
      page.answer(then, `The browser's clipboard could not be used: ${error.message}.`);
    }
  },

  choose(folder, endings, then) {
    const input = document.createElement('input');
    input.type = 'file';
    input.webkitdirectory = folder;
    input.accept = endings;
    // A browser may tell of a choice after it has told of a cancellation.
    let answered = false;
    const once = () => !answered && (answered = true);
    input.oncancel = () => setTimeout(() => { if (once()) page.answer(then, ''); }, 300);
    input.onchange = async () => {
      if (!once()) return;
      for (const file of input.files) await take(file, file.webkitRelativePath || file.name);
      const first = input.files[0];
      page.answer(then, first ? `${downloads}/${folder ? first.webkitRelativePath.split('/')[0] : first.name}` : '');
    };
    input.click();
  },

  download(path) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([FS.readFile(path)]));
    link.download = path.split('/').pop();
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  },
};

/// Copies a visitor's file into the program's memory. Its date says that it is not to be downloaded.
async function take(file, name) {
  const path = `${downloads}/${name}`;
  FS.mkdirTree(path.slice(0, path.lastIndexOf('/')));
  FS.writeFile(path, new Uint8Array(await file.arrayBuffer()));
  FS.utime(path, 0, 0);
}

/// The files in what was dropped, with their paths.
async function filesIn(entry) {
  if (entry.isFile) return [{file: await new Promise((done, fail) => entry.file(done, fail)), name: entry.fullPath.slice(1)}];
  const reader = entry.createReader(), files = [];
  for (;;) {
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (some.length === 0) return files;
    for (const inner of some) files.push(...await filesIn(inner));
  }
}

/// In place of GLFW's own handler, which keeps files where they could not be saved again.
async function takeDropped(event) {
  event.preventDefault();
  event.stopImmediatePropagation();
  const entries = [...event.dataTransfer.items].map(item => item.webkitGetAsEntry()).filter(entry => entry !== null);
  for (const entry of entries) {
    for (const {file, name} of await filesIn(entry)) await take(file, name);
    page.call(page.taken, `${downloads}/${entry.name}`);
  }
}

async function through(stream, bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/// A text in the letters that an address may have.
async function packed(text) {
  const bytes = await through(new CompressionStream('deflate-raw'), new TextEncoder().encode(text));
  let letters = '';
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return btoa(letters).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

async function unpacked(letters) {
  const bytes = Uint8Array.from(atob(letters.replaceAll('-', '+').replaceAll('_', '/')), letter => letter.charCodeAt(0));
  return through(new DecompressionStream('deflate-raw'), bytes);
}

/// Why the program cannot run here; '' if it can.
function missing() {
  if (typeof WebAssembly !== 'object') return 'attnscope needs WebAssembly, which this browser does not have or does not allow.';
  if (!document.createElement('canvas').getContext('webgl2'))
    return 'attnscope draws with WebGL 2, which this browser does not have, or has switched off for this graphics card.';
  if (crossOriginIsolated) return '';
  if (window !== top)
    return 'attnscope computes in threads, which browsers give to a page in a frame only if the page around it is isolated, too.';
  return 'attnscope computes in threads, which browsers give only to isolated pages: over https, with service workers allowed ' +
    '(private windows may forbid them), or from a server that sends the headers of isolation.';
}

/// Lets a service worker isolate the page; true if it must be loaded again for that.
async function isolate() {
  if (!('serviceWorker' in navigator)) return false;
  const registered = navigator.serviceWorker.register('isolate.js');
  try {
    if (crossOriginIsolated) return false;  // it is needed for visits without a network only
    const tried = sessionStorage.getItem('isolating');
    sessionStorage.removeItem('isolating');
    if (tried) return false;
    await registered;
    await navigator.serviceWorker.ready;
    sessionStorage.setItem('isolating', 'yes');
    return true;
  } catch (refused) {
    return false;
  } finally {
    registered.catch(refused => console.info(`No service worker: ${refused.message}`));
  }
}

/// The program, as it arrives. Its size is not what a compressed transfer says.
async function fetchProgram() {
  const response = await fetch('attnscope.wasm');
  if (!response.ok) throw new Error(`the server answers ${response.status} ${response.statusText}`);
  let arrived = 0;
  const counted = new TransformStream({
    transform(piece, on) {
      arrived += piece.length;
      at('bar').value = arrived / Number(document.body.dataset.bytes);
      on.enqueue(piece);
    },
  });
  return new Response(response.body.pipeThrough(counted), {headers: {'Content-Type': 'application/wasm'}});
}

/// True if settings and unsaved work are kept by this page; another one may have the browser's storage already.
function keepsFiles() {
  if (!navigator.locks) return Promise.resolve(true);
  return new Promise(resolve => navigator.locks.request('attnscope', {ifAvailable: true}, lock => {
    resolve(lock !== null);
    return lock && new Promise(() => {});  // until the page is left
  }));
}

async function prepareFiles(linked, keeps) {
  FS.mkdirTree(downloads);
  FS.chdir(downloads);
  if (linked) FS.writeFile('/link.attnscope.json', linked);
  if (!keeps) return;
  FS.mount(IDBFS, {autoPersist: true}, home);
  await new Promise(resolve => FS.syncfs(true, resolve));  // without what was kept, if it cannot be read
}

/// The browser's own keys stay, but for those that the program has, too.
function listen() {
  const taken = new Set(['s', 'o', 'k', 'e', 'f', 'p', 'd', 'g', '0', '+', '-', '=']);
  addEventListener('keydown', event => {
    const control = event.ctrlKey || event.metaKey;
    if (control && taken.has(event.key.toLowerCase()) || event.key === 'F1' || event.key === '/' || event.key === 'Alt') event.preventDefault();
  }, true);
  addEventListener('contextmenu', event => event.preventDefault());
  addEventListener('drop', takeDropped, true);
  addEventListener('hashchange', () => location.reload());
  listenToTouch();
  addEventListener('paste', event => { page.pasted = event.clipboardData.getData('text'); });
}

var Module;

async function start() {
  if (await isolate()) return location.reload();
  const lack = missing();
  if (lack) {
    at('alone').hidden = window === top;
    at('alone').href = location.href;
    return page.say(lack);
  }
  const keeps = await keepsFiles();
  let linked = null, problem = '';
  if (location.hash.length > 1)
    try {
      linked = await unpacked(location.hash.slice(1));
    } catch (damaged) {
      problem = 'damaged';
    }
  listen();
  const program = fetchProgram();
  Module = {
    canvas: at('canvas'),
    arguments: [location.search, linked ? '/link.attnscope.json' : '', problem, keeps ? 'keeps' : ''],
    printErr: text => console.warn(text),
    preRun: [() => {
      addRunDependency('files');
      prepareFiles(linked, keeps).finally(() => removeRunDependency('files'));
    }],
    instantiateWasm(imports, done) {
      program.then(response => WebAssembly.instantiateStreaming(response, imports))
        .then(({instance, module}) => done(instance, module))
        .catch(error => page.say(`attnscope could not be loaded: ${error.message}.`));
      return {};
    },
    onAbort: why => page.say(`attnscope has ended: ${why}. Loading the page again may help.`),
  };
  const script = document.createElement('script');
  script.src = 'attnscope.js';
  script.onerror = () => page.say('attnscope could not be loaded: attnscope.js is missing beside this page.');
  document.body.append(script);
}

start();
