// SPDX-License-Identifier: Apache-2.0
#include "config/kinds.h"

#include <arpa/inet.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <thread>

#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"

namespace kinglet::config {
namespace {

std::unexpected<Misfit> misfit(std::string hint = {}) { return std::unexpected(Misfit{std::move(hint)}); }

// "0.6" and "10", never "10.0" or an exponent for what people write.
std::string number_text(double value) { return format_text("{}", value); }

// A whole number is one, whatever its type.
PlainValue plain_number(double value) {
  constexpr double kExact = 9'007'199'254'740'992;
  if (std::floor(value) == value && std::abs(value) <= kExact) return static_cast<std::int64_t>(value);
  return value;
}

std::string host_name() {
  std::array<char, 256> buffer{};
  if (::gethostname(buffer.data(), buffer.size() - 1) != 0) return "kinglet";
  std::string name(buffer.data());
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))) c = '_';
  }
  return name.empty() ? "kinglet" : name;
}

bool is_address(const std::string& host) {
  in6_addr address{};
  if (host == "localhost") return true;
  if (host.starts_with('[') && host.ends_with(']')) {
    return ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address) == 1;
  }
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

std::expected<void, Misfit> check_listen(std::string_view text) {
  if (text.starts_with("unix:/")) {
    if (text.size() - 5 < sizeof(sockaddr_un::sun_path) && !text.contains('\0')) return {};
    return misfit(format_text("the path of a socket has less than {} bytes", sizeof(sockaddr_un::sun_path)));
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !parse_number<std::uint16_t>(text.substr(colon + 1))) return misfit();
  if (!is_address(std::string(text.substr(0, colon)))) return misfit("a name is no address; [::] is all of them");
  return {};
}

// Of a device or a camera: it stands in topics and paths.
bool is_name(std::string_view text, std::size_t longest) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !text.empty() && text.size() <= longest && std::ranges::all_of(text, allowed);
}

}  // namespace

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string text_of(const toml::node& node) {
  constexpr auto kFlags = toml::toml_formatter::default_flags & ~toml::format_flags::allow_literal_strings;
  std::ostringstream out;
  node.visit([&](const auto& typed) { out << toml::toml_formatter(typed, kFlags); });
  std::string text = out.str();
  std::ranges::replace(text, '\n', ' ');
  return printable(text, 60);
}

// --- Text ---
std::expected<std::string, Misfit> read(kind::Text, const toml::node& node, const ReadContext&) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  return misfit();
}
std::string expectation(kind::Text, const Constraint&) { return "a text in quotes"; }
PlainValue plain(kind::Text, const std::string& value) { return value; }

// --- NodeName ---
std::expected<std::string, Misfit> read(kind::NodeName, const toml::node& node, const ReadContext&) {
  const auto text = node.value_exact<std::string>();
  if (text == "auto") return host_name();
  if (!text || !is_name(*text, 63)) return misfit();
  return *text;
}
std::string expectation(kind::NodeName, const Constraint&) {
  return "\"auto\" or a name of a to z, 0 to 9 and _, at most 63 long";
}
PlainValue plain(kind::NodeName, const std::string& value) { return value; }

// --- SourceName ---
std::expected<std::string, Misfit> read(kind::SourceName, const toml::node& node, const ReadContext&) {
  const auto text = node.value_exact<std::string>();
  if (text == "demo") return misfit("demo is the source of what kinglet draws itself");
  if (!text || !is_name(*text, 32)) return misfit();
  return *text;
}
std::string expectation(kind::SourceName, const Constraint&) {
  return "a name of a to z, 0 to 9 and _, at most 32 long, and not demo";
}
PlainValue plain(kind::SourceName, const std::string& value) { return value; }

// --- Choice ---
std::expected<std::string, Misfit> read(kind::Choice, const toml::node& node, const ReadContext& context) {
  const auto text = node.value_exact<std::string>();
  const std::vector<std::string_view> choices = words_of(context.constraint.choices);
  if (text && std::ranges::contains(choices, *text)) return *text;
  const std::string_view nearest = text ? nearest_name(*text, choices) : std::string_view{};
  return misfit(nearest.empty() ? "" : format_text("did you mean \"{}\"?", nearest));
}
std::string expectation(kind::Choice, const Constraint& constraint) {
  std::string out = "one of";
  for (const std::string_view word : words_of(constraint.choices)) {
    out += format_text("{} \"{}\"", out.size() > 6 ? "," : "", word);
  }
  return out;
}
PlainValue plain(kind::Choice, const std::string& value) { return value; }

// --- Path ---
std::expected<std::filesystem::path, Misfit> read(kind::Path, const toml::node& node, const ReadContext& context) {
  const auto text = node.value_exact<std::string>();
  if (!text || text->contains('\0')) return misfit();
  if (text->empty() || context.base.empty()) return *text;
  return (context.base / *text).lexically_normal();
}
std::string expectation(kind::Path, const Constraint&) { return "a path in quotes, or \"\""; }
PlainValue plain(kind::Path, const std::filesystem::path& value) { return value.string(); }

