// node use_page.cjs PAGE OUT: uses the page in headless Chromium as a visitor does, by mouse and keyboard, and prints one line for each
// thing that has to be so. OUT/native.png is what `attnscope render` draws. What the program did is read from the links and files that it
// hands out.
'use strict';
const {spawn} = require('child_process');
const fs = require('fs');
const zlib = require('zlib');
const {chromium} = require('playwright-core');

const [folder, out] = process.argv.slice(2);
const quiet = 600;  // in ms: what a frame, its numbers and the next frame take without a graphics card, with room
const problems = [], pages = [];  // the first page is used by most checks

function serve(command, port) {
  const server = spawn('python3', [...command, String(port)], {stdio: 'ignore'});
  process.on('exit', () => server.kill());
  return `http://127.0.0.1:${port}/`;
}

async function check(what, test) {
  try {
    await test();
    console.log(`  ok      ${what}`);
  } catch (error) {
    console.log(`  FAILED  ${what}\n          ${String(error.message ?? error).split('\n')[0]}`);
    for (const page of pages.splice(1)) await page.close();
    if (pages[0]) await pages[0].screenshot({path: `${out}/${what.replaceAll(' ', '-')}.png`});
  }
}

function expect(condition, words) {
  if (!condition) throw new Error(words);
}

async function open(context, address) {
  const page = await context.newPage();
  pages.push(page);
  page.on('console', message => { if (message.type() === 'error') problems.push(message.text()); });
  page.on('pageerror', error => problems.push(error.message));
  for (let left = 30; ; --left)
    try {
      await page.goto(address);
      break;
    } catch (notYet) {
      if (left === 0) throw notYet;
      await page.waitForTimeout(300);
    }
  await page.waitForFunction(() => document.getElementById('cover').hidden, null, {timeout: 120000});
  await page.waitForTimeout(3 * quiet);
  return page;
}

/// Until some frames were drawn, and what they asked for is there.
async function settle(page) {
  for (let frame = 0; frame < 4; ++frame) await page.evaluate(() => new Promise(requestAnimationFrame));
  await page.waitForTimeout(quiet);
}

