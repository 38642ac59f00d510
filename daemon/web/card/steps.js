// SPDX-License-Identifier: Apache-2.0
// Why: the steps of the first card, a row each, in the order in which an owner is led through them. `draw(box)` fills the box
// and may give a function that ends what it began. `isDone(model)`: who comes again need not be shown it, with this model (null:
// none) that answers.
import {drawBirds} from "./birds_step.js";
import {drawCamera} from "./camera_step.js";
import {drawLanguage} from "./language_step.js";
import {drawMessages} from "./messages_step.js";
import {drawWhere} from "./where_step.js";

export const steps = [
  {name: "camera", title: "step_camera", draw: drawCamera},
  {name: "birds", title: "step_birds", draw: drawBirds, isDone: (model) => model !== null && !model.demonstration},
  {name: "where", title: "step_where", draw: drawWhere},
  {name: "language", title: "step_language", draw: drawLanguage},
  {name: "messages", title: "step_messages", draw: drawMessages},
];
