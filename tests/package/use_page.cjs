// node use_page.cjs PAGE OUT BROWSER [MINUTES]: uses the page in headless Chromium or Firefox as a visitor does, by mouse and keyboard, and
// prints one line for each thing that has to be so; last it is used for MINUTES, after which its memory has to be bounded. OUT/native.png is
// what `attnscope render` draws. What the program did is read from the links and files that it hands out.
'use strict';
const {spawn} = require('child_process');
const fs = require('fs');
const http = require('http');
const zlib = require('zlib');
const puppeteer = require('puppeteer-core');

const [folder, out, name, minutes] = process.argv.slice(2);
const firefox = name === 'firefox';
const pencil = [625, 81], map = [620, 280];  // where they are on a phone
const quiet = 600;  // in ms: what a frame, its numbers and the next frame take without a graphics card, with room
const downloads = `${out}/${name}-downloads`;
const problems = [], pages = [];  // the first page is used by most checks
const pause = time => new Promise(resolve => setTimeout(resolve, time));

function serve(command, port) {
  const server = spawn('python3', [...command, String(port)], {stdio: 'ignore'});
  process.on('exit', () => server.kill());
  return {address: `http://127.0.0.1:${port}/`, server};
}

function launch() {
  if (firefox)
    return puppeteer.launch({
      browser: 'firefox',
      executablePath: process.env.ATTN_FIREFOX ?? '/usr/bin/firefox-esr',
      extraPrefsFirefox: {'dom.events.testing.asyncClipboard': true, 'webgl.forbid-software': false, 'webgl.force-enabled': true},
    });
  return puppeteer.launch({
    executablePath: process.env.ATTN_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'],
  });
}

/// A page around the page, from another port of this machine.
function frameServer(headers, inner, port) {
  http.createServer((request, response) => {
    response.writeHead(200, {'Content-Type': 'text/html', ...headers});
    response.end(`<body style="margin:0"><iframe style="border:0;width:100vw;height:100vh" allow="cross-origin-isolated" src="${inner}">`);
  }).listen(port, '127.0.0.1');
  return `http://127.0.0.1:${port}/`;
}

/// Somebody who was never here.
async function visitor(browser, address) {
  const context = await browser.createBrowserContext({downloadBehavior: {policy: 'allow', downloadPath: downloads}});
  if (!firefox) await context.overridePermissions(new URL(address).origin, ['clipboard-read', 'clipboard-write', 'clipboard-sanitized-write']);
  return context;
}

async function check(what, test) {
  try {
    await test();
    console.log(`  ok      ${name} ${what}`);
  } catch (error) {
    console.log(`  FAILED  ${name} ${what}\n          ${String(error.message ?? error).split('\n')[0]}`);
    for (const page of pages.splice(1)) await page.close();
    if (pages[0]) await pages[0].screenshot({path: `${out}/${name}-${what.replaceAll(' ', '-')}.png`});
  }
}

function expect(condition, words) {
  if (!condition) throw new Error(words);
}

async function until(what, test, seconds) {
  for (const end = Date.now() + 1000 * seconds; Date.now() < end; await pause(200)) {
    const found = await test();
    if (found) return found;
  }
  throw new Error(what);
}

/// As the visitor does it: the driver's own way goes round the service worker.
const reload = page => Promise.all([page.waitForNavigation({timeout: 60000}), page.evaluate(() => void setTimeout(() => location.reload()))]);
const uncovered = page => page.waitForFunction(() => document.getElementById('cover').hidden, {timeout: 120000});

async function open(context, address, viewport = {width: 1600, height: 1000}) {
  const page = await context.newPage();
  pages.push(page);
  await page.setViewport(viewport);
  page.on('console', message => { if (message.type() === 'error') problems.push(message.text()); });
  page.on('pageerror', error => problems.push(error.message));
  await until(`${address} is not served`, () => page.goto(address).then(() => true, () => false), 30);
  await uncovered(page);
  await pause(3 * quiet);
  return page;
}

/// Until some frames were drawn, and what they asked for is there.
async function settle(page) {
  for (let frame = 0; frame < 4; ++frame) await page.evaluate(() => new Promise(requestAnimationFrame));
  await pause(quiet);
}

/// Such as "Control+k".
async function press(page, keys) {
  const held = keys.split('+'), last = held.pop();
  for (const key of held) await page.keyboard.down(key);
  await page.keyboard.press(last, {delay: 30});
  for (const key of held.reverse()) await page.keyboard.up(key);
  await settle(page);
}

async function type(page, text) {
  await page.keyboard.type(text, {delay: 50});
  await settle(page);
}

/// Runs an action by its name.
async function run(page, action) {
  await press(page, 'Control+k');
  await type(page, action);
  await press(page, 'Enter');
}

