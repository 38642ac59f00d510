// SPDX-License-Identifier: Apache-2.0
// Why: a model may have to be tried where there is no picture yet.
#pragma once

#include <cstddef>

#include "engine/recipe/picture_input.h"
#include "engine/recipe/recipe.h"

namespace kinglet::engine {

// Something like a photograph, into an f32 input, as the recipe makes numbers of pixels: coarse structure stronger than
// fine, colours that go together, and something round with an edge of its own in front. The same for the same index.
void draw_made_picture(std::size_t index, const Recipe& recipe, const PictureInput& input);

}  // namespace kinglet::engine
