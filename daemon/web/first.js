// SPDX-License-Identifier: Apache-2.0
// Why: over a slow network the live picture does not wait for the rest of the page: this waits for no other module, and asks for
// them when the picture is there.

// The answer to "who am I", asked for once for all.
export const whoAmI = fetch("/api/v1/session", {cache: "no-store", priority: "high"});

async function showFirstPicture() {
  const {role} = await (await whoAmI).clone().json();
  if (role !== "live" && role !== "admin") return;
  document.getElementById("live").hidden = false;
  const response = await fetch("/snapshot.jpg?width=640", {cache: "no-store", priority: "high"});
  const picture = document.getElementById("picture");
  if (!response.ok || picture.src) return;  // the stream tells why, or was faster
  const url = URL.createObjectURL(await response.blob());
  picture.addEventListener("load", () => URL.revokeObjectURL(url), {once: true});
  picture.src = url;
  picture.hidden = false;
  document.getElementById("no-picture").hidden = true;
}

// All at once, as index.html names them; they find a whole document.
function loadRest() {
  document.head.append(document.getElementById("rest").content);
}

const longest = 1500;  // ms that the rest of the page waits for a picture
await Promise.race([showFirstPicture().catch(() => {}), new Promise((done) => { setTimeout(done, longest); })]);
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", loadRest);
else loadRest();
