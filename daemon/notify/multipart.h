// SPDX-License-Identifier: Apache-2.0
// Why: the forms in which bytes go into a request or a letter: multipart/form-data, encoded words, base64.
#pragma once

#include <string>
#include <string_view>

namespace kinglet::daemon::notify {

// A form with pictures (RFC 7578). Names are ours.
class Form {
 public:
  Form();
  void add(std::string_view name, std::string_view value);
  void add_picture(std::string_view name, std::string_view file, std::string_view jpeg);
  [[nodiscard]] std::string header() const;  // "Content-Type: ..."
  [[nodiscard]] std::string body() const;

 private:
  std::string boundary_;
  std::string parts_;
};

// Random: it is in nothing that anybody wrote before.
[[nodiscard]] std::string boundary();
[[nodiscard]] std::string base64(std::string_view bytes);
// As it is where a header can hold it, else RFC 2047.
[[nodiscard]] std::string header_text(std::string_view text);

}  // namespace kinglet::daemon::notify