// --- Count ---
std::expected<std::int64_t, Misfit> read(kind::Count, const toml::node& node, const ReadContext& context) {
  const auto number = node.value_exact<std::int64_t>();
  const auto in_range = [&](std::int64_t n) {
    return n >= static_cast<std::int64_t>(context.constraint.low) &&
           n <= static_cast<std::int64_t>(context.constraint.high);
  };
  if (number && in_range(*number)) return *number;
  return misfit();
}
std::string expectation(kind::Count, const Constraint& constraint) {
  return format_text("a whole number from {:.0f} to {:.0f}", constraint.low, constraint.high);
}
PlainValue plain(kind::Count, const std::int64_t& value) { return value; }

// --- Threads ---
std::expected<int, Misfit> read(kind::Threads, const toml::node& node, const ReadContext& context) {
  if (node.value_exact<std::string>() == "auto") {
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    return std::clamp(cores - 1, static_cast<int>(context.constraint.low), static_cast<int>(context.constraint.high));
  }
  const auto number = read(kind::Count{}, node, context);
  if (!number) return std::unexpected(number.error());
  return static_cast<int>(*number);
}
std::string expectation(kind::Threads, const Constraint& constraint) {
  return "\"auto\" or " + expectation(kind::Count{}, constraint);
}
PlainValue plain(kind::Threads, const int& value) { return std::int64_t{value}; }

// --- Number ---
std::expected<double, Misfit> read(kind::Number, const toml::node& node, const ReadContext& context) {
  const bool numeric = node.is_integer() || node.is_floating_point();
  const double number = numeric ? node.value<double>().value_or(NAN) : NAN;
  if (number >= context.constraint.low && number <= context.constraint.high) return number;
  return misfit();
}
std::string expectation(kind::Number, const Constraint& constraint) {
  return format_text("a number from {} to {}", number_text(constraint.low), number_text(constraint.high));
}
PlainValue plain(kind::Number, const double& value) { return plain_number(value); }

// --- ByteCount ---
std::expected<Bytes, Misfit> read(kind::ByteCount, const toml::node& node, const ReadContext& context) {
  const auto text = node.value_exact<std::string>();
  const Result<Bytes> bytes = parse_bytes(text.value_or(""));
  if (!bytes) return misfit();
  const auto count = static_cast<double>(bytes->count);
  if (count >= context.constraint.low && count <= context.constraint.high) return *bytes;
  return misfit();
}
std::string expectation(kind::ByteCount, const Constraint& constraint) {
  return format_text("a size from \"{}\" to \"{}\" in B, KiB, MiB or GiB",
                     format_bytes({static_cast<std::uint64_t>(constraint.low)}),
                     format_bytes({static_cast<std::uint64_t>(constraint.high)}));
}
PlainValue plain(kind::ByteCount, const Bytes& value) { return format_bytes(value); }

// --- Duration ---
std::expected<std::chrono::milliseconds, Misfit> read(kind::Duration, const toml::node& node,
                                                      const ReadContext& context) {
  const auto text = node.value_exact<std::string>();
  const Result<std::chrono::milliseconds> duration = parse_duration(text.value_or(""));
  if (!text || !duration) return misfit();
  const double seconds = std::chrono::duration<double>(*duration).count();
  if (seconds < context.constraint.low || seconds > context.constraint.high) return misfit();
  return *duration;
}
std::string expectation(kind::Duration, const Constraint& constraint) {
  const auto text = [](double seconds) {
    return format_duration(std::chrono::milliseconds(std::llround(seconds * 1000)));
  };
  return format_text("a time such as \"250ms\", \"15s\" or \"90d\", from {} to {}", text(constraint.low),
                     text(constraint.high));
}
PlainValue plain(kind::Duration, const std::chrono::milliseconds& value) { return format_duration(value); }

// --- Scores ---
std::expected<std::vector<std::pair<std::string, double>>, Misfit> read(kind::Scores, const toml::node& node,
                                                                        const ReadContext&) {
  const toml::table* table = node.as_table();
  if (table == nullptr) return misfit();
  std::vector<std::pair<std::string, double>> out;
  for (const auto& [name, value] : *table) {
    const auto score = value.value<double>();
    if (!value.is_number() || !score || !(*score >= 0 && *score <= 1)) return misfit();
    out.emplace_back(name.str(), *score);
  }
  return out;
}
std::string expectation(kind::Scores, const Constraint&) {
  return "names with numbers from 0 to 1, such as { turdus-merula = 0.7 }";
}
PlainValue plain(kind::Scores, const std::vector<std::pair<std::string, double>>& value) {
  PlainMembers members;
  for (const auto& [name, score] : value) members.emplace(name, plain_number(score));
  return members;
}

