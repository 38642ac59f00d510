// SPDX-License-Identifier: Apache-2.0
#include "camera/stream/address.h"

#include <algorithm>
#include <filesystem>

#include "camera/source/spec.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::camera {

Result<Login> read_login(const std::string& file) {
  const std::string text = KINGLET_TRY(read_file(file, 4096));
  std::error_code failed;
  const auto rights = std::filesystem::status(file, failed).permissions();
  if (failed || (rights & std::filesystem::perms::others_all) != std::filesystem::perms::none) {
    return fail(ErrorCode::kNotPermitted, "the file of a password may be read by others", printable(file),
                "chmod o-rwx " + printable(file));
  }
  const std::string line = text.substr(0, text.find_first_of("\r\n"));
  const std::size_t colon = line.find(':');
  if (colon == 0 || colon == std::string::npos) {
    return fail(ErrorCode::kConfig, "the file has no line user:password", printable(file));
  }
  return Login{.user = line.substr(0, colon), .password = line.substr(colon + 1)};
}

std::string_view secret_end(std::string_view address) {
  const std::size_t scheme = address.find("://");
  const std::size_t path = address.find('/', scheme == std::string_view::npos ? 0 : scheme + 3);
  std::size_t begin = address.find_first_of("?#");
  if (path != std::string_view::npos)
    begin = std::min({begin, address.find("user=", path), address.find("password=", path)});
  return begin == std::string_view::npos ? std::string_view() : address.substr(begin);
}

std::string shown_address(std::string_view address) {
  const std::size_t scheme = address.find("://");
  const std::size_t host = scheme == std::string_view::npos ? 0 : scheme + 3;
  std::string_view rest = address.substr(host, address.size() - secret_end(address).size() - host);
  const std::size_t at = rest.substr(0, rest.find('/')).rfind('@');
  if (at != std::string_view::npos) rest.remove_prefix(at + 1);
  return printable(std::string(address.substr(0, host)) + std::string(rest));
}

Result<AddressSpec> parse_address(const AddressForm& form, std::string_view text,
                                  std::span<const std::string_view> known) {
  const std::size_t mark = text.find('#');
  AddressSpec spec{.address = std::string(text.substr(0, mark)), .options = {}};
  const std::string_view address = spec.address;
  const auto protocol =
      std::ranges::find_if(form.protocols, [&](std::string_view begin) { return address.starts_with(begin); });
  const std::size_t host = protocol == form.protocols.end() ? 0 : protocol->size();
  if (host == 0 || address.size() == host || !std::ranges::all_of(address, is_visible)) {
    return fail(ErrorCode::kUsage, format_text("{}: needs an address, not \"{}\"", form.scheme, shown_address(address)),
                {}, format_text("write {}", form.example));
  }
  if (address.substr(host, address.find('/', host) - host).contains('@')) {
    return fail(ErrorCode::kUsage, "a password does not belong into an address", shown_address(address),
                "source.login_file names a file with user:password");
  }
  if (mark == std::string_view::npos) return spec;
  const std::string options = "?" + std::string(text.substr(mark + 1));
  const Spec parsed = KINGLET_TRY(parse_spec(options, known));
  for (const SpecOption& option : parsed.options) spec.options.emplace_back(option.key, option.value);
  return spec;
}

}  // namespace kinglet::camera
