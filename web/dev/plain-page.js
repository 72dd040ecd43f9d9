/**
 * Opens a page in a browser as a reader's is: nothing watches it. A page of Playwright's own has its network watched, for which the browser
 * keeps the bodies of answers, dozens of megabytes of them, and its script is told of by the frame.
 */
export async function openPlainPage(browser, url, { width, height }) {
  const session = await browser.newBrowserCDPSession();
  const { targetId } = await session.send('Target.createTarget', { url, width, height });
  const { sessionId } = await session.send('Target.attachToTarget', { targetId, flatten: false }); // in one session: Playwright knows no others
  const waiting = new Map();
  let asked = 0;
  session.on('Target.receivedMessageFromTarget', ({ message }) => {
    const { id, result, error } = JSON.parse(message);
    waiting.get(id)?.(error ? Promise.reject(new Error(error.message)) : result);
    waiting.delete(id);
  });
  const send = (method, params = {}) =>
    new Promise((resolve, reject) => {
      const id = ++asked;
      waiting.set(id, resolve);
      session.send('Target.sendMessageToTarget', { sessionId, message: JSON.stringify({ id, method, params }) }).catch(reject);
    });
  const evaluate = async (ask) => {
    const { result, exceptionDetails } = await send('Runtime.evaluate', { expression: `(${ask})()`, returnByValue: true });
    if (exceptionDetails) throw new Error(`in the page: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  };
  return { send, evaluate };
}
