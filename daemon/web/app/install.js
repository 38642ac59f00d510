// SPDX-License-Identifier: Apache-2.0
// Why: the page may be kept on a home screen as an app. Browsers give a worker to pages of https only; without one it is
// installed all the same, and needs the device to open.

export function prepareApp() {
  if (location.protocol !== "https:" || !navigator.serviceWorker) return;
  navigator.serviceWorker.register(`/web/worker.js${new URL(import.meta.url).search}`, {scope: "/"}).catch(() => {});
}
