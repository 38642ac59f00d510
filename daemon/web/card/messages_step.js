// SPDX-License-Identifier: Apache-2.0
// Why: messages to the phone: a service, its few fields, and one sent to try it. The form is that of the settings.
import {make} from "./dom.js";
import {text, wordsOf} from "./format.js";
import {mountNotify} from "./notify.js";

export function drawMessages(box) {
  const services = make("div");
  box.append(make("p", {textContent: text("step_messages_text")}), services);
  mountNotify(services).catch((error) => services.append(make("p", {className: "bad", role: "alert", textContent: wordsOf(error)})));
}