async function press(page, key) {
  await page.keyboard.press(key, {delay: 30});
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

async function link(page) {
  await page.evaluate(() => navigator.clipboard.writeText(''));
  await run(page, 'Copy a link to what is shown');
  for (let left = 20; left > 0; --left) {
    const text = await page.evaluate(() => navigator.clipboard.readText());
    if (text) return text;
    await page.waitForTimeout(quiet / 2);
  }
  throw new Error('no link was copied');
}

/// The document in a link.
function held(address) {
  return JSON.parse(zlib.inflateRawSync(Buffer.from(address.split('#')[1], 'base64url')));
}
const shown = async page => held(await link(page));

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

async function main() {
  const address = serve(['app/web/serve.py', folder], 8711);
  const plain = serve(['-m', 'http.server', '--bind', '127.0.0.1', '--directory', folder], 8712);
  const browser = await chromium.launch({
    executablePath: process.env.ATTN_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'],
  });
  const visitor = {viewport: {width: 1600, height: 1000}, permissions: ['clipboard-read', 'clipboard-write']};
  const context = await browser.newContext(visitor);
  let page, first;

  await check('opens', async () => { page = await open(context, address); });
  await check('draws what the native program draws', async () => {
    await page.screenshot({path: `${out}/page.png`});
    const blank = await context.newPage();
    const share = await difference(blank, `${out}/page.png`, `${out}/native.png`);
    await blank.close();
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
    const copied = await link(page), other = await open(context, copied);
    const again = await shown(other);
    expect(JSON.stringify(again) === JSON.stringify(held(copied)), 'another document is shown');
    await other.close();
  });
  await check('saves a document as a download, and opens it', async () => {
    const [download] = await Promise.all([page.waitForEvent('download', {timeout: 20000}), press(page, 'Control+s')]);
    await download.saveAs(`${out}/saved.attnscope.json`);
    expect(download.suggestedFilename() === 'stories.attnscope.json', `its name is ${download.suggestedFilename()}`);
    await run(page, 'New document');
    const [chooser] = await Promise.all([page.waitForEvent('filechooser', {timeout: 20000}), press(page, 'Control+o')]);
    await chooser.setFiles(`${out}/saved.attnscope.json`);
    await page.waitForTimeout(3 * quiet);
    expect((await shown(page)).texts[0].endsWith('Lily'), 'it was not opened');
  });
  await check('exports a picture as a download', async () => {
    await press(page, 'Control+e');
    const [download] = await Promise.all([page.waitForEvent('download', {timeout: 20000}), press(page, 'Enter')]);
    await download.saveAs(`${out}/exported.png`);
    expect(fs.readFileSync(`${out}/exported.png`).subarray(1, 4).toString() === 'PNG', 'it is no picture');
  });
  await check('trains, and goes back through the run', async () => {
    const train = await open(await browser.newContext(visitor), `${address}?view=train`);
    await run(train, 'Start or pause the training');
    await train.waitForTimeout(30000);
    await run(train, 'Start or pause the training');
    await train.screenshot({path: `${out}/train.png`});
    await press(train, 's');
    const numbers = async action => {
      await run(train, action);
      await train.waitForTimeout(quiet);
      await run(train, 'Copy the map');
      return train.evaluate(() => navigator.clipboard.readText());
    };
    const newest = await numbers('Follow the newest step'), first = await numbers('First step of the run');
    expect(newest !== first, 'the first step has the numbers of the newest');
    expect(await numbers('Follow the newest step') === newest, 'the newest step has other numbers now');
    await train.context().close();
  });
  await check('takes a click that jumps', async () => {
    const other = await open(await browser.newContext(visitor), address);
    await other.mouse.move(800, 500);
    await other.waitForTimeout(quiet);
    // Playwright would move first.
    const events = await other.context().newCDPSession(other);
    for (const type of ['mousePressed', 'mouseReleased']) {
      await events.send('Input.dispatchMouseEvent', {type, x: 950, y: 80, button: 'left', clickCount: 1});
      await other.waitForTimeout(quiet / 4);
    }
    await press(other, 'End');
    await type(other, ' Lily');
    await press(other, 'Enter');
    const texts = (await shown(other)).texts;
    expect(texts[0].endsWith('Lily'), `the text is "${texts[0]}"`);
    await other.context().close();
  });
  await check('keeps settings over a reload', async () => {
    await run(page, 'Light or dark');
    await page.waitForTimeout(3 * quiet);
    await page.reload();
    await page.waitForFunction(() => document.getElementById('cover').hidden, null, {timeout: 120000});
    await page.waitForTimeout(3 * quiet);
    await page.screenshot({path: `${out}/light.png`});
    const blank = await context.newPage();
    const share = await difference(blank, `${out}/light.png`, `${out}/native.png`);
    await blank.close();
    expect(share > 0.5, 'it is dark again');
  });
  await check('opens a step of a lesson', async () => {
    const lesson = await open(await browser.newContext(visitor), `${address}?lesson=tour&step=2`);
    await lesson.screenshot({path: `${out}/lesson.png`});
    await lesson.context().close();
  });
  await check('says why a link cannot be followed', async () => {
    const wrong = await open(await browser.newContext(visitor), `${address}?view=nothing`);
    expect((await shown(wrong)).preset === 'stories', 'nothing else is shown');
    await wrong.context().close();
  });
  await check('opens from a host that sends no headers, and then without a network', async () => {
    const other = await browser.newContext(visitor), served = await open(other, plain);
    expect(await served.evaluate(() => crossOriginIsolated), 'it is not isolated');
    await other.setOffline(true);
    await served.reload();
    await served.waitForFunction(() => document.getElementById('cover').hidden, null, {timeout: 60000});
    await other.close();
  });
  await check('writes no error to the console', async () => { expect(problems.length === 0, problems[0]); });
  await browser.close();
  console.log('  ended');
}

main().then(() => process.exit(0), error => {
  console.log(`  FAILED  the browser: ${error.message}`);
  process.exit(1);
});
