// SPDX-License-Identifier: Apache-2.0
// Why: names of birds are compared as people mean them, in any script: whatever the case, accents, hyphens,
// apostrophes.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace kinglet::visits {

// Letters and digits in lower case without accents, everything between them one hyphen; of names in ASCII what
// engine::slug makes of them. "Türkentaube" and "TURKENTAUBE" are one, "Grey Heron" and "gray heron" as well; signs of
// other scripts than Latin stay what they are. Empty: there is no letter in it.
[[nodiscard]] std::string folded(std::string_view name);

// Is this the name, or that of its genus ("Turdus" of "Turdus merula" and of "turdus-merula")? `wished` is folded.
[[nodiscard]] bool is_called(std::string_view name, std::string_view wished);

// "Passer domesticus (House Sparrow)": both, trimmed; the second is empty where there is no other.
[[nodiscard]] std::pair<std::string_view, std::string_view> two_names(std::string_view name);

}  // namespace kinglet::visits