/// What an action puts on the clipboard.
async function copied(page, action) {
  await page.evaluate(() => navigator.clipboard.writeText(''));
  await run(page, action);
  return until(`"${action}" copied nothing`, () => page.evaluate(() => navigator.clipboard.readText()), 15);
}
const link = page => copied(page, 'Copy a link to what is shown');

/// The document in a link.
const held = address => JSON.parse(zlib.inflateRawSync(Buffer.from(address.split('#')[1], 'base64url')));
const shown = async page => held(await link(page));

/// The path of the file that an action hands out.
async function downloaded(file, act) {
  fs.rmSync(downloads, {recursive: true, force: true});
  fs.mkdirSync(downloads);
  await act();
  await until(`no file ${file} came, but ${fs.readdirSync(downloads)}`, () => fs.existsSync(`${downloads}/${file}`), 20);
  await pause(quiet);
  return `${downloads}/${file}`;
}

/// The share of pixels of two pictures that differ by more than 3 %.
async function difference(page, one, other) {
  const pictures = [one, other].map(file => 'data:image/png;base64,' + fs.readFileSync(file).toString('base64'));
  return page.evaluate(async addresses => {
    const [a, b] = await Promise.all(addresses.map(async address => {
      const image = new Image();
      image.src = address;
      await image.decode();
      const canvas = new OffscreenCanvas(image.width, image.height), on = canvas.getContext('2d');
      on.drawImage(image, 0, 0);
      return on.getImageData(0, 0, image.width, image.height);
    }));
    if (a.width !== b.width || a.height !== b.height) return 1;
    let differ = 0;
    for (let i = 0; i < a.data.length; i += 4)
      if ([0, 1, 2].some(c => Math.abs(a.data[i + c] - b.data[i + c]) > 8)) ++differ;
    return differ / (a.data.length / 4);
  }, pictures);
}
async function difference_to_native(context, page, picture, native = 'native.png') {
  await page.screenshot({path: `${out}/${picture}`});
  const blank = await context.newPage();
  const share = await difference(blank, `${out}/${picture}`, `${out}/${native}`);
  await blank.close();
  return share;
}

/// What the page and its workers hold, in MB; only Chromium tells.
const memory = page => page.evaluate(async () => (await performance.measureUserAgentSpecificMemory()).bytes / 1e6);

