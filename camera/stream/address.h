// SPDX-License-Identifier: Apache-2.0
// Why: where a network camera is, and who is let in there. A login never stands in an address that somebody writes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/error.h"

namespace kinglet::camera {

struct Login {
  std::string user;  // empty: none
  std::string password;
};

// A line "user:password" of a file that nobody else may read. kNotFound, kNotPermitted, kConfig: not such a line.
[[nodiscard]] Result<Login> read_login(const std::string& file);

// What of an address behind its host may be secret: its query, or a login in the path, as cameras of several makers
// have it ("/user=me_password=x_channel=1.sdp"). Empty: nothing.
[[nodiscard]] std::string_view secret_end(std::string_view address);

// "http://host/path" for messages: without what may be secret (user, password, secret_end()).
[[nodiscard]] std::string shown_address(std::string_view address);

// Of which kind an address is.
struct AddressForm {
  std::string_view scheme;                      // of the source, for messages
  std::span<const std::string_view> protocols;  // "http://"
  std::string_view example;                     // how a person writes it
};

// "http://HOST/PATH?QUERY#key=value": the address, and behind '#' (which is never sent) what kinglet is told.
struct AddressSpec {
  std::string address;
  std::vector<std::pair<std::string, std::string>> options;
};
// kUsage: not such an address, a password in it, an option that is not `known`.
[[nodiscard]] Result<AddressSpec> parse_address(const AddressForm& form, std::string_view text,
                                                std::span<const std::string_view> known);

}  // namespace kinglet::camera
