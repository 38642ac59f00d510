// SPDX-License-Identifier: Apache-2.0
// Why: over a slow network the live picture does not wait for the rest of the page: this waits for no other module.

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

showFirstPicture().catch(() => {});