async function main() {
  const {address} = serve(['app/web/serve.py', folder], 8711);
  const plain = serve(['-m', 'http.server', '--bind', '127.0.0.1', '--directory', folder], 8712);
  const browser = await launch();
  const context = await visitor(browser, address);
  const fresh = async (path, viewport) => open(await visitor(browser, address), address + path, viewport);
  const leave = async page => {
    pages.splice(pages.indexOf(page), 1);
    await page.browserContext().close();
  };
  let page, first;

  await check('opens', async () => { page = await open(context, address); });
  await check('draws what the native program draws', async () => {
    const share = await difference_to_native(context, page, `${name}.png`);
    expect(share < 0.001, `${(100 * share).toFixed(3)} % of the pixels differ`);
  });
  await check('copies a link to what is shown', async () => {
    first = await shown(page);
    expect(first.preset === 'stories', `it shows ${first.preset}`);
  });
  await check('switches a mask', async () => {
    await run(page, 'Causal mask on or off');
    const masks = JSON.stringify((await shown(page)).forward), before = JSON.stringify(first.forward);
    expect(masks !== before, 'nothing has changed');
  });
  await check('changes a number', async () => {
    await run(page, 'Change the chosen number');
    await type(page, '0');
    await press(page, 'Enter');
    expect(((await shown(page)).forward.edits ?? []).length === 1, 'there is no edit');
  });
  await check('takes another text', async () => {
    await run(page, 'Edit the text');
    await press(page, 'End');
    await type(page, ' Lily');
    await press(page, 'Enter');
    const texts = (await shown(page)).texts;
    expect(texts[0].endsWith('Lily'), `the text is "${texts[0]}"`);
  });
  await check('opens a link as it was', async () => {
    const address = await link(page), other = await open(context, address);
    const again = await shown(other);
    pages.splice(pages.indexOf(other), 1);
    await other.close();
    expect(JSON.stringify(again) === JSON.stringify(held(address)), 'another document is shown');
  });
  await check('saves a document as a download, and opens it', async () => {
    const saved = await downloaded('stories.attnscope.json', () => press(page, 'Control+s'));
    fs.copyFileSync(saved, `${out}/saved.attnscope.json`);
    await run(page, 'New document');
    // At once: a dialog that nobody sees counts as cancelled in Firefox.
    const choose = chooser => chooser.accept([`${out}/saved.attnscope.json`]);
    await Promise.all([page.waitForFileChooser({timeout: 20000}).then(choose), press(page, 'Control+o')]);
    await pause(3 * quiet);
    expect((await shown(page)).texts[0].endsWith('Lily'), 'it was not opened');
  });
  await check('exports a picture as a download', async () => {
    await press(page, 'Control+e');
    const picture = await downloaded('weights.png', () => press(page, 'Enter'));
    expect(fs.readFileSync(picture).subarray(1, 4).toString() === 'PNG', 'it is no picture');
  });
  await check('trains, and goes back through the run', async () => {
    const train = await fresh('?view=train');
    const steps = async () => {
      const picture = await downloaded('run.svg', async () => {
        await press(train, 'Control+e');
        await press(train, 'Control+a');
        await type(train, 'run.svg');
        await press(train, 'Enter');
      });
      const words = fs.readFileSync(picture, 'utf8').matchAll(/step ([\d,]+)/g);
      return Math.max(0, ...[...words].map(([, step]) => Number(step.replaceAll(',', ''))));
    };
    await until('it does not train 500 steps', async () => {
      await run(train, 'Start or pause the training');
      await pause(20000);
      await run(train, 'Start or pause the training');
      return await steps() >= 500;
    }, 120);
    await train.screenshot({path: `${out}/${name}-train.png`});
    await press(train, 's');
    const numbers = async action => {
      await run(train, action);
      await pause(quiet);
      return copied(train, 'Copy the map');
    };
    const newest = await numbers('Follow the newest step'), first = await numbers('First step of the run');
    expect(newest !== first, 'the first step has the numbers of the newest');
    expect(await numbers('Follow the newest step') === newest, 'the newest step has other numbers now');
    await leave(train);
  });
  if (!firefox)
    await check('takes a click that jumps', async () => {
      const other = await fresh('');
      await other.mouse.move(800, 500);
      await pause(quiet);
      // The driver's own click would move first, and Firefox's knows no other.
      const events = await other.createCDPSession();
      for (const type of ['mousePressed', 'mouseReleased']) {
        await events.send('Input.dispatchMouseEvent', {type, x: 950, y: 80, button: 'left', clickCount: 1});
        await pause(quiet / 4);
      }
      await press(other, 'End');
      await type(other, ' Lily');
      await press(other, 'Enter');
      const texts = (await shown(other)).texts;
      expect(texts[0].endsWith('Lily'), `the text is "${texts[0]}"`);
      await leave(other);
    });
  await check('keeps settings over a reload', async () => {
    await run(page, 'Light or dark');
    await pause(3 * quiet);
    await reload(page);
    await uncovered(page);
    await pause(3 * quiet);
    expect(await difference_to_native(context, page, `${name}-light.png`) > 0.5, 'it is dark again');
  });
  await check('leads through a lesson', async () => {
    const lesson = await fresh('?lesson=masks&step=2');
    const texts = async () => (await shown(lesson)).texts.join();
    await lesson.screenshot({path: `${out}/${name}-lesson.png`});
    expect((await shown(lesson)).forward.masks.causal, 'the step has not its mask');
    const before = await texts();
    await until('the later steps have the same text', async () => {
      await press(lesson, 'ArrowRight');
      return await texts() !== before;
    }, 60);
    await press(lesson, 'End');
    await lesson.screenshot({path: `${out}/${name}-lesson-end.png`});
    await press(lesson, 'Escape');
    expect(!(await shown(lesson)).forward.masks.window, 'after the lesson there is what was before it');
    await leave(lesson);
  });
  await check('is sharp where a pixel of the page is several of the screen', async () => {
    const sharp = await fresh('', {width: 1280, height: 720, deviceScaleFactor: 2});
    const share = await difference_to_native(sharp.browserContext(), sharp, `${name}-sharp.png`, 'native-sharp.png');
    expect(share < 0.001, `${(100 * share).toFixed(3)} % of the pixels differ`);
    await leave(sharp);
  });
  await check('folds on a phone, and takes fingers and its keyboard', async () => {
    const phone = await fresh('', {width: 844, height: 390, deviceScaleFactor: 2, isMobile: !firefox, hasTouch: true});
    const share = await difference_to_native(phone.browserContext(), phone, `${name}-phone.png`, 'native-phone.png');
    expect(share < 0.001, `${(100 * share).toFixed(3)} % of the pixels differ`);
    const [x, y] = map;
    const left = await phone.touchscreen.touchStart(x - 20, y);
    await pause(60);
    const right = await phone.touchscreen.touchStart(x + 20, y);
    for (let apart = 40; apart <= 160; apart += 20) {
      await left.move(x - apart / 2, y);
      await right.move(x + apart / 2, y);
      await pause(60);
    }
    await left.end();
    await right.end();
    await settle(phone);
    expect(await difference_to_native(phone.browserContext(), phone, `${name}-pinched.png`, 'native-phone.png') > 0.01, 'nothing is larger');
    await run(phone, 'All settings');
    await phone.screenshot({path: `${out}/${name}-unscrolled.png`});
    const beside = 300;  // where no control is
    const finger = await phone.touchscreen.touchStart(beside, 332);
    for (let up = 322; up >= 180; up -= 20) {
      await finger.move(beside, up);
      await pause(60);
    }
    await finger.end();
    await settle(phone);
    await phone.screenshot({path: `${out}/${name}-scrolled.png`});
    const moved = await difference(phone, `${out}/${name}-unscrolled.png`, `${out}/${name}-scrolled.png`);
    expect(moved > 0.02, `one finger moves ${(100 * moved).toFixed(1)} % of the pixels`);
    await press(phone, 'Escape');
    await phone.touchscreen.tap(...pencil);
    await settle(phone);
    expect(await phone.evaluate(() => document.activeElement.id) === 'typed', 'no keyboard would be there');
    for (const letter of ' Lily') await phone.keyboard.sendCharacter(letter);
    await settle(phone);
    await press(phone, 'Enter');
    await phone.screenshot({path: `${out}/${name}-phone-typed.png`});
    const texts = (await shown(phone)).texts;
    expect(texts[0].includes('Lily'), `the text is "${texts[0]}"`);
    await leave(phone);
  });
  await check('fetches letters of other scripts', async () => {
    const hebrew = await fresh('?preset=stories&text=%D7%A9%D7%9C%D7%95%D7%9D');
    const font = () => caches.match(new URL('fonts/NotoSansHebrew-Regular.ttf', location.href)).then(found => found !== undefined);
    await until('no font was fetched', () => hebrew.evaluate(font), 20);
    await pause(3 * quiet);
    await hebrew.screenshot({path: `${out}/${name}-hebrew.png`});
    await leave(hebrew);
  });
  await check('is shown in a frame, or says why not', async () => {
    const alone = frameServer({}, address, 8713);
    const isolated = frameServer({'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp'}, address, 8714);
    const around = await (await visitor(browser, alone)).newPage();
    const inner = page => until('there is no frame', () => page.frames().find(frame => frame.url().startsWith(address)), 20);
    await around.goto(alone);
    await pause(5 * quiet);
    const words = await (await inner(around)).evaluate(() => document.getElementById('cover').innerText);
    expect(/in a frame/.test(words) && /page of its own/.test(words), `it says "${words}"`);
    await around.goto(isolated);
    const frame = await inner(around);
    await frame.waitForFunction(() => document.getElementById('cover').hidden, {timeout: 60000});
    await pause(2 * quiet);
    await around.screenshot({path: `${out}/${name}-frame.png`});
    await around.browserContext().close();
  });
  await check('says why a link cannot be followed', async () => {
    const wrong = await fresh('?view=nothing');
    expect((await shown(wrong)).preset === 'stories', 'nothing else is shown');
    await leave(wrong);
  });
  await check('opens from a host that sends no headers, and then without it', async () => {
    const served = await open(await visitor(browser, plain.address), plain.address);
    expect(await served.evaluate(() => crossOriginIsolated), 'it is not isolated');
    plain.server.kill();
    await pause(quiet);
    await reload(served);
    await uncovered(served);
    await leave(served);
  });
  if (minutes > 0)
    await check(`is used for ${minutes} minutes`, async () => {
      const used = await fresh(''), end = Date.now() + 60000 * minutes, keys = [...'shglwtrkcpz', ']', 'ArrowRight', 'ArrowDown'];
      let turn = 0;
      await run(used, 'Start or pause the training');
      for (; Date.now() < end; ++turn) {
        await press(used, keys[turn % keys.length]);
        if (turn % 20 === 0) await run(used, turn % 40 === 0 ? 'Open the example addition' : 'Open the example stories');
      }
      await used.screenshot({path: `${out}/${name}-used.png`});
      expect((await shown(used)).preset !== undefined, 'it answers no longer');
      if (firefox) return console.log(`          ${turn} turns; Firefox does not tell its memory`);
      const megabytes = await memory(used);
      console.log(`          ${turn} turns, ${megabytes.toFixed(0)} MB`);
      expect(megabytes < 600, `it holds ${megabytes.toFixed(0)} MB`);
      await leave(used);
    });
  await check('writes no error to the console', async () => { expect(problems.length === 0, problems[0]); });
  await browser.close();
  console.log('  ended');
}

main().then(() => process.exit(0), error => {
  console.log(`  FAILED  ${name}: ${error.message}`);
  process.exit(1);
});
