// SPDX-License-Identifier: Apache-2.0
// Why: what a service says of why it did not take something: a stranger's words, which are shown to people and logged.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kinglet::daemon::outgoing {

// Out of the JSON of an answer, as the known services write it: printable, in a line, at most 200 bytes, without any of
// `secrets`. Empty: there are none that are read here.
[[nodiscard]] std::string words_of(std::string_view answer, std::vector<std::string> secrets);
// The path of an address, and what in it may be a secret.
[[nodiscard]] std::vector<std::string> secrets_of(std::string_view url);

}  // namespace kinglet::daemon::outgoing