// --- Size ---
std::expected<PixelSize, Misfit> read(kind::Size, const toml::node& node, const ReadContext& context) {
  const std::string text = node.value_exact<std::string>().value_or("");
  const auto sides = parse_sides<int>(text);
  if (!sides) return misfit();
  const PixelSize size{.width = sides->first, .height = sides->second};
  const auto fits = [&](int side) {
    return side >= context.constraint.low && side <= context.constraint.high && side % 2 == 0;
  };
  if (!fits(size.width) || !fits(size.height)) return misfit();
  return size;
}
std::string expectation(kind::Size, const Constraint& constraint) {
  return format_text("a size such as \"1280x720\", each side even and from {:.0f} to {:.0f}", constraint.low,
                     constraint.high);
}
PlainValue plain(kind::Size, const PixelSize& value) { return format_text("{}x{}", value.width, value.height); }

// --- TextList ---
std::expected<std::vector<std::string>, Misfit> read(kind::TextList, const toml::node& node, const ReadContext&) {
  if (const auto text = node.value_exact<std::string>()) return std::vector{*text};
  if (!node.is_array()) return misfit();
  std::vector<std::string> out;
  for (const toml::node& element : *node.as_array()) {
    const auto text = element.value_exact<std::string>();
    if (!text || text->empty()) return misfit();
    out.push_back(*text);
  }
  return out;
}
std::string expectation(kind::TextList, const Constraint&) { return "a list of texts, such as [\"one\", \"two\"]"; }
PlainValue plain(kind::TextList, const std::vector<std::string>& value) {
  return PlainList(value.begin(), value.end());
}

// --- Flag ---
std::expected<bool, Misfit> read(kind::Flag, const toml::node& node, const ReadContext&) {
  const auto value = node.value_exact<bool>();
  if (!value) return misfit();
  return *value;
}
std::string expectation(kind::Flag, const Constraint&) { return "true or false"; }
PlainValue plain(kind::Flag, const bool& value) { return value; }

// --- Part, Parts ---
std::expected<Area, Misfit> read_area(const toml::array& list) {
  std::array<double, 4> sides{};
  if (list.size() != sides.size()) return misfit("four numbers: left, top, width, height");
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const auto number = list[i].value<double>();
    if (!number || !(*number >= 0 && *number <= 1)) return misfit("each number is a share of the picture, 0 to 1");
    sides[i] = *number;
  }
  const auto [left, top, width, height] = sides;
  constexpr double kHair = 1e-9;
  if (width <= 0 || height <= 0 || left + width > 1 + kHair || top + height > 1 + kHair) {
    return misfit("left + width and top + height are at most 1, width and height more than 0");
  }
  return Area{left, top, width, height};
}
PlainValue plain_area(const Area& area) {
  return PlainList{plain_number(area.left), plain_number(area.top), plain_number(area.width),
                   plain_number(area.height)};
}

std::expected<std::optional<Area>, Misfit> read(kind::Part, const toml::node& node, const ReadContext&) {
  if (!node.is_array()) return misfit();
  if (node.as_array()->empty()) return std::nullopt;
  return read_area(*node.as_array());
}
std::string expectation(kind::Part, const Constraint&) {
  return "a part of the picture such as [0.1, 0.2, 0.5, 0.6] (left, top, width, height), or [] for all of it";
}
PlainValue plain(kind::Part, const std::optional<Area>& value) { return value ? plain_area(*value) : PlainList(); }

std::expected<std::vector<Area>, Misfit> read(kind::Parts, const toml::node& node, const ReadContext&) {
  if (!node.is_array()) return misfit();
  const toml::array& list = *node.as_array();
  std::vector<Area> areas;
  if (!list.empty() && !list[0].is_array()) {
    auto area = read_area(list);
    if (!area) return std::unexpected(area.error());
    return std::vector{*area};
  }
  for (const toml::node& element : list) {
    if (!element.is_array()) return misfit();
    auto area = read_area(*element.as_array());
    if (!area) return std::unexpected(area.error());
    areas.push_back(*area);
  }
  return areas;
}
std::string expectation(kind::Parts, const Constraint&) {
  return "a list of parts of the picture, each such as [0.1, 0.2, 0.5, 0.6] (left, top, width, height)";
}
PlainValue plain(kind::Parts, const std::vector<Area>& value) {
  PlainList list;
  for (const Area& area : value) list.push_back(plain_area(area));
  return list;
}

// --- Listen ---
std::expected<std::vector<std::string>, Misfit> read(kind::Listen, const toml::node& node, const ReadContext& context) {
  auto list = read(kind::TextList{}, node, context);
  if (!list || list->empty()) return misfit();
  for (const std::string& text : *list) {
    if (auto checked = check_listen(text); !checked) return std::unexpected(checked.error());
  }
  return list;
}
std::string expectation(kind::Listen, const Constraint&) {
  return "a list of addresses with port, such as [\"[::]:8420\"], [\"127.0.0.1:8420\", "
         "\"unix:/run/kinglet/http.sock\"]";
}
PlainValue plain(kind::Listen, const std::vector<std::string>& value) { return plain(kind::TextList{}, value); }

}  // namespace kinglet::config
